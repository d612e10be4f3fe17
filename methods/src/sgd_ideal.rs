//! SGD Ideal: the gradients of those who have the target's distribution, known beforehand.
//!
//! The baseline of that name in Tupitsa, Horváth, Takáč, Gorbunov. *Federated Learning Can Find Friends That Are
//! Advantageous*. 2024, equation (6).
//!
//! ```text
//! round    1  every client i in G sends gᵢ = ∇fᵢ(x; Bᵢ)
//!          2  x ← x − γ/|G| Σ_G gᵢ
//! ```
//!
//! Nobody outside G is asked: the method knows what the others have to find out.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Cohort, Deployment, Misfit, ModelShape, Positive, Round, Site, Study, Unsuitable, Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Places, Reply};
use crate::parts::{BatchSize, target_suits};
use crate::registry::{Card, Method, Reads};

/// The mean gradient of the target and of clients known to be like it.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct SgdIdeal {
    /// The client whose model it is (default 0).
    #[serde(default)]
    pub target: u32,
    /// γ: step size, a number.
    #[serde(alias = "gamma")]
    pub step: Positive,
    /// |Bᵢ|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// G: the clients that have the target's distribution, the target among them, [0, 1, 2].
    pub friends: Vec<u32>,
}

impl Method for SgdIdeal {
    const CARD: Card = Card {
        name: "sgd-ideal",
        reads: Reads::Sums,
        about: "one target's model from the mean gradient of those who are known to be like it",
        leaves: "a gradient of a batch in each round, from friends of the target alone",
        paper: "the baseline of Tupitsa, Horváth, Takáč, Gorbunov 2024",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.02,"batch":3,"friends":[0]}"#,
    };
}

impl Algorithm for SgdIdeal {
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
        let friends = Cohort::new(self.friends.iter().copied().map(ClientId).collect::<Vec<_>>());
        let sum = round.sum(&friends, Ask::Differentiate { models: vec![x.clone()] }, |_| 1.0)?; // line 1
        x.axpy(-*self.step, &sum.mean()); // line 2
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        me.answer(ask, self.batch, site)
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(ask, model)
    }

    fn addend<'r>(&self, reply: &'r Reply) -> Option<Addend<'r>> {
        let Reply::Gradients { g } = reply else { return None };
        g.first().map(|g| Addend::counting(1.0).vector(g))
    }

    fn shared<'a>(&self, x: &'a Vector, _: ClientId) -> &'a Vector {
        x
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for SgdIdeal {
    fn target(&self) -> Option<ClientId> {
        Some(ClientId(self.target))
    }

    fn merit(&self, _: &Vector, _: ClientId) -> Option<Vec<f64>> {
        let mut weights = vec![0.0; self.friends.iter().max().map_or(0, |last| *last as usize + 1)];
        self.friends.iter().for_each(|&i| weights[i as usize] = 1.0 / self.friends.len() as f64);
        Some(weights)
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        if self.friends.is_empty() {
            return Err(Unsuitable::Setting("friends must list at least one client, got []".into()));
        }
        let twice = (1..self.friends.len()).find(|&k| self.friends[..k].contains(&self.friends[k]));
        if let Some(k) = twice {
            return Err(Unsuitable::Setting(format!("friends lists client {} twice", self.friends[k])));
        }
        self.friends.iter().try_for_each(|&i| target_suits("one of friends", i, clients))?;
        target_suits("target", self.target, clients)
    }
}
