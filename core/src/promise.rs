//! What a theorem promises, as a record holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json_number;
use crate::record::Metrics;

/// A bound on a metric after k rounds: `initial · factor^k + floor`, or `initial / k + floor`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// Which metric is bounded.
    pub metric: String,
    /// The initial value; absent means a measured one.
    #[serde(default, with = "json_number::optional")]
    pub initial: Option<f64>,
    /// What is measured in round 0 for it, and what each metric counts for; empty means the bounded one itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "json_number::map")]
    pub from: BTreeMap<String, f64>,
    /// Added to what is measured.
    #[serde(default, with = "json_number")]
    pub extra: f64,
    /// Contraction per round; 1 where the bound falls in another way.
    #[serde(with = "json_number")]
    pub factor: f64,
    /// Does it fall like 1/k?
    #[serde(default)]
    pub harmonic: bool,
    /// What noise leaves.
    #[serde(with = "json_number")]
    pub floor: f64,
    /// The theorem.
    pub source: String,
}

impl Promise {
    /// The bound after `round` rounds of a run whose metrics in round 0 are these; none where the theorem says nothing.
    pub fn at(&self, round: u64, measured: &Metrics) -> Option<f64> {
        let initial = match self.initial {
            Some(initial) => initial,
            None if self.from.is_empty() => *measured.get(&self.metric)?,
            None => self.from.iter().try_fold(0.0, |sum, (metric, weight)| Some(sum + weight * measured.get(metric)?))?,
        } + self.extra;
        match (self.harmonic, round) {
            (true, 0) => None,
            (true, k) => Some(initial / k as f64 + self.floor),
            (false, k) => Some(initial * self.factor.powf(k as f64) + self.floor),
        }
    }
}
