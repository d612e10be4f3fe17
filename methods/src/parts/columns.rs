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
/// Interleaved partial sums of an inner product.
const LANES: usize = 8;
/// Columns whose products are summed in the rows' own precision before they are widened: 32 in each lane, which costs no digit
/// of a gradient in single precision, and widening every product would take longer than reading it.
const RUN: usize = 32 * LANES;

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
    let (pairs, odd) = rows.as_chunks::<2>();
    let (of_pairs, of_odd) = sums.as_chunks_mut::<2>();
    pairs.iter().zip(of_pairs).for_each(|([g, h], sums)| dot_two(&g[block.clone()], &h[block.clone()], v, sums));
    odd.iter().zip(of_odd).for_each(|(g, sums)| dot_one(&g[block.clone()], v, sums));
}

fn dot_one<T: Number>(g: &[T], v: &[T], sums: &mut [f64; LANES]) {
    for (g, v) in g.chunks(RUN).zip(v.chunks(RUN)) {
        let mut a = [T::of(0.0); LANES];
        let ((gs, g_rest), (vs, v_rest)) = (g.as_chunks::<LANES>(), v.as_chunks::<LANES>());
        for (g, v) in gs.iter().zip(vs) {
            for l in 0..LANES {
                a[l] = a[l] + g[l] * v[l];
            }
        }
        for (l, (g, v)) in g_rest.iter().zip(v_rest).enumerate() {
            a[l] = a[l] + *g * *v;
        }
        widen(a, sums);
    }
}

/// Two rows at once share what is read of v.
fn dot_two<T: Number>(g: &[T], h: &[T], v: &[T], sums: &mut [[f64; LANES]; 2]) {
    for ((g, h), v) in g.chunks(RUN).zip(h.chunks(RUN)).zip(v.chunks(RUN)) {
        let (mut a, mut b) = ([T::of(0.0); LANES], [T::of(0.0); LANES]);
        let ((gs, g_rest), (hs, h_rest), (vs, v_rest)) = (g.as_chunks::<LANES>(), h.as_chunks::<LANES>(), v.as_chunks::<LANES>());
        for ((g, h), v) in gs.iter().zip(hs).zip(vs) {
            for l in 0..LANES {
                a[l] = a[l] + g[l] * v[l];
                b[l] = b[l] + h[l] * v[l];
            }
        }
        for (l, ((g, h), v)) in g_rest.iter().zip(h_rest).zip(v_rest).enumerate() {
            a[l] = a[l] + *g * *v;
            b[l] = b[l] + *h * *v;
        }
        widen(a, &mut sums[0]);
        widen(b, &mut sums[1]);
    }
}

#[inline(always)]
fn widen<T: Number>(run: [T; LANES], sums: &mut [f64; LANES]) {
    sums.iter_mut().zip(run).for_each(|(sum, run)| *sum += run.into());
}
