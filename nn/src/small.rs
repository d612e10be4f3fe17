//! Small products: of so few multiplications that a general product takes longer to decide how to go about them. One of the few
//! files of this crate with `unsafe` code.
#![allow(unsafe_code)]
// Elsewhere everything is left to the general product.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables))]

use std::cell::RefCell;

use crate::matrix::{Mat, holds};
use crate::panels::Sizes;

/// Products of at most so many multiplications are small.
const SMALL: usize = 100_000;
/// So are those whose results are at most so many numbers, or one row or column, or that sum two products at most: the general product
/// has other ways for them, some of which sum side by side as many numbers as a vector has. Their bits would depend on the machine.
const FEW: usize = 256;
/// Numbers in a vector register.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 8;

thread_local! {
    /// The right factor, where it has to be turned.
    static TURNED: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// c = scale·a·b or c += scale·a·b, if it is small and the machine has what it takes; `None` if that is for others to do.
pub(crate) fn product(sizes: Sizes, scale: f32, a: Mat<'_, f32>, b: Mat<'_, f32>, c: &mut [f32]) -> Option<()> {
    let Sizes { rows, inner, columns, .. } = sizes;
    let multiplications = rows.checked_mul(inner)?.checked_mul(columns)?;
    let small = multiplications <= SMALL || rows * columns <= FEW || rows == 1 || columns == 1 || inner <= 2;
    #[cfg(target_arch = "x86_64")]
    if small && multiplications > 0 && std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        assert!(a.reaches(rows, inner) && b.reaches(inner, columns), "the factors fit");
        assert!(holds(c.len(), (rows, columns), sizes.to), "the product fits");
        if b.has_rows() {
            // SAFETY: the processor has AVX2 and FMA; the assertions say that both factors and the result reach as far as the
            // function goes, and the numbers of a row of `b` lie side by side.
            unsafe { all(sizes, scale, a, b, c) };
        } else {
            TURNED.with_borrow_mut(|turned| {
                turned.resize((inner * columns).max(turned.len()), 0.0);
                for column in 0..columns {
                    for (v, to) in b.t().row_part(column, 0, inner).iter().zip(turned[column..].iter_mut().step_by(columns)) {
                        *to = *v;
                    }
                }
                // SAFETY: as above; the copy has `inner` rows of `columns` numbers side by side, and at least so many in all.
                unsafe { all(sizes, scale, a, Mat::rows(turned, columns), c) };
            });
        }
        return Some(());
    }
    None
}

/// Sixteen columns at a time.
///
/// # Safety
/// `a` has rows × inner numbers, `b` inner rows whose `columns` numbers lie side by side, `c` the rows of the result.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn all(sizes: Sizes, scale: f32, a: Mat<'_, f32>, b: Mat<'_, f32>, c: &mut [f32]) {
    let mut from = 0;
    while from < sizes.columns {
        let left = sizes.columns - from;
        // SAFETY: the caller's word, and `from` plus the width is at most `columns`.
        from += unsafe {
            match left {
                ..=LANES => block::<1>(sizes, scale, from, left, a, b, c),
                _ => block::<2>(sizes, scale, from, left.min(2 * LANES), a, b, c),
            }
        };
    }
}

/// `width` columns, in V registers; gives the width.
///
/// # Safety
/// As [`all`]; `from + width` is at most `columns`, and `width` fills at least the first V − 1 registers and at most all V.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[allow(clippy::too_many_arguments)] // those of a product, and where
unsafe fn block<const V: usize>(
    sizes: Sizes,
    scale: f32,
    from: usize,
    width: usize,
    a: Mat<'_, f32>,
    b: Mat<'_, f32>,
    c: &mut [f32],
) -> usize {
    let mut done = 0;
    while done < sizes.rows {
        // SAFETY: the caller's word, and row `done` plus M is at most `rows`.
        done += unsafe {
            match sizes.rows - done {
                1 => tile::<1, V>(sizes, scale, (done, from, width), a, b, c),
                2 => tile::<2, V>(sizes, scale, (done, from, width), a, b, c),
                3 => tile::<3, V>(sizes, scale, (done, from, width), a, b, c),
                4 => tile::<4, V>(sizes, scale, (done, from, width), a, b, c),
                5 => tile::<5, V>(sizes, scale, (done, from, width), a, b, c),
                _ => tile::<6, V>(sizes, scale, (done, from, width), a, b, c),
            }
        };
    }
    width
}

