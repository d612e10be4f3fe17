//! The one matrix product. One of the few files of this crate with `unsafe` code.
#![allow(unsafe_code)]

use crate::element::Element;
use crate::panels::Sizes;

/// A matrix to read, with any strides.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, E> {
    values: &'a [E],
    row: usize,
    column: usize,
}

impl<'a, E> Mat<'a, E> {
    /// Row after row, `columns` numbers each.
    pub fn rows(values: &'a [E], columns: usize) -> Self {
        Self { values, row: columns, column: 1 }
    }

    /// Row after row, each `stride` numbers after the one before.
    pub fn strided(values: &'a [E], stride: usize) -> Self {
        Self { values, row: stride, column: 1 }
    }

    /// Transposed.
    #[must_use]
    pub fn t(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    pub(crate) fn at(&self, r: usize, c: usize) -> E
    where
        E: Copy,
    {
        self.values[r * self.row + c * self.column]
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

    /// Are there m rows of n numbers, both at least one?
    pub(crate) fn reaches(&self, m: usize, n: usize) -> bool {
        self.values.len() >= self.reach(m, n)
    }

    /// One past the last number that an m × n view reaches.
    fn reach(&self, m: usize, n: usize) -> usize {
        (m - 1) * self.row + (n - 1) * self.column + 1
    }
}

/// c = scale·a·b, or c += scale·a·b; `c` has m rows of n numbers, each `stride` after the one before.
///
/// # Panics
/// If a view reaches past its slice.
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
    assert!(stride >= n && c.len() >= (m - 1) * stride + n, "the product fits");
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
    let at = |v: usize| v as isize;
    // SAFETY: the assertions above bound every number that the three strided views reach, `c` is borrowed mutably and so
    // overlaps neither factor, and E is f32 or f64, which `gemm` multiplies natively.
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
pub fn matmul<E: Element>(sizes: (usize, usize, usize), a: Mat<'_, E>, b: Mat<'_, E>, accumulate: bool, c: &mut [E]) {
    matmul_into(sizes, a, b, E::ONE, accumulate, c, sizes.1);
}
