//! Scaffnew (ProxSkip): local training with control variates, one step size for all clients.
//!
//! Mishchenko, Malinovsky, Stich, Richtárik. *ProxSkip: Yes! Local Gradient Steps Provably Lead to
//! Communication Acceleration! Finally!* ICML 2022.
//!
//! [`crate::scafflix`] with α = 1 and the same step for everyone, in theory 1/max Lᵢ. All lines are there.

use motet_core::{Fraction, PerClient};
use serde::{Deserialize, Serialize};

use crate::registry::Card;
use crate::scafflix::{Kind, LEAVES, READS, ScafflixFamily, Steps};

/// Scaffnew has no parameters of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, motet_core::Documented)]
pub struct Plain {}

impl Kind for Plain {
    const CARD: Card = Card {
        name: "scaffnew",
        reads: READS,
        about: "local training with control variates, one step size for all (ProxSkip)",
        leaves: LEAVES,
        paper: "Mishchenko, Malinovsky, Stich, Richtárik 2022",
        parameters: <ScafflixFamily<Self> as motet_core::Documented>::PARAMETERS,
        example: "{}",
    };

    fn alpha(&self) -> Option<&PerClient<Fraction>> {
        None
    }

    fn alpha_mut(&mut self) -> Option<&mut PerClient<Fraction>> {
        None
    }

    fn steps(&self) -> Steps {
        Steps::Common
    }
}

/// Scaffnew.
pub type Scaffnew = ScafflixFamily<Plain>;
