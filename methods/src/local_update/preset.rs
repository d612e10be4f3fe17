//! What tells LocalUpdate, FedAvg, Reptile, MAML and the others apart: which of the settings they fix.

use std::fmt::Debug;

use motet_core::Sampling;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use super::recipe::Recipe;
use super::settings::Draw;
use crate::parts::{BatchSize, Direction, Start};
use crate::registry::{Card, Method};

/// A named member of the family.
pub trait Preset: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its card.
    const CARD: Card;
    /// Its line in the table of the family.
    const LINE: Line;
    /// What it is as LocalUpdate.
    fn recipe(&self) -> Recipe;
}

/// A line of the table that shows the family as one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Line {
    /// Θ
    pub theta: &'static str,
    /// The rates of clients and server.
    pub rates: &'static str,
    /// What a client deploys.
    pub deploys: &'static str,
}

/// What every member has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// Examples per gradient.
    #[serde(default)]
    pub batch: BatchSize,
    /// Where a batch comes from.
    #[serde(default)]
    pub draw: Draw,
    /// Who takes part.
    #[serde(default)]
    pub sampling: Sampling,
    /// x⁰
    #[serde(default)]
    pub start: Start,
    /// What becomes of a gradient before a local step.
    #[serde(default)]
    pub local: Direction,
}

/// A card's parameters: those of one member, then those of all.
macro_rules! parameters {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)*
            ("batch", "examples per gradient: a number or \"all\" (default)"),
            ("draw", "batches: \"fresh\" (default, no example twice in a batch), \"replacement\" or \"passes\" (shuffled, one after the other)"),
            ("sampling", "\"everyone\" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } } or { passes = 10 }"),
            ("start", "\"model\" (default), \"zeros\" or \"ones\""),
            $crate::parts::LOCAL,
        ]
    };
}
pub(crate) use parameters;

/// The texts of parameters that several members have.
pub(crate) mod text {
    pub(crate) const GAMMA: (&str, &str) =
        ("gamma", "client rate: a number from 0, or { kind = \"inverse\" | \"staircase\" | \"cosine\", start = ..., ... }");
    pub(crate) const STEPS: (&str, &str) = ("steps", "K: gradients per client and round, or { epochs = n }");
    pub(crate) const ETA: (&str, &str) =
        ("eta", "server rate of plain steps: a number, \"theory\" or a schedule; this or optimiser must be given");
    pub(crate) const OPTIMISER: (&str, &str) =
        ("optimiser", "{ kind = \"sgd\" | \"momentum\" | \"adam\" | \"adagrad\" | \"yogi\", step = number or schedule, ... }");
    pub(crate) const WEIGHTS: (&str, &str) = ("weights", "\"uniform\" (default) or \"examples\": by the examples a client worked on");
    pub(crate) const HOLD: (&str, &str) = ("hold", "share of each client's examples kept for the outer gradient (default 0.2)");
    pub(crate) const INNER: (&str, &str) = ("inner", "m: steps of adaptation in training (default 1)");
    pub(crate) const ADAPT: (&str, &str) =
        ("adapt", "steps a client takes from the shared model before it deploys (default: as in training)");
}

/// The algorithm of all members.
#[derive(Clone, Debug)]
pub struct Family<P> {
    /// As it was written.
    pub preset: P,
    /// What it means.
    pub recipe: Recipe,
}

impl<P: Preset> Family<P> {
    /// The method of these settings.
    pub fn new(preset: P) -> Self {
        Self { recipe: preset.recipe(), preset }
    }
}

impl<P: Preset> Method for Family<P> {
    const CARD: Card = P::CARD;
}

impl<P: Preset> Serialize for Family<P> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.preset.serialize(to)
    }
}

impl<'de, P: Preset> Deserialize<'de> for Family<P> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        P::deserialize(from).map(Family::new)
    }
}
