//! What a run leaves behind: rows as they happen, a manifest before, a summary after.
//!
//! These types are the file formats. `rows.jsonl` holds one [`Row`] per line, `clients.jsonl` one
//! [`ClientRow`] per line, `manifest.json` a [`Manifest`], `summary.json` a [`Summary`].

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::ledger::{Entry, Traffic};
use crate::merit::Merit;
use crate::message::wire;
use crate::promise::Promise;
use crate::tuning::{Trial, Tuning};

/// Metric → value. Names as in the reports: `loss`, `gap`, `test.accuracy`, `test.loss.worst`, …
pub type Metrics = BTreeMap<String, f64>;

/// One measured round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which run of the experiment: its number in the manifest.
    pub run: usize,
    /// 0 is the state before the first round.
    pub round: u64,
    /// What was measured. Values that are not finite are written as `null` and read back as NaN.
    #[serde(with = "finite_or_null")]
    pub metrics: Metrics,
    /// Totals since the start.
    pub bits: UpDown,
    /// Totals since the start.
    pub bytes: UpDown,
    /// Examples differentiated since the start, local solves included.
    pub gradients: u64,
    /// Attempts the rounds since the last row took, 1 each if nothing was lost.
    pub attempts: u64,
    /// What the method noted, summed since the last row (for example local steps).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "finite_or_null")]
    pub notes: Metrics,
    /// Whose replies since the last row were not numbers and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Excluded>,
    /// Replies since the last row that broke the protocol and counted as silence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<Breach>,
    /// Seconds since the start on the problem's devices, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<f64>,
    /// Wall time since the start, training only. Not part of what must be equal between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

wire! {
    /// A reply with NaN or infinity in it, which was left out.
    #[derive(Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Excluded {
        /// In this round.
        pub round: u64,
        /// Whose.
        pub client: u32,
    }
}

wire! {
    /// A reply that broke the protocol: bytes that are no reply, or one that does not fit what was asked. It counted as
    /// silence; after the third, the client is asked no more.
    #[derive(PartialEq, Eq, Serialize, Deserialize)]
    pub struct Breach {
        /// In this round.
        pub round: u64,
        /// Whose.
        pub client: u32,
        /// What was wrong.
        pub reason: String,
    }
}

/// A pair of totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpDown {
    /// Clients to server, all clients together.
    pub up: u64,
    /// Server to clients, all clients together.
    pub down: u64,
}

impl UpDown {
    /// The bits of both directions.
    pub fn bits(up: Traffic, down: Traffic) -> Self {
        Self { up: up.bits, down: down.bits }
    }
    /// The bytes of both directions.
    pub fn bytes(up: Traffic, down: Traffic) -> Self {
        Self { up: up.bytes, down: down.bytes }
    }
}

/// What one client has at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// Which run of the experiment.
    pub run: usize,
    /// Which client.
    pub client: u32,
    /// What the source calls it, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its training examples.
    pub examples: u64,
    /// Of its personal model.
    #[serde(with = "finite_or_null")]
    pub metrics: Metrics,
}

/// Written before the first round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the program.
    pub motet: String,
    /// The experiment's name.
    pub experiment: String,
    /// The experiment, every default filled in.
    pub resolved: serde_json::Value,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// The problems, usually one.
    pub problems: Vec<ProblemCard>,
    /// The planned runs.
    pub runs: Vec<RunCard>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its name, without the folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its hash, in hexadecimal.
    pub sha256: String,
}

/// A problem in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProblemCard {
    /// One line: source, split, model.
    pub about: String,
    /// n
    pub clients: u64,
    /// d
    pub dim: u64,
    /// Training examples of all clients.
    pub examples: u64,
    /// Smallest, mean and largest Lᵢ.
    pub smoothness: Option<[f64; 3]>,
    /// Smallest, mean and largest μᵢ.
    pub convexity: Option<[f64; 3]>,
    /// Clients in each group, where the problem knows groups: the first so many, the next so many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<u64>,
}

/// A planned run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCard {
    /// Its number: position in the manifest.
    pub run: usize,
    /// For people: the method and what distinguishes the run from its siblings, without the seed.
    pub label: String,
    /// Name in the list of methods.
    pub method: String,
    /// The method's parameters, every default filled in.
    pub params: serde_json::Map<String, serde_json::Value>,
    /// Which of the manifest's problems.
    pub problem: usize,
    /// Seed of its dice.
    pub seed: u64,
    /// The best that can be reached, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimum: Option<OptimumCard>,
    /// What the method's theorem promises on this problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promise>,
    /// Is it a try of some values, and not a result?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// Parameter → value, where trials chose it.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub chosen: serde_json::Map<String, serde_json::Value>,
}

