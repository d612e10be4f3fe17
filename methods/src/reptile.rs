//! Reptile: K local steps, and a server step of its own; clients adapt before they deploy.
//!
//! Nichol, Achiam, Schulman. *On First-Order Meta-Learning Algorithms*. 2018.
//!
//! [`crate::local_update`] with Θ_{1:K} and η free (generalised FedAvg), all examples in every step, and test-time adaptation by as many steps.
//! All lines are there. The FLIX paper divides the sum of gradients by K: its outer step is our η times K.

use motet_core::{NonNegative, Positive, Rate};
use serde::{Deserialize, Serialize};

use crate::local_update::{Amount, Common, LEAVES, Line, LocalUpdateFamily, Preset, Recipe, Rule, uniform};
use crate::parts::{Optimiser, Schedule, Weights};
use crate::registry::{Card, Reads};

/// Reptile.
pub type Reptile = LocalUpdateFamily<ReptileSettings>;

/// What Reptile leaves open.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct ReptileSettings {
    /// γ: step size, also of the adaptation.
    #[serde(rename = "step", alias = "gamma")]
    pub gamma: NonNegative,
    /// K: gradients per client and round.
    #[serde(rename = "local_steps", alias = "steps")]
    pub steps: std::num::NonZeroU32,
    /// η: server step, a number, "theory" or a schedule; this or optimiser must be given.
    #[serde(rename = "server_step", alias = "eta", default)]
    pub eta: Option<Schedule<Positive>>,
    /// Server optimiser: { kind = "sgd" | "momentum" | "adam" | "adagrad" | "yogi", step = number or schedule, ... }.
    #[serde(default)]
    pub optimiser: Option<Optimiser>,
    /// Steps a client takes from the shared model before it deploys (default: as in training).
    #[serde(default)]
    pub adapt: Option<u32>,
    /// "uniform" (default) or "examples": by the examples a client worked on.
    #[serde(default = "uniform")]
    pub weights: Weights,
    /// The rest.
    #[serde(flatten)]
    pub common: Common,
}

impl Preset for ReptileSettings {
    const CARD: Card = Card {
        name: "reptile",
        reads: Reads::Sums,
        about: "K local steps and a server step of its own; clients adapt by K steps before they deploy",
        leaves: LEAVES,
        paper: "Nichol, Achiam, Schulman 2018",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"local_steps":3,"server_step":0.1,"batch":2,"sampling":{"clients":2}}"#,
    };
    const LINE: Line = Line { theta: "1:K", rates: "step, server_step free", deploys: "x after K steps" };

    fn recipe(&self) -> Recipe {
        let gamma = Schedule::constant(Rate::Given(self.gamma));
        Recipe {
            steps: Some(Amount::Steps(self.steps)),
            weights: self.weights,
            adapt: self.adapt.unwrap_or(self.steps.get()),
            ..Recipe::new(gamma, Rule::either(self.eta, self.optimiser), self.common.clone())
        }
    }
}
