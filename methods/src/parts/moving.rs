//! One step of a model and of what an optimiser remembers, coordinate by coordinate, in the precision of the vectors.

use motet_core::{SparseMean, Vector, View, ViewMut, fast};

use super::number::Number;

/// What becomes of one coordinate: (x, m, v, q) → (x, m, v).
pub(super) trait Rule {
    /// Does v change where q = 0?
    const V_FADES: bool;
    fn step<T: Number>(&self, x: T, m: T, v: T, q: T) -> (T, T, T);
}

/// x ← x − rate q; nothing is kept.
pub(super) struct Plain {
    pub(super) rate: f64,
}

impl Rule for Plain {
    const V_FADES: bool = false;
    #[inline(always)]
    fn step<T: Number>(&self, x: T, m: T, v: T, q: T) -> (T, T, T) {
        (x - T::of(self.rate) * q, m, v)
    }
}

/// v ← b v + q, x ← x − rate v; nothing is kept in m.
pub(super) struct Heavy {
    pub(super) b: f64,
    pub(super) rate: f64,
}

impl Rule for Heavy {
    const V_FADES: bool = true;
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
    /// Does v change where q = 0?
    const FADES: bool;
    fn grown<T: Number>(&self, v: T, q: T) -> T;
}

/// v ← b₂ v + (1 − b₂) q²
pub(super) struct Forgetting(pub(super) f64);
/// v ← v + q²
pub(super) struct Adding;
/// v ← v + (1 − b₂) sign(q² − v) q²
pub(super) struct Following(pub(super) f64);

impl Grow for Forgetting {
    const FADES: bool = true;
    #[inline(always)]
    fn grown<T: Number>(&self, v: T, q: T) -> T {
        T::of(self.0) * v + T::of(1.0 - self.0) * q * q
    }
}

impl Grow for Adding {
    const FADES: bool = false;
    #[inline(always)]
    fn grown<T: Number>(&self, v: T, q: T) -> T {
        v + q * q
    }
}

impl Grow for Following {
    const FADES: bool = false;
    #[inline(always)]
    fn grown<T: Number>(&self, v: T, q: T) -> T {
        let (square, zero) = (q * q, T::of(0.0));
        let change = T::of(1.0 - self.0) * square;
        v + if square > v { change } else { zero } - if square < v { change } else { zero }
    }
}

impl<G: Grow> Rule for Adaptive<G> {
    const V_FADES: bool = G::FADES;
    #[inline(always)]
    fn step<T: Number>(&self, x: T, m: T, v: T, q: T) -> (T, T, T) {
        let (m, v) = (T::of(self.b1) * m + T::of(1.0 - self.b1) * q, self.grow.grown(v, q));
        let moved = T::of(self.rate) * m / ((v * T::of(self.scale)).sqrt() + T::of(self.eps));
        // With b₂ = 1 the correction is 0/0: nothing was seen yet, so nothing moves.
        let nowhere = (moved.partial_cmp(&moved).is_none()) & q.is_finite();
        (if nowhere { x } else { x - moved }, m, v)
    }
}

/// Runs over the stretches of q, writing x, m and v there; without m or v they are 0 and forgotten. Says whether all that was
/// written is finite, as it is looked at best: while it is near.
pub(super) fn step<R: Rule>(x: &mut Vector, m: Option<&mut Vector>, v: Option<&mut Vector>, q: &SparseMean, rule: &R) -> bool {
    let fits = |other: &Vector| other.len() == x.len();
    assert!(fits(q.sum()) && m.as_deref().is_none_or(fits) && v.as_deref().is_none_or(fits), "dimensions agree");
    macro_rules! run {
        ($view:path, $x:ident, $m:expr, $v:expr, $q:ident) => {{
            let (mut m, mut v, mut finite) = ($m, $v, true);
            for at in q.stretches() {
                let (x, q_at) = (&mut $x[at.clone()], &$q[at.clone()]);
                match (&mut m, &mut v) {
                    (Some(m), Some(v)) => {
                        let (m, v) = (&mut m[at.clone()], &mut v[at]);
                        with_both(x, m, v, q_at, q.share(), rule);
                        finite &= $view(m).is_finite() & $view(v).is_finite();
                    }
                    (None, Some(v)) => {
                        let v = &mut v[at];
                        with_one(x, v, q_at, q.share(), rule);
                        finite &= $view(v).is_finite();
                    }
                    (_, None) => with_none(x, q_at, q.share(), rule),
                }
                finite &= $view(x).is_finite();
            }
            finite
        }};
    }
    match (x.view_mut(), q.sum().view()) {
        (ViewMut::F64(x), View::F64(sum)) => run!(View::F64, x, m.map(Vector::f64s_mut), v.map(Vector::f64s_mut), sum),
        (ViewMut::F32(x), View::F32(sum)) => run!(View::F32, x, m.map(Vector::f32s_mut), v.map(Vector::f32s_mut), sum),
        _ => panic!("vectors of one computation share their precision"),
    }
}

