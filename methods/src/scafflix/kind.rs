//! What tells Scafflix, i-Scaffnew and Scaffnew apart.

use std::fmt::Debug;

use motet_core::{Fraction, PerClient};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::settings::{Setting, Steps, parameters};
use crate::registry::{Card, Reads};

/// What the three read of replies.
pub(crate) const READS: Reads = Reads::BySetting("sums, but for the local optima of start = \"one-shot\" and what a compressor sends");

/// What tells the three methods apart.
pub trait Kind: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its card.
    const CARD: Card;
    /// αᵢ, if not 1 for all.
    fn alpha(&self) -> Option<&PerClient<Fraction>>;
    /// How the steps of clients hang together.
    fn steps(&self) -> Steps;
}

/// Scafflix's own parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Personal {
    /// αᵢ: 1 shares everything, 0 shares nothing.
    pub alpha: PerClient<Fraction>,
    /// Steps and p of the paper, or of its released code.
    #[serde(default)]
    pub setting: Setting,
}

impl Kind for Personal {
    const CARD: Card = Card {
        name: "scafflix",
        reads: READS,
        about: "local training with control variates on FLIX mixtures: both accelerate communication",
        paper: "Yi, Condat, Richtárik 2023",
        parameters: parameters![
            ("alpha", "share of the common model in each client's own: a number, or { per_client = [...] }"),
            (
                "setting",
                "\"paper\" (default), or \"author\": the released convex code's step a_i^2/La, plain mean and p = 1/sqrt(mean L/mean mu)"
            ),
        ],
        example: r#"{"alpha":0.5}"#,
    };

    fn alpha(&self) -> Option<&PerClient<Fraction>> {
        Some(&self.alpha)
    }

    fn steps(&self) -> Steps {
        match self.setting {
            Setting::Paper => Steps::Own,
            Setting::Author => Steps::OfMixture,
        }
    }
}
