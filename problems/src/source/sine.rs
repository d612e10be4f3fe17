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

use motet_core::{Documented, Kind, Positive};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place, Redraws, affordable, affordable_clients};
use crate::dataset::{Dataset, Targets};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::matrix::{Dense, Matrix};

/// Points on sines: clients with the same task see other points of the same curve; knows whose each example is.
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
        affordable(&[("clients", clients), ("examples", self.examples)])?;
        affordable_clients(clients)?;
        let tasks = self.tasks.iter().zip(&self.counts).flat_map(|(task, count)| (0..count.get()).map(move |_| *task));
        let (mut values, mut numbers, mut keys) = (vec![], vec![], vec![]);
        for (client, (amplitude, phase)) in tasks.enumerate() {
            let mut rng = dice::own(place.seed, Step::Source, client);
            for _ in 0..self.examples.get() {
                let x = *self.range * (2.0 * rng.unit() - 1.0);
                values.push(x);
                numbers.push(amplitude * (x + phase).sin());
                keys.push(client as u32);
            }
        }
        let features = Matrix::Dense(Dense { cols: 1, values });
        Ok(Material::Examples { dataset: Dataset::new(features, Targets::Numbers(numbers)).from_clients(keys), inputs: Vec::new() })
    }
}
