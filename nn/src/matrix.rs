//! The one matrix product. One of the few files of this crate with `unsafe` code.
#![allow(unsafe_code)]

use crate::element::Element;
use crate::panels::Sizes;

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
    // Strides of factors are at most the length of a slice. That of the result is free where it has one row.
    let at = |v: usize| v as isize;
    let stride = stride.min(c.len());
    // SAFETY: the assertions above bound every number that the three strided views reach, in arithmetic that cannot wrap;
    // strides are at most the length of a slice of numbers, hence no `isize` turns negative; `c` is borrowed mutably and so
    // overlaps neither factor, and its rows lie apart; E is f32 or f64 (see `Element`), which `gemm` multiplies natively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            at(stride),
            accumulate,
            a.values.as_ptr(),
            at(a.column),
            at(a.row),
            b.values.as_ptr(),
            at(b.column),
            at(b.row),
            E::ONE,
            scale,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// c = a·b, or c += a·b; the sizes are (m, n, k) and `c` has m rows of n numbers.
///
/// # Panics
/// If a factor does not reach as far as the sizes say, or the product does not fit.
pub fn matmul<E: Element>(sizes: (usize, usize, usize), a: Mat<'_, E>, b: Mat<'_, E>, accumulate: bool, c: &mut [E]) {
    matmul_into(sizes, a, b, E::ONE, accumulate, c, sizes.1);
}
