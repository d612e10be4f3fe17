//! Flat parameter vectors and the handful of operations the papers use.
//!
//! A [`Vector`] carries its precision as data, all scalars are `f64`, and cloning shares the memory
//! until somebody writes: broadcasting a model to a thousand clients copies nothing.

use std::ops::{Add, AddAssign, Mul, MulAssign};
use std::sync::Arc;

use crate::recycle::{self, Recycled};

/// The width of a vector's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Four bytes: networks.
    F32,
    /// Eight bytes: convex problems to machine precision.
    F64,
}

impl Precision {
    /// Bits of one number.
    pub fn bits(self) -> u64 {
        match self {
            Precision::F32 => 32,
            Precision::F64 => 64,
        }
    }
}

/// A point of ℝᵈ: model parameters, a gradient, a control variate.
///
/// Mixing precisions or dimensions is a bug in the caller and panics.
///
/// ```
/// use motet_core::Vector;
/// let mut x = Vector::from(vec![1.0, 2.0]);
/// let kept = x.clone(); // shares memory …
/// x.axpy(0.5, &Vector::from(vec![2.0, 2.0]));
/// assert_eq!(x.to_f64(), [2.0, 3.0]);
/// assert_eq!(kept.to_f64(), [1.0, 2.0]); // … until somebody writes
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Repr);

#[derive(Clone, Debug, PartialEq)]
enum Repr {
    // One allocation each: the numbers lie beside their count of owners.
    F32(Arc<[f32]>),
    F64(Arc<[f64]>),
    /// Being dropped; nobody sees it.
    Gone,
}

impl Drop for Vector {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.0, Repr::Gone) {
            Repr::F32(x) => recycle::keep(x),
            Repr::F64(x) => recycle::keep(x),
            Repr::Gone => {}
        }
    }
}

