//! A number of either precision, for kernels that work in the precision of their vectors.

use std::ops::{Add, Div, Mul, Sub};

/// `f32` or `f64`.
pub(super) trait Number:
    Copy + PartialOrd + Into<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The nearest.
    fn of(value: f64) -> Self;
    /// √
    fn sqrt(self) -> Self;
    /// Neither NaN nor infinite?
    fn is_finite(self) -> bool;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}
numbers!(f32, f64);
