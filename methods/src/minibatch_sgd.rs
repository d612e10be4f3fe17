//! Mini-batch SGD: one gradient per client and round.
//!
//! Robbins, Monro. *A Stochastic Approximation Method*. Annals of Mathematical Statistics 1951.
//!
//! [`crate::local_update`] with Θ₁, for which γ does not matter. All lines are there.

use motet_core::{NonNegative, Positive, Rate};
use serde::{Deserialize, Serialize};

use crate::local_update::{Common, LEAVES, Line, LocalUpdateFamily, Preset, Recipe, Rule, uniform};
use crate::parts::{Optimiser, Schedule, Weights};
use crate::registry::{Card, Reads};

/// Mini-batch SGD.
pub type MinibatchSgd = LocalUpdateFamily<MinibatchSgdSettings>;

/// What mini-batch SGD leaves open.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct MinibatchSgdSettings {
    /// η: server step, a number, "theory" or a schedule; this or optimiser must be given.
    #[serde(rename = "server_step", alias = "eta", default)]
    pub eta: Option<Schedule<Positive>>,
    /// Server optimiser: { kind = "sgd" | "momentum" | "adam" | "adagrad" | "yogi", step = number or schedule, ... }.
    #[serde(default)]
    pub optimiser: Option<Optimiser>,
    /// "uniform" (default) or "examples": by the examples a client worked on.
    #[serde(default = "uniform")]
    pub weights: Weights,
    /// The rest.
    #[serde(flatten)]
    pub common: Common,
}

impl Preset for MinibatchSgdSettings {
    const CARD: Card = Card {
        name: "minibatch-sgd",
        reads: Reads::Sums,
        about: "one gradient per client and round, and any server optimiser",
        leaves: LEAVES,
        paper: "Robbins, Monro 1951",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"server_step":0.1,"batch":2,"sampling":{"clients":2}}"#,
    };
    const LINE: Line = Line { theta: "(1)", rates: "server_step free, step does not matter", deploys: "x" };

    fn recipe(&self) -> Recipe {
        let none = Schedule::constant(Rate::Given(NonNegative::default()));
        Recipe { weights: self.weights, ..Recipe::new(none, Rule::either(self.eta, self.optimiser), self.common.clone()) }
    }
}
