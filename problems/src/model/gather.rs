//! Index-only features laid out for sums: the fast path of gradients on all examples.
//!
//! Both passes of a linear model are sums of gathered numbers: a score sums the coefficients of its example's columns, and
//! a coefficient's gradient sums the slopes of the examples that have its column. Gathering twice, from the features
//! and from their transpose, stores a number per example and per column where scattering would store one per non-zero.

use super::Range;
use super::kernel::Lists;
use crate::matrix::{Csr, Indices, Matrix};

/// One client's examples by row and by column.
#[derive(Debug)]
pub(super) struct Gathers {
    by_row: Lists,
    by_column: Lists,
    intercept: bool,
}

impl Gathers {
    /// None unless all values are 1 and rows and columns can be numbered in two bytes.
    pub(super) fn new(features: &Matrix, rows: Range<usize>, intercept: bool) -> Option<Self> {
        let Matrix::Sparse(Csr { cols, starts, indices: Indices::U16(indices), values: None }) = features else { return None };
        let mut columns = vec![Vec::new(); *cols];
        for (number, row) in rows.clone().enumerate() {
            for &column in &indices[starts[row]..starts[row + 1]] {
                columns[usize::from(column)].push(u16::try_from(number).ok()?);
            }
        }
        let count = rows.len();
        let by_row: Vec<&[u16]> = rows.map(|row| &indices[starts[row]..starts[row + 1]]).collect();
        let by_column: Vec<&[u16]> = columns.iter().map(Vec::as_slice).collect();
        Some(Self { by_row: Lists::new(&by_row, *cols)?, by_column: Lists::new(&by_column, count)?, intercept })
    }

    /// The score of each example.
    pub(super) fn scores(&self, x: &[f64], out: &mut [f64]) {
        let ones = usize::from(self.intercept);
        out.fill(if self.intercept { x[0] } else { 0.0 });
        self.by_row.add_sums(&x[ones..], out);
    }

    /// g ← g + Σ wⱼ aⱼ
    pub(super) fn accumulate(&self, weights: &[f64], g: &mut [f64]) {
        if self.intercept {
            g[0] += weights.iter().sum::<f64>();
        }
        self.by_column.add_sums(weights, &mut g[usize::from(self.intercept)..]);
    }
}
