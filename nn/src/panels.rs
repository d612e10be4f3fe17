//! Products of few rows with one matrix, many times over. One of the few files of this crate with `unsafe` code.
//!
//! A general product packs its right factor on every call. A recurrent network multiplies four rows eighty times with
//! the same matrix: packed once, into panels of sixteen columns, that is a third faster.
#![allow(unsafe_code)]

use crate::count::Count;
use crate::element::Element;
use crate::matrix::{Mat, holds};

/// Columns of a panel: two vectors of eight.
const WIDTH: usize = 16;

/// Numbers a packed matrix of `inner` × `columns` takes.
pub(crate) fn count(inner: usize, columns: usize) -> Count {
    Count::of(columns.div_ceil(WIDTH)) * WIDTH * inner
}

/// The same where the matrix is there, and so can be counted.
pub(crate) fn room(inner: usize, columns: usize) -> usize {
    count(inner, columns).known()
}

/// Lays a matrix out in panels, the last one filled up with zeros.
///
/// # Panics
/// If the matrix does not reach so far, or the panels do not fit.
pub(crate) fn pack<E: Element>(inner: usize, columns: usize, b: Mat<'_, E>, out: &mut [E]) {
    if inner == 0 || columns == 0 {
        return;
    }
    assert!(b.reaches(inner, columns), "the matrix reaches so far");
    let all = count(inner, columns).get().and_then(|all| out.get_mut(..all)).expect("the panels fit");
    for (j, panel) in all.chunks_exact_mut(inner * WIDTH).enumerate() {
        let (first, panel) = (j * WIDTH, panel.as_chunks_mut::<WIDTH>().0);
        let count = WIDTH.min(columns - first);
        if count < WIDTH {
            panel.iter_mut().for_each(|row| row[count..].fill(E::ZERO));
        }
        if b.has_rows() {
            for (p, row) in panel.iter_mut().enumerate() {
                // Whole rows have a length the compiler knows.
                let part = b.row_part(p, first, count);
                match part.first_chunk::<WIDTH>() {
                    Some(whole) => *row = *whole,
                    None => row[..count].copy_from_slice(part),
                }
            }
        } else {
            for w in 0..count {
                for (v, row) in b.t().row_part(first + w, 0, inner).iter().zip(panel.iter_mut()) {
                    row[w] = *v;
                }
            }
        }
    }
}

/// Sizes of such a product.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows of the left factor.
    pub rows: usize,
    /// Columns of the left factor.
    pub inner: usize,
    /// Columns of the packed matrix.
    pub columns: usize,
    /// From one row of the result to the next.
    pub to: usize,
    /// Onto what the result holds, or in its place?
    pub onto: bool,
    /// Last panel first? Products that take turns find the panels of the one before still in the cache, where all of them
    /// would not fit.
    pub last_first: bool,
}

impl Sizes {
    /// Every other product begins with the last panel.
    pub(crate) fn turn(self, number: usize) -> Self {
        Self { last_first: number % 2 == 1, ..self }
    }

    fn is_empty(&self) -> bool {
        self.rows == 0 || self.inner == 0 || self.columns == 0
    }

    /// Panics unless the product, which is not empty, can be made of these.
    fn check<E: Element>(&self, a: Mat<'_, E>, b: &[E], c: &[E]) {
        assert!(a.reaches(self.rows, self.inner), "the left factor reaches so far");
        assert_eq!(Some(b.len()), count(self.inner, self.columns).get(), "the right factor is packed");
        assert!(holds(c.len(), (self.rows, self.columns), self.to), "the product fits");
    }
}

/// c = a·b or c += a·b with `b` packed, in plain code.
///
/// # Panics
/// If a factor does not reach as far as the sizes say, or the product does not fit.
pub(crate) fn product<E: Element>(sizes: Sizes, a: Mat<'_, E>, b: &[E], c: &mut [E]) {
    let Sizes { rows, inner, columns, to, onto, .. } = sizes;
    if sizes.is_empty() {
        return;
    }
    sizes.check(a, b, c);
    for (j, panel) in b.chunks_exact(inner * WIDTH).enumerate() {
        let from = j * WIDTH;
        let count = WIDTH.min(columns - from);
        for r in 0..rows {
            let mut sums = [E::ZERO; WIDTH];
            for (p, b) in panel.as_chunks::<WIDTH>().0.iter().enumerate() {
                let a = a.at(r, p);
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * *b;
                }
            }
            put(onto, &sums, &mut c[r * to + from..][..count]);
        }
    }
}

#[inline(always)]
fn put<E: Element>(onto: bool, sums: &[E; WIDTH], c: &mut [E]) {
    for (c, sum) in c.iter_mut().zip(sums) {
        *c = if onto { *c + *sum } else { *sum };
    }
}

