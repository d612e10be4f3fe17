//! What differs between Scafflix, i-Scaffnew and Scaffnew.

use std::fmt::Debug;

use motet_core::{Fraction, PerClient};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::settings::{Setting, Steps};
use crate::registry::{Card, Reads};

/// What the three read of replies.
pub(crate) const READS: Reads = Reads::BySetting("sums, but for the local optima of start = \"one-shot\" and what a compressor sends");

/// What leaves the clients of all three.
pub(crate) const LEAVES: &str = r#"its shared part xᵢ after a random number of local steps, whole or compressed, in each round it takes part in; where theory sets steps or p its constants Lᵢ and μᵢ once; with `h0 = "projected-gradients"` a gradient of all its examples once; with `start = "one-shot"` its own model xᵢ* once; with plateau decay its loss"#;

/// What differs between Scafflix, i-Scaffnew and Scaffnew.
pub trait Kind: motet_core::Documented + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its card.
    const CARD: Card;
    /// αᵢ, if not 1 for all.
    fn alpha(&self) -> Option<&PerClient<Fraction>>;
    /// The same, to be changed.
    fn alpha_mut(&mut self) -> Option<&mut PerClient<Fraction>>;
    /// How the steps of clients hang together.
    fn steps(&self) -> Steps;
}

/// Scafflix's own parameters.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
pub struct Personal {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, or { per_client = [...] }.
    pub alpha: PerClient<Fraction>,
    /// "paper" (default), or "author": the released convex code's step αᵢ²/Lα, plain mean and p = 1/sqrt(mean L/mean mu).
    #[serde(default)]
    pub setting: Setting,
}

impl Kind for Personal {
    const CARD: Card = Card {
        name: "scafflix",
        reads: READS,
        about: "local training with control variates on FLIX mixtures: both accelerate communication",
        leaves: LEAVES,
        paper: "Yi, Condat, Richtárik 2023",
        parameters: <super::ScafflixFamily<Self> as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5}"#,
    };

    fn alpha(&self) -> Option<&PerClient<Fraction>> {
        Some(&self.alpha)
    }

    fn alpha_mut(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    fn steps(&self) -> Steps {
        match self.setting {
            Setting::Paper => Steps::Own,
            Setting::Author => Steps::OfMixture,
        }
    }
}
