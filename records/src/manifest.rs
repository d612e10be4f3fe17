//! What is planned: `manifest.json`.

use motet_core::{Promise, json_number};
use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::tuning::Trial;
use crate::utc::Utc;

/// The plan of an experiment, written before the first round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the record format; a manifest that does not say is of format 1.
    #[serde(default = "Format::first")]
    pub format: Format,
    /// Version of the program.
    pub motet: String,
    /// When the experiment was begun. Not part of what must be equal between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Utc>,
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
    /// Test examples of all clients.
    #[serde(default)]
    pub tested: u64,
    /// Which data it is made of: problems that cut the same data in another way have the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// Who its clients are: the same where each client has the same examples, or draws them from the same source, whatever part of
    /// them is held out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub people: String,
    /// Smallest, mean and largest Lᵢ.
    #[serde(default, with = "json_number::triple")]
    pub smoothness: Option<[f64; 3]>,
    /// Smallest, mean and largest μᵢ.
    #[serde(default, with = "json_number::triple")]
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
    /// Did training fit anything to validation data, so that nobody should choose by them? Older records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits_validation: Option<bool>,
}

/// F*
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptimumCard {
    /// F*
    #[serde(with = "json_number")]
    pub value: f64,
    /// A minimiser to machine precision, or only the best value seen?
    pub exact: bool,
    /// How it was found.
    pub how: String,
}
