//! What each column contributes to a linear model's score.
//!
//! ```text
//! base         s(0): the score of an example whose features are all 0
//! column k     s(a) − s(a without the features of column k)
//! ```
//!
//! Where the score is linear, base and contributions add up to it; where they do not, the model is not linear.

use std::ops::Range;

use motet_problems::{Field, Form, Matrix};

use super::predictions::{Explanation, best};
use crate::error::Error;

/// A column of a table, and the features that became of it.
pub(super) struct Column {
    name: String,
    features: Range<usize>,
}

impl Column {
    /// A word of a table is several features.
    pub(super) fn of_fields(fields: &[Field]) -> Vec<Self> {
        let mut next = 0;
        let column = |field: &Field| {
            let from = next;
            next += if let Form::Words(words) = &field.form { words.len() } else { 1 };
            Self { name: field.name.clone(), features: from..next }
        };
        fields.iter().map(column).collect()
    }

    /// Features without names are counted from 1.
    pub(super) fn numbered(count: usize) -> Vec<Self> {
        (0..count).map(|k| Self { name: (k + 1).to_string(), features: k..k + 1 }).collect()
    }
}

/// Contributions to the score of what is predicted; nothing if the model is not linear.
pub(super) fn explained(
    columns: &[Column],
    features: &Matrix,
    scores: &[Vec<f64>],
    score: impl Fn(Matrix) -> Result<Vec<Vec<f64>>, Error>,
) -> Result<Option<Explanation>, Error> {
    let dense = features.to_dense();
    let without = |gone: Range<usize>| {
        let mut changed = dense.clone();
        changed.values.chunks_exact_mut(dense.cols.max(1)).for_each(|row| row[gone.clone()].fill(0.0));
        score(Matrix::Dense(changed))
    };
    let base = without(0..dense.cols)?;
    let mut rows: Vec<(f64, Vec<f64>)> = scores.iter().zip(&base).map(|(scores, base)| (base[best(scores)], vec![])).collect();
    for column in columns {
        for ((row, all), rest) in rows.iter_mut().zip(scores).zip(without(column.features.clone())?) {
            row.1.push(all[best(all)] - rest[best(all)]);
        }
    }
    // Sums of many terms miss each other by rounding only.
    let adds_up = |((base, parts), scores): (&(f64, Vec<f64>), &Vec<f64>)| {
        let size = base.abs() + parts.iter().map(|part| part.abs()).sum::<f64>();
        (base + parts.iter().sum::<f64>() - scores[best(scores)]).abs() <= 1e-9 * (1.0 + size)
    };
    let linear = rows.iter().zip(scores).all(adds_up);
    Ok(linear.then(|| Explanation { columns: columns.iter().map(|column| column.name.clone()).collect(), rows }))
}
