//! Local steps: nothing but gradients and vectors at hand between two communications.

use std::ops::{Add, Mul};

use motet_core::{Algorithm, Rows, Site, Vector, View, ViewMut};

use super::{Client, Family, Kind};

impl<K: Kind> Family<K> {
    /// Line 5, ℓ times, in two passes over the vectors a step besides the gradient.
    pub(super) fn walk(&self, me: &Client, from: &Vector, steps: u32, site: &mut Site<'_>) -> Vector {
        let alpha = self.share(site.id);
        let mut local = (alpha < 1.0).then(|| self.anchor(site));
        if let Some(own) = &mut local {
            own.scale(1.0 - alpha);
        }
        let (mut x, mut g, mut mixed) = (from.clone(), from.zeros_like(), from.zeros_like());
        let rate = me.step * me.slow / alpha;
        for _ in 0..steps {
            let at = match &local {
                None => &x,
                Some(own) => {
                    write_sum(&mut mixed, own, alpha, &x);
                    &mixed
                }
            };
            match self.batch {
                Some(size) if (size as usize) < site.train.samples() => {
                    let rows = site.rng.choose(size as usize, site.train.samples());
                    site.train.gradient_into(at, Rows::Only(&rows), &mut g);
                }
                _ => site.train.gradient_into(at, Rows::All, &mut g),
            }
            add_both(&mut x, -rate, &g, rate, &me.h);
        }
        x
    }
}

const MIXED: &str = "vectors of one computation share their precision";

/// to ← x + a·y, in one pass.
fn write_sum(to: &mut Vector, x: &Vector, a: f64, y: &Vector) {
    match (to.view_mut(), x.view(), y.view()) {
        (ViewMut::F32(to), View::F32(x), View::F32(y)) => sums(to, x, a as f32, y),
        (ViewMut::F64(to), View::F64(x), View::F64(y)) => sums(to, x, a, y),
        _ => panic!("{MIXED}"),
    }
}

/// x ← x + a·y + b·z, in one pass.
fn add_both(x: &mut Vector, a: f64, y: &Vector, b: f64, z: &Vector) {
    match (x.view_mut(), y.view(), z.view()) {
        (ViewMut::F32(x), View::F32(y), View::F32(z)) => adds(x, a as f32, y, b as f32, z),
        (ViewMut::F64(x), View::F64(y), View::F64(z)) => adds(x, a, y, b, z),
        _ => panic!("{MIXED}"),
    }
}

fn sums<T: Copy + Add<Output = T> + Mul<Output = T>>(to: &mut [T], x: &[T], a: T, y: &[T]) {
    for ((to, x), y) in to.iter_mut().zip(x).zip(y) {
        *to = *x + a * *y;
    }
}

fn adds<T: Copy + Add<Output = T> + Mul<Output = T>>(x: &mut [T], a: T, y: &[T], b: T, z: &[T]) {
    for ((x, y), z) in x.iter_mut().zip(y).zip(z) {
        *x = *x + a * *y + b * *z;
    }
}
