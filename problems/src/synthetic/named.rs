//! Small problems with known answers, by name.

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Kind, NonNegative, Objective, Precision, Shard, Vector};
use serde::{Deserialize, Serialize};

use super::formula;
use crate::dataset::Examples;
use crate::error::ProblemError;
use crate::model::{Logistic, ModelConfig};
use crate::source::{Load, Material, Place, affordable, affordable_clients};

/// Two one-dimensional quadratics with minimisers 1 and 1/2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Q2 {}

impl Kind for Q2 {
    const NAME: &'static str = "q2";
}

/// Two one-dimensional quadratics with minimisers -1 and 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Q2s {}

impl Kind for Q2s {
    const NAME: &'static str = "q2s";
}

/// Three quadratics in the plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Q3 {}

impl Kind for Q3 {
    const NAME: &'static str = "q3";
}

/// Logistic regression on data given by a formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Lrs {
    /// n: how many clients.
    pub clients: NonZeroU32,
    /// m: examples per client.
    pub examples: NonZeroU32,
    /// d: how many features.
    pub dim: NonZeroU32,
    /// λ: strength of the regulariser (default 0.1).
    #[serde(default = "tenth")]
    pub l2: NonNegative,
}

impl Kind for Lrs {
    const NAME: &'static str = "lrs";
}

fn tenth() -> NonNegative {
    NonNegative::new(0.1).expect("0.1 is not negative")
}

impl Load for Q2 {
    fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        Ok(functions(formula::q2()))
    }
}

impl Load for Q2s {
    fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        Ok(functions(formula::q2s()))
    }
}

impl Load for Q3 {
    fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        Ok(functions(formula::q3()))
    }
}

impl Load for Lrs {
    fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        affordable(&[("clients", self.clients), ("examples", self.examples), ("dim", self.dim)])?;
        affordable_clients(self.clients)?;
        let [clients, rows, dim] = [self.clients, self.examples, self.dim].map(|size| size.get() as usize);
        let data = Arc::new(Examples::new(formula::lrs_dataset(clients, rows, dim))?);
        let model = ModelConfig::new(Logistic { l2: self.l2, ..Logistic::default() });
        let shard = |client: usize| {
            let own = client * rows..(client + 1) * rows;
            let train_evaluator = Some(model.evaluator(&data, own.clone())?);
            Ok(Shard { train_evaluator, ..Shard::new(model.objective(&data, own)?) })
        };
        let shards = (0..clients).map(shard).collect::<Result<_, ProblemError>>()?;
        Ok(Material::Functions { shards, start: Vector::zeros(dim, Precision::F64) })
    }
}

fn functions(objectives: Vec<Arc<dyn Objective>>) -> Material {
    let dim = objectives.first().map_or(0, |f| f.dim());
    Material::Functions { shards: objectives.into_iter().map(Shard::new).collect(), start: Vector::zeros(dim, Precision::F64) }
}
