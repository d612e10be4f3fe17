//! What tells LocalUpdate, FedAvg, Reptile, MAML and the others apart: which of the settings they fix.

use std::fmt::Debug;

use motet_core::Sampling;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use super::recipe::Recipe;
use super::settings::Draw;
use crate::parts::{BatchSize, Direction, Start};
use crate::registry::{Card, Method};

/// A method of the LocalUpdate family: which settings it fixes.
pub trait Preset: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its card.
    const CARD: Card;
    /// Its line in the table of the family.
    const LINE: Line;
    /// What it is as LocalUpdate.
    fn recipe(&self) -> Recipe;
}

/// A line of the table that shows the LocalUpdate family as one method.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Line {
    /// Θ
    pub theta: &'static str,
    /// The rates of clients and server.
    pub rates: &'static str,
    /// What a client deploys.
    pub deploys: &'static str,
}

/// The settings that every method of the family has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, motet_core::Documented)]
pub struct Common {
    /// Examples per gradient: a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// Batches: "fresh" (default, no example twice in a batch), "replacement" or "passes" (shuffled, one after the other).
    #[serde(default)]
    pub draw: Draw,
    /// "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } } or { passes = 10 }.
    #[serde(default)]
    pub sampling: Sampling,
    /// x⁰: "model" (default), "zeros" or "ones".
    #[serde(default)]
    pub start: Start,
    /// What is done to a gradient before each local step: { clip = longest gradient, weight_decay = 1e-4, adam = { b1, b2, eps } } (default: plain steps).
    #[serde(default)]
    pub local: Direction,
}

/// The algorithm of all methods of the LocalUpdate family.
#[derive(Clone, Debug)]
pub struct LocalUpdateFamily<P> {
    /// As it was written.
    pub preset: P,
    /// What it means.
    pub recipe: Recipe,
}

impl<P: Preset> LocalUpdateFamily<P> {
    /// The method of these settings.
    pub fn new(preset: P) -> Self {
        Self { recipe: preset.recipe(), preset }
    }
}

impl<P: Preset> Method for LocalUpdateFamily<P> {
    const CARD: Card = P::CARD;
}

impl<P: Preset> Serialize for LocalUpdateFamily<P> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.preset.serialize(to)
    }
}

impl<'de, P: Preset> Deserialize<'de> for LocalUpdateFamily<P> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        P::deserialize(from).map(LocalUpdateFamily::new)
    }
}
