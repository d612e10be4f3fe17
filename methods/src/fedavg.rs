//! FedAvg: each client trains for some epochs, the server averages the models.
//!
//! McMahan, Moore, Ramage, Hampson, Agüera y Arcas. *Communication-Efficient Learning of Deep Networks from Decentralized
//! Data*. AISTATS 2017.
//!
//! [`crate::local_update`] with Θ_{1:K}, η = γ and clients weighed by their examples: x − γ mean Σ g_k is the mean of the clients' last
//! models. What is sent is γ Σ g_k = x − y itself. All lines are there. With a server optimiser on top it is FedOpt: `local-update` with `send = "deltas"`.

use motet_core::NonNegative;
use serde::{Deserialize, Serialize};

use crate::local_update::{Amount, Common, LEAVES, Line, LocalUpdateFamily, Preset, Recipe, Rule};
use crate::parts::{Schedule, Weights};
use crate::registry::{Card, Reads};

/// FedAvg.
pub type Fedavg = LocalUpdateFamily<FedavgSettings>;

/// What FedAvg leaves open.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct FedavgSettings {
    /// γ: step size, a number from 0, or { kind = "inverse" | "staircase" | "cosine", start = ..., ... }.
    #[serde(rename = "step", alias = "gamma")]
    pub gamma: Schedule<NonNegative>,
    /// E or K: gradients per client and round, or { epochs = n } (default: one epoch).
    #[serde(rename = "local_steps", alias = "steps", default = "one_pass")]
    pub steps: Amount,
    /// "examples" (default): by the examples a client worked on, or "uniform".
    #[serde(default)]
    pub weights: Weights,
    /// The rest.
    #[serde(flatten)]
    pub common: Common,
}

fn one_pass() -> Amount {
    Amount::Epochs(std::num::NonZeroU32::MIN)
}

impl Preset for FedavgSettings {
    const CARD: Card = Card {
        name: "fedavg",
        reads: Reads::Sums,
        about: "each client trains for some epochs, the server averages the models",
        leaves: LEAVES,
        paper: "McMahan, Moore, Ramage, Hampson, Agüera y Arcas 2017",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"batch":2,"sampling":{"clients":2}}"#,
    };
    const LINE: Line = Line { theta: "1:K, one epoch", rates: "server_step = step, weighed by examples", deploys: "x" };

    fn recipe(&self) -> Recipe {
        let steps = Some(self.steps);
        Recipe { steps, weights: self.weights, ..Recipe::new(self.gamma, Rule::Tied(1.0), self.common.clone()) }
    }
}
