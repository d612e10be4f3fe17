//! What the loop itself hands out: measured rounds as they happen, and how the run ended.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::json_number;
use crate::ledger::Traffic;
use crate::merit::Merit;
use crate::message::wire;

/// Metric → value. Names as in the reports: `loss`, `gap`, `test.accuracy`, `test.loss.worst`, …
pub type Metrics = BTreeMap<String, f64>;

/// One measured round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which run of the experiment: its number in the manifest.
    pub run: usize,
    /// 0 is the state before the first round.
    pub round: u64,
    /// What was measured.
    #[serde(with = "json_number::map")]
    pub metrics: Metrics,
    /// Totals since the start.
    pub bits: UpDown,
    /// Totals since the start.
    pub bytes: UpDown,
    /// Examples differentiated since the start, local solves included.
    pub gradients: u64,
    /// Attempts since the start: one for each round, round 0 included, if nothing was lost.
    pub attempts: u64,
    /// What the method noted in this round (for example its rate, or how many local steps it took).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "json_number::map")]
    pub notes: Metrics,
    /// The same, summed since the start over all rounds, measured or not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "json_number::map")]
    pub totals: Metrics,
    /// Whose replies since the last row were not numbers and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Excluded>,
    /// Replies since the last row that broke the protocol and counted as silence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<Breach>,
    /// Seconds since the start on the problem's devices, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json_number::optional")]
    pub deployed: Option<f64>,
    /// Wall time since the start, training only. Not part of what must be equal between runs.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json_number::optional")]
    pub seconds: Option<f64>,
}

wire! {
    /// A reply with NaN or infinity in it, which was left out.
    #[derive(Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Excluded {
        /// In this round.
        pub round: u64,
        /// The client concerned.
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
        /// The client concerned.
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
        /// The reason, in words for people.
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

/// Can one value of this metric be better than another? A coordinate of the model (`x`, `x.3`) is a place, not a quality.
pub fn is_quality(metric: &str) -> bool {
    let name = metric.strip_prefix("unseen.").unwrap_or(metric);
    name != "x" && name.strip_prefix("x.").is_none_or(|number| number.parse::<usize>().is_err())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_json_to_the_last_bit() {
        let mut row = Row { run: 1, round: 2, gradients: 3, ..Row::default() };
        row.metrics.insert("gap".into(), 0.1 + 0.2);
        row.metrics.insert("loss".into(), f64::NAN);
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains("\"loss\":\"NaN\""), "{text}");
        let back: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(back.metrics["gap"].to_bits(), (0.1 + 0.2f64).to_bits());
        assert!(back.metrics["loss"].is_nan());
        let older: Row = serde_json::from_str(&text.replace("\"NaN\"", "null")).unwrap();
        assert!(older.metrics["loss"].is_nan(), "format 1 wrote null");
    }

    #[test]
    fn the_direction_of_a_metric_follows_from_its_name() {
        assert!(larger_is_better("test.accuracy.worst") && larger_is_better("recall@5") && larger_is_better("auc"));
        assert!(!larger_is_better("gap") && !larger_is_better("test.loss"));
        assert!(["gap", "test.loss", "x.loss", "excess"].iter().all(|name| is_quality(name)));
        assert!(["x", "x.1", "x.12"].iter().all(|name| !is_quality(name)), "places are neither good nor bad");
    }
}
