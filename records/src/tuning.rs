//! Trials: runs that are made to choose values of parameters, and what was chosen.

use motet_core::json_number;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A run that tries values out; it is measured on no test data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The tuning that it belongs to, by its place in the summary.
    pub tuning: usize,
    /// Parameter → value; empty until it is known which values come so far.
    pub values: Map<String, Value>,
    /// The rung of successive halving: 0 is the first; each later one has fewer values and more rounds.
    pub rung: usize,
    /// The run whose end it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
}

/// How the values of some parameters were chosen, on one problem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Of the runs that the values were chosen for.
    pub label: String,
    /// Their method.
    pub method: String,
    /// Which of the manifest's problems.
    pub problem: usize,
    /// Seed of the trials.
    pub seed: u64,
    /// The metric that decided; never one of test data.
    pub by: String,
    /// The metric is averaged over this many last rounds.
    pub last: u64,
    /// The parameter of which the largest value that did not diverge was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable: Option<String>,
    /// What was chosen.
    pub chosen: Map<String, Value>,
    /// How far each combination came.
    pub trials: Vec<Tried>,
}

/// One combination of values, at the end of the last trial that it took part in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The run.
    pub run: usize,
    /// Parameter → value.
    pub values: Map<String, Value>,
    /// Rounds completed.
    pub rounds: u64,
    /// What it was ranked by; absent if it diverged.
    #[serde(default, with = "json_number::optional")]
    pub score: Option<f64>,
    /// Did it end, and no worse than it began?
    pub stable: bool,
}
