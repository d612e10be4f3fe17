//! Ditto: a personal model beside the shared one, held near it.
//!
//! Li, Hu, Beirami, Smith. *Ditto: Fair and Robust Federated Learning Through Personalization*. ICML 2021.
//!
//! ```text
//! round    1  draw clients S
//!          2  each i in S trains the shared model as FedAvg does: from y = x, y ← y − s ∇fᵢ(y; B)
//!          3  and its own: vᵢ ← vᵢ − sᵥ (∇fᵢ(vᵢ; B) + λ (vᵢ − x))
//!          4  x ← mean of yᵢ, estimated from S
//! deploy   5  vᵢ; x where a client was never asked
//! ```
//!
//! vᵢ starts at the first x that the client hears. λ = 0 ends at pure local models, large λ at the shared one. Personal
//! models are never sent: the shared one, and the messages, are those of FedAvg.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Misfit, ModelShape, NonNegative, Positive, Round, Sampling, Site, Study, Unsuitable,
    Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Amount, BatchSize, LocalSteps, Train, Trained, Weights, average};
use crate::registry::{Card, Method, Reads};

/// A personal model beside the shared one.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Ditto {
    /// λ: how strongly personal models are held near the shared one, from 0.
    pub lambda: NonNegative,
    /// s: step size of local training.
    pub step: Positive,
    /// Local steps per round: a number, or { epochs = n }; default one epoch.
    #[serde(rename = "local_steps", alias = "steps", default = "Amount::one_epoch")]
    pub steps: Amount,
    /// Step size of the personal model (default: step).
    #[serde(default)]
    pub personal_step: Option<Positive>,
    /// Steps of the personal model per round: a number, or { epochs = n } (default: local_steps).
    #[serde(default)]
    pub personal_steps: Option<Amount>,
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

impl Method for Ditto {
    const CARD: Card = Card {
        name: "ditto",
        reads: Reads::Sums,
        about: "federated averaging, and beside it a personal model held near the shared one",
        leaves: "its copy y of the shared model after local steps, and its number of examples mᵢ, in each round it takes part in; the personal model stays",
        paper: "Li, Hu, Beirami, Smith 2021",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"lambda":0.5,"step":0.1,"local_steps":3,"batch":2,"sampling":{"clients":2}}"#,
    };
}

impl Algorithm for Ditto {
    type Ask = Train;
    type Reply = Trained;
    /// x
    type Server = Vector;
    /// vᵢ, once the client was asked.
    type Client = Option<Vector>;

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, _: &mut Site<'_>) -> Option<Vector> {
        None
    }

    fn round(&self, x: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = round.sample(&self.sampling); // line 1
        *x = average(x, &cohort, self.weights, round)?; // line 4
        Ok(())
    }

    fn answer(&self, own: &mut Option<Vector>, Train { x }: &Train, site: &mut Site<'_>) -> Trained {
        let common = LocalSteps { step: *self.step, steps: self.steps, batch: self.batch };
        let personal = LocalSteps {
            step: *self.personal_step.unwrap_or(self.step),
            steps: self.personal_steps.unwrap_or(self.steps),
            batch: self.batch,
        };
        let mut y = x.clone();
        common.descend(site, &mut y, |_, _| {}); // line 2
        let v = own.get_or_insert_with(|| x.clone());
        personal.descend(site, v, |v, g| {
            g.axpy(*self.lambda, v); // line 3
            g.axpy(-*self.lambda, x);
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
        Deployment::Own(Self::personal)
    }
}

impl Ditto {
    /// What the client deploys.
    fn personal(&self, own: &Option<Vector>, x: &Vector, _: &mut Site<'_>) -> Vector {
        own.as_ref().unwrap_or(x).clone() // line 5
    }
}

impl Study for Ditto {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.steps.suits("local_steps")?;
        self.personal_steps.map_or(Ok(()), |steps| steps.suits("personal_steps"))?;
        self.weights.suits(&self.sampling)?;
        self.sampling.suits(clients)
    }
}
