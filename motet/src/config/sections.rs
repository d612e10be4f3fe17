//! The sections of an experiment file that are not a problem or a method.

use motet_core::{Fraction, NotFinite, ProbeRequest, Rhythm, Stop};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::durability::{CheckpointSection, StoreSection};
use super::tune::TuneRule;

/// `[run]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSection {
    /// How many rounds.
    pub rounds: u64,
    /// When to measure, and what.
    #[serde(default)]
    pub probe: ProbeSection,
    /// Metric, `bits_up`, `gradients` or `iterations` → value: stop when it is reached.
    #[serde(default)]
    pub stop: BTreeMap<String, f64>,
    /// Least share of a cohort that must answer.
    #[serde(default = "everyone")]
    pub quorum: Fraction,
    /// What becomes of a client's reply with NaN or infinity in it: `"fatal"` or `"exclude"`.
    #[serde(default)]
    pub not_finite: NotFinite,
    /// How often a round is tried before the run fails.
    #[serde(default = "hundred")]
    pub attempts: u32,
    /// Is the minimiser sought, so that gaps can be measured?
    #[serde(default)]
    pub reference: ReferenceSection,
    /// Are final models written?
    #[serde(default = "yes")]
    pub models: bool,
    /// How often a run is kept so that it can go on.
    #[serde(default)]
    pub checkpoint: CheckpointSection,
    /// Where client states sleep.
    #[serde(default)]
    pub store: StoreSection,
    /// Values that trials choose from, for every method that has these parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneRule>,
}

fn everyone() -> Fraction {
    Fraction::new(1.0).expect("1 is a fraction")
}

fn hundred() -> u32 {
    100
}

fn yes() -> bool {
    true
}

/// `[run] reference`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceSection {
    /// Where the problem is convex.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// `[run] probe`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeSection {
    /// Measure after every this many rounds; 0 measures only at the end.
    pub every: u64,
    /// After these rounds instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<u64>>,
    /// This many clients instead of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// |∇F|² too? Costs a gradient per client.
    pub gradient: bool,
    /// How many coordinates of the shared model are recorded too: `x`, or `x.1`, `x.2`, …
    #[serde(skip_serializing_if = "is_zero")]
    pub coordinates: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands over a reference
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Default for ProbeSection {
    fn default() -> Self {
        Self { every: 1, at: None, clients: None, gradient: true, coordinates: 0 }
    }
}

impl RunSection {
    /// When to measure.
    pub fn rhythm(&self) -> Rhythm {
        match (&self.probe.at, self.probe.every) {
            (Some(rounds), _) => Rhythm::At(rounds.clone()),
            (None, 0) => Rhythm::At(vec![]),
            (None, every) => Rhythm::Every(every),
        }
    }

    /// Rows of a run that nothing stops.
    pub(super) fn rows(&self) -> u64 {
        match self.rhythm() {
            Rhythm::Every(k) => (self.rounds / k).saturating_add(2),
            Rhythm::At(rounds) => rounds.len() as u64 + 2,
            Rhythm::Never => 0,
        }
    }

    /// What to measure.
    pub fn look(&self) -> ProbeRequest {
        ProbeRequest {
            gradient: self.probe.gradient,
            train: true,
            validation: true,
            test: true,
            model: false,
            pick: false,
            ..ProbeRequest::default()
        }
    }

    /// When to stop early.
    pub fn stops(&self) -> Vec<Stop> {
        self.stop.iter().map(|(metric, value)| Stop { metric: metric.clone(), value: *value }).collect()
    }
}

/// `[report]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportSection {
    /// Rows and summary as CSV too?
    pub csv: bool,
    /// Rows as event files of TensorBoard too?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tensorboard: bool,
    /// Metric → name → value: drawn across the pictures of that metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, BTreeMap<String, f64>>,
    /// Parameters, or values of the problem as labels name them: final metrics are drawn against each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<String>,
    /// The share of the error that a difference must reach to count in a verdict, from 0 to 1; 0.01 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worth: Option<Fraction>,
}
