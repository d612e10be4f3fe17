//! Rows of numbers and their targets, as files of other programs have them.

use crate::dataset::Targets;
use crate::matrix::{Bytes, Matrix, Single};

/// Rows of numbers, kept as bytes for as long as all of them are k/255.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    kept: Kept,
    /// Rows that came while all were k/255.
    as_bytes: usize,
    /// From this row on, numbers are no bytes whatever they are: somebody else's rows in the same file are none. Then none are in the end.
    numbers_from: Option<usize>,
}

#[derive(Debug, Default)]
enum Kept {
    /// No row yet.
    #[default]
    Nothing,
    /// Numbers of a row, and k of every one.
    Bytes(usize, Vec<u8>),
    /// Numbers of a row, and all of them.
    Single(usize, Vec<f32>),
}

impl Numbers {
    /// Rows of a file that has others, too: they are bytes up to this row only.
    pub(super) fn with_bytes_up_to(row: usize) -> Self {
        Self { numbers_from: Some(row), ..Self::default() }
    }

    /// One more row.
    pub(super) fn push(&mut self, row: &[f32]) -> Result<(), String> {
        if let Kept::Nothing = self.kept {
            self.kept = Kept::Bytes(row.len(), Vec::new());
        }
        if self.numbers_from == Some(self.as_bytes) {
            self.kept.spell_out();
        }
        let (Kept::Bytes(cols, _) | Kept::Single(cols, _)) = &self.kept else { return Ok(()) };
        if row.len() != *cols {
            return Err(format!("{} numbers after rows of {cols}", row.len()));
        }
        if let Kept::Bytes(_, bytes) = &mut self.kept {
            let before = bytes.len();
            bytes.extend(row.iter().map_while(|&v| byte(v)));
            if bytes.len() - before == row.len() {
                self.as_bytes += 1;
                return Ok(());
            }
            // The first that is no k/255: all are numbers from here on.
            bytes.truncate(before);
            self.kept.spell_out();
        }
        let Kept::Single(_, values) = &mut self.kept else { return Ok(()) };
        if !row.iter().all(|v| v.is_finite()) {
            return Err("a number that is not finite".into());
        }
        values.extend(row);
        Ok(())
    }

    /// Forgets the rows, and keeps what they are: for those who only want to know that. Tells how many came as bytes.
    pub(super) fn forget(&mut self) -> usize {
        match &mut self.kept {
            Kept::Nothing => {}
            Kept::Bytes(_, bytes) => bytes.clear(),
            Kept::Single(_, values) => values.clear(),
        }
        std::mem::take(&mut self.as_bytes)
    }

    /// All rows; none if there were none.
    pub(super) fn matrix(mut self) -> Option<Matrix> {
        // Whoever says from where on they are numbers knows that the file's rows are some, though all of these may have come before.
        if self.numbers_from.is_some() {
            self.kept.spell_out();
        }
        match self.kept {
            Kept::Nothing => None,
            Kept::Bytes(cols, values) => Some(Matrix::Bytes(Bytes::pixels(cols, values))),
            Kept::Single(cols, values) => Some(Matrix::Single(Single { cols, values: values.into() })),
        }
    }
}

impl Kept {
    /// Bytes become numbers.
    fn spell_out(&mut self) {
        if let Kept::Bytes(cols, bytes) = self {
            *self = Kept::Single(*cols, bytes.iter().map(|&b| f32::from(b) / 255.0).collect());
        }
    }
}

/// k of k/255, if it is that.
fn byte(value: f32) -> Option<u8> {
    let scaled = value * 255.0;
    ((0.0..=1.0).contains(&value) && (scaled - scaled.round()).abs() < 1e-3).then(|| scaled.round() as u8)
}

/// So many classes may so many rows have. Models have numbers for each class from 0 on, so that a single label that is
/// really an amount or somebody's number would cost gigabytes.
pub(super) fn most_classes(rows: usize) -> u32 {
    rows.clamp(1 << 16, 1 << 24) as u32
}

/// Classes if all are whole numbers from 0 and none is beyond what so many rows may have, else quantities.
pub(super) fn targets(y: Vec<f64>) -> Targets {
    let mut seen = Labels::default();
    seen.see(&y);
    match seen.classes() {
        None => Targets::Numbers(y),
        Some(classes) => Targets::Classes { labels: y.iter().map(|&v| v as u32).collect(), classes },
    }
}

/// What targets are, of as many as were seen.
#[derive(Debug, Default)]
pub(super) struct Labels {
    rows: usize,
    /// One of them is no whole number from 0.
    quantities: bool,
    largest: f64,
}

impl Labels {
    pub(super) fn see(&mut self, y: &[f64]) {
        self.rows += y.len();
        self.quantities |= !y.iter().all(|&v| v.fract() == 0.0 && v >= 0.0);
        self.largest = y.iter().copied().fold(self.largest, f64::max);
    }

    /// How many classes there are; none if these are quantities.
    pub(super) fn classes(&self) -> Option<u32> {
        let within = self.largest < f64::from(most_classes(self.rows));
        (!self.quantities && within).then(|| if self.rows == 0 { 0 } else { self.largest as u32 + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_beyond_every_whole_number_are_quantities() {
        let y = vec![1.0, 4294967295.0];
        assert!(matches!(targets(y.clone()), Targets::Numbers(kept) if kept == y));
        assert!(matches!(targets(vec![0.0, 2.0]), Targets::Classes { classes: 3, .. }));
    }
}
