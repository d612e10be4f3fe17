//! The one matrix product. One of the three files of this crate with `unsafe` code.
#![allow(unsafe_code)]

use crate::element::Element;

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
    assert!(a.values.len() >= a.reach(m, k) && b.values.len() >= b.reach(k, n), "the factors fit");
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
