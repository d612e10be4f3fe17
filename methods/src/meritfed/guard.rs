//! Against weights that fit the target's validation data and nothing else.
//!
//! ```text
//! v = ∇f̂(y) on the m validation examples of the target, t the same on its own training examples;
//! V = tr Cov(v), U = tr Cov(t), each from the spread of groups of examples;   B = max(U, |v − t|² − V)
//! the target answers v + θ (t − v),   θ = ρV/(ρV + B)
//! ```
//!
//! Few validation examples err by V, and weights follow that error as far as the clients' gradients reach: a share ρ of it.
//! Training examples of the target are mostly many more, but its own gradient is made of them, so that all of their error U can
//! be followed, and x has seen them: B is what they are wrong by, noise and bias together, and |v − t|² is V + B on average. An
//! answer with the part θ of t is wrong by (1 − θ)² ρV + θ² B, in what weights can follow. θ above makes this least:
//! ρV·B/(ρV + B), which is less than ρV (no guard) and less than B (training data alone).
//!
//! Theory: the last statement, for the true V, B and ρ, v and t independent, and one question. In quadratics with one Hessian v − t does
//! not depend on y, so that it holds in all rounds. V, U and B are estimated, and ρ is a choice: 1/4, made on
//! development seeds and judged on others (the laboratory's notes on MeritFed). Where the model fits its training data, t is
//! near 0 and |v − t|² large unless v is noise: the answer is then v, or stays near 0 and moves no weight.

use motet_core::{Fraction, Meter, Purpose, Rows, Site, Unsuitable, Vector};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Reply, Validation, even};
use crate::parts::{Mirror, MirrorKind};

/// How much of the error of few validation examples the target's training examples make up for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Guard {
    /// ρ: the share of the error of a slope that weights can follow.
    pub follows: Fraction,
}

/// So many groups of examples tell the noise of their mean well enough.
const GROUPS: usize = 16;

impl Default for Guard {
    fn default() -> Self {
        Self { follows: Fraction::new(0.25).expect("a quarter is a fraction") }
    }
}

impl Guard {
    /// The target's answer to [`Ask::Validate`] and [`Ask::Describe`]; none to other questions, and where there are no validation data.
    pub fn answer(&self, ask: &Ask, site: &mut Site<'_>) -> Option<Reply> {
        let (Ask::Validate { y: at } | Ask::Describe { x: at }) = ask else { return None };
        let meter = site.validation.as_mut().filter(|meter| meter.samples() > 0)?;
        let curvature = even(meter.constants());
        let shuffled = |samples: usize| {
            let mut order: Vec<u32> = (0..samples as u32).collect();
            site.seed.fixed(site.id, Purpose::Entry).shuffle(&mut order);
            order
        };
        let (rows, own_rows) = (shuffled(meter.samples()), shuffled(site.train.samples()));
        let ((mut v, noise), (t, own_noise)) = (slope(meter, &rows, at), slope(&mut site.train, &own_rows, at));
        let share = self.share(noise, own_noise, v.distance2(&t));
        v.scale(1.0 - share);
        v.axpy(share, &t);
        Some(Reply::Guarded { v, curvature, share })
    }

    /// θ from V, U and |v − t|². A noise that cannot be told is infinite.
    fn share(&self, noise: f64, own_noise: f64, apart: f64) -> f64 {
        if noise.is_infinite() || own_noise.is_infinite() {
            // Whoever has one example at most cannot tell how wrong it is.
            return f64::from(u8::from(noise.is_infinite() && own_noise.is_finite()));
        }
        let (followed, wrong) = (*self.follows * noise, own_noise.max(apart - noise));
        let share = followed / (followed + wrong);
        if share.is_finite() { share } else { 0.0 }
    }

    /// Does it go with how weights are sought, and with the data the target judges by?
    pub fn suits(&self, mirror: &Mirror, validation: Validation) -> Result<(), Unsuitable> {
        let all = "guard weighs all validation data against the training data at once: take mirror.kind = \"md\", or leave guard out";
        Unsuitable::when(mirror.kind != MirrorKind::Md, all)?;
        let held = "guard is for validation data that are kept from training: take validation = \"held-out\", or leave guard out";
        Unsuitable::when(validation != Validation::HeldOut, held)
    }
}

/// The mean gradient over some examples and the trace of its covariance, from the spread of groups (Welford's sums, group by group).
/// Infinite for less than two examples.
fn slope(meter: &mut Meter<'_>, rows: &[u32], at: &Vector) -> (Vector, f64) {
    let groups = rows.len().min(GROUPS);
    let (mut mean, mut one) = (at.zeros_like(), at.zeros_like());
    let (mut seen, mut spread) = (0.0, 0.0);
    for k in 0..groups {
        let some = &rows[k * rows.len() / groups..(k + 1) * rows.len() / groups];
        meter.gradient_into(at, Rows::Only(some), &mut one);
        let size = some.len() as f64;
        seen += size;
        let part = size / seen;
        spread += size * (1.0 - part) * one.distance2(&mean);
        mean.scale(1.0 - part);
        mean.axpy(part, &one);
    }
    let noise = if groups < 2 { f64::INFINITY } else { spread / (groups - 1) as f64 / seen };
    (mean, noise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_the_training_data_makes_the_error_least() {
        let guard = Guard::default();
        // ρV = 0.25, and the training data are wrong by 1 of noise, or by 3 of noise and bias.
        assert!((guard.share(1.0, 1.0, 1.5) - 0.2).abs() < 1e-15 && (guard.share(1.0, 1.0, 4.0) - 0.25 / 3.25).abs() < 1e-15);
        let error = |theta: f64| (1.0 - theta).powi(2) * 0.25 + theta * theta * 3.0;
        let least = error(guard.share(1.0, 1.0, 4.0));
        assert!((0..100).all(|k| least <= error(f64::from(k) / 100.0)) && least < 0.25);
        assert!((least - 0.25 * 3.0 / 3.25).abs() < 1e-15);
    }

    #[test]
    fn noise_that_cannot_be_told_is_not_believed() {
        let (guard, unknown) = (Guard::default(), f64::INFINITY);
        assert_eq!([guard.share(unknown, 1.0, 1.0), guard.share(1.0, unknown, 1.0), guard.share(unknown, unknown, 1.0)], [1.0, 0.0, 0.0]);
        assert_eq!([guard.share(0.0, 0.0, 0.0), guard.share(0.0, 1.0, 1.0), guard.share(f64::NAN, 1.0, 1.0)], [0.0; 3]);
    }
}