/// As [`product`], with fused multiplications where the machine has them.
pub(crate) fn product_single(sizes: Sizes, a: Mat<'_, f32>, b: &[f32], c: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") && !sizes.is_empty() {
        sizes.check(a, b, c);
        let mut done = 0;
        while done < sizes.rows {
            // SAFETY: the processor has AVX2 and FMA, and the left factor was just seen to reach rows `done` to `sizes.rows`
            // of `sizes.inner` numbers, of which the function takes no more than are left.
            done += unsafe {
                match sizes.rows - done {
                    1 => tiles::<1>(sizes, done, a, b, c),
                    2 => tiles::<2>(sizes, done, a, b, c),
                    3 => tiles::<3>(sizes, done, a, b, c),
                    _ => tiles::<4>(sizes, done, a, b, c),
                }
            };
        }
        return;
    }
    product(sizes, a, b, c);
}

/// M rows at once: eight sums in registers. Gives M.
///
/// # Safety
/// `a` reaches row `first + M - 1` and column `sizes.inner - 1`; all other slices are read and written with their bounds.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn tiles<const M: usize>(sizes: Sizes, first: usize, a: Mat<'_, f32>, b: &[f32], c: &mut [f32]) -> usize {
    let Sizes { inner, columns, to, onto, .. } = sizes;
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps};
    let (values, row, column) = a.parts();
    let panels = b.len() / (inner * WIDTH);
    for turn in 0..panels {
        let j = if sizes.last_first { panels - 1 - turn } else { turn };
        let panel = &b[j * inner * WIDTH..][..inner * WIDTH];
        let mut sums = [[_mm256_setzero_ps(); 2]; M];
        for (p, b) in panel.as_chunks::<WIDTH>().0.iter().enumerate() {
            // SAFETY: `b` has sixteen numbers; the panel has `inner` such rows, so p is below `inner`; the caller says that `a`
            // reaches so far, which also means that the place is computed without an overflow.
            unsafe {
                let (b0, b1) = (_mm256_loadu_ps(b.as_ptr()), _mm256_loadu_ps(b.as_ptr().add(8)));
                for (r, sums) in sums.iter_mut().enumerate() {
                    let x = _mm256_set1_ps(*values.get_unchecked((first + r) * row + p * column));
                    *sums = [_mm256_fmadd_ps(x, b0, sums[0]), _mm256_fmadd_ps(x, b1, sums[1])];
                }
            }
        }
        let from = j * WIDTH;
        let count = WIDTH.min(columns - from);
        for (r, sums) in sums.iter().enumerate() {
            let mut tile = [0.0f32; WIDTH];
            // SAFETY: `tile` has sixteen numbers.
            unsafe {
                _mm256_storeu_ps(tile.as_mut_ptr(), sums[0]);
                _mm256_storeu_ps(tile.as_mut_ptr().add(8), sums[1]);
            }
            put(onto, &tile, &mut c[(first + r) * to + from..][..count]);
        }
    }
    M
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_products_are_products_whatever_the_sizes() {
        for (rows, inner, columns) in [(1, 1, 1), (4, 7, 16), (5, 3, 33), (11, 20, 40), (3, 1, 5)] {
            let number = |k: usize| ((k * 37 % 23) as f32 - 11.0) / 7.0;
            let (a, b): (Vec<f32>, Vec<f32>) =
                ((0..rows * inner).map(number).collect(), (0..inner * columns).map(|k| number(k + 5)).collect());
            let plain = |r: usize, c: usize| (0..inner).map(|p| f64::from(a[r * inner + p] * b[p * columns + c])).sum::<f64>();
            // Transposed copies, to be read with the other strides.
            let turned = |m: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..rows * columns).map(|k| m[k % rows * columns + k / rows]).collect()
            };
            let (at, bt) = (turned(&a, rows, inner), turned(&b, inner, columns));
            let left = [Mat::rows(&a, inner), Mat::rows(&at, rows).t()];
            let right = [Mat::rows(&b, columns), Mat::rows(&bt, inner).t()];
            for (k, onto) in (0..8).flat_map(|k| [(k, false), (k, true)]) {
                let mut packed = vec![9.0; room(inner, columns)];
                pack(inner, columns, right[k / 2 % 2], &mut packed);
                let mut c = vec![1.0; rows * columns];
                let how = if k < 4 { product } else { product_single };
                how(Sizes { rows, inner, columns, to: columns, onto, last_first: onto }, left[k % 2], &packed, &mut c);
                for (place, c) in c.iter().enumerate() {
                    let expect = plain(place / columns, place % columns) + f64::from(u8::from(onto));
                    // Twenty products of numbers below 2.5, each rounded once.
                    assert!((f64::from(*c) - expect).abs() < 1e-4, "{rows} x {inner} x {columns}, way {k}");
                }
            }
        }
    }
}
