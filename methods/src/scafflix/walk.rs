//! Local steps: nothing but gradients and vectors at hand between two communications.

use std::ops::{Add, Mul};

use motet_core::{Algorithm, Rows, Site, Vector, View, ViewMut};

use super::{Client, Family, Kind};

impl<K: Kind> Family<K> {
    /// Line 5, ℓ times, in one pass over the vectors a step besides the gradient: the next mixture is made where the next
    /// x is.
    pub(super) fn walk(&self, me: &Client, from: &Vector, steps: u32, site: &mut Site<'_>) -> Vector {
        let alpha = self.share(site.id);
        let mut own = if alpha < 1.0 { self.anchor(site) } else { from.zeros_like() };
        own.scale(1.0 - alpha);
        let (mut x, mut g) = (from.clone(), from.zeros_like());
        let mut mixed = own.clone();
        mixed.axpy(alpha, &x);
        let rate = me.step * me.slow / alpha;
        for _ in 0..steps {
            match self.batch {
                Some(size) if (size as usize) < site.train.samples() => {
                    let rows = site.rng.choose(size as usize, site.train.samples());
                    site.train.gradient_into(&mixed, Rows::Only(&rows), &mut g);
                }
                _ => site.train.gradient_into(&mixed, Rows::All, &mut g),
            }
            advance(&mut x, &mut mixed, rate, [&g, &me.h], alpha, &own);
        }
        x
    }
}

/// x ← x − r·g + r·h, then mixed ← own + α·x, in one pass.
fn advance(x: &mut Vector, mixed: &mut Vector, r: f64, [g, h]: [&Vector; 2], alpha: f64, own: &Vector) {
    match (x.view_mut(), mixed.view_mut(), g.view(), h.view(), own.view()) {
        (ViewMut::F32(x), ViewMut::F32(mixed), View::F32(g), View::F32(h), View::F32(own)) => {
            pass(x, mixed, [-r as f32, r as f32, alpha as f32], [g, h, own]);
        }
        (ViewMut::F64(x), ViewMut::F64(mixed), View::F64(g), View::F64(h), View::F64(own)) => {
            pass(x, mixed, [-r, r, alpha], [g, h, own]);
        }
        _ => panic!("vectors of one computation share their precision"),
    }
}

fn pass<T: Copy + Add<Output = T> + Mul<Output = T>>(x: &mut [T], mixed: &mut [T], [a, b, alpha]: [T; 3], [g, h, own]: [&[T]; 3]) {
    // One length, known to the compiler, so that the loop has no checks and runs in vector registers.
    let n = x.len();
    let (mixed, g, h, own) = (&mut mixed[..n], &g[..n], &h[..n], &own[..n]);
    for k in 0..n {
        let next = x[k] + a * g[k] + b * h[k];
        x[k] = next;
        mixed[k] = own[k] + alpha * next;
    }
}
