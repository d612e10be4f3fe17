//! LocalUpdateDecay: LocalUpdate whose steps fall when the loss no longer does.
//!
//! Charles, Konečný. *On the Outsized Importance of Learning Rates in Local Update Methods*. 2020, section 9.
//!
//! [`crate::local_update`] with its lines 4 and 9: clients send their loss on all their examples before they train, and on a
//! plateau of its mean γ and η are multiplied by factors of their own. All lines are there; the rule is [`crate::parts::Decay`],
//! as the released code has it or to the letter of the paper, which differ in what counts as progress.

use serde::{Deserialize, Serialize};

use crate::local_update::{self, LEAVES, Line, LocalUpdateFamily, Preset, Recipe};
use crate::parts::Decay;
use crate::registry::{Card, Reads};

/// LocalUpdateDecay.
pub type LocalUpdateDecay = LocalUpdateFamily<LocalUpdateDecaySettings>;

/// LocalUpdate's settings and those of the decay.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct LocalUpdateDecaySettings {
    /// When both steps fall, and how far: { delta = 1e-4, window = 100, patience = 100, cooldown = 100, client_factor = 0.1, server_factor = 0.9, least = 0, machine = "released" | "paper" }; the loss is always measured.
    #[serde(default)]
    pub decay: Decay,
    /// The rest.
    #[serde(flatten)]
    pub update: local_update::LocalUpdateSettings,
}

impl Preset for LocalUpdateDecaySettings {
    const CARD: Card = Card {
        name: "local-update-decay",
        reads: Reads::Sums,
        about: "LocalUpdate whose step and server step fall when the loss no longer does",
        leaves: LEAVES,
        paper: "Charles, Konečný 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"local_steps":3,"server_step":0.1,"batch":2,"sampling":{"clients":2},"decay":{"window":2,"patience":1,"cooldown":1}}"#,
    };
    const LINE: Line =
        Line { theta: "any", rates: "step, server_step fall on a plateau of the loss", deploys: "x, or adapt steps from it" };

    fn recipe(&self) -> Recipe {
        Recipe { loss: true, decay: Some(self.decay), ..self.update.recipe() }
    }
}
