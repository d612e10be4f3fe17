//! FedProx: federated averaging whose clients are held near the shared model.
//!
//! Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith. *Federated Optimization in Heterogeneous Networks*. MLSys 2020.
//!
//! ```text
//! round    1  draw clients S
//!          2  each i in S walks from y = x: y ← y − s (∇fᵢ(y; B) + μ (y − x))
//!          3  x ← mean of yᵢ, estimated from S
//! ```
//!
//! Line 2 approximates argmin fᵢ(y) + μ/2 |y − x|², ever better with more steps. With exact minimisers the fixed point is
//! that of the Moreau envelopes, not the minimiser of 1/n Σ fᵢ. μ = 0 is FedAvg. The paper draws clients by their
//! numbers of examples and averages plainly; drawing plainly and weighing by examples (`weights`) has the same mean.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Misfit, ModelShape, NonNegative, Positive, Round, Sampling, Site, Study, Unsuitable,
    Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Amount, BatchSize, LocalSteps, Train, Trained, Weights, average};
use crate::registry::{Card, Method, Reads};

/// Federated averaging with a proximal term.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Fedprox {
    /// μ: strength of the proximal term, from 0.
    pub mu: NonNegative,
    /// s: step size of local training.
    pub step: Positive,
    /// Local steps per round: a number, or { epochs = n }; default one epoch.
    #[serde(rename = "local_steps", alias = "steps", default = "Amount::one_epoch")]
    pub steps: Amount,
    /// |B|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
    /// wᵢ: "uniform" (default) or "examples": what a client's model counts for in the mean.
    #[serde(default = "Weights::uniform")]
    pub weights: Weights,
}

impl Method for Fedprox {
    const CARD: Card = Card {
        name: "fedprox",
        reads: Reads::Sums,
        about: "federated averaging whose clients are held near the shared model by a proximal term (mu = 0: FedAvg)",
        leaves: "its copy y of the shared model after local steps, and its number of examples mᵢ, in each round it takes part in",
        paper: "Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"mu":0.5,"step":0.1,"local_steps":3,"batch":2,"sampling":{"clients":2}}"#,
    };
}

impl Algorithm for Fedprox {
    type Ask = Train;
    type Reply = Trained;
    /// x
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, _: &mut Site<'_>) {}

    fn round(&self, x: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = round.sample(&self.sampling); // line 1
        *x = average(x, &cohort, self.weights, round)?; // line 3
        Ok(())
    }

    fn answer(&self, _: &mut (), Train { x }: &Train, site: &mut Site<'_>) -> Trained {
        let local = LocalSteps { step: *self.step, steps: self.steps, batch: self.batch };
        let mut y = x.clone();
        local.descend(site, &mut y, |y, g| {
            g.axpy(*self.mu, y); // line 2
            g.axpy(-*self.mu, x);
        });
        Trained::new(y, site.train.samples())
    }

    fn fits(&self, _: &Train, reply: &Trained, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(model)
    }

    fn addend<'r>(&self, reply: &'r Trained) -> Option<Addend<'r>> {
        Some(reply.addend(self.weights))
    }

    fn shared<'a>(&self, x: &'a Vector, _: ClientId) -> &'a Vector {
        x
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for Fedprox {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.steps.suits("local_steps")?;
        self.weights.suits(&self.sampling)?;
        self.sampling.suits(clients)
    }
}
