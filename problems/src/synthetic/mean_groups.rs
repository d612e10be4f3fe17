//! Estimating the mean of client 0 with the help of others, some like it and some not.
//!
//! ```text
//! fᵢ(x) = s/m Σⱼ |x − ξᵢⱼ|²,   ξᵢⱼ ~ N(mᵢ, I)
//! group 0 (the target's)   m = 0
//! group 1                  m = μ 1/√d   ("paper": μ 1)
//! group 2                  m = (0, 1, 0, 1, …), scaled to length 1   ("paper": uniform on the sphere)
//! ```
//!
//! The mean-estimation experiment of MeritFed (Tupitsa et al., 2024). "code" is what its figures were
//! made with: the loss averages over coordinates too (s = 1/d). "paper" is what its text says (s = 1).

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Evaluator, Kind, NonNegative, Precision, Rng, Seed, Shard, Vector};
use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Examples, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::model::{MeanEstimation, ModelConfig};
use crate::source::{Load, Material, Place, affordable, affordable_clients};
use crate::synthetic::moving::{Drift, Drifting, Endless, Extra};

/// Estimate a mean among groups of clients with other means; client 0 has extra validation data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct MeanGroups {
    /// Clients in each of the three groups: like the target, near it, far from it.
    pub groups: [u32; 3],
    /// μ: how far the second group's mean is.
    pub mu: NonNegative,
    /// d: the dimension.
    pub dim: NonZeroU32,
    /// Samples per client.
    pub samples: NonZeroU32,
    /// Validation samples of client 0: a number (default 0), or "endless" for new ones at every question.
    #[serde(default)]
    pub validation: Extra,
    /// Who has validation samples: "target" (client 0, the default) or "everyone".
    #[serde(default)]
    pub validated: Validated,
    /// "code" (as the figures were made, the default) or "paper" (as the text says).
    #[serde(default)]
    pub mode: MeanMode,
    /// The second group moves away: { after = 3000, mu = 1.0, over = 100 } goes to the new mu in 100 rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

impl Kind for MeanGroups {
    const NAME: &'static str = "mean-estimation";
}

/// Who has validation samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validated {
    /// Client 0.
    #[default]
    Target,
    /// Every client.
    Everyone,
}

/// Which constants: those of the released code or of the paper's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeanMode {
    /// As the released code has it.
    #[default]
    Code,
    /// As the paper's text has it.
    Paper,
}

impl Load for MeanGroups {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        self.check()?;
        let (dim, samples) = (self.dim.get() as usize, self.samples.get() as usize);
        let means = self.means(&mut dice::shared(place.seed, Step::Source));
        let groups = self.groups.iter().enumerate().flat_map(|(group, &clients)| std::iter::repeat_n(group, clients as usize));
        let own_means: Vec<&Vec<f64>> = groups.map(|group| &means[group]).collect();
        let data = Arc::new(self.draw(&own_means, place.seed)?);
        let share = if self.mode == MeanMode::Code { 1.0 / dim as f64 } else { 1.0 };
        let model = ModelConfig::new(MeanEstimation { average_coordinates: self.mode == MeanMode::Code });
        let mut shards = Vec::with_capacity(own_means.len());
        let mut taken = 0;
        for (client, mean) in own_means.into_iter().enumerate() {
            let (train, validation) = (taken..taken + samples, taken + samples..taken + samples + self.extra(client));
            taken = validation.end;
            let mut shard = Shard::new(model.objective(&data, train)?);
            if !validation.is_empty() {
                shard.validation = Some(model.objective(&data, validation)?);
            } else if self.validation == Extra::Endless && self.validates(client) {
                shard.validation = Some(Arc::new(Endless { mean: mean.clone(), share, seed: place.seed, client }));
            }
            if let (Some(drift), true) =
                (self.drift, self.groups[0] as usize <= client && client < (self.groups[0] + self.groups[1]) as usize)
            {
                let away = (*drift.mu - *self.mu) * self.near();
                shard.train = Arc::new(Drifting { still: shard.train, drift, away, curvature: 2.0 * share });
            }
            shard.test_evaluator = Some(Arc::new(Excess { mean: mean.clone().into() }));
            shards.push(shard);
        }
        Ok(Material::Functions { shards, start: Vector::filled(dim, 1.0 / (dim as f64).sqrt(), Precision::F64) })
    }

    fn groups(&self) -> Vec<u64> {
        self.groups.map(u64::from).to_vec()
    }
}

impl MeanGroups {
    fn check(&self) -> Result<(), ProblemError> {
        let Some(target_group) = NonZeroU32::new(self.groups[0]) else {
            let wanted = "at least one client in the first group, whose mean is estimated".into();
            return Err(ProblemError::Value { key: "source.groups", value: format!("{:?}", self.groups), wanted });
        };
        let clients = target_group.saturating_add(self.groups[1]).saturating_add(self.groups[2]);
        let extra = if let Extra::Samples(count) = self.validation { count } else { 0 };
        affordable_clients(clients)?;
        affordable(&[("groups", clients), ("samples", self.samples.saturating_add(extra)), ("dim", self.dim)])
    }

    fn validates(&self, client: usize) -> bool {
        client == 0 || self.validated == Validated::Everyone
    }

    /// Validation samples of a client that are drawn beforehand.
    fn extra(&self, client: usize) -> usize {
        match self.validation {
            Extra::Samples(count) if self.validates(client) => count as usize,
            _ => 0,
        }
    }

    /// What a coordinate of the second group's mean is at μ = 1.
    fn near(&self) -> f64 {
        match self.mode {
            MeanMode::Code => 1.0 / f64::from(self.dim.get()).sqrt(),
            MeanMode::Paper => 1.0,
        }
    }

    /// Every client's samples, one client after another, validation after training.
    fn draw(&self, means: &[&Vec<f64>], seed: Seed) -> Result<Examples, ProblemError> {
        let mut values = Vec::new();
        for (client, mean) in means.iter().enumerate() {
            let mut rng = dice::own(seed, Step::Source, client);
            let count = self.samples.get() as usize + self.extra(client);
            values.extend((0..count).flat_map(|_| mean.iter()).map(|mean| mean + rng.normal()));
        }
        let cols = self.dim.get() as usize;
        let targets = Targets::Numbers(vec![0.0; values.len() / cols]);
        Ok(Examples::new(Dataset::new(Matrix::Dense(Dense { cols, values: values.into() }), targets))?)
    }

    fn means(&self, rng: &mut Rng) -> [Vec<f64>; 3] {
        let dim = self.dim.get() as usize;
        let unit = |mut v: Vec<f64>| {
            let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            v.iter_mut().for_each(|v| *v /= length);
            v
        };
        let far = match self.mode {
            // In dimension 1 the alternating vector has no second entry to be 1.
            MeanMode::Code => unit((0..dim).map(|j| if dim == 1 { 1.0 } else { (j % 2) as f64 }).collect()),
            MeanMode::Paper => unit((0..dim).map(|_| rng.normal()).collect()),
        };
        [vec![0.0; dim], vec![*self.mu * self.near(); dim], far]
    }
}

/// |x − mᵢ|²: the excess risk, exactly.
struct Excess {
    mean: Vector,
}

impl Evaluator for Excess {
    fn examples(&self) -> usize {
        1
    }
    fn metrics(&self, x: &Vector, _buffers: Option<&Vector>) -> Vec<(&'static str, f64)> {
        vec![("excess", x.distance2(&self.mean))]
    }
}
