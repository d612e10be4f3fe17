//! SGD Full: every client's gradient counts the same for the target's model.
//!
//! The baseline of that name in Tupitsa, Horváth, Takáč, Gorbunov. *Federated Learning Can Find Friends That Are
//! Advantageous*. 2024.
//!
//! ```text
//! round    1  every client i sends gᵢ = ∇fᵢ(x; Bᵢ)
//!          2  x ← x − γ A(g₁, …, gₙ),   A the plain mean, or a rule that bears liars
//! ```
//!
//! The other rules are the usual robust ones; see [`Aggregator`].

use motet_core::{Abort, Algorithm, ClientId, Deployment, Misfit, ModelShape, Positive, Round, Site, Study, Unsuitable, Vector};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Places, Reply};
use crate::parts::robust::Aggregator;
use crate::parts::{BatchSize, Clip, gather_gradients, target_suits};
use crate::registry::{Card, Method, Reads};

/// Everyone counts the same.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct SgdFull {
    /// The client whose model it is (default 0).
    #[serde(default)]
    pub target: u32,
    /// γ: step size, a number.
    #[serde(alias = "gamma")]
    pub step: Positive,
    /// |Bᵢ|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// A: { kind = "mean" } (default), { kind = "median" }, { kind = "trimmed-mean", liars = 20 }, { kind = "krum", liars = 20 } or { kind = "geometric-median" }.
    #[serde(default)]
    pub aggregator: Aggregator,
    /// Longer gradients are shortened to this length: "none" (default), "median" of the cohort's lengths, or a number.
    #[serde(default)]
    pub clip: Clip,
}

impl Method for SgdFull {
    const CARD: Card = Card {
        name: "sgd-full",
        reads: Reads::Single,
        about: "one target's model from the plain or robust mean of everyone's gradients",
        leaves: "a gradient of a batch in each round",
        paper: "the baseline of Tupitsa, Horváth, Takáč, Gorbunov 2024",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.005,"batch":3}"#,
    };
}

impl Algorithm for SgdFull {
    type Ask = Ask;
    type Reply = Reply;
    /// x
    type Server = Vector;
    type Client = Places;

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, _: &mut Site<'_>) -> Places {
        Places::default()
    }

    fn round(&self, x: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let gradients = self.clip.applied(gather_gradients(round, x)?); // line 1
        x.axpy(-*self.step, &self.aggregator.of(gradients.rows())); // line 2
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        me.answer(ask, self.batch, site)
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(ask, model)
    }

    fn shared<'a>(&self, x: &'a Vector, _: ClientId) -> &'a Vector {
        x
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for SgdFull {
    fn target(&self) -> Option<ClientId> {
        Some(ClientId(self.target))
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        target_suits("target", self.target, clients)?;
        self.aggregator.suits(clients)
    }
}
