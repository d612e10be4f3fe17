//! Means that are not a fixed set of samples: sets without end, and groups that move.

use std::sync::Arc;

use motet_core::{Batch, Constants, NonNegative, Objective, Purpose, Rows, Seed, Slot, Vector};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// How many extra samples: a number, or "endless".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// So many, drawn beforehand.
    Samples(u32),
    /// Each is drawn when it is first looked at.
    Endless,
}

impl Default for Extra {
    fn default() -> Self {
        Extra::Samples(0)
    }
}

impl Serialize for Extra {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Extra::Samples(count) => count.serialize(to),
            Extra::Endless => to.serialize_str("endless"),
        }
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Extra;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of samples, or \"endless\"")
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Extra, E> {
                u32::try_from(v).map(Extra::Samples).map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(v), &self))
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Extra, E> {
                u32::try_from(v).map(Extra::Samples).map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(v), &self))
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Extra, E> {
                if v == "endless" { Ok(Extra::Endless) } else { Err(E::invalid_value(serde::de::Unexpected::Str(v), &self)) }
            }
        }
        from.deserialize_any(Either)
    }
}

/// A group that moves away in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// The last round before it moves.
    pub after: u64,
    /// Where it ends.
    pub mu: NonNegative,
    /// How many rounds the way takes (default: 0, at once).
    #[serde(default)]
    pub over: u64,
}

impl Drift {
    /// The part of the way gone in this round.
    fn gone(&self, round: u64) -> f64 {
        let since = round.saturating_sub(self.after);
        if since == 0 { 0.0 } else { (since as f64 / self.over.max(1) as f64).min(1.0) }
    }
}

/// N(m, I) itself: as many samples as anybody asks for, each a function of its number.
pub(super) struct Endless {
    pub(super) mean: Vec<f64>,
    pub(super) share: f64,
    pub(super) seed: Seed,
    pub(super) client: usize,
}

impl Endless {
    /// ξⱼ. The attempt keeps these dice apart from those of the samples drawn beforehand.
    fn sample(&self, row: u32, mut each: impl FnMut(usize, f64)) {
        let slot = Slot { round: row.into(), attempt: 1, exchange: 0 };
        let mut rng = self.seed.dice(slot, self.client as u32 + 1, Purpose::Problem);
        self.mean.iter().enumerate().for_each(|(l, mean)| each(l, mean + rng.normal()));
    }
}

impl Objective for Endless {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn samples(&self) -> usize {
        u32::MAX as usize
    }

    /// Of all rows, the expectation: |x − m|² + d.
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        let x = x.f64s();
        let distance2 = match batch.rows {
            Rows::All => x.iter().zip(&self.mean).map(|(x, m)| (x - m).powi(2)).sum::<f64>() + x.len() as f64,
            Rows::Only(rows) => {
                let mut sum = 0.0;
                rows.iter().for_each(|&row| self.sample(row, |l, sample| sum += (x[l] - sample).powi(2)));
                sum / rows.len().max(1) as f64
            }
        };
        self.share * distance2
    }

    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        let g = g.f64s_mut();
        match batch.rows {
            Rows::All => g.copy_from_slice(&self.mean),
            Rows::Only(rows) => {
                g.fill(0.0);
                rows.iter().for_each(|&row| self.sample(row, |l, sample| g[l] += sample));
                g.iter_mut().for_each(|g| *g /= rows.len().max(1) as f64);
            }
        }
        for (g, x) in g.iter_mut().zip(x.f64s()) {
            *g = 2.0 * self.share * (x - *g);
        }
    }

    fn constants(&self) -> Constants {
        let curvature = Some(2.0 * self.share);
        Constants { smoothness: curvature, convexity: curvature, sample_smoothness: curvature }
    }
}

/// A client whose samples move together from some round on. Outside of training, where there is no time, it stands
/// where it began.
pub(super) struct Drifting {
    pub(super) still: Arc<dyn Objective>,
    pub(super) drift: Drift,
    /// How far every coordinate moves.
    pub(super) away: f64,
    /// Of the loss: the gradient moves by this times the way.
    pub(super) curvature: f64,
}

impl Drifting {
    fn push(&self, batch: &Batch<'_>) -> f64 {
        let gone = batch.noise.map_or(0.0, |noise| self.drift.gone(noise.round()));
        self.curvature * self.away * gone
    }
}

impl Objective for Drifting {
    fn dim(&self) -> usize {
        self.still.dim()
    }

    fn samples(&self) -> usize {
        self.still.samples()
    }

    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        self.still.value(x, batch)
    }

    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        let push = self.push(&batch);
        self.still.gradient(x, batch, g);
        g.f64s_mut().iter_mut().for_each(|g| *g -= push);
    }

    fn constants(&self) -> Constants {
        self.still.constants()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_takes_as_long_as_it_says() {
        let drift = |over| Drift { after: 10, mu: NonNegative::new(1.0).unwrap(), over };
        assert_eq!([9, 10, 11, 12].map(|round| drift(0).gone(round)), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!([10, 11, 14, 15].map(|round| drift(4).gone(round)), [0.0, 0.25, 1.0, 1.0]);
    }

    #[test]
    fn samples_without_end_have_the_mean_they_should() {
        let endless = Endless { mean: vec![1.0, -2.0], share: 0.5, seed: Seed(3), client: 4 };
        let (x, rows) = (Vector::from(vec![0.0, 0.0]), (0..4000).collect::<Vec<u32>>());
        let (mut all, mut some) = (x.zeros_like(), x.zeros_like());
        endless.gradient(&x, Batch::all(), &mut all);
        endless.gradient(&x, Batch::of(&rows), &mut some);
        assert_eq!(all.f64s(), [-1.0, 2.0]);
        // Five standard deviations of a mean of 4000.
        assert!(all.distance2(&some).sqrt() < 5.0 * (2.0f64 / 4000.0).sqrt(), "{some:?}");
        let expected = endless.value(&x, Batch::all());
        assert!((endless.value(&x, Batch::of(&rows)) - expected).abs() < 0.05 * expected);
    }
}
