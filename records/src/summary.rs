//! What came of it: `summary.json`, and a line of `clients.jsonl` for each client.

use motet_core::{Entry, Metrics, Outcome, UpDown, json_number};
use serde::{Deserialize, Serialize};

use crate::right_rows::RightRows;
use crate::tuning::Tuning;
use crate::utc::Utc;

/// What came of an experiment, written when all runs are done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The experiment's name.
    pub experiment: String,
    /// When the last run was done. Not part of what must be equal between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Utc>,
    /// In the order of the manifest.
    pub runs: Vec<RunSummary>,
    /// How values were chosen, where trials chose any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuning: Vec<Tuning>,
    /// Who wins and who should join, one entry by metric, the telling one first: what `motet_report::verdict` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdict: Vec<serde_json::Value>,
    /// What a reader of the results should know before trusting them: seeds that repeat each other, best values at the edge of
    /// their grid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// Verdicts on the experiment's claims, if it makes any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Verdict>,
}

/// What came of a run, in numbers.
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
    #[serde(rename = "final", with = "json_number::map")]
    pub last: Metrics,
    /// The best of each metric over all rows; coordinates of the model, which are neither good nor bad, have none.
    #[serde(with = "json_number::map")]
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
    #[serde(with = "json_number")]
    pub seconds: f64,
    /// Of the final server state, in hexadecimal.
    pub digest: String,
}

/// The verdict on one claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Its name.
    pub claim: String,
    /// Its text.
    pub text: String,
    /// Does it hold, by the claim's rule about seeds?
    pub holds: bool,
    /// Is the difference within the noise of the seeds? Then other seeds may say the opposite, and the claim neither holds nor fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// The 95 % interval of `value` − `bound`, paired over the seeds; absent with one seed, or where a side is not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The measured side.
    #[serde(default, with = "json_number::optional")]
    pub value: Option<f64>,
    /// The other side.
    #[serde(default, with = "json_number::optional")]
    pub bound: Option<f64>,
    /// Must it hold, or is a failure an honest negative?
    pub status: Status,
    /// For a claim that fails or is undecided: where and by how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Verdict {
    /// One word for people: `holds`, `undecided`, `FAILS` (it must hold) or `negative` (it may fail).
    pub fn word(&self) -> &'static str {
        match (self.undecided, self.holds, self.status) {
            (true, ..) => "undecided",
            (false, true, _) => "holds",
            (false, false, Status::Must) => "FAILS",
            (false, false, Status::May) => "negative",
        }
    }

    /// Does it surely not hold, although it must?
    pub fn fails(&self) -> bool {
        !self.holds && !self.undecided && self.status == Status::Must
    }
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

/// What one client has at the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Its test examples.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tested: u64,
    /// Which of its test examples the model gets right, where accuracy is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<RightRows>,
    /// Of its personal model.
    #[serde(with = "json_number::map")]
    pub metrics: Metrics,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