/// One step with q = 0 of the rows that q does not name: old gradients move them on. What is finite stays so.
pub(super) fn coast<R: Rule>(x: &mut Vector, m: Option<&mut Vector>, v: &mut Vector, q: &SparseMean, rule: &R) {
    macro_rules! run {
        ($x:ident, $m:expr, $v:expr) => {{
            let (mut m, v) = ($m, $v);
            for at in q.gaps() {
                let (x, v) = (&mut $x[at.clone()], &mut v[at.clone()]);
                match &mut m {
                    Some(m) => coast_both(x, &mut m[at], v, rule),
                    None => coast_one(x, v, rule),
                }
            }
        }};
    }
    match x.view_mut() {
        ViewMut::F64(x) => run!(x, m.map(Vector::f64s_mut), v.f64s_mut()),
        ViewMut::F32(x) => run!(x, m.map(Vector::f32s_mut), v.f32s_mut()),
    }
}

/// What is left of a memory that fades counts as nothing from here on: numbers too small to be normal are slow, and never reach 0.
const FADED: f64 = 1e-30;

#[inline(always)]
fn faded<T: Number>(memory: T) -> T {
    if (memory < T::of(FADED)) & (memory > T::of(-FADED)) { T::of(0.0) } else { memory }
}

fn is_empty<T: Number>(memory: &[T]) -> bool {
    memory.iter().all(|memory| *memory == T::of(0.0))
}

fast! {
    fn coast_both<T: Number, R: Rule>(x: &mut [T], m: &mut [T], v: &mut [T], rule: &R) {
        if is_empty(m) && (!R::V_FADES || is_empty(v)) {
            return;
        }
        for ((x, m), v) in x.iter_mut().zip(m).zip(v) {
            let (moved, first, second) = rule.step(*x, *m, *v, T::of(0.0));
            (*x, *m) = (moved, faded(first));
            if R::V_FADES {
                *v = faded(second);
            }
        }
    }

    fn coast_one<T: Number, R: Rule>(x: &mut [T], v: &mut [T], rule: &R) {
        if is_empty(v) {
            return;
        }
        for (x, v) in x.iter_mut().zip(v) {
            let (moved, _, second) = rule.step(*x, T::of(0.0), *v, T::of(0.0));
            (*x, *v) = (moved, faded(second));
        }
    }

    fn with_both<T: Number, R: Rule>(x: &mut [T], m: &mut [T], v: &mut [T], q: &[T], share: f64, rule: &R) {
        let share = T::of(share);
        for (((x, m), v), q) in x.iter_mut().zip(m).zip(v).zip(q) {
            (*x, *m, *v) = rule.step(*x, *m, *v, share * *q);
        }
    }

    fn with_one<T: Number, R: Rule>(x: &mut [T], v: &mut [T], q: &[T], share: f64, rule: &R) {
        let share = T::of(share);
        for ((x, v), q) in x.iter_mut().zip(v).zip(q) {
            (*x, _, *v) = rule.step(*x, T::of(0.0), *v, share * *q);
        }
    }

    fn with_none<T: Number, R: Rule>(x: &mut [T], q: &[T], share: f64, rule: &R) {
        let (share, zero) = (T::of(share), T::of(0.0));
        for (x, q) in x.iter_mut().zip(q) {
            (*x, _, _) = rule.step(*x, zero, zero, share * *q);
        }
    }
}
