//! QSGD, or random dithering: levels of the norm.
//!
//! Alistarh, Grubic, Li, Tomioka, Vojnović. *QSGD: Communication-Efficient SGD via Gradient
//! Quantization and Encoding*. NeurIPS 2017.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng, Vector};
use serde::{Deserialize, Serialize};

use super::{Compress, Key, Packed, Sends};

/// Norm, signs and random levels; unbiased, ω = min(d/s², √d/s).
///
/// r sign(xₗ) level/s, r = |x|, where the level is one of the two next to s |xₗ|/r, right in the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Qsgd {
    /// s: levels between 0 and the norm.
    pub levels: NonZeroU32,
}

impl Kind for Qsgd {
    const NAME: &'static str = "qsgd";
}

impl Compress for Qsgd {
    /// min(d/s², √d/s)
    fn omega(&self, dim: usize) -> Option<f64> {
        let (d, s) = (dim as f64, f64::from(self.levels.get()));
        Some((d / (s * s)).min(d.sqrt() / s))
    }

    fn sends(&self, _: usize, _: &Key) -> Sends {
        Sends::Levels(self.levels.get())
    }

    fn pack(&self, v: &Vector, _: Option<&[u32]>, rng: &mut Rng) -> Packed {
        // In the vector's own precision, as it is sent: levels are shares of what the receiver sees.
        let norm = Vector::filled(1, norm(v), v.precision());
        let (r, s) = (norm.at(0), self.levels.get());
        let level = |l: usize| {
            let x = v.at(l);
            let y = if r > 0.0 && r.is_finite() { f64::from(s) * (x.abs() / r) } else { 0.0 };
            let below = y.floor();
            let up = y > below && rng.coin(y - below);
            (x.is_sign_negative(), (below as u32).saturating_add(up.into()).min(s))
        };
        Packed::levels(norm, s, v.len(), (0..v.len()).map(level))
    }
}

/// |x| of numbers whose squares leave the range.
fn norm(v: &Vector) -> f64 {
    let largest = (0..v.len()).map(|l| v.at(l).abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    largest * (0..v.len()).map(|l| (v.at(l) / largest).powi(2)).sum::<f64>().sqrt()
}
