//! The one matrix product. One of the few files of this crate with `unsafe` code.
#![allow(unsafe_code)]

use crate::element::Element;
use crate::panels::Sizes;

/// The general product sums so many inner numbers, or fewer, without a stop. It would go on for longer where the first cache is larger, and
/// sums that stop elsewhere round elsewhere: the bits of a run would depend on the cache.
const INNER: usize = 512;

/// The general product of one kind of number, as `gemm` has it: sizes; where the result lies and whether it is added to; both factors;
/// what the result and the product are multiplied by; which of the three are conjugated; threads. Strides go from column to column first.
#[rustfmt::skip]
pub(crate) type GeneralProduct<E> = unsafe fn(
    usize, usize, usize,
    *mut E, isize, isize, bool,
    *const E, isize, isize,
    *const E, isize, isize,
    E, E, bool, bool, bool, gemm_common::Parallelism,
);

/// A matrix to read, with any strides. How many rows and columns are read is said by the product, which checks that they are there.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, E> {
    values: &'a [E],
    row: usize,
    column: usize,
}

impl<'a, E> Mat<'a, E> {
    /// Row after row, `columns` numbers each.
    pub fn rows(values: &'a [E], columns: usize) -> Self {
        Self::strided(values, columns)
    }

    /// Row after row, each `stride` numbers after the one before.
    pub fn strided(values: &'a [E], stride: usize) -> Self {
        // With a stride as long as the slice there is one row; a longer one has no more, and would not fit an `isize`.
        Self { values, row: stride.min(values.len()), column: 1 }
    }

    /// Transposed.
    #[must_use]
    pub fn t(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// Do the numbers of a row lie side by side?
    pub(crate) fn has_rows(&self) -> bool {
        self.column == 1
    }

    /// Some of the numbers of a row that lie side by side. One of a matrix and its transpose has such rows.
    pub(crate) fn row_part(&self, r: usize, from: usize, count: usize) -> &'a [E] {
        &self.values[r * self.row + from..][..count]
    }

    /// The numbers, and how far apart rows and columns lie.
    pub(crate) fn parts(&self) -> (&'a [E], usize, usize) {
        (self.values, self.row, self.column)
    }

    /// Are there m rows of n numbers, both at least one? Then no place (r, c) of them is computed with an overflow, and neither
    /// m nor n is more than the numbers there are, even where rows lie on each other.
    pub(crate) fn reaches(&self, m: usize, n: usize) -> bool {
        let last = |count: usize, stride: usize| count.checked_sub(1)?.checked_mul(stride);
        let place = || last(m, self.row)?.checked_add(last(n, self.column)?);
        m.max(n) <= self.values.len() && place().is_some_and(|place| place < self.values.len())
    }
}

/// Do m rows of n numbers, both at least one and each row `stride` after the one before, fit into `len` and lie apart?
pub(crate) fn holds(len: usize, (m, n): (usize, usize), stride: usize) -> bool {
    let end = || m.checked_sub(1)?.checked_mul(stride)?.checked_add(n);
    stride >= n && end().is_some_and(|end| end <= len)
}

/// c = scale·a·b, or c += scale·a·b; `c` has m rows of n numbers, each `stride` after the one before.
///
/// # Panics
/// If a view reaches past its slice, whatever sizes and strides are asked for.
#[allow(clippy::too_many_arguments)] // the arguments of a matrix product
pub(crate) fn matmul_into<E: Element>(
    (m, n, k): (usize, usize, usize),
    a: Mat<'_, E>,
    b: Mat<'_, E>,
    scale: E,
    accumulate: bool,
    c: &mut [E],
    stride: usize,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(holds(c.len(), (m, n), stride), "the product fits");
    if k == 0 {
        if !accumulate {
            c.chunks_mut(stride).take(m).for_each(|row| row[..n].fill(E::ZERO));
        }
        return;
    }
    assert!(a.reaches(m, k) && b.reaches(k, n), "the factors fit");
    let sizes = Sizes { rows: m, inner: k, columns: n, to: stride, onto: accumulate, last_first: false };
    if E::small_product(sizes, scale, a, b, c).is_some() {
        return;
    }
    let piece = k.div_ceil(k.div_ceil(INNER));
    if scale == E::ONE && E::direct_product(sizes, piece, a, b, c).is_some() {
        return;
    }
    // Strides of factors are at most the length of a slice. That of the result is free where it has one row.
    let at = |v: usize| v as isize;
    let stride = stride.min(c.len());
    for from in (0..k).step_by(piece) {
        let (left, right) = (&a.values[from * a.column..], &b.values[from * b.row..]);
        let left = (left.as_ptr(), at(a.column), at(a.row));
        let right = (right.as_ptr(), at(b.column), at(b.row));
        // The kernels write columns: rows that lie one after the other are the columns of the transposed product, bᵀ·aᵀ.
        let (rows, columns, to, left, right) = if stride > 1 {
            let turned = |(values, column, row)| (values, row, column);
            (n, m, (at(stride), 1), turned(right), turned(left))
        } else {
            (m, n, (1, at(stride)), left, right)
        };
        let inner = piece.min(k - from);
        let onto = accumulate || from > 0;
        // SAFETY: the assertions above bound every number that the three strided views reach, in arithmetic that cannot wrap, and the
        // pieces of the inner index lie within them; strides are at most the length of a slice of numbers, hence no `isize` turns
        // negative; `c` is borrowed mutably and so overlaps neither factor, and its rows lie apart.
        unsafe {
            #[rustfmt::skip]
            E::general_product()(
                rows, columns, inner,
                c.as_mut_ptr(), to.0, to.1, onto,
                left.0, left.1, left.2,
                right.0, right.1, right.2,
                E::ONE, scale, false, false, false, gemm_common::Parallelism::None,
            );
        }
    }
}

