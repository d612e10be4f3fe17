//! One step of a model and of what an optimiser remembers, coordinate by coordinate, in the precision of the vectors.

use motet_core::{Vector, View, ViewMut, fast};

use super::number::Number;

/// What becomes of one coordinate: (x, m, v, q) → (x, m, v).
pub(super) trait Rule {
    fn step<T: Number>(&self, x: T, m: T, v: T, q: T) -> (T, T, T);
}

/// v ← b v + q, x ← x − rate v; nothing is kept in m.
pub(super) struct Heavy {
    pub(super) b: f64,
    pub(super) rate: f64,
}

impl Rule for Heavy {
    #[inline(always)]
    fn step<T: Number>(&self, x: T, m: T, v: T, q: T) -> (T, T, T) {
        let v = T::of(self.b) * v + q;
        (x - T::of(self.rate) * v, m, v)
    }
}

/// m ← b₁ m + (1 − b₁) q, v ← `Grow`(v, q), x ← x − rate m/(√(v scale) + ε).
pub(super) struct Adaptive<G> {
    pub(super) b1: f64,
    pub(super) eps: f64,
    /// Factor on m/(√(v·scale) + ε).
    pub(super) rate: f64,
    /// Factor on v under the root.
    pub(super) scale: f64,
    /// What becomes of v.
    pub(super) grow: G,
}

/// How v grows.
pub(super) trait Grow {
    fn grown<T: Number>(&self, v: T, q: T) -> T;
}

/// v ← b₂ v + (1 − b₂) q²
pub(super) struct Forgetting(pub(super) f64);
/// v ← v + q²
pub(super) struct Adding;
/// v ← v + (1 − b₂) sign(q² − v) q²
pub(super) struct Following(pub(super) f64);

impl Grow for Forgetting {
    #[inline(always)]
    fn grown<T: Number>(&self, v: T, q: T) -> T {
        T::of(self.0) * v + T::of(1.0 - self.0) * q * q
    }
}

impl Grow for Adding {
    #[inline(always)]
    fn grown<T: Number>(&self, v: T, q: T) -> T {
        v + q * q
    }
}

impl Grow for Following {
    #[inline(always)]
    fn grown<T: Number>(&self, v: T, q: T) -> T {
        let (square, zero) = (q * q, T::of(0.0));
        let change = T::of(1.0 - self.0) * square;
        v + if square > v { change } else { zero } - if square < v { change } else { zero }
    }
}

impl<G: Grow> Rule for Adaptive<G> {
    #[inline(always)]
    fn step<T: Number>(&self, x: T, m: T, v: T, q: T) -> (T, T, T) {
        let (m, v) = (T::of(self.b1) * m + T::of(1.0 - self.b1) * q, self.grow.grown(v, q));
        let moved = T::of(self.rate) * m / ((v * T::of(self.scale)).sqrt() + T::of(self.eps));
        // With b₂ = 1 the correction is 0/0: nothing was seen yet, so nothing moves.
        let nowhere = (moved.partial_cmp(&moved).is_none()) & q.is_finite();
        (if nowhere { x } else { x - moved }, m, v)
    }
}

/// Parts of a vector that begin here and there and are equally long.
pub(super) struct Stretches<I> {
    pub(super) starts: I,
    pub(super) width: usize,
}

/// Runs over the stretches of (x, m, v), writing all three; q has one stretch after the other. Without m it is 0 and forgotten.
pub(super) fn step<R: Rule>(
    at: Stretches<impl Iterator<Item = usize>>,
    x: &mut Vector,
    m: Option<&mut Vector>,
    v: &mut Vector,
    q: &Vector,
    rule: &R,
) {
    assert_eq!(x.len(), v.len(), "dimensions agree");
    macro_rules! run {
        ($x:ident, $m:ident, $v:ident, $q:ident) => {
            for (start, q) in at.starts.zip($q.chunks(at.width.max(1))) {
                let places = start..start + q.len();
                let (x, v) = (&mut $x[places.clone()], &mut $v[places.clone()]);
                match $m.as_mut() {
                    Some(m) => step_with(x, &mut m[places], v, q, rule),
                    None => step_without(x, v, q, rule),
                }
            }
        };
    }
    match (x.view_mut(), v.view_mut(), q.view()) {
        (ViewMut::F64(x), ViewMut::F64(v), View::F64(q)) => {
            let mut m = m.map(Vector::f64s_mut);
            run!(x, m, v, q);
        }
        (ViewMut::F32(x), ViewMut::F32(v), View::F32(q)) => {
            let mut m = m.map(Vector::f32s_mut);
            run!(x, m, v, q);
        }
        _ => panic!("vectors of one computation share their precision"),
    }
}

fast! {
    fn step_with<T: Number, R: Rule>(x: &mut [T], m: &mut [T], v: &mut [T], q: &[T], rule: &R) {
        for (((x, m), v), q) in x.iter_mut().zip(m).zip(v).zip(q) {
            (*x, *m, *v) = rule.step(*x, *m, *v, *q);
        }
    }

    fn step_without<T: Number, R: Rule>(x: &mut [T], v: &mut [T], q: &[T], rule: &R) {
        for ((x, v), q) in x.iter_mut().zip(v).zip(q) {
            (*x, _, *v) = rule.step(*x, T::of(0.0), *v, *q);
        }
    }
}
