//! Two kinds of sines, and clients that see a few points of one of them.
//!
//! ```text
//! task t       y = aₜ sin(x + φₜ)
//! client i     has task 0 if it is among the first `counts[0]`, task 1 if among the next `counts[1]`, …
//! example      x uniform on [−5, 5]
//! ```
//!
//! The regression that meta-learning is tried on (Finn et al. 2017), with few tasks, as FLIX has it in its figure 4.

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Documented, Kind, Positive, Seed};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, countable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};
use crate::on_demand::ClientExamples;

/// Points on sines: clients with the same task see different points of the same curve. Each example has a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Sine {
    /// Amplitude and phase of each task.
    pub tasks: Vec<(f64, f64)>,
    /// Clients with each task.
    pub counts: Vec<NonZeroU32>,
    /// Points per client.
    pub examples: NonZeroU32,
    /// Points lie in [-range, range] (default 5).
    #[serde(default = "five")]
    pub range: Positive,
}

impl Kind for Sine {
    const NAME: &'static str = "sine";
}

fn five() -> Positive {
    Positive::new(5.0).expect("5 is positive")
}

impl Load for Sine {
    fn redraws(&self) -> Redraws {
        Redraws::Everything
    }

    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        if self.tasks.is_empty() || self.tasks.len() != self.counts.len() {
            let value = format!("{} tasks and {} counts", self.tasks.len(), self.counts.len());
            return Err(ProblemError::Value { key: "source.counts", value, wanted: "one count of clients for each task".into() });
        }
        if let Some((a, phase)) = self.tasks.iter().find(|(a, phase)| !(a.is_finite() && phase.is_finite())) {
            let wanted = "amplitude and phase must be finite".into();
            return Err(ProblemError::Value { key: "source.tasks", value: format!("[{a}, {phase}]"), wanted });
        }
        let clients = self.counts.iter().fold(0, |sum: u32, count| sum.saturating_add(count.get()));
        let clients = NonZeroU32::new(clients).unwrap_or(NonZeroU32::MIN);
        affordable(&[("examples", self.examples)])?;
        countable_clients(Some(clients))?;
        // The first client after those with each task.
        let ends = self.counts.iter().scan(0u32, |end, count| {
            *end = end.saturating_add(count.get());
            Some(*end)
        });
        let ends = ends.collect();
        Ok(Material::Clients { clients: Arc::new(Clients { of: self.clone(), seed: place.seed, ends }), inputs: Vec::new() })
    }
}

/// All of them, as a recipe.
struct Clients {
    of: Sine,
    seed: Seed,
    /// By task: the first client that has another one.
    ends: Vec<u32>,
}

impl ClientExamples for Clients {
    fn clients(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn rows(&self, _: u32) -> u32 {
        self.of.examples.get()
    }

    fn outline(&self) -> Dataset {
        points(Vec::new(), Vec::new())
    }

    fn examples(&self, client: u32) -> Result<Dataset, ProblemError> {
        let (amplitude, phase) = self.of.tasks[self.ends.partition_point(|end| *end <= client)];
        let mut rng = dice::own(self.seed, Step::Source, client as usize);
        let values: Vec<f64> = (0..self.of.examples.get()).map(|_| *self.of.range * (2.0 * rng.unit() - 1.0)).collect();
        let numbers = values.iter().map(|x| amplitude * (x + phase).sin()).collect();
        Ok(points(values, numbers))
    }
}

fn points(values: Vec<f64>, numbers: Vec<f64>) -> Dataset {
    Dataset::new(Matrix::Dense(Dense { cols: 1, values: values.into() }), Targets::Numbers(numbers))
}