/// c = a·b, or c += a·b; the sizes are (m, n, k) and `c` has m rows of n numbers.
///
/// # Panics
/// If a factor does not reach as far as the sizes say, or the product does not fit.
pub fn matmul<E: Element>(sizes: (usize, usize, usize), a: Mat<'_, E>, b: Mat<'_, E>, accumulate: bool, c: &mut [E]) {
    matmul_into(sizes, a, b, E::ONE, accumulate, c, sizes.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The general product is somebody else's, with kernels for each width of vectors. What it gives is compared with what any of them
    /// should: pieces of at most 512 inner numbers, each one chain of fused multiplications, added one after the other. A machine with
    /// fused multiplications that passes has the bits of every other one.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn general_products_have_the_bits_of_one_chain_whatever_the_machine() {
        if crate::lanes::Avx2::here().is_none() {
            return; // without fused multiplications the last digits are others
        }
        let number = |k: usize| ((k * 37 % 1009) as f32 - 504.0) / 137.0;
        for (m, n, k) in [
            (7, 33, 600),
            (64, 64, 64),
            (20, 512, 1568),
            (512, 62, 20),
            (2, 100, 900),
            (300, 3, 513),
            (33, 1000, 5),
            (400, 300, 1),
            (300, 400, 2),
            (1, 300, 700),
            (300, 1, 700),
            (40, 48, 1100),
            (5, 100, 1300),
            (32, 33, 513),
            (8, 64, 600),
            (900, 32, 25),
        ] {
            let (a, b): (Vec<f32>, Vec<f32>) = ((0..m * k).map(number).collect(), (0..k * n).map(|v| number(v + 11)).collect());
            let turned = |from: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..rows * columns).map(|v| from[v % rows * columns + v / rows]).collect()
            };
            let (at, bt) = (turned(&a, m, k), turned(&b, k, n));
            for way in 0..8 {
                let a_way = if way & 1 == 0 { Mat::rows(&a, k) } else { Mat::rows(&at, m).t() };
                let b_way = if way & 2 == 0 { Mat::rows(&b, n) } else { Mat::rows(&bt, k).t() };
                let onto = way & 4 != 0;
                let mut c = vec![0.25f32; m * n];
                matmul((m, n, k), a_way, b_way, onto, &mut c);
                // Results of few numbers are summed by our own kernel, without a stop.
                let piece = if m * n <= 256 || m == 1 || n == 1 { k } else { k.div_ceil(k.div_ceil(INNER)) };
                for (place, c) in c.iter().enumerate() {
                    let (row, column) = (place / n, place % n);
                    let chain = |inner: std::ops::Range<usize>| inner.fold(0.0, |sum, p| a[row * k + p].mul_add(b[p * n + column], sum));
                    let pieces = (0..k).step_by(piece).map(|from| chain(from..k.min(from + piece)));
                    let expected = pieces.fold(None, |sum: Option<f32>, piece| Some(sum.map_or(piece, |sum| sum + piece)));
                    let expected = if onto {
                        (0..k).step_by(piece).fold(0.25, |sum, from| sum + chain(from..k.min(from + piece)))
                    } else {
                        expected.unwrap_or(0.0)
                    };
                    assert_eq!(c.to_bits(), expected.to_bits(), "{m} x {k} x {n}, way {way}, at {row}, {column}: {c} {expected}");
                }
            }
        }
    }
}
