//! Local steps: nothing but gradients and vectors at hand between two communications.

use std::ops::{AddAssign, Mul, Sub};

use motet_core::{Site, Vector, View, ViewMut};

use super::{Client, Kind, ScafflixFamily};
use crate::parts::rows;

impl<K: Kind> ScafflixFamily<K> {
    /// Line 5, ⌈rᵢ ℓ⌉ times, in one pass over the vectors a step besides the gradient: the mixture αᵢ x + (1 − αᵢ) xᵢ* takes αᵢ
    /// times the step that x takes.
    pub(super) fn walk(&self, me: &Client, from: &Vector, steps: u32, site: &mut Site<'_>) -> Vector {
        let alpha = self.share(site.id);
        let (mut x, mut g) = (from.clone(), from.zeros_like());
        let mut mixed = if alpha < 1.0 { Vector::mix(alpha, from, &self.solve.optimum(site)) } else { from.clone() };
        let rate = me.step * me.slow / alpha;
        let own = (f64::from(steps) * *self.pace.of(site.id)).ceil() as u32;
        for _ in 0..own {
            let batch = self.batch.draw(site.train.samples(), &mut site.rng);
            site.train.gradient_into(&mixed, rows(&batch), &mut g);
            advance(&mut x, &mut mixed, rate, [&g, &me.h], alpha);
        }
        x
    }
}

/// With t = r·(h − g): x ← x + t and mixed ← mixed + α·t, in one pass.
fn advance(x: &mut Vector, mixed: &mut Vector, r: f64, [g, h]: [&Vector; 2], alpha: f64) {
    match (x.view_mut(), mixed.view_mut(), g.view(), h.view()) {
        (ViewMut::F32(x), ViewMut::F32(mixed), View::F32(g), View::F32(h)) => pass(x, mixed, [r as f32, alpha as f32], [g, h]),
        (ViewMut::F64(x), ViewMut::F64(mixed), View::F64(g), View::F64(h)) => pass(x, mixed, [r, alpha], [g, h]),
        _ => panic!("vectors of one computation share their precision"),
    }
}

fn pass<T>(x: &mut [T], mixed: &mut [T], [r, alpha]: [T; 2], [g, h]: [&[T]; 2])
where
    T: Copy + AddAssign + Sub<Output = T> + Mul<Output = T>,
{
    // One length, known to the compiler, so that the loop has no checks and runs in vector registers.
    let n = x.len();
    let (mixed, g, h) = (&mut mixed[..n], &g[..n], &h[..n]);
    for k in 0..n {
        let t = r * (h[k] - g[k]);
        x[k] += t;
        mixed[k] += alpha * t;
    }
}
