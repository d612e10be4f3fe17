//! i-Scaffnew: Scaffnew with a step size of its own for every client.
//!
//! Yi, Condat, Richtárik. *Explicit Personalization and Local Training: Double Communication
//! Acceleration in Federated Learning*. 2023.
//!
//! [`crate::scafflix`] with α = 1; its hᵢ is the paper's. All lines are there.

use motet_core::{Fraction, PerClient};
use serde::{Deserialize, Serialize};

use crate::registry::Card;
use crate::scafflix::{Kind, LEAVES, READS, ScafflixFamily, Steps};

/// i-Scaffnew has no parameters of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, motet_core::Documented)]
pub struct Individual {}

impl Kind for Individual {
    const CARD: Card = Card {
        name: "i-scaffnew",
        reads: READS,
        about: "Scaffnew with a step size of its own for every client (Scafflix with alpha = 1)",
        leaves: LEAVES,
        paper: "Yi, Condat, Richtárik 2023",
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
        Steps::Own
    }
}

/// i-Scaffnew.
pub type IScaffnew = ScafflixFamily<Individual>;
