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

use motet_core::{Exam, NonNegative, Precision, Rng, Seed, Shard, Vector};

use crate::dataset::{Dataset, Examples, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::keys::keys;
use crate::matrix::{Dense, Matrix};
use crate::model::{MeanEstimation, ModelConfig};
use crate::source::{Material, Place, affordable};

keys! {
    /// Estimate a mean among groups of clients with other means; client 0 has extra validation data.
    pub struct MeanGroups {
        /// Clients in each of the three groups: like the target, near it, far from it.
        pub groups: [u32; 3],
        /// μ: how far the second group's mean is.
        pub mu: NonNegative,
        /// d
        pub dim: NonZeroU32,
        /// Samples per client.
        pub samples: NonZeroU32,
        /// Validation samples of client 0; 0 unless told.
        #[serde(default)]
        pub validation: u32,
        /// "code" (as the figures were made, the default) or "paper" (as the text says).
        #[serde(default)]
        pub mode: MeanMode,
    }
}

/// Whose constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeanMode {
    /// As the released code has it.
    #[default]
    Code,
    /// As the paper's text has it.
    Paper,
}

impl MeanGroups {
    pub(crate) fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        self.check()?;
        let (dim, samples) = (self.dim.get() as usize, self.samples.get() as usize);
        let means = self.means(&mut dice::shared(place.seed, Step::Source));
        let groups = self.groups.iter().enumerate().flat_map(|(group, &clients)| std::iter::repeat_n(group, clients as usize));
        let own_means: Vec<&Vec<f64>> = groups.map(|group| &means[group]).collect();
        let data = Arc::new(self.draw(&own_means, place.seed)?);
        let model = ModelConfig::Mean(MeanEstimation { average_coordinates: self.mode == MeanMode::Code });
        let mut shards = Vec::with_capacity(own_means.len());
        let mut taken = 0;
        for (client, mean) in own_means.into_iter().enumerate() {
            let (train, validation) = (taken..taken + samples, taken + samples..taken + samples + self.extra(client));
            taken = validation.end;
            let mut shard = Shard::new(model.objective(&data, train)?);
            if !validation.is_empty() {
                shard.validation = Some(model.objective(&data, validation)?);
            }
            shard.test_exam = Some(Arc::new(Excess { mean: mean.clone().into() }));
            shards.push(shard);
        }
        Ok(Material::Functions { shards, start: Vector::filled(dim, 1.0 / (dim as f64).sqrt(), Precision::F64) })
    }

    fn check(&self) -> Result<(), ProblemError> {
        let Some(target_group) = NonZeroU32::new(self.groups[0]) else {
            let wanted = "at least one client in the first group, whose mean is estimated".into();
            return Err(ProblemError::Value { key: "source.groups", value: format!("{:?}", self.groups), wanted });
        };
        let clients = target_group.saturating_add(self.groups[1]).saturating_add(self.groups[2]);
        affordable(&[("groups", clients), ("samples", self.samples.saturating_add(self.validation)), ("dim", self.dim)])
    }

    /// Validation samples of a client: only the target has any.
    fn extra(&self, client: usize) -> usize {
        if client == 0 { self.validation as usize } else { 0 }
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
        Ok(Examples::new(Dataset { features: Matrix::Dense(Dense { cols, values }), targets, keys: None })?)
    }

    fn means(&self, rng: &mut Rng) -> [Vec<f64>; 3] {
        let dim = self.dim.get() as usize;
        let unit = |mut v: Vec<f64>| {
            let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            v.iter_mut().for_each(|v| *v /= length);
            v
        };
        let (near, far) = match self.mode {
            // In dimension 1 the alternating vector has no second entry to be 1.
            MeanMode::Code => (1.0 / (dim as f64).sqrt(), unit((0..dim).map(|j| if dim == 1 { 1.0 } else { (j % 2) as f64 }).collect())),
            MeanMode::Paper => (1.0, unit((0..dim).map(|_| rng.normal()).collect())),
        };
        [vec![0.0; dim], vec![*self.mu * near; dim], far]
    }
}

/// |x − mᵢ|²: the excess risk, exactly.
struct Excess {
    mean: Vector,
}

impl Exam for Excess {
    fn examples(&self) -> usize {
        1
    }
    fn metrics(&self, x: &Vector, _buffers: Option<&Vector>) -> Vec<(&'static str, f64)> {
        vec![("excess", x.distance2(&self.mean))]
    }
}
