//! The width of a network's numbers.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::direct;
use crate::elementary;
use crate::lanes::{Kernel, Plain};
use crate::matrix::{GeneralProduct, Mat};
use crate::panels;
use crate::small;

/// A number a network computes with: `f32` to train, `f64` to be checked against differences.
///
/// Elementary functions are our own: without branches, so that loops over them run eight at a time, and with the same
/// bits on every machine. There are no others: the general product rests on that.
pub trait Element:
    sealed::Sealed
    + Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + 'static
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Rounded from double precision.
    fn of(value: f64) -> Self;
    /// In double precision.
    fn wide(self) -> f64;
    /// eˣ, clamped to the range of normal numbers.
    fn exp(self) -> Self;
    /// √x
    fn sqrt(self) -> Self;
    /// As an index; tokens and classes are numbers.
    fn index(self) -> usize;

    /// c = scale·a·b or c += scale·a·b, if it is worth doing apart from the general product.
    #[doc(hidden)]
    fn small_product(_: panels::Sizes, _scale: Self, _a: Mat<'_, Self>, _b: Mat<'_, Self>, _c: &mut [Self]) -> Option<()> {
        None
    }

    /// c = a·b or c += a·b by pieces of the inner index, if packing would take longer than it helps.
    #[doc(hidden)]
    fn direct_product(_: panels::Sizes, _piece: usize, _a: Mat<'_, Self>, _b: Mat<'_, Self>, _c: &mut [Self]) -> Option<()> {
        None
    }

    /// The general product of this kind of number, for what the processor can do.
    #[doc(hidden)]
    fn general_product() -> GeneralProduct<Self>;

    /// Runs a kernel with the widest vectors that the processor has.
    #[doc(hidden)]
    fn widest<K: Kernel<Self>>(kernel: K) -> K::Output {
        kernel.run(Plain)
    }

    /// The larger one; NaN only if both are.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// σ(x) = 1/(1 + e⁻ˣ)
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exp())
    }

    /// tanh x
    #[inline(always)]
    fn tanh(self) -> Self {
        Self::ONE - Self::of(2.0) / ((self + self).exp() + Self::ONE)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Element for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn exp(self) -> f32 {
        elementary::exp_single(self)
    }
    #[inline(always)]
    fn tanh(self) -> f32 {
        elementary::tanh_single(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
    fn small_product(sizes: panels::Sizes, scale: f32, a: Mat<'_, f32>, b: Mat<'_, f32>, c: &mut [f32]) -> Option<()> {
        small::product(sizes, scale, a, b, c)
    }
    fn direct_product(sizes: panels::Sizes, piece: usize, a: Mat<'_, f32>, b: Mat<'_, f32>, c: &mut [f32]) -> Option<()> {
        direct::product(sizes, piece, a, b, c)
    }
    fn general_product() -> GeneralProduct<f32> {
        gemm_f32::gemm::f32::get_gemm_fn()
    }
    fn widest<K: Kernel<f32>>(kernel: K) -> K::Output {
        #[cfg(target_arch = "x86_64")]
        {
            use crate::lanes::{Avx2, Avx512};
            if let Some(lanes) = Avx512::here() {
                return kernel.run(lanes);
            }
            if let Some(lanes) = Avx2::here() {
                return kernel.run(lanes);
            }
        }
        kernel.run(Plain)
    }
}

impl Element for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn exp(self) -> f64 {
        elementary::exp(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
    fn general_product() -> GeneralProduct<f64> {
        gemm_f64::gemm::f64::get_gemm_fn()
    }
}
