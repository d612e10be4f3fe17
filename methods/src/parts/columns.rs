//! Kernels over the rows of a matrix that walk its columns block by block: every number is read from memory once.
//!
//! Rows are taken several at a time, so that what is shared by them stays in registers; sums have one fixed order
//! whatever the width of the machine's registers.

use std::ops::Range;

use motet_core::fast;

use super::number::Number;

/// Columns that are worked on together: what is shared by the rows (64 kB in single precision) stays in the second-level
/// cache, and each row is read for long enough that the processor reads ahead.
pub(super) const BLOCK: usize = 16384;
/// Rows that are read side by side: one after another, a single stream reaches half of the memory's bandwidth.
const ABREAST: usize = 5;
/// Interleaved partial sums of an inner product.
const LANES: usize = 8;
/// Columns whose products are summed in the rows' own precision before they are widened: 32 in each lane, which costs no digit
/// of a gradient in single precision, and widening every product would take longer than reading it.
const RUN: usize = 32 * LANES;

fn blocks(dim: usize) -> impl Iterator<Item = Range<usize>> {
    (0..dim).step_by(BLOCK).map(move |from| from..dim.min(from + BLOCK))
}

fast! {
    /// y ← y + Σ cᵢ gᵢ for each y with its c, in one pass for all.
    pub(super) fn add<T: Number>(rows: &[&[T]], sums: &mut [(&mut [T], Vec<T>)]) {
        let dim = sums.first().map_or(0, |(y, _)| y.len());
        for block in blocks(dim) {
            for (y, c) in &mut *sums {
                let y = &mut y[block.clone()];
                let (many, few) = rows.as_chunks::<ABREAST>();
                let (of_many, of_few) = c.as_chunks::<ABREAST>();
                for (g, c) in many.iter().zip(of_many) {
                    add_block(g.map(|g| &g[block.clone()]), c, y);
                }
                for (g, c) in few.iter().zip(of_few) {
                    add_block([&g[block.clone()]], &[*c], y);
                }
            }
        }
    }

    /// ⟨gᵢ, v⟩ for every i, in one pass.
    pub(super) fn inner<T: Number>(rows: &[&[T]], v: &[T]) -> Vec<f64> {
        let mut sums = vec![[0.0; LANES]; rows.len()];
        for block in blocks(v.len()) {
            dot_rows(rows, block.clone(), &v[block], &mut sums);
        }
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

#[inline(always)]
fn dot_rows<T: Number>(rows: &[&[T]], block: Range<usize>, v: &[T], sums: &mut [[f64; LANES]]) {
    let (many, few) = rows.as_chunks::<ABREAST>();
    let (of_many, of_few) = sums.as_chunks_mut::<ABREAST>();
    for (g, sums) in many.iter().zip(of_many) {
        dot_block(g.map(|g| &g[block.clone()]), v, sums);
    }
    for (g, sums) in few.iter().zip(of_few) {
        dot_block([&g[block.clone()]], v, std::array::from_mut(sums));
    }
}

/// Some rows at once share what is read of v; each has sums of its own, in the order it would have alone.
#[inline(always)]
fn dot_block<T: Number, const K: usize>(g: [&[T]; K], v: &[T], sums: &mut [[f64; LANES]; K]) {
    for from in (0..v.len()).step_by(RUN) {
        let run = from..v.len().min(from + RUN);
        let (v, v_rest) = v[run.clone()].as_chunks::<LANES>();
        let g = g.map(|g| g[run.clone()].as_chunks::<LANES>());
        let whole = g.map(|(g, _)| &g[..v.len()]);
        let mut a = [[T::of(0.0); LANES]; K];
        for (j, v) in v.iter().enumerate() {
            for k in 0..K {
                a[k] = added(a[k], &whole[k][j], v);
            }
        }
        for k in 0..K {
            let sum = if v_rest.is_empty() { a[k] } else { with_rest(a[k], g[k].1, v_rest) };
            for l in 0..LANES {
                sums[k][l] += sum[l].into();
            }
        }
    }
}

/// All lanes as one value, which the compiler keeps in one register; found by their numbers they were added one by one.
#[inline(always)]
fn added<T: Number>(a: [T; LANES], g: &[T; LANES], v: &[T; LANES]) -> [T; LANES] {
    std::array::from_fn(|l| a[l] + g[l] * v[l])
}

/// The columns that do not fill all lanes.
#[inline(always)]
fn with_rest<T: Number>(a: [T; LANES], g: &[T], v: &[T]) -> [T; LANES] {
    std::array::from_fn(|l| if l < v.len() { a[l] + g[l] * v[l] } else { a[l] })
}
