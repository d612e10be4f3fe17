//! Gaussian classes that each client has in proportions of its own.
//!
//! ```text
//! class c      mean m_c uniform on the sphere of radius s in R^d
//! client i     label distribution pᵢ ~ Dirichlet(α, …, α)
//! example      y ~ pᵢ,   x ~ N(m_y, I)
//! ```
//!
//! s is `separation`. The classes are the same everywhere, so one model can serve all; what differs is who sees what, as in the heterogeneous
//! classification problems that federated averaging is tried on.

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Kind, Positive, Rng, Seed};
use rand_distr::Gamma;
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, countable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::on_demand::ClientExamples;

/// Gaussian classes that each client has in Dirichlet proportions. Each example has a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct GaussianClasses {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Examples per client.
    pub examples: NonZeroU32,
    /// d: numbers per example.
    pub features: NonZeroU32,
    /// How many classes (default 10).
    #[serde(default = "ten")]
    pub classes: NonZeroU32,
    /// Concentration of a client's labels: 0.1 is very uneven, 100 nearly even.
    pub alpha: Positive,
    /// Distance of the class means from 0 (default 2).
    #[serde(default = "two")]
    pub separation: Positive,
}

impl Kind for GaussianClasses {
    const NAME: &'static str = "gaussian-classes";
}

fn ten() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(9)
}
fn two() -> Positive {
    Positive::new(2.0).expect("2 is positive")
}

impl Load for GaussianClasses {
    fn redraws(&self) -> Redraws {
        Redraws::Everything
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        if self.classes.get() < 2 {
            return Err(ProblemError::Value { key: "source.classes", value: "1".into(), wanted: "at least 2 to tell apart".into() });
        }
        affordable(&[("examples", self.examples), ("features", self.features)])?;
        affordable(&[("classes", self.classes), ("features", self.features.saturating_add(4))])?;
        countable_clients(Some(self.clients))?;
        let [dim, classes] = [self.features, self.classes].map(|n| n.get() as usize);
        let mut rng = dice::shared(place.seed, Step::Source);
        let means = (0..classes).map(|_| self.mean(dim, &mut rng)).collect();
        Ok(Material::Clients { clients: Arc::new(Clients { of: self.clone(), seed: place.seed, means }), inputs: Vec::new() })
    }
}

/// All of them, as a recipe.
struct Clients {
    of: GaussianClasses,
    seed: Seed,
    /// By class.
    means: Vec<Vec<f64>>,
}

impl ClientExamples for Clients {
    fn clients(&self) -> u32 {
        self.of.clients.get()
    }

    fn rows(&self, _: u32) -> u32 {
        self.of.examples.get()
    }

    fn outline(&self) -> Dataset {
        self.of.dataset(Vec::new(), Vec::new())
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let mut rng = dice::own(self.seed, Step::Source, client as usize);
        let shares = self.of.shares(self.means.len(), &mut rng);
        let (mut values, mut labels) = (vec![], vec![]);
        for _ in 0..self.of.examples.get() {
            let label = pick(&shares, &mut rng);
            values.extend(self.means[label].iter().map(|m| m + rng.normal()));
            labels.push(label as u32);
        }
        Ok(self.of.dataset(values, labels))
    }
}

impl GaussianClasses {
    fn dataset(&self, values: Vec<f64>, labels: Vec<u32>) -> Dataset {
        let features = Matrix::Dense(Dense { cols: self.features.get() as usize, values: values.into() });
        Dataset::new(features, Targets::Classes { labels, classes: self.classes.get() })
    }

    fn mean(&self, dim: usize, rng: &mut Rng) -> Vec<f64> {
        let direction: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        direction.iter().map(|v| *self.separation * v / length).collect()
    }

    /// Dirichlet(α), as Gamma variables that are not yet divided by their sum.
    fn shares(&self, classes: usize, rng: &mut Rng) -> Vec<f64> {
        let gamma = Gamma::new(*self.alpha, 1.0).expect("alpha is positive and finite");
        (0..classes).map(|_| rng.draw(&gamma)).collect()
    }
}

/// A class by its share; any, if every share underflowed to 0.
fn pick(shares: &[f64], rng: &mut Rng) -> usize {
    let total: f64 = shares.iter().sum();
    if total <= 0.0 {
        return rng.below(shares.len());
    }
    let mut left = rng.unit() * total;
    for (class, share) in shares.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return class;
        }
    }
    shares.len() - 1
}
