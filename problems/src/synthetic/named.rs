//! The small problems of the specification, by name.

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{NonNegative, Objective, Precision, Shard, Vector};

use super::formula;
use crate::dataset::Examples;
use crate::error::ProblemError;
use crate::keys::keys;
use crate::model::{Logistic, ModelConfig};
use crate::source::{Material, Place, affordable};

keys! {
    /// Two one-dimensional quadratics with minimisers 1 and 1/2.
    pub struct Q2 {}
}
keys! {
    /// Two one-dimensional quadratics with minimisers -1 and 1.
    pub struct Q2s {}
}
keys! {
    /// Three quadratics in the plane.
    pub struct Q3 {}
}
keys! {
    /// Logistic regression on data given by a formula.
    pub struct Lrs {
        /// n
        pub clients: NonZeroU32,
        /// m: examples per client.
        pub examples: NonZeroU32,
        /// d
        pub dim: NonZeroU32,
        /// λ: strength of the regulariser; 0.1 unless told.
        #[serde(default = "tenth")]
        pub l2: NonNegative,
    }
}

fn tenth() -> NonNegative {
    NonNegative::new(0.1).expect("0.1 is not negative")
}

impl Q2 {
    pub(crate) fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        Ok(functions(formula::q2()))
    }
}

impl Q2s {
    pub(crate) fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        Ok(functions(formula::q2s()))
    }
}

impl Q3 {
    pub(crate) fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        Ok(functions(formula::q3()))
    }
}

impl Lrs {
    pub(crate) fn load(&self, _place: &Place<'_>) -> Result<Material, ProblemError> {
        affordable(&[("clients", self.clients), ("examples", self.examples), ("dim", self.dim)])?;
        let [clients, rows, dim] = [self.clients, self.examples, self.dim].map(|size| size.get() as usize);
        let data = Arc::new(Examples::new(formula::lrs_dataset(clients, rows, dim))?);
        let model = ModelConfig::Logistic(Logistic { l2: self.l2, ..Logistic::default() });
        let shard = |client: usize| {
            let own = client * rows..(client + 1) * rows;
            let train_exam = Some(model.exam(&data, own.clone())?);
            Ok(Shard { train_exam, ..Shard::new(model.objective(&data, own)?) })
        };
        let shards = (0..clients).map(shard).collect::<Result<_, ProblemError>>()?;
        Ok(Material::Functions { shards, start: Vector::zeros(dim, Precision::F64) })
    }
}

fn functions(objectives: Vec<Arc<dyn Objective>>) -> Material {
    let dim = objectives.first().map_or(0, |f| f.dim());
    Material::Functions { shards: objectives.into_iter().map(Shard::new).collect(), start: Vector::zeros(dim, Precision::F64) }
}