/// A vector's numbers, to read.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// Four bytes each.
    F32(&'a [f32]),
    /// Eight bytes each.
    F64(&'a [f64]),
}

/// A vector's numbers, to write.
#[derive(Debug)]
pub enum ViewMut<'a> {
    /// Four bytes each.
    F32(&'a mut [f32]),
    /// Eight bytes each.
    F64(&'a mut [f64]),
}

const MIXED: &str = "vectors of one computation share their precision";

/// Runs the same expression for both precisions of one vector, or of two that must agree.
macro_rules! both {
    ($a:expr, |$x:ident| $body:expr) => {
        match $a {
            View::F32($x) => $body,
            View::F64($x) => $body,
        }
    };
    (mut $a:expr, |$x:ident| $body:expr) => {
        match $a {
            ViewMut::F32($x) => $body,
            ViewMut::F64($x) => $body,
        }
    };
    (mut $a:expr, $b:expr, |$x:ident, $y:ident| $body:expr) => {
        match ($a, $b) {
            (ViewMut::F32($x), View::F32($y)) => $body,
            (ViewMut::F64($x), View::F64($y)) => $body,
            _ => panic!("{MIXED}"),
        }
    };
    ($a:expr, $b:expr, |$x:ident, $y:ident| $body:expr) => {
        match ($a, $b) {
            (View::F32($x), View::F32($y)) => $body,
            (View::F64($x), View::F64($y)) => $body,
            _ => panic!("{MIXED}"),
        }
    };
}

/// The arithmetic of one number, so that each loop is written once for both precisions.
pub(crate) trait Number: Recycled + Default + Mul<Output = Self> + Add<Output = Self> + AddAssign + MulAssign {
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

impl From<Vec<f64>> for Vector {
    fn from(numbers: Vec<f64>) -> Self {
        Vector(Repr::F64(numbers.into()))
    }
}

impl From<Vec<f32>> for Vector {
    fn from(numbers: Vec<f32>) -> Self {
        Vector(Repr::F32(numbers.into()))
    }
}

impl Vector {
    /// `dim` zeros.
    pub fn zeros(dim: usize, precision: Precision) -> Self {
        Self::filled(dim, 0.0, precision)
    }

    /// `dim` times the same number.
    pub fn filled(dim: usize, value: f64, precision: Precision) -> Self {
        match precision {
            Precision::F32 => Vector(Repr::F32(written(dim, |x| x.fill(value as f32)))),
            Precision::F64 => Vector(Repr::F64(written(dim, |x| x.fill(value)))),
        }
    }

    /// Zeros of this vector's dimension and precision.
    pub fn zeros_like(&self) -> Self {
        Self::zeros(self.len(), self.precision())
    }

    /// d
    pub fn len(&self) -> usize {
        both!(self.view(), |x| x.len())
    }

    /// True in dimension zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Width of the numbers.
    pub fn precision(&self) -> Precision {
        match self.0 {
            Repr::F32(_) => Precision::F32,
            Repr::F64(_) | Repr::Gone => Precision::F64,
        }
    }

    /// The numbers, to read.
    #[inline]
    pub fn view(&self) -> View<'_> {
        match &self.0 {
            Repr::F32(x) => View::F32(x),
            Repr::F64(x) => View::F64(x),
            Repr::Gone => View::F64(&[]),
        }
    }

    /// The numbers, to write; copies them first if somebody else holds them too.
    #[inline]
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        match &mut self.0 {
            Repr::F32(x) => ViewMut::F32(sole(x)),
            Repr::F64(x) => ViewMut::F64(sole(x)),
            Repr::Gone => ViewMut::F64(&mut []),
        }
    }

    /// The numbers of a double-precision vector.
    ///
    /// # Panics
    /// On a single-precision vector.
    #[inline]
    pub fn f64s(&self) -> &[f64] {
        match &self.0 {
            Repr::F64(x) => x,
            _ => panic!("{MIXED}"),
        }
    }

    /// The numbers of a double-precision vector, to write.
    ///
    /// # Panics
    /// On a single-precision vector.
    #[inline]
    pub fn f64s_mut(&mut self) -> &mut [f64] {
        match &mut self.0 {
            Repr::F64(x) => sole(x),
            _ => panic!("{MIXED}"),
        }
    }

    /// The numbers of a single-precision vector.
    ///
    /// # Panics
    /// On a double-precision vector.
    #[inline]
    pub fn f32s(&self) -> &[f32] {
        match &self.0 {
            Repr::F32(x) => x,
            _ => panic!("{MIXED}"),
        }
    }

    /// The numbers of a single-precision vector, to write.
    ///
    /// # Panics
    /// On a double-precision vector.
    #[inline]
    pub fn f32s_mut(&mut self) -> &mut [f32] {
        match &mut self.0 {
            Repr::F32(x) => sole(x),
            _ => panic!("{MIXED}"),
        }
    }

    /// A copy of the numbers, widened.
    pub fn to_f64(&self) -> Vec<f64> {
        both!(self.view(), |x| x.iter().map(|v| v.wide()).collect())
    }

    /// xₗ
    pub fn at(&self, index: usize) -> f64 {
        both!(self.view(), |x| x[index].wide())
    }

    /// self ← self + a·x
    pub fn axpy(&mut self, a: f64, x: &Vector) {
        assert_eq!(self.len(), x.len(), "dimensions agree");
        both!(mut self.view_mut(), x.view(), |s, x| add_scaled(a, x, s));
    }

    /// self ← a·self
    pub fn scale(&mut self, a: f64) {
        both!(mut self.view_mut(), |s| scale_by(a, s));
    }

    /// self ← x
    pub fn copy_from(&mut self, x: &Vector) {
        assert_eq!(self.len(), x.len(), "dimensions agree");
        both!(mut self.view_mut(), x.view(), |s, x| s.copy_from_slice(x));
    }

    /// self ← value in every coordinate
    pub fn fill(&mut self, value: f64) {
        both!(mut self.view_mut(), |s| fill_with(value, s));
    }

    /// a·x + (1 − a)·y, the FLIX mixture.
    pub fn mix(a: f64, x: &Vector, y: &Vector) -> Vector {
        assert_eq!(x.len(), y.len(), "dimensions agree");
        match (x.view(), y.view()) {
            (View::F32(x), View::F32(y)) => Vector(Repr::F32(mixed(a, x, y))),
            (View::F64(x), View::F64(y)) => Vector(Repr::F64(mixed(a, x, y))),
            _ => panic!("{MIXED}"),
        }
    }

    /// a·x at some coordinates.
    ///
    /// # Panics
    /// If one of them is not below the dimension.
    pub fn gather(&self, at: &[u32], a: f64) -> Vector {
        match self.view() {
            View::F32(x) => Vector(Repr::F32(picked(a, x, at))),
            View::F64(x) => Vector(Repr::F64(picked(a, x, at))),
        }
    }

    /// These rows, each `width` numbers long, one after another.
    ///
    /// # Panics
    /// If one of them reaches past the end.
    pub fn rows(&self, rows: &[u32], width: usize) -> Vector {
        match self.view() {
            View::F32(x) => Vector(Repr::F32(rows_of(x, rows, width))),
            View::F64(x) => Vector(Repr::F64(rows_of(x, rows, width))),
        }
    }

    /// These rows of x minus self, which has one after another.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn below_rows(mut self, x: &Vector, rows: &[u32], width: usize) -> Vector {
        fn subtract<T: Number>(x: &[T], rows: &[u32], width: usize, from: &mut [T]) {
            let minus = T::of(-1.0);
            for (from, &row) in from.chunks_mut(width.max(1)).zip(rows) {
                from.iter_mut().zip(&x[row as usize * width..][..width]).for_each(|(from, x)| *from = *x + minus * *from);
            }
        }
        match (self.view_mut(), x.view()) {
            (ViewMut::F32(from), View::F32(x)) => subtract(x, rows, width, from),
            (ViewMut::F64(from), View::F64(x)) => subtract(x, rows, width, from),
            _ => panic!("{MIXED}"),
        }
        self
    }

    /// x − y
    pub fn diff(x: &Vector, y: &Vector) -> Vector {
        let mut out = x.clone();
        out.axpy(-1.0, y);
        out
    }

    /// ⟨x, y⟩, summed in a fixed order.
    pub fn dot(&self, other: &Vector) -> f64 {
        assert_eq!(self.len(), other.len(), "dimensions agree");
        both!(self.view(), other.view(), |x, y| ordered_sum(x, y, |x, y| x * y))
    }

    /// |x|²
    pub fn norm2(&self) -> f64 {
        both!(self.view(), |x| ordered_sum(x, x, |x, _| x * x))
    }

    /// |x|
    pub fn norm(&self) -> f64 {
        self.norm2().sqrt()
    }

    /// |x − y|²
    pub fn distance2(&self, other: &Vector) -> f64 {
        assert_eq!(self.len(), other.len(), "dimensions agree");
        both!(self.view(), other.view(), |x, y| ordered_sum(x, y, |x, y| (x - y) * (x - y)))
    }

    /// No NaN and no infinity.
    pub fn is_finite(&self) -> bool {
        // 0·v is zero for finite v and NaN otherwise: a sum without branches.
        match self.view() {
            // In its own width: zeros are not rounded, and there are twice as many at once.
            View::F32(x) => {
                let (blocks, rest) = x.as_chunks::<16>();
                let mut sums = [0.0f32; 16];
                blocks.iter().for_each(|block| sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += x * 0.0));
                sums.iter().chain(rest).all(|x| x * 0.0 == 0.0)
            }
            View::F64(x) => ordered_sum(x, x, |x, _| x * 0.0) == 0.0,
        }
    }
}

