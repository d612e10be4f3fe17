//! A client's local training: batch after batch, step after step.

use std::num::NonZeroU32;

use motet_core::{Meter, Probability, Rate, Rows, Site, Unsuitable, Vector};
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};

use super::batches::{BatchSize, rows};

/// How much a client works in a round: `5` steps, or `{ epochs = 2 }` passes over its examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many gradients, each on a fresh batch.
    Steps(NonZeroU32),
    /// So many passes over its shuffled examples.
    Epochs(NonZeroU32),
}

/// The most local steps of one round: their batches are drawn before the first step, and nothing stops a client on its way.
pub const MOST_STEPS: u64 = 100_000;

/// The most passes over the examples in one round.
pub const MOST_EPOCHS: u64 = 10_000;

/// Refuses a coin with which a round would have more than [`MOST_STEPS`] steps on average, which is 1/p.
pub fn coin_suits(p: Rate<Probability>) -> Result<(), Unsuitable> {
    let rare = |p: f64| {
        format!("p = {p:e} means about {:e} steps in a round, which is too many: p must be at least {:e}", 1.0 / p, 1.0 / MOST_STEPS as f64)
    };
    match p {
        Rate::Given(p) => Unsuitable::when(*p * (MOST_STEPS as f64) < 1.0, rare(*p)),
        Rate::Theory => Ok(()),
    }
}

/// One step.
impl Default for Amount {
    fn default() -> Self {
        Amount::Steps(NonZeroU32::MIN)
    }
}

impl Amount {
    /// One pass over the examples: the default of FedAvg and related methods.
    pub fn one_epoch() -> Self {
        Amount::Epochs(NonZeroU32::MIN)
    }

    /// How many steps these are with batches of so many of the examples; none where no number holds them.
    pub fn steps(self, batch: BatchSize, samples: usize) -> Option<u64> {
        match (self, batch) {
            (Amount::Steps(steps), _) => Some(steps.get().into()),
            (Amount::Epochs(epochs), BatchSize::All) => Some(epochs.get().into()),
            (Amount::Epochs(epochs), BatchSize::Of(size)) => {
                u64::from(epochs.get()).checked_mul(samples.div_ceil(size.max(1) as usize).max(1) as u64)
            }
        }
    }

    /// Refuses more than a round can have of what `parameter` asks for.
    pub fn suits(self, parameter: &'static str) -> Result<(), Unsuitable> {
        match self {
            Amount::Steps(steps) => Unsuitable::beyond(parameter, steps.get(), MOST_STEPS),
            Amount::Epochs(epochs) => Unsuitable::beyond(parameter, epochs.get(), MOST_EPOCHS),
        }
    }
}

/// What local training consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalSteps {
    /// The step size.
    pub step: f64,
    /// How much local training there is.
    pub steps: Amount,
    /// Examples per gradient.
    pub batch: BatchSize,
}

impl LocalSteps {
    /// y ← y − s d for every batch, where `correct` makes the direction d of the gradient at y. Gives how many steps were
    /// taken.
    pub fn descend(&self, site: &mut Site<'_>, y: &mut Vector, mut correct: impl FnMut(&Vector, &mut Vector)) -> u32 {
        let mut g = y.zeros_like();
        let step = self.step;
        self.walk(site, |train, rows, buffers| {
            train.train_into(y, rows, buffers, &mut g);
            correct(y, &mut g);
            y.axpy(-step, &g);
        })
    }

    /// Calls `each` with every batch. Gives how many there were.
    pub fn walk(&self, site: &mut Site<'_>, mut each: impl FnMut(&mut Meter<'_>, Rows<'_>, &mut Option<Vector>)) -> u32 {
        let Site { train, rng, buffers, .. } = site;
        let samples = train.samples();
        match self.steps {
            Amount::Steps(steps) => {
                for _ in 0..steps.get() {
                    let batch = self.batch.draw(samples, rng);
                    each(train, rows(&batch), buffers);
                }
                steps.get()
            }
            Amount::Epochs(epochs) => {
                let mut taken = 0;
                for _ in 0..epochs.get() {
                    self.batch.pass(samples, rng, |rows| {
                        each(train, rows, buffers);
                        taken += 1;
                    });
                }
                taken
            }
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Amount::Steps(steps) => steps.serialize(to),
            Amount::Epochs(epochs) => {
                let mut table = to.serialize_map(Some(1))?;
                table.serialize_entry("epochs", epochs)?;
                table.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Ways;
        impl<'de> Visitor<'de> for Ways {
            type Value = Amount;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of steps from 1, or { epochs = n }")
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Amount, E> {
                let steps = u32::try_from(v).ok().and_then(NonZeroU32::new);
                steps.map(Amount::Steps).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(v), &self))
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Amount, E> {
                u64::try_from(v).map_err(|_| E::invalid_value(Unexpected::Signed(v), &self)).and_then(|v| self.visit_u64(v))
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Amount, M::Error> {
                let mut epochs = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key != "epochs" {
                        return Err(M::Error::unknown_field(&key, &["epochs"]));
                    }
                    epochs = Some(map.next_value()?);
                }
                epochs.map(Amount::Epochs).ok_or_else(|| M::Error::missing_field("epochs"))
            }
        }
        from.deserialize_any(Ways)
    }
}