/// M rows and V registers of columns, summed in registers; gives M.
///
/// # Safety
/// As [`block`]; `first + M` is at most `rows`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn tile<const M: usize, const V: usize>(
    sizes: Sizes,
    scale: f32,
    (first, from, width): (usize, usize, usize),
    a: Mat<'_, f32>,
    b: Mat<'_, f32>,
    c: &mut [f32],
) -> usize {
    use std::arch::x86_64::*;
    // Which numbers of the last register there are.
    let last = width - (V - 1) * LANES;
    let ends: [i32; LANES] = std::array::from_fn(|lane| if lane < last { -1 } else { 0 });
    let ((a, a_row, a_column), (b, b_row, _)) = (a.parts(), b.parts());
    // SAFETY: every number read or written is one that the caller says is there. Of `b` and `c` these are `width` numbers from
    // column `from` on: V − 1 whole registers and the first `last` numbers of one more, of which the masked ones are not
    // touched. `load` and `some` take addresses of single numbers, aligned as those are and no more.
    unsafe {
        let mask = _mm256_loadu_si256(ends.as_ptr().cast());
        let partial = |v: usize| v + 1 == V && last < LANES;
        let load = |v: usize, at: *const f32| if partial(v) { _mm256_maskload_ps(at, mask) } else { _mm256_loadu_ps(at) };
        let mut sums = [[_mm256_setzero_ps(); V]; M];
        let (mut b_at, mut a_at) = (b.as_ptr().add(from), a.as_ptr().add(first * a_row));
        for _ in 0..sizes.inner {
            let b: [__m256; V] = std::array::from_fn(|v| load(v, b_at.add(v * LANES)));
            for (r, sums) in sums.iter_mut().enumerate() {
                let x = _mm256_set1_ps(*a_at.add(r * a_row));
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = _mm256_fmadd_ps(x, b, *sum);
                }
            }
            // The last step leaves both past the end, where nothing is read.
            b_at = b_at.wrapping_add(b_row);
            a_at = a_at.wrapping_add(a_column);
        }
        for (r, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let to = c.as_mut_ptr().add((first + r) * sizes.to + from + v * LANES);
                let sum = _mm256_mul_ps(*sum, _mm256_set1_ps(scale));
                let sum = if sizes.onto { _mm256_add_ps(load(v, to), sum) } else { sum };
                if partial(v) {
                    some(to, last, sum);
                } else {
                    _mm256_storeu_ps(to, sum);
                }
            }
        }
    }
    M
}

/// Writes the first few numbers of a register. In fours, twos and ones: processors of AMD write by a mask in microcode.
///
/// # Safety
/// There is room for `count` numbers, at least one and fewer than a register has.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn some(mut to: *mut f32, count: usize, numbers: std::arch::x86_64::__m256) {
    use std::arch::x86_64::*;
    let mut left = _mm256_castps256_ps128(numbers);
    // SAFETY: as many are written as `count` has in binary, one after another. Two numbers have the alignment of one: they are
    // not written as one of eight bytes, for which the intrinsic would ask for twice that.
    unsafe {
        if count & 4 != 0 {
            _mm_storeu_ps(to, left);
            left = _mm256_extractf128_ps::<1>(numbers);
            to = to.add(4);
        }
        if count & 2 != 0 {
            to.cast::<f64>().write_unaligned(_mm_cvtsd_f64(_mm_castps_pd(left)));
            left = _mm_movehl_ps(left, left);
            to = to.add(2);
        }
        if count & 1 != 0 {
            _mm_store_ss(to, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_products_are_products_whatever_sizes_and_strides() {
        for (rows, inner, columns) in
            [(1, 1, 1), (4, 7, 16), (5, 3, 33), (13, 20, 40), (6, 2, 9), (50, 40, 2), (7, 4, 15), (3, 5, 22), (2, 3, 12)]
        {
            let number = |k: usize| ((k * 37 % 23) as f32 - 11.0) / 7.0;
            let (a, b): (Vec<f32>, Vec<f32>) =
                ((0..rows * inner).map(number).collect(), (0..inner * columns).map(|k| number(k + 5)).collect());
            let turned = |m: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..rows * columns).map(|k| m[k % rows * columns + k / rows]).collect()
            };
            let (at, bt) = (turned(&a, rows, inner), turned(&b, inner, columns));
            for (k, onto) in (0..4).flat_map(|k| [(k, false), (k, true)]) {
                let a_way = if k % 2 == 0 { Mat::rows(&a, inner) } else { Mat::rows(&at, rows).t() };
                let b_way = if k < 2 { Mat::rows(&b, columns) } else { Mat::rows(&bt, inner).t() };
                let to = columns + 3;
                let mut c = vec![1.0; rows * to];
                if product(Sizes { rows, inner, columns, to, onto, last_first: false }, 0.5, a_way, b_way, &mut c).is_none() {
                    return; // another machine: the general product is tested elsewhere
                }
                for (place, c) in c.iter().enumerate() {
                    let (r, column) = (place / to, place % to);
                    let sum = || (0..inner).map(|p| f64::from(a[r * inner + p] * b[p * columns + column])).sum::<f64>();
                    let expect = if column < columns { 0.5 * sum() + f64::from(u8::from(onto)) } else { 1.0 };
                    // Forty products of numbers below 2.5, each rounded once.
                    assert!((f64::from(*c) - expect).abs() < 1e-4, "{rows} x {inner} x {columns}, way {k}");
                }
            }
        }
    }

    #[test]
    fn large_products_are_left_to_others() {
        let (a, mut c) = (vec![1.0; 100 * 100], vec![0.0; 100 * 100]);
        let sizes = Sizes { rows: 100, inner: 100, columns: 100, to: 100, onto: false, last_first: false };
        assert!(product(sizes, 1.0, Mat::rows(&a, 100), Mat::rows(&a, 100), &mut c).is_none());
    }
}
