//! Kernels over the rows of a matrix that walk its columns block by block: every number is read from memory once.
//!
//! Rows are taken several at a time, so that what is shared by them stays in registers; sums have one fixed order
//! whatever the width of the machine's registers.

use std::ops::{Add, Mul};

/// Columns that are worked on together. A block of the result stays in the first-level cache; a block of twenty rows in
/// single precision (320 kB) stays in the second.
pub(super) const BLOCK: usize = 4096;
/// Rows that are added at once.
const ADDED: usize = 5;
/// Rows that are multiplied at once: with more, the partial sums no longer fit into sixteen registers.
const MULTIPLIED: usize = 2;
/// Interleaved partial sums of an inner product.
const LANES: usize = 8;

/// A number of either precision.
pub(super) trait Number: Copy + Into<f64> + Mul<Output = Self> + Add<Output = Self> {
    fn of(value: f64) -> Self;
}

impl Number for f64 {
    fn of(value: f64) -> f64 {
        value
    }
}

impl Number for f32 {
    fn of(value: f64) -> f32 {
        value as f32
    }
}

fn blocks(dim: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..dim).step_by(BLOCK).map(move |from| from..dim.min(from + BLOCK))
}

/// y ← y + Σ cᵢ gᵢ for each y with its c, in one pass for all.
pub(super) fn add<T: Number>(rows: &[&[T]], sums: &mut [(&mut [T], Vec<T>)]) {
    let dim = sums.first().map_or(0, |(y, _)| y.len());
    for block in blocks(dim) {
        for (y, c) in &mut *sums {
            let y = &mut y[block.clone()];
            let (many, few) = rows.as_chunks::<ADDED>();
            let (of_many, of_few) = c.as_chunks::<ADDED>();
            many.iter().zip(of_many).for_each(|(g, c)| add_block(g.map(|g| &g[block.clone()]), c, y));
            few.iter().zip(of_few).for_each(|(g, c)| add_block([&g[block.clone()]], &[*c], y));
        }
    }
}

#[inline(always)]
fn add_block<T: Number, const K: usize>(g: [&[T]; K], c: &[T; K], y: &mut [T]) {
    let g = g.map(|g| &g[..y.len()]);
    for (l, y) in y.iter_mut().enumerate() {
        for k in 0..K {
            *y = *y + c[k] * g[k][l];
        }
    }
}

/// ⟨gᵢ, v⟩ for every i, in one pass.
pub(super) fn inner<T: Number>(rows: &[&[T]], v: &[T]) -> Vec<f64> {
    let mut sums = vec![[0.0; LANES]; rows.len()];
    blocks(v.len()).for_each(|block| dot_rows(rows, block.clone(), &v[block], &mut sums));
    sums.into_iter().map(|lanes| lanes.iter().sum()).collect()
}

/// ⟨gᵢ, gⱼ⟩ for all i and j, row after row, in one pass.
pub(super) fn gram<T: Number>(rows: &[&[T]]) -> Vec<f64> {
    let n = rows.len();
    let mut sums = vec![[0.0; LANES]; n * n];
    for block in blocks(rows.first().map_or(0, |g| g.len())) {
        for (i, g) in rows.iter().enumerate() {
            dot_rows(&rows[..=i], block.clone(), &g[block.clone()], &mut sums[i * n..][..=i]);
        }
    }
    let lower = |i: usize, j: usize| sums[i.max(j) * n + i.min(j)].iter().sum();
    (0..n * n).map(|k| lower(k / n, k % n)).collect()
}

fn dot_rows<T: Number>(rows: &[&[T]], block: std::ops::Range<usize>, v: &[T], sums: &mut [[f64; LANES]]) {
    let (many, few) = rows.as_chunks::<MULTIPLIED>();
    let (of_many, of_few) = sums.as_chunks_mut::<MULTIPLIED>();
    many.iter().zip(of_many).for_each(|(g, sums)| dot_block(g.map(|g| &g[block.clone()]), v, sums));
    few.iter().zip(of_few).for_each(|(g, sums)| dot_block([&g[block.clone()]], v, std::array::from_mut(sums)));
}

#[inline(always)]
fn dot_block<T: Number, const K: usize>(g: [&[T]; K], v: &[T], sums: &mut [[f64; LANES]; K]) {
    let mut kept = *sums;
    let (vs, v_rest) = v.as_chunks::<LANES>();
    let whole = g.map(|g| &g.as_chunks::<LANES>().0[..vs.len()]);
    for (b, v) in vs.iter().enumerate() {
        let v = v.map(Into::into);
        for k in 0..K {
            for l in 0..LANES {
                kept[k][l] += whole[k][b][l].into() * v[l];
            }
        }
    }
    for k in 0..K {
        let rest = &g[k][LANES * vs.len()..];
        for (l, (g, v)) in rest.iter().zip(v_rest).enumerate() {
            kept[k][l] += (*g).into() * (*v).into();
        }
    }
    *sums = kept;
}
