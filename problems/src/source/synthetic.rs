//! A family of classification problems whose clients differ by a chosen amount.
//!
//! ```text
//! client i     Wᵢ = s (W + h Vᵢ) / √(1 + h²),   W, Vᵢ: rows uniform on the unit sphere
//! example      x = t uᵢ + D z,   z ~ N(0, I), uᵢ ~ N(0, I), D = diag(1, 2^{−k/2}, 3^{−k/2}, …)
//! label        y ~ softmax(Wᵢ x); with probability `noise` a uniform class instead
//! ```
//!
//! s is `signal`, h `heterogeneity`, t `shift`, k `decay`. The division keeps the labels equally sharp
//! whatever h, so that h alone says how far apart the clients are: with h = 0 one model fits all.

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Fraction, Kind, NonNegative, Positive, Rng, Seed};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, countable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::on_demand::ClientExamples;
use crate::split::power_law_sizes;

/// Made-up classification whose clients differ by a chosen amount. Each example has a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Synthetic {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Examples per client, on average.
    pub examples: NonZeroU32,
    /// d: numbers per example.
    pub features: NonZeroU32,
    /// How many classes (default 2).
    #[serde(default = "two")]
    pub classes: NonZeroU32,
    /// How far apart the clients' true models are; 0 is one model for all.
    pub heterogeneity: NonNegative,
    /// How sharp the labels are: length of the true models (default 8).
    #[serde(default = "eight")]
    pub signal: Positive,
    /// Share of labels drawn at random (default 0).
    #[serde(default = "no_fraction")]
    pub noise: Fraction,
    /// How far apart the clients' features are centred (default 0).
    #[serde(default = "none")]
    pub shift: NonNegative,
    /// How quickly the variance of feature j falls, as (j+1)^-decay (default 0).
    #[serde(default = "none")]
    pub decay: NonNegative,
    /// How unequal the clients' sizes are, as (i+1)^-imbalance (default: 0, all equal).
    #[serde(default = "none")]
    pub imbalance: NonNegative,
    /// Seed of the clients' true models and centres (default: the problem's own). With it, another seed of the problem draws new
    /// examples of the same clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<u64>,
}

impl Kind for Synthetic {
    const NAME: &'static str = "synthetic";
}

fn two() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(1)
}
fn eight() -> Positive {
    Positive::new(8.0).expect("8 is positive")
}
fn none() -> NonNegative {
    NonNegative::new(0.0).expect("0 is not negative")
}
fn no_fraction() -> Fraction {
    Fraction::new(0.0).expect("0 is a fraction")
}

impl Load for Synthetic {
    fn redraws(&self) -> Redraws {
        if self.truth.is_some() { Redraws::Examples } else { Redraws::Everything }
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        if self.classes.get() < 2 {
            return Err(ProblemError::Value { key: "source.classes", value: "1".into(), wanted: "at least 2 to tell apart".into() });
        }
        affordable(&[("examples", self.examples), ("features", self.features)])?;
        affordable(&[("classes", self.classes), ("features", self.features)])?;
        countable_clients(Some(self.clients))?;
        let clients = self.clients.get() as usize;
        let sizes = power_law_sizes(clients * self.examples.get() as usize, clients, *self.imbalance, 1);
        let sizes = sizes.into_iter().map(|size| u32::try_from(size).unwrap_or(u32::MAX)).collect();
        let known = self.truth.map_or(place.seed, Seed);
        let shared = self.directions(&mut dice::shared(known, Step::Source));
        Ok(Material::Clients {
            clients: Arc::new(Clients { of: self.clone(), seed: place.seed, known, shared, sizes }),
            inputs: Vec::new(),
        })
    }
}

/// All of them, as a recipe.
struct Clients {
    of: Synthetic,
    seed: Seed,
    /// Of the true models.
    known: Seed,
    /// W
    shared: Vec<f64>,
    sizes: Vec<u32>,
}

impl ClientExamples for Clients {
    fn clients(&self) -> u32 {
        self.of.clients.get()
    }

    fn rows(&self, client: u32) -> u32 {
        self.sizes[client as usize]
    }

    fn outline(&self) -> Dataset {
        self.of.dataset(Vec::new(), Vec::new())
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let (of, rows, dim) = (&self.of, self.rows(client) as usize, self.of.features.get() as usize);
        let mut rng = dice::own(self.known, Step::Source, client as usize);
        let truth = of.true_model(&self.shared, &mut rng);
        let centre: Vec<f64> = (0..dim).map(|_| *of.shift * rng.normal()).collect();
        if of.truth.is_some() {
            rng = dice::own(self.seed, Step::Examples, client as usize);
        }
        let (mut values, mut labels) = (Vec::with_capacity(rows * dim), Vec::with_capacity(rows));
        for _ in 0..rows {
            let start = values.len();
            values.extend(centre.iter().enumerate().map(|(j, c)| c + (j as f64 + 1.0).powf(-*of.decay / 2.0) * rng.normal()));
            labels.push(of.label(&truth, &values[start..], &mut rng));
        }
        Ok(of.dataset(values, labels))
    }
}

impl Synthetic {
    fn dataset(&self, values: Vec<f64>, labels: Vec<u32>) -> Dataset {
        let features = Matrix::Dense(Dense { cols: self.features.get() as usize, values: values.into() });
        Dataset::new(features, Targets::Classes { labels, classes: self.classes.get() })
    }

    /// One row per class but the first, whose score is zero; each uniform on the unit sphere.
    fn directions(&self, rng: &mut Rng) -> Vec<f64> {
        let (rows, dim) = (self.classes.get() as usize - 1, self.features.get() as usize);
        let mut all: Vec<f64> = (0..rows * dim).map(|_| rng.normal()).collect();
        for row in all.chunks_exact_mut(dim) {
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            row.iter_mut().for_each(|v| *v /= length);
        }
        all
    }

    /// Wᵢ
    fn true_model(&self, shared: &[f64], rng: &mut Rng) -> Vec<f64> {
        let (h, own) = (*self.heterogeneity, self.directions(rng));
        let scale = *self.signal / (1.0 + h * h).sqrt();
        shared.iter().zip(&own).map(|(w, v)| scale * (w + h * v)).collect()
    }

    fn label(&self, truth: &[f64], x: &[f64], rng: &mut Rng) -> u32 {
        if rng.coin(*self.noise) {
            return rng.below(self.classes.get() as usize) as u32;
        }
        let dot = |w: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let scores: Vec<f64> = std::iter::once(0.0).chain(truth.chunks_exact(x.len()).map(dot)).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let chances: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let mut left = rng.unit() * chances.iter().sum::<f64>();
        for (class, chance) in chances.iter().enumerate() {
            left -= chance;
            if left < 0.0 {
                return class as u32;
            }
        }
        self.classes.get() - 1
    }
}
