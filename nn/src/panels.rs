//! Products of few rows with one matrix, many times over. One of the three files of this crate with `unsafe` code.
//!
//! A general product packs its right factor on every call. A recurrent network multiplies four rows eighty times with
//! the same matrix: packed once, into panels of sixteen columns, that is a third faster.
#![allow(unsafe_code)]

use crate::element::Element;
use crate::matrix::Mat;

/// Columns of a panel: two vectors of eight.
const WIDTH: usize = 16;

/// Numbers a packed matrix of `inner` × `columns` takes.
pub(crate) fn room(inner: usize, columns: usize) -> usize {
    inner * columns.next_multiple_of(WIDTH)
}

/// Lays a matrix out in panels, the last one filled up with zeros.
pub(crate) fn pack<E: Element>(inner: usize, columns: usize, b: Mat<'_, E>, out: &mut [E]) {
    for (j, panel) in out[..room(inner, columns)].chunks_exact_mut((inner * WIDTH).max(1)).enumerate() {
        for (p, row) in panel.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            for (w, v) in row.iter_mut().enumerate() {
                let column = j * WIDTH + w;
                *v = if column < columns { b.at(p, column) } else { E::ZERO };
            }
        }
    }
}

/// Sizes of such a product: the left factor's rows and the result's lie `from` and `to` numbers apart.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows of the left factor.
    pub rows: usize,
    /// Columns of the left factor.
    pub inner: usize,
    /// Columns of the packed matrix.
    pub columns: usize,
    /// From one row of the left factor to the next.
    pub from: usize,
    /// From one row of the result to the next.
    pub to: usize,
}

/// c += a·b with `b` packed, in plain code.
pub(crate) fn product<E: Element>(sizes: Sizes, a: &[E], b: &[E], c: &mut [E]) {
    let Sizes { rows, inner, columns, from: a_step, to: c_step } = sizes;
    for (j, panel) in b.chunks_exact((inner * WIDTH).max(1)).enumerate() {
        let from = j * WIDTH;
        let count = WIDTH.min(columns.saturating_sub(from));
        for r in 0..rows {
            let mut sums = [E::ZERO; WIDTH];
            for (a, b) in a[r * a_step..][..inner].iter().zip(panel.as_chunks::<WIDTH>().0) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += *a * *b;
                }
            }
            for (c, sum) in c[r * c_step + from..][..count].iter_mut().zip(sums) {
                *c += sum;
            }
        }
    }
}

/// As [`product`], with fused multiplications where the machine has them.
pub(crate) fn product_single(sizes: Sizes, a: &[f32], b: &[f32], c: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        let mut done = 0;
        while done < sizes.rows {
            let (a, c) = (&a[done * sizes.from..], &mut c[done * sizes.to..]);
            // SAFETY: the processor has AVX2 and FMA, which is all that the function asks for.
            done += unsafe {
                match sizes.rows - done {
                    1 => tiles::<1>(sizes, a, b, c),
                    2 => tiles::<2>(sizes, a, b, c),
                    3 => tiles::<3>(sizes, a, b, c),
                    _ => tiles::<4>(sizes, a, b, c),
                }
            };
        }
        return;
    }
    product(sizes, a, b, c);
}

/// M rows at once: eight sums in registers. Gives M.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn tiles<const M: usize>(sizes: Sizes, a: &[f32], b: &[f32], c: &mut [f32]) -> usize {
    let Sizes { inner, columns, from: a_step, to: c_step, .. } = sizes;
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps};
    let rows: [&[f32]; M] = std::array::from_fn(|r| &a[r * a_step..][..inner]);
    for (j, panel) in b.chunks_exact((inner * WIDTH).max(1)).enumerate() {
        let panel = panel.as_chunks::<WIDTH>().0;
        let mut sums = [[_mm256_setzero_ps(); 2]; M];
        for (p, b) in panel.iter().enumerate() {
            // SAFETY: `b` has sixteen numbers, and every row has `inner` = panel.len() > p.
            unsafe {
                let (b0, b1) = (_mm256_loadu_ps(b.as_ptr()), _mm256_loadu_ps(b.as_ptr().add(8)));
                for r in 0..M {
                    let x = _mm256_set1_ps(*rows[r].get_unchecked(p));
                    sums[r] = [_mm256_fmadd_ps(x, b0, sums[r][0]), _mm256_fmadd_ps(x, b1, sums[r][1])];
                }
            }
        }
        let from = j * WIDTH;
        let count = WIDTH.min(columns.saturating_sub(from));
        for (r, sums) in sums.iter().enumerate() {
            let mut tile = [0.0f32; WIDTH];
            // SAFETY: `tile` has sixteen numbers.
            unsafe {
                _mm256_storeu_ps(tile.as_mut_ptr(), sums[0]);
                _mm256_storeu_ps(tile.as_mut_ptr().add(8), sums[1]);
            }
            for (c, sum) in c[r * c_step + from..][..count].iter_mut().zip(tile) {
                *c += sum;
            }
        }
    }
    M
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::matmul;

    #[test]
    fn packed_products_are_products_whatever_the_sizes() {
        for (rows, inner, columns) in [(1, 1, 1), (4, 7, 16), (5, 3, 33), (11, 20, 40), (3, 0, 5)] {
            let number = |k: usize| ((k * 37 % 23) as f32 - 11.0) / 7.0;
            let (a, b): (Vec<f32>, Vec<f32>) =
                ((0..rows * inner).map(number).collect(), (0..inner * columns).map(|k| number(k + 5)).collect());
            let (mut expect, mut packed) = (vec![1.0; rows * columns], vec![0.0; room(inner, columns)]);
            matmul((rows, columns, inner), Mat::rows(&a, inner), Mat::rows(&b, columns), true, &mut expect);
            pack(inner, columns, Mat::rows(&b, columns), &mut packed);
            let sizes = Sizes { rows, inner, columns, from: inner, to: columns };
            for how in [product, product_single] {
                let mut c = vec![1.0; rows * columns];
                how(sizes, &a, &packed, &mut c);
                // Twenty products of numbers below 2.5, each rounded once.
                assert!(c.iter().zip(&expect).all(|(c, e)| (c - e).abs() < 1e-4), "{rows} x {inner} x {columns}");
            }
        }
    }
}