/// to ← to + a·from
pub(crate) fn add_scaled<T: Number>(a: f64, from: &[T], to: &mut [T]) {
    let a = T::of(a);
    for (to, from) in to.iter_mut().zip(from) {
        *to += a * *from;
    }
}

fn scale_by<T: Number>(a: f64, x: &mut [T]) {
    let a = T::of(a);
    for x in x {
        *x *= a;
    }
}

fn fill_with<T: Number>(value: f64, x: &mut [T]) {
    x.fill(T::of(value));
}

fn mixed<T: Number>(a: f64, x: &[T], y: &[T]) -> Arc<[T]> {
    let (a, b) = (T::of(a), T::of(1.0 - a));
    computed(x.iter().zip(y).map(move |(x, y)| a * *x + b * *y))
}

fn picked<T: Number>(a: f64, x: &[T], at: &[u32]) -> Arc<[T]> {
    let a = T::of(a);
    computed(at.iter().map(move |&l| a * x[l as usize]))
}

fn rows_of<T: Number>(x: &[T], rows: &[u32], width: usize) -> Arc<[T]> {
    written(rows.len() * width, |out| {
        let places = out.chunks_mut(width.max(1)).zip(rows);
        places.for_each(|(out, &row)| out.copy_from_slice(&x[row as usize * width..][..width]));
    })
}

