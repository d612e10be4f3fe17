//! A mean that is kept as a sum and a factor, so that nothing is copied.

use std::ops::Range;

use crate::vector::Vector;

/// Σ wᵢ vᵢ and the share 1/Σ wᵢ that makes the mean of it; rows that nobody sent are not looked at.
///
/// The division waits until the numbers are used, and the rows stay where they are: a server that steps on
/// the rows that were sent reads them once.
#[derive(Clone, Debug)]
pub struct SparseMean {
    sum: Vector,
    share: f64,
    /// Which rows, ascending; all numbers if absent.
    rows: Option<Vec<u32>>,
    /// Numbers in a stretch, but for the last.
    width: usize,
}

/// Stretches of a whole vector: short enough that what was written to one is still near when it is looked at.
const STRETCH: usize = 4096;

impl SparseMean {
    /// All numbers of a sum, or these rows of it, each `width` long and inside of it.
    pub(crate) fn new(sum: Vector, share: f64, rows: Option<(Vec<u32>, usize)>) -> Self {
        let (rows, width) = rows.map_or((None, STRETCH), |(rows, width)| (Some(rows), width));
        Self { sum, share, rows, width }
    }

    /// The sum; where no stretch lies it is zero.
    pub fn sum(&self) -> &Vector {
        &self.sum
    }

    /// What the sum is to be multiplied by.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Where there are numbers, in ascending order.
    pub fn stretches(&self) -> impl Iterator<Item = Range<usize>> {
        let (width, len) = (self.width, self.sum.len());
        let count = self.rows.as_ref().map_or(len.div_ceil(width), Vec::len);
        (0..count).map(move |k| {
            let start = width * self.rows.as_ref().map_or(k, |rows| rows[k] as usize);
            start..(start + width).min(len)
        })
    }

    /// The rows where there are none, in ascending order; nothing where all numbers are there.
    pub fn gaps(&self) -> impl Iterator<Item = Range<usize>> {
        let (width, rows) = (self.width, self.rows.as_deref());
        let count = rows.map_or(0, |_| self.sum.len() / width.max(1));
        let mut named = rows.unwrap_or_default().iter().copied().peekable();
        (0..count).filter(move |&row| named.next_if_eq(&(row as u32)).is_none()).map(move |row| row * width..(row + 1) * width)
    }

    /// The norm of the mean.
    pub fn norm(&self) -> f64 {
        let squares: f64 = self.stretches().map(|at| self.sum.view().part(at).norm2()).sum();
        self.share.abs() * squares.sqrt()
    }
}

impl From<Vector> for SparseMean {
    fn from(x: Vector) -> Self {
        Self::new(x, 1.0, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mean, RowUpdate, Update};

    #[test]
    fn a_mean_of_rows_names_the_rows_and_equals_the_dense_one() {
        let rows = |at: Vec<u32>, v: Vec<f64>| Update::Rows(RowUpdate::new(8, at, v.into()));
        let (a, b) = (rows(vec![0, 2], vec![1.0, 2.0, 3.0, 4.0]), rows(vec![2], vec![5.0, 7.0]));
        let mut mean = Mean::like(&vec![0.0; 8].into());
        mean.add_update(1.0, &a);
        mean.add_update(3.0, &b);
        let dense = mean.clone().finish();
        assert_eq!(dense.f64s(), [0.25, 0.5, 0.0, 0.0, 4.5, 6.25, 0.0, 0.0]);
        let found = mean.clone().average();
        assert_eq!(found.stretches().collect::<Vec<_>>(), [0..2, 4..6]);
        assert_eq!(found.gaps().collect::<Vec<_>>(), [2..4, 6..8]);
        let mut scaled = found.sum().clone();
        scaled.scale(found.share());
        assert_eq!(scaled, dense);
        assert_eq!(found.norm(), dense.norm());
        mean.add(0.0, &dense);
        assert_eq!(mean.clone().average().gaps().count(), 0);
        assert_eq!(mean.average().stretches().map(|at| at.len()).collect::<Vec<_>>(), [8], "whoever names all names no rows");
    }

    #[test]
    fn the_stretches_of_a_long_vector_are_all_of_it() {
        let x = SparseMean::from(Vector::filled(2 * STRETCH + 3, 0.5, crate::Precision::F32));
        let ends: Vec<_> = x.stretches().collect();
        assert_eq!(ends, [0..STRETCH, STRETCH..2 * STRETCH, 2 * STRETCH..2 * STRETCH + 3]);
        assert_eq!(x.norm(), x.sum().norm());
        assert_eq!(SparseMean::from(Vector::from(Vec::<f64>::new())).stretches().count(), 0);
    }
}
