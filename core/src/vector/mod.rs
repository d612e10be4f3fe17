//! Flat parameter vectors and the handful of operations the papers use.
//!
//! A [`Vector`] carries its precision as data, all scalars are `f64`, and cloning shares the memory
//! until somebody writes: broadcasting a model to a thousand clients copies nothing.

mod fast;
mod loops;
mod mean;
mod recycle;
mod sparse_mean;
mod update;

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use self::loops::{
    Number, add_scaled, apart, below, computed, fill_with, finite, inner, mixed, picked, rows_of, scale_by, sole, squares, weigh_by,
};

pub use mean::Mean;
pub use sparse_mean::SparseMean;
pub use update::{RowUpdate, Update};

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

impl<'a> View<'a> {
    /// Some of the numbers.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn part(self, at: Range<usize>) -> View<'a> {
        match self {
            View::F32(x) => View::F32(&x[at]),
            View::F64(x) => View::F64(&x[at]),
        }
    }

    /// |x|², summed in a fixed order.
    pub fn norm2(self) -> f64 {
        both!(self, |x| squares(x))
    }

    /// No NaN and no infinity.
    pub fn is_finite(self) -> bool {
        both!(self, |x| finite(x))
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

impl From<View<'_>> for Vector {
    fn from(numbers: View<'_>) -> Self {
        match numbers {
            View::F32(x) => Vector(Repr::F32(computed(x.iter().copied()))),
            View::F64(x) => Vector(Repr::F64(computed(x.iter().copied()))),
        }
    }
}

impl Vector {
    /// Vectors of one precision, one after another; none of no vectors.
    pub fn joined(parts: &[Vector]) -> Option<Vector> {
        let precision = parts.first()?.precision();
        Some(match precision {
            Precision::F32 => Vector(Repr::F32(recycle::joined(parts.iter().map(Vector::len).sum(), parts.iter().map(Vector::f32s)))),
            Precision::F64 => Vector(Repr::F64(recycle::joined(parts.iter().map(Vector::len).sum(), parts.iter().map(Vector::f64s)))),
        })
    }

    /// `dim` zeros.
    pub fn zeros(dim: usize, precision: Precision) -> Self {
        Self::filled(dim, 0.0, precision)
    }

    /// Numbers as they lie on the wire: written once, where they stay.
    pub(crate) fn from_le_bytes(bytes: &[u8], precision: Precision) -> Self {
        match precision {
            Precision::F32 => Vector(Repr::F32(computed(bytes.as_chunks().0.iter().map(|c| f32::from_le_bytes(*c))))),
            Precision::F64 => Vector(Repr::F64(computed(bytes.as_chunks().0.iter().map(|c| f64::from_le_bytes(*c))))),
        }
    }

    /// `dim` times the same number.
    pub fn filled(dim: usize, value: f64, precision: Precision) -> Self {
        match precision {
            Precision::F32 => Vector(Repr::F32(computed(repeat_n(value as f32, dim)))),
            Precision::F64 => Vector(Repr::F64(computed(repeat_n(value, dim)))),
        }
    }

    /// These numbers, narrowed if they are to be.
    pub fn with_precision(numbers: impl IntoIterator<Item = f64>, precision: Precision) -> Self {
        match precision {
            Precision::F32 => numbers.into_iter().map(|number| number as f32).collect::<Vec<f32>>().into(),
            Precision::F64 => numbers.into_iter().collect::<Vec<f64>>().into(),
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

    /// self ← self + a·x in the places from `at` on, as many as x has.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn axpy_at(&mut self, at: usize, a: f64, x: View<'_>) {
        both!(mut self.view_mut(), x, |s, x| add_scaled(a, x, &mut s[at..][..x.len()]));
    }

    /// self ← a·self
    pub fn scale(&mut self, a: f64) {
        both!(mut self.view_mut(), |s| scale_by(a, s));
    }

    /// self ← 0 + a·self
    pub(crate) fn weigh(&mut self, a: f64) {
        both!(mut self.view_mut(), |s| weigh_by(a, s));
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

    /// The given rows of x minus self, which holds such rows one after another.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn below_rows(mut self, x: &Vector, rows: &[u32], width: usize) -> Vector {
        fn subtract<T: Number>(x: &[T], rows: &[u32], width: usize, from: &mut [T]) {
            from.chunks_mut(width.max(1)).zip(rows).for_each(|(from, &row)| below(loops::row(x, row, width), from));
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

    /// x − self, written over self: no memory is allocated if nobody else holds its numbers.
    #[must_use]
    pub fn taken_from(mut self, x: &Vector) -> Vector {
        assert_eq!(self.len(), x.len(), "dimensions agree");
        both!(mut self.view_mut(), x.view(), |s, x| below(x, s));
        self
    }

    /// ⟨x, y⟩, summed in a fixed order.
    pub fn dot(&self, other: &Vector) -> f64 {
        assert_eq!(self.len(), other.len(), "dimensions agree");
        both!(self.view(), other.view(), |x, y| inner(x, y))
    }

    /// |x|²
    pub fn norm2(&self) -> f64 {
        self.view().norm2()
    }

    /// |x|
    pub fn norm(&self) -> f64 {
        self.norm2().sqrt()
    }

    /// |x − y|²
    pub fn distance2(&self, other: &Vector) -> f64 {
        assert_eq!(self.len(), other.len(), "dimensions agree");
        both!(self.view(), other.view(), |x, y| apart(x, y))
    }

    /// No NaN and no infinity.
    pub fn is_finite(&self) -> bool {
        self.view().is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_takes_the_place_of_what_is_taken() {
        let (x, y) = (Vector::from(vec![3.0f32, 1.5, -0.0]), Vector::from(vec![1.0f32, 1.5, 0.0]));
        let (expected, at) = (Vector::diff(&x, &y), y.f32s().as_ptr());
        let shared = y.clone().taken_from(&x);
        assert_eq!(shared, expected);
        let sole = y.taken_from(&x);
        assert!(sole == expected && sole.f32s().as_ptr() == at);
    }

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
    fn rows_are_those_asked_for_and_none_lies_past_the_end() {
        let x = Vector::from(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(x.rows(&[2, 0], 2).f64s(), [4.0, 5.0, 0.0, 1.0]);
        assert_eq!(x.rows(&[0, 1], 0).f64s(), [0.0; 0]);
        assert_eq!(Vector::from(vec![1.0, 1.0]).below_rows(&x, &[1], 2).f64s(), [1.0, 2.0]);
        // The last ones begin at a place that wraps to one within.
        for (rows, width) in [(&[3][..], 2), (&[0], 7), (&[1], usize::MAX), (&[2], 1 << 63), (&[4], 1 << 62)] {
            assert!(std::panic::catch_unwind(|| x.rows(rows, width)).is_err(), "{rows:?} of {width}");
            assert!(std::panic::catch_unwind(|| x.zeros_like().below_rows(&x, rows, width)).is_err(), "{rows:?} of {width}");
        }
    }

    #[test]
    #[should_panic(expected = "share their precision")]
    fn mixing_precisions_is_a_bug() {
        Vector::from(vec![1.0f32]).axpy(1.0, &Vector::from(vec![1.0f64]));
    }
}
