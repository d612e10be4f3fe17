//! The loops over a vector's numbers, each written once for both precisions.

use std::ops::{Add, AddAssign, Mul, MulAssign};
use std::sync::Arc;

use crate::fast;
use crate::vector::recycle::{self, Recycled};

/// The arithmetic of one number, so that each loop is written once for both precisions.
pub(crate) trait Number: Recycled + Default + PartialEq + Mul<Output = Self> + Add<Output = Self> + AddAssign + MulAssign {
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
}
impl Number for f32 {
    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}
impl Number for f64 {
    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

fast! {
    pub(crate) fn squares<T: Number>(x: &[T]) -> f64 {
        ordered_sum(x, x, |x, _| x * x)
    }

    pub(crate) fn inner<T: Number>(x: &[T], y: &[T]) -> f64 {
        ordered_sum(x, y, |x, y| x * y)
    }

    pub(crate) fn apart<T: Number>(x: &[T], y: &[T]) -> f64 {
        ordered_sum(x, y, |x, y| (x - y) * (x - y))
    }

    /// 0·x is zero for finite x and NaN otherwise: a sum without branches, in the width of the numbers, since zeros are not rounded.
    pub(crate) fn finite<T: Number>(x: &[T]) -> bool {
        let (zero, (blocks, rest)) = (T::of(0.0), x.as_chunks::<16>());
        let mut sums = [zero; 16];
        blocks.iter().for_each(|block| sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += *x * zero));
        sums.iter().chain(rest).all(|x| *x * zero == zero)
    }

    /// to ← to + a·from
    pub(crate) fn add_scaled<T: Number>(a: f64, from: &[T], to: &mut [T]) {
        let a = T::of(a);
        to.iter_mut().zip(from).for_each(|(to, from)| *to += a * *from);
    }

    /// to ← from − to
    pub(crate) fn below<T: Number>(from: &[T], to: &mut [T]) {
        let minus = T::of(-1.0);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from + minus * *to);
    }

    /// x ← 0 + a·x: what adding to zeros gives, also where a number is −0
    pub(crate) fn weigh_by<T: Number>(a: f64, x: &mut [T]) {
        let (a, zero) = (T::of(a), T::of(0.0));
        x.iter_mut().for_each(|x| *x = zero + a * *x);
    }

    pub(crate) fn scale_by<T: Number>(a: f64, x: &mut [T]) {
        let a = T::of(a);
        x.iter_mut().for_each(|x| *x *= a);
    }
}

pub(crate) fn fill_with<T: Number>(value: f64, x: &mut [T]) {
    x.fill(T::of(value));
}

pub(crate) fn mixed<T: Number>(a: f64, x: &[T], y: &[T]) -> Arc<[T]> {
    let (a, b) = (T::of(a), T::of(1.0 - a));
    computed(x.iter().zip(y).map(move |(x, y)| a * *x + b * *y))
}

pub(crate) fn picked<T: Number>(a: f64, x: &[T], at: &[u32]) -> Arc<[T]> {
    let a = T::of(a);
    computed(at.iter().map(move |&l| a * x[l as usize]))
}

pub(crate) fn rows_of<T: Number>(x: &[T], rows: &[u32], width: usize) -> Arc<[T]> {
    let len = rows.len().checked_mul(width).expect("rows lie within memory");
    recycle::joined(len, rows.iter().map(|&at| row(x, at, width)))
}

/// One row of `width` numbers.
///
/// # Panics
/// If it reaches past the end, however far.
pub(crate) fn row<T>(x: &[T], at: u32, width: usize) -> &[T] {
    let from = (at as usize).checked_mul(width).filter(|from| *from <= x.len()).expect("the row is there");
    &x[from..][..width]
}

/// New numbers, one after another. Memory that is not kept is filled once, not twice: the length is known.
pub(crate) fn computed<T: Number>(numbers: impl ExactSizeIterator<Item = T>) -> Arc<[T]> {
    if !recycle::worth_keeping::<T>(numbers.len()) {
        return numbers.collect();
    }
    written(numbers.len(), |out| out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number))
}

/// New numbers, every one of which `write` writes.
pub(crate) fn written<T: Number>(len: usize, write: impl FnOnce(&mut [T])) -> Arc<[T]> {
    let mut block = recycle::stale(len);
    write(Arc::get_mut(&mut block).expect("new memory has one owner"));
    block
}

/// The numbers, to write; copied first if somebody else holds them too.
#[inline]
pub(crate) fn sole<T: Number>(x: &mut Arc<[T]>) -> &mut [T] {
    if Arc::strong_count(x) > 1 {
        // Memory that is not kept is filled once, not twice.
        let kept = recycle::worth_keeping::<T>(x.len());
        *x = if kept { written(x.len(), |copy| copy.copy_from_slice(x)) } else { Arc::from(&**x) };
    }
    Arc::get_mut(x).expect("now there is one owner")
}

/// Σ term(xₗ, yₗ) in eight interleaved partial sums: one fixed order whatever the vector width of
/// the machine, so that the bits of a run do not depend on it.
#[inline(always)]
pub(crate) fn ordered_sum<T: Number>(x: &[T], y: &[T], term: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ys, y_rest) = y.as_chunks::<LANES>();
    for (x, y) in xs.iter().zip(ys) {
        for l in 0..LANES {
            lanes[l] += term(x[l].wide(), y[l].wide());
        }
    }
    let mut sum = 0.0;
    for lane in lanes {
        sum += lane;
    }
    for (x, y) in x_rest.iter().zip(y_rest) {
        sum += term(x.wide(), y.wide());
    }
    sum
}
