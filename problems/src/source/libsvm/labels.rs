//! From the first words of the lines to targets.

use std::collections::BTreeSet;

use super::LabelMode;
use crate::dataset::Targets;
use crate::error::LineFault;

/// The labels read so far.
#[derive(Debug)]
pub(super) struct Labels {
    mode: LabelMode,
    classes: Option<u32>,
    values: Vec<f64>,
    /// Every distinct label, as long as all are whole numbers.
    distinct: Option<BTreeSet<i64>>,
}

impl Labels {
    pub(super) fn new(mode: LabelMode, classes: Option<u32>) -> Self {
        Self { mode, classes, values: Vec::new(), distinct: Some(BTreeSet::new()) }
    }

    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    pub(super) fn add(&mut self, label: f64) -> Result<(), LineFault> {
        // Runs of equal labels are common; the set need not be asked again.
        if self.values.last() != Some(&label) && self.mode == LabelMode::Auto {
            self.look(label)?;
        }
        self.values.push(label);
        Ok(())
    }

    fn look(&mut self, label: f64) -> Result<(), LineFault> {
        // Beyond 2⁵³ neighbouring whole numbers are no longer told apart.
        let whole = label.fract() == 0.0 && label.abs() < 9e15;
        match (&mut self.distinct, self.classes) {
            (_, Some(_)) if !whole => return Err(LineFault::FractionalClass(label)),
            (distinct, _) if !whole => *distinct = None,
            (Some(distinct), Some(classes)) if distinct.len() == classes as usize && !distinct.contains(&(label as i64)) => {
                return Err(LineFault::TooManyClasses { label: label as i64, classes, seen: distinct.iter().copied().collect() });
            }
            (Some(distinct), _) => {
                distinct.insert(label as i64);
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// (expected, found), if there are fewer classes than the experiment says.
    pub(super) fn missing(&self) -> Option<(u32, u32)> {
        let (expected, found) = (self.classes?, self.distinct.as_ref()?.len() as u32);
        (self.mode == LabelMode::Auto && found < expected).then_some((expected, found))
    }

    /// The targets, and whether some class has another number than its label.
    pub(super) fn finish(self) -> (Targets, bool) {
        match (self.mode, &self.distinct) {
            (LabelMode::Author, _) => classes(&self.values, 2, |y| u32::from(y != -1.0)),
            (LabelMode::Numbers, _) | (_, None) => (Targets::Numbers(self.values), false),
            (LabelMode::Auto, Some(distinct)) => {
                // In each of these the 1 is the positive class, also where one of the two is absent.
                if [[-1, 1], [0, 1], [1, 2]].iter().any(|pair| distinct.iter().all(|label| pair.contains(label))) {
                    return classes(&self.values, 2, |y| u32::from(y == 1.0));
                }
                let ascending: Vec<i64> = distinct.iter().copied().collect();
                let position = |y: f64| ascending.partition_point(|&label| label < y as i64) as u32;
                classes(&self.values, ascending.len() as u32, position)
            }
        }
    }
}

fn classes(values: &[f64], classes: u32, of: impl Fn(f64) -> u32) -> (Targets, bool) {
    let labels: Vec<u32> = values.iter().map(|&y| of(y)).collect();
    let recoded = labels.iter().zip(values).any(|(&label, &y)| f64::from(label) != y);
    (Targets::Classes { labels, classes }, recoded)
}