/// New numbers, one after another. Memory that is not kept is filled once, not twice: the length is known.
fn computed<T: Number>(numbers: impl ExactSizeIterator<Item = T>) -> Arc<[T]> {
    if !recycle::worth_keeping::<T>(numbers.len()) {
        return numbers.collect();
    }
    written(numbers.len(), |out| out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number))
}

/// New numbers, every one of which `write` writes.
fn written<T: Number>(len: usize, write: impl FnOnce(&mut [T])) -> Arc<[T]> {
    let mut block = recycle::stale(len);
    write(Arc::get_mut(&mut block).expect("new memory has one owner"));
    block
}

/// The numbers, to write; copied first if somebody else holds them too.
#[inline]
fn sole<T: Number>(x: &mut Arc<[T]>) -> &mut [T] {
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
fn ordered_sum<T: Number>(x: &[T], y: &[T], term: impl Fn(f64, f64) -> f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_is_not_changed_by_writes_to_the_original() {
        let mut x = Vector::from(vec![1.0, 2.0, 3.0]);
        let y = x.clone();
        x.scale(2.0);
        assert_eq!(y.f64s(), [1.0, 2.0, 3.0]);
        assert_eq!(x.f64s(), [2.0, 4.0, 6.0]);
    }

    #[test]
    fn sums_cover_every_coordinate() {
        for dim in 0..40 {
            let x = Vector::from((1..=dim).map(f64::from).collect::<Vec<_>>());
            let expect: f64 = (1..=dim).map(|v| f64::from(v * v)).sum();
            assert_eq!(x.norm2(), expect, "dimension {dim}");
        }
    }

    #[test]
    fn a_single_nan_or_infinity_is_seen() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for at in 0..19 {
                let mut x = Vector::zeros(19, Precision::F64);
                assert!(x.is_finite());
                x.f64s_mut()[at] = bad;
                assert!(!x.is_finite());
            }
        }
    }

    #[test]
    fn mix_is_affine_in_both_precisions() {
        let x = Vector::from(vec![1.0f32, 5.0]);
        let y = Vector::from(vec![3.0f32, 1.0]);
        assert_eq!(Vector::mix(0.25, &x, &y).f32s(), [2.5, 2.0]);
        assert_eq!(Vector::mix(1.0, &x, &y), x);
        assert_eq!(Vector::mix(0.0, &x, &y), y);
    }

    #[test]
    #[should_panic(expected = "share their precision")]
    fn mixing_precisions_is_a_bug() {
        Vector::from(vec![1.0f32]).axpy(1.0, &Vector::from(vec![1.0f64]));
    }
}
