//! Rows of numbers and their targets, as files of other programs have them.

use crate::dataset::Targets;
use crate::matrix::{Bytes, Matrix, Single};

/// Rows of numbers, kept as bytes for as long as all of them are k/255.
#[derive(Debug, Default)]
pub(super) enum Numbers {
    /// No row yet.
    #[default]
    Nothing,
    /// Numbers of a row, and k of every one.
    Bytes(usize, Vec<u8>),
    /// Numbers of a row, and all of them.
    Single(usize, Vec<f32>),
}

impl Numbers {
    /// One more row.
    pub(super) fn push(&mut self, row: &[f32]) -> Result<(), String> {
        if let Numbers::Nothing = self {
            *self = Numbers::Bytes(row.len(), Vec::new());
        }
        let (Numbers::Bytes(cols, _) | Numbers::Single(cols, _)) = self else { return Ok(()) };
        if row.len() != *cols {
            return Err(format!("{} numbers after rows of {cols}", row.len()));
        }
        if let Numbers::Bytes(cols, bytes) = self {
            let before = bytes.len();
            bytes.extend(row.iter().map_while(|&v| byte(v)));
            if bytes.len() - before == row.len() {
                return Ok(());
            }
            // The first that is no k/255: all are numbers from here on.
            bytes.truncate(before);
            *self = Numbers::Single(*cols, bytes.iter().map(|&b| f32::from(b) / 255.0).collect());
        }
        let Numbers::Single(_, values) = self else { return Ok(()) };
        if !row.iter().all(|v| v.is_finite()) {
            return Err("a number that is not finite".into());
        }
        values.extend(row);
        Ok(())
    }

    /// All rows; none if there were none.
    pub(super) fn matrix(self) -> Option<Matrix> {
        match self {
            Numbers::Nothing => None,
            Numbers::Bytes(cols, values) => Some(Matrix::Bytes(Bytes::pixels(cols, values))),
            Numbers::Single(cols, values) => Some(Matrix::Single(Single { cols, values })),
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
    let most = f64::from(most_classes(y.len()));
    if !y.iter().all(|&v| v.fract() == 0.0 && (0.0..most).contains(&v)) {
        return Targets::Numbers(y);
    }
    let labels: Vec<u32> = y.iter().map(|&v| v as u32).collect();
    Targets::Classes { classes: labels.iter().max().map_or(0, |&label| label + 1), labels }
}
