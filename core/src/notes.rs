//! What a method notes in a round, for the row.

use crate::record::Metrics;

/// Names and their sums over one round. A list, since a round notes two or three names; it keeps its memory from round to round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Vec<(&'static str, f64)>);

impl Notes {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn add(&mut self, name: &'static str, value: f64) {
        match self.0.iter_mut().find(|(there, _)| *there == name) {
            Some((_, sum)) => *sum += value,
            None => self.0.push((name, value)),
        }
    }

    /// Adds this round to what all rounds before it came to.
    pub(crate) fn add_to(&self, totals: &mut Metrics) {
        for (name, value) in &self.0 {
            match totals.get_mut(*name) {
                Some(sum) => *sum += value,
                None => {
                    totals.insert(name.to_string(), *value);
                }
            }
        }
    }

    pub(crate) fn to_metrics(&self) -> Metrics {
        self.0.iter().map(|(name, value)| (name.to_string(), *value)).collect()
    }
}