/// F*
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptimumCard {
    /// F*
    pub value: f64,
    /// A minimiser to machine precision, or only the best value seen?
    pub exact: bool,
    /// How it was found.
    pub how: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Outcome {
    /// All rounds were run.
    Finished,
    /// A stopping rule held.
    Stopped {
        /// The rule.
        rule: String,
    },
    /// Somebody stopped it after a round; it can go on from there.
    Interrupted {
        /// After this round.
        round: u64,
    },
    /// Numbers left the finite range; a result, not an error.
    Diverged {
        /// In this round.
        round: u64,
        /// The client whose reply was not finite, if it was a reply.
        client: Option<u32>,
    },
    /// The run could not go on.
    Failed {
        /// In this round.
        round: u64,
        /// Why.
        reason: String,
    },
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Finished => f.write_str("finished"),
            Outcome::Stopped { rule } => write!(f, "stopped: {rule}"),
            Outcome::Interrupted { round } => write!(f, "interrupted after round {round}"),
            Outcome::Diverged { round, client: None } => write!(f, "diverged in round {round}"),
            Outcome::Diverged { round, client: Some(c) } => write!(f, "diverged in round {round} at client {c}"),
            Outcome::Failed { round, reason } => write!(f, "failed in round {round}: {reason}"),
        }
    }
}

/// Written when all runs are done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The experiment's name.
    pub experiment: String,
    /// In the order of the manifest.
    pub runs: Vec<RunSummary>,
    /// How values were chosen, where trials chose any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuning: Vec<Tuning>,
    /// Verdicts on the experiment's claims, if it makes any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Verdict>,
}

/// A run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// As in the manifest.
    pub label: String,
    /// As in the manifest.
    pub method: String,
    /// As in the manifest.
    pub params: serde_json::Map<String, serde_json::Value>,
    /// As in the manifest.
    pub seed: u64,
    /// Rounds completed.
    pub rounds: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The last row's metrics.
    #[serde(rename = "final", with = "finite_or_null")]
    pub last: Metrics,
    /// The best of each metric over all rows.
    #[serde(with = "finite_or_null")]
    pub best: Metrics,
    /// What a paper would count.
    pub bits: UpDown,
    /// What a network would carry.
    pub bytes: UpDown,
    /// By message kind.
    pub messages: Vec<Entry>,
    /// Examples differentiated, local solves included.
    pub gradients: u64,
    /// Wall time of training, without probes.
    pub seconds: f64,
    /// Of the final server state, in hexadecimal.
    pub digest: String,
}

/// The verdict on one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Its name.
    pub claim: String,
    /// Its text.
    pub text: String,
    /// Does it hold?
    pub holds: bool,
    /// The measured side.
    pub value: Option<f64>,
    /// The other side.
    pub bound: Option<f64>,
    /// Must it hold, or is a failure an honest negative?
    pub status: Status,
    /// For a claim that fails: where and by how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How much a claim's failure means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Verified: must hold.
    #[default]
    Must,
    /// Printed, read off or untested: a failure is recorded as a negative result.
    May,
}

/// Is a larger value of this metric better?
pub fn larger_is_better(metric: &str) -> bool {
    ["accuracy", "auc", "recall", "top"].iter().any(|m| metric.rsplit('.').any(|part| part.contains(m)))
}

/// Where rows go: a progress bar, a file, a live page and a test's assertion are the same thing.
pub trait Sink {
    /// One more measured round; to be durable when this returns.
    fn row(&mut self, row: &Row) -> io::Result<()>;
    /// Who counted how much for whom after the same round; dropped unless a sink keeps it.
    fn merit(&mut self, _merit: &Merit) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps rows in memory.
impl Sink for Vec<Row> {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        self.push(row.clone());
        Ok(())
    }
}

/// JSON has no NaN and no infinity: they are written as `null` and come back as NaN.
mod finite_or_null {
    use super::Metrics;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(metrics: &Metrics, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(metrics.iter().map(|(k, v)| (k, v.is_finite().then_some(v))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Metrics, D::Error> {
        let read = std::collections::BTreeMap::<String, Option<f64>>::deserialize(from)?;
        Ok(read.into_iter().map(|(k, v)| (k, v.unwrap_or(f64::NAN))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_json_to_the_last_bit_and_nan_becomes_null() {
        let mut row = Row { run: 1, round: 2, gradients: 3, ..Row::default() };
        row.metrics.insert("gap".into(), 0.1 + 0.2);
        row.metrics.insert("loss".into(), f64::NAN);
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains("\"loss\":null"), "{text}");
        let back: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(back.metrics["gap"].to_bits(), (0.1 + 0.2f64).to_bits());
        assert!(back.metrics["loss"].is_nan());
    }

    #[test]
    fn the_direction_of_a_metric_follows_from_its_name() {
        assert!(larger_is_better("test.accuracy.worst") && larger_is_better("recall@5") && larger_is_better("auc"));
        assert!(!larger_is_better("gap") && !larger_is_better("test.loss"));
    }
}
