//! Lookahead: K fast steps, then the slow model follows part of the way.
//!
//! Zhang, Lucas, Hinton, Ba. *Lookahead Optimizer: k steps forward, 1 step back*. NeurIPS 2019.
//!
//! [`crate::local_update`] with Θ_{1:K} and η = γ times the slow rate, on a problem of one client. With several it is Local SGD whose
//! server goes part of the way. All lines are there.

use motet_core::{NonNegative, Probability};
use serde::{Deserialize, Serialize};

use crate::local_update::{Amount, Common, LEAVES, Line, LocalUpdateFamily, Preset, Recipe, Rule};
use crate::parts::Schedule;
use crate::registry::{Card, Reads};

/// Lookahead.
pub type Lookahead = LocalUpdateFamily<LookaheadSettings>;

/// What Lookahead leaves open.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct LookaheadSettings {
    /// γ: step size, a number from 0, or { kind = "inverse" | "staircase" | "cosine", start = ..., ... }.
    #[serde(rename = "step", alias = "gamma")]
    pub gamma: Schedule<NonNegative>,
    /// K: gradients per client and round, or { epochs = n }.
    #[serde(rename = "local_steps", alias = "steps")]
    pub steps: Amount,
    /// Share of the way to the fast model that the shared model goes in a round (default 0.5).
    #[serde(default = "half")]
    pub slow: Probability,
    /// The rest.
    #[serde(flatten)]
    pub common: Common,
}

fn half() -> Probability {
    Probability::new(0.5).expect("one half is a probability")
}

impl Preset for LookaheadSettings {
    const CARD: Card = Card {
        name: "lookahead",
        reads: Reads::Sums,
        about: "K fast steps, then the slow model follows part of the way (meant for one client)",
        leaves: LEAVES,
        paper: "Zhang, Lucas, Hinton, Ba 2019",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"local_steps":3,"batch":2}"#,
    };
    const LINE: Line = Line { theta: "1:K, one client", rates: "server_step = slow step", deploys: "x" };

    fn recipe(&self) -> Recipe {
        Recipe { steps: Some(self.steps), ..Recipe::new(self.gamma, Rule::Tied(*self.slow), self.common.clone()) }
    }
}
