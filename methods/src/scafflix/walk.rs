//! Local steps: nothing but gradients and vectors at hand between two communications.

use std::ops::{AddAssign, Mul, Sub};

use motet_core::{Site, Vector, View, ViewMut};

use super::{Client, Kind, ScafflixFamily};
use crate::parts::budget::steps_enough;
use crate::parts::rows;

impl<K: Kind> ScafflixFamily<K> {
    /// Line 5, ⌈rᵢ ℓ⌉ times, in one pass over the vectors a step besides the gradient: the mixture αᵢ x + (1 − αᵢ) xᵢ* takes αᵢ
    /// times the step that x takes. Where αᵢ = 1 it is x.
    pub(super) fn walk(&self, me: &Client, from: &Vector, steps: u32, site: &mut Site<'_>) -> Vector {
        let (alpha, mut spare) = (self.share(site.id), None);
        let (mut mixed, mut x) = (from.clone(), None);
        if alpha < 1.0 {
            x = Some(from.clone());
            mixed = Vector::mix(alpha, from, &self.solve.optimum(site));
        }
        let rate = me.step * me.slow / alpha;
        // 0.07 · 100 is a little above 7 in floating point: the rule of rounds knows that.
        let own = steps_enough(f64::from(steps), 1.0 / *self.pace.of(site.id)).unwrap_or_else(|| u64::from(steps));
        for _ in 0..own {
            let batch = self.batch.draw(site.train.samples(), &mut site.rng);
            site.train.step_by(&mut mixed, rows(&batch), site.buffers, &mut spare, &mut |mixed, at, g| {
                advance(x.as_mut(), mixed, at, rate, [g, me.h.view()], alpha);
            });
        }
        x.unwrap_or(mixed)
    }
}

/// With t = r·(h − g): x ← x + t and mixed ← mixed + α·t, in one pass over the places from `at` on that g has. x is mixed itself if it is not given.
fn advance(x: Option<&mut Vector>, mixed: &mut Vector, at: usize, r: f64, [g, h]: [View<'_>; 2], alpha: f64) {
    match (x.map(Vector::view_mut), mixed.view_mut(), g, h) {
        (None, ViewMut::F32(x), View::F32(g), View::F32(h)) => alone(&mut x[at..], r as f32, [g, &h[at..]]),
        (None, ViewMut::F64(x), View::F64(g), View::F64(h)) => alone(&mut x[at..], r, [g, &h[at..]]),
        (Some(ViewMut::F32(x)), ViewMut::F32(mixed), View::F32(g), View::F32(h)) => {
            both([&mut x[at..], &mut mixed[at..]], [r as f32, alpha as f32], [g, &h[at..]]);
        }
        (Some(ViewMut::F64(x)), ViewMut::F64(mixed), View::F64(g), View::F64(h)) => {
            both([&mut x[at..], &mut mixed[at..]], [r, alpha], [g, &h[at..]]);
        }
        _ => panic!("vectors of one computation share their precision"),
    }
}

fn both<T>([x, mixed]: [&mut [T]; 2], [r, alpha]: [T; 2], [g, h]: [&[T]; 2])
where
    T: Copy + AddAssign + Sub<Output = T> + Mul<Output = T>,
{
    // One length, known to the compiler, so that the loop has no checks and runs in vector registers.
    let n = g.len();
    let (x, mixed, h) = (&mut x[..n], &mut mixed[..n], &h[..n]);
    for k in 0..n {
        let t = r * (h[k] - g[k]);
        x[k] += t;
        mixed[k] += alpha * t;
    }
}

fn alone<T>(x: &mut [T], r: T, [g, h]: [&[T]; 2])
where
    T: Copy + AddAssign + Sub<Output = T> + Mul<Output = T>,
{
    let n = g.len();
    let (x, h) = (&mut x[..n], &h[..n]);
    for k in 0..n {
        x[k] += r * (h[k] - g[k]);
    }
}
