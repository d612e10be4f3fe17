//! Local SGD: K steps at every client, then the average of the models.
//!
//! Stich. *Local SGD Converges Fast and Communicates Little*. ICLR 2019.
//!
//! [`crate::local_update`] with Θ_{1:K} and η = γ, clients weighed alike; what is sent is γ Σ g_k = x − y itself. All lines are there.

use motet_core::NonNegative;
use serde::{Deserialize, Serialize};

use crate::local_update::{Amount, Common, LEAVES, Line, LocalUpdateFamily, Preset, Recipe, Rule, uniform};
use crate::parts::{Schedule, Weights};
use crate::registry::{Card, Reads};

/// Local SGD.
pub type LocalSgd = LocalUpdateFamily<LocalSgdSettings>;

/// What Local SGD leaves open.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct LocalSgdSettings {
    /// γ: step size, a number from 0, or { kind = "inverse" | "staircase" | "cosine", start = ..., ... }.
    #[serde(rename = "step", alias = "gamma")]
    pub gamma: Schedule<NonNegative>,
    /// K: gradients per client and round, or { epochs = n }.
    #[serde(rename = "local_steps", alias = "steps")]
    pub steps: Amount,
    /// "uniform" (default) or "examples": by the examples a client worked on.
    #[serde(default = "uniform")]
    pub weights: Weights,
    /// The rest.
    #[serde(flatten)]
    pub common: Common,
}

impl Preset for LocalSgdSettings {
    const CARD: Card = Card {
        name: "local-sgd",
        reads: Reads::Sums,
        about: "K steps at every client, then the average of the models",
        leaves: LEAVES,
        paper: "Stich 2019",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"local_steps":3,"batch":2}"#,
    };
    const LINE: Line = Line { theta: "1:K", rates: "server_step = step", deploys: "x" };

    fn recipe(&self) -> Recipe {
        let steps = Some(self.steps);
        Recipe { steps, weights: self.weights, ..Recipe::new(self.gamma, Rule::Tied(1.0), self.common.clone()) }
    }
}
