//! Fine-tuning: a shared model by federated averaging, and some local steps from it before it is deployed.
//!
//! The baseline of every paper on personalisation; Proposition 1 of Gasanov, Khaled, Horváth, Richtárik. *FLIX: A Simple and
//! Communication-Efficient Alternative to Local Methods in Federated Learning*. AISTATS 2022.
//!
//! ```text
//! round    1  draw clients S
//!          2  each i in S walks from y = x: y ← y − s ∇fᵢ(y; B)
//!          3  x ← mean of yᵢ, estimated from S
//! deploy   4  z = x, and H times z ← z − t ∇fᵢ(z; B)
//! ```
//!
//! On a quadratic, line 4 with whole gradients is the mixture (I − J) xᵢ* + J x with J = (I − t Aᵢ)^H: FLIX replaces the
//! matrix J by a number. Tuning uses the client's training data and is never booked: it happens once, after the run.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Misfit, ModelShape, Positive, Round, Sampling, Site, Study, Unsuitable, Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Amount, BatchSize, LocalSteps, Train, Trained, Weights, average};
use crate::registry::{Card, Method, Reads};

/// Federated averaging, then local steps.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Finetune {
    /// s: step size of local training.
    pub step: Positive,
    /// Local steps per round: a number, or { epochs = n }; default one epoch.
    #[serde(rename = "local_steps", alias = "steps", default = "Amount::one_epoch")]
    pub steps: Amount,
    /// t: step size of the tuning (default: step).
    #[serde(default)]
    pub tune_step: Option<Positive>,
    /// H: local steps before deployment, a number, or { epochs = n }.
    pub tune: Amount,
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

impl Method for Finetune {
    const CARD: Card = Card {
        name: "finetune",
        reads: Reads::Sums,
        about: "federated averaging, and local steps from the shared model before it is deployed",
        leaves: "its copy y of the shared model after local steps, and its number of examples mᵢ, in each round it takes part in; the fine-tuned model stays",
        paper: "the baseline of every comparison; Gasanov, Khaled, Horváth, Richtárik 2022, Proposition 1",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"local_steps":3,"tune":5,"batch":2,"sampling":{"clients":2}}"#,
    };
}

impl Algorithm for Finetune {
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
        local.descend(site, &mut y, |_, _| {}); // line 2
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

impl Finetune {
    /// What the client deploys.
    fn personal(&self, _: &(), x: &Vector, site: &mut Site<'_>) -> Vector {
        let local = LocalSteps { step: *self.tune_step.unwrap_or(self.step), steps: self.tune, batch: self.batch };
        let mut z = x.clone();
        local.descend(site, &mut z, |_, _| {}); // line 4
        z
    }
}

impl Study for Finetune {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.steps.suits("local_steps")?;
        self.tune.suits("tune")?;
        self.weights.suits(&self.sampling)?;
        self.sampling.suits(clients)
    }
}
