//! Rows of features times a vector, and back: the two passes of every linear model.

use super::linear::Shape;
use super::{Examples, Range};
use crate::matrix::{Csr, Indices, Matrix};

/// Which examples of the data a pass touches.
#[derive(Clone, Debug)]
pub(super) enum Picked<'a> {
    /// These, in order.
    Range(Range<usize>),
    /// Those that a batch names by their number within the client's range.
    List { within: Range<usize>, list: &'a [u32] },
}

impl<'a> Picked<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Picked::Range(rows) => rows.len(),
            Picked::List { list, .. } => list.len(),
        }
    }

    /// The same examples, at most `size` at a time.
    pub(super) fn blocks(&self, size: usize) -> impl Iterator<Item = Picked<'a>> {
        (0..self.len()).step_by(size).map(move |from| {
            let to = (from + size).min(self.len());
            match self {
                Picked::Range(rows) => Picked::Range(rows.start + from..rows.start + to),
                Picked::List { within, list } => Picked::List { within: within.clone(), list: &list[from..to] },
            }
        })
    }

    /// The rows' targets, copied into `room` unless they lie together already.
    pub(super) fn targets<'t>(&self, all: &'t [f64], room: &'t mut Vec<f64>) -> &'t [f64] {
        match self {
            Picked::Range(rows) => &all[rows.clone()],
            Picked::List { .. } => {
                room.clear();
                room.extend((0..self.len()).map(|i| all[self.row(i)]));
                room
            }
        }
    }

    fn row(&self, i: usize) -> usize {
        match self {
            Picked::Range(rows) => rows.start + i,
            Picked::List { within, list } => {
                let number = list[i] as usize;
                assert!(number < within.len(), "a batch names the client's own rows");
                within.start + number
            }
        }
    }
}

/// Writes the scores of the picked examples, those of one example together.
pub(super) fn scores(data: &Examples, shape: &Shape, picked: &Picked<'_>, x: &[f64], out: &mut [f64]) {
    let ones = usize::from(shape.intercept);
    for i in 0..picked.len() {
        for (c, x) in x.chunks_exact(shape.width.max(1)).enumerate() {
            let product = row_dot(data.features(), picked.row(i), &x[ones..]);
            out[i * shape.outputs + c] = if shape.intercept { product + x[0] } else { product };
        }
    }
}

/// g ← g + Σ wⱼ aⱼ over the picked examples, score by score.
pub(super) fn accumulate(data: &Examples, shape: &Shape, picked: &Picked<'_>, weights: &[f64], g: &mut [f64]) {
    let ones = usize::from(shape.intercept);
    for i in 0..picked.len() {
        for (c, g) in g.chunks_exact_mut(shape.width.max(1)).enumerate() {
            let weight = weights[i * shape.outputs + c];
            if shape.intercept {
                g[0] += weight;
            }
            add_row(data.features(), picked.row(i), weight, &mut g[ones..]);
        }
    }
}

/// aⱼᵀx
fn row_dot(a: &Matrix, row: usize, x: &[f64]) -> f64 {
    match a {
        Matrix::Dense(a) => dot(&a.values[row * a.cols..][..a.cols], x),
        Matrix::Single(_) | Matrix::Bytes(_) => {
            let mut sum = 0.0;
            a.entries(row, |c, v| sum += v * x[c]);
            sum
        }
        Matrix::Sparse(a) => {
            let mut sum = 0.0;
            each_entry(a, row, |c, v| sum += v * x[c]);
            sum
        }
    }
}

/// g ← g + w aⱼ
fn add_row(a: &Matrix, row: usize, weight: f64, g: &mut [f64]) {
    match a {
        Matrix::Dense(a) => {
            for (g, a) in g.iter_mut().zip(&a.values[row * a.cols..][..a.cols]) {
                *g += weight * a;
            }
        }
        Matrix::Single(_) | Matrix::Bytes(_) => a.entries(row, |c, v| g[c] += weight * v),
        Matrix::Sparse(a) => each_entry(a, row, |c, v| g[c] += weight * v),
    }
}

/// |aⱼ|²
pub(super) fn row_norm2(a: &Matrix, row: usize) -> f64 {
    let mut sum = 0.0;
    a.entries(row, |_, v| sum += v * v);
    sum
}

/// Column and value of each non-zero of a row, with the storage told apart once per row.
#[inline(always)]
fn each_entry(a: &Csr, row: usize, mut each: impl FnMut(usize, f64)) {
    let these = a.starts[row]..a.starts[row + 1];
    match (&a.indices, &a.values) {
        (Indices::U16(i), None) => i[these].iter().for_each(|&c| each(usize::from(c), 1.0)),
        (Indices::U32(i), None) => i[these].iter().for_each(|&c| each(c as usize, 1.0)),
        (Indices::U16(i), Some(v)) => i[these.clone()].iter().zip(&v[these]).for_each(|(&c, &v)| each(usize::from(c), v)),
        (Indices::U32(i), Some(v)) => i[these.clone()].iter().zip(&v[these]).for_each(|(&c, &v)| each(c as usize, v)),
    }
}

/// ⟨a, x⟩ in eight interleaved partial sums: one order of summation whatever the machine's vector width.
fn dot(a: &[f64], x: &[f64]) -> f64 {
    const LANES: usize = 8;
    let (a_head, a_rest) = a.as_chunks::<LANES>();
    let (x_head, x_rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, x) in a_head.iter().zip(x_head) {
        for l in 0..LANES {
            lanes[l] += a[l] * x[l];
        }
    }
    lanes.iter().sum::<f64>() + a_rest.iter().zip(x_rest).map(|(a, x)| a * x).sum::<f64>()
}
