//! Pure local models: every client on its own. No number is ever sent.
//!
//! ```text
//! before   1  each client solves for xᵢ* = argmin fᵢ and deploys it
//! ```
//!
//! This is FLIX at α = 0, and what joining a federation has to beat.

use motet_core::{Abort, Algorithm, ClientId, Deployment, Misfit, ModelShape, Round, Site, Study, Vector, message};
use serde::{Deserialize, Serialize};

use crate::parts::Solve;
use crate::registry::{Card, Method, Reads};

/// Every client on its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// How local optima are found: { kind = "gd" | "line-search" | "newton" | "sgd", to = 1e-6, steps = 100000, ... } (default: "gd" to 1e-6, at most 100,000 steps).
    #[serde(default)]
    pub solve: Solve,
}

impl Method for Local {
    const CARD: Card = Card {
        name: "local",
        reads: Reads::Sums,
        about: "pure local models: every client on its own, nothing is sent",
        leaves: "nothing but word that it is done",
        paper: "the baseline of every comparison",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: "{}",
    };
}

message! {
    /// A call to solve; empty, it costs no bits.
    pub struct Begin {}
}

message! {
    /// It is solved; empty, it costs no bits.
    pub struct Solved {}
}

impl Algorithm for Local {
    type Ask = Begin;
    type Reply = Solved;
    /// The problem's start, which nobody deploys.
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, site: &mut Site<'_>) {
        self.solve.optimum(site); // line 1
    }

    /// Empty messages, so that the work of the solves is booked.
    fn open(&self, _: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        round.ask(&round.everyone(), Begin {}, |_, _| {}).map(|_| ())
    }

    fn round(&self, _: &mut Vector, _: &mut Round<'_, Self>) -> Result<(), Abort> {
        Ok(())
    }

    fn done(&self, _: &Vector) -> bool {
        true
    }

    fn answer(&self, _: &mut (), _: &Begin, _: &mut Site<'_>) -> Solved {
        Solved {}
    }

    fn fits(&self, _: &Begin, _: &Solved, _: ClientId, _: ModelShape) -> Result<(), Misfit> {
        Ok(())
    }

    fn shared<'a>(&self, start: &'a Vector, _: ClientId) -> &'a Vector {
        start
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Mixture { share: 0.0, anchor: |method, site| method.solve.optimum(site) }
    }
}

impl Study for Local {}
