//! Per-FedAvg: a shared model from which one gradient step is a good personal one.
//!
//! Fallah, Mokhtari, Ozdaglar. *Personalized Federated Learning with Theoretical Guarantees: A Model-Agnostic Meta-Learning
//! Approach*. NeurIPS 2020.
//!
//! ```text
//! minimise 1/n Σ fᵢ(x − s ∇fᵢ(x))
//! round    1  draw clients S
//!          2  each i in S walks from y = x, each time with three fresh batches:
//!          3      u = ∇fᵢ(y − s ∇fᵢ(y; B₁); B₂)
//!          4      "fo": d = u;  "hf": d = u − s (∇fᵢ(y + δu; B₃) − ∇fᵢ(y − δu; B₃))/(2δ);  "exact": d = u − s ∇²fᵢ(y; B₃) u
//!          5      y ← y − b d
//!          6  x ← mean of yᵢ, estimated from S
//! deploy   7  x − s ∇fᵢ(x), as often as `adapt` says, on all examples
//! ```
//!
//! One local step of "fo" is LocalUpdate with Θ₂; of "exact" it is MAML with one step of adaptation, on quadratics Θ₃. δ is
//! relative: the difference is taken over a distance of `difference` times 1 + |y|.

use std::num::NonZeroU32;

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Misfit, ModelShape, Positive, Round, Rows, Sampling, Site, Study, Unsuitable, Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::{BatchSize, MOST_STEPS, Train, Trained, Weights, average, rows};
use crate::registry::{Card, Method, Reads};

/// One step of adaptation, federated.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct PerFedavg {
    /// s: step size of the adaptation.
    pub inner_step: Positive,
    /// b: step size of local training.
    pub step: Positive,
    /// "hf" (default): differences of gradients; "fo": first order; "exact": Hessian-vector products.
    #[serde(default)]
    pub variant: Variant,
    /// Relative distance of the differences of "hf" (default 0.001).
    #[serde(default = "thousandth")]
    pub difference: Positive,
    /// Local steps per round (default 1).
    #[serde(rename = "local_steps", alias = "steps", default = "once")]
    pub steps: NonZeroU32,
    /// Steps of adaptation at deployment (default 1).
    #[serde(default = "once")]
    pub adapt: NonZeroU32,
    /// Examples per gradient: a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
    /// wᵢ: "uniform" (default) or "examples": what a client's model counts for in the mean.
    #[serde(default = "Weights::uniform")]
    pub weights: Weights,
}

fn thousandth() -> Positive {
    Positive::new(1e-3).expect("0.001 is positive")
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// What stands for the derivative of the adaptation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// First order: it is left out.
    Fo,
    /// Hessian-free: a difference of two gradients.
    #[default]
    Hf,
    /// The model's own Hessian-vector product.
    Exact,
}

impl Method for PerFedavg {
    const CARD: Card = Card {
        name: "per-fedavg",
        reads: Reads::Sums,
        about: "a shared model from which one gradient step is a good personal one",
        leaves: "its copy y of the shared model after meta-steps, and its number of examples mᵢ, in each round it takes part in; the adapted model stays",
        paper: "Fallah, Mokhtari, Ozdaglar 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"inner_step":0.1,"step":0.2,"local_steps":2,"batch":2,"sampling":{"clients":2}}"#,
    };
}

impl PerFedavg {
    /// Lines 3 and 4.
    fn direction(&self, y: &Vector, site: &mut Site<'_>) -> Vector {
        let Site { train, rng, buffers, .. } = site;
        let samples = train.samples();
        let (mut z, mut g, mut u) = (y.clone(), y.zeros_like(), y.zeros_like());
        train.train_into(y, rows(&self.batch.draw(samples, rng)), buffers, &mut g);
        z.axpy(-*self.inner_step, &g);
        train.gradient_into(&z, rows(&self.batch.draw(samples, rng)), &mut u); // line 3
        let curved = match self.variant {
            Variant::Fo => return u, // line 4
            Variant::Exact => {
                train.hessian_vector(y, &u, rows(&self.batch.draw(samples, rng)), &mut g); // line 4
                g
            }
            Variant::Hf => {
                let length = u.norm();
                if length == 0.0 {
                    return u;
                }
                let delta = *self.difference * (1.0 + y.norm()) / length;
                let batch = self.batch.draw(samples, rng);
                z.copy_from(y);
                z.axpy(delta, &u);
                train.gradient_into(&z, rows(&batch), &mut g);
                let mut curved = g.clone();
                z.axpy(-2.0 * delta, &u);
                train.gradient_into(&z, rows(&batch), &mut g);
                curved.axpy(-1.0, &g); // line 4
                curved.scale(0.5 / delta);
                curved
            }
        };
        u.axpy(-*self.inner_step, &curved);
        u
    }
}

impl Algorithm for PerFedavg {
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
        *x = average(x, &cohort, self.weights, round)?; // line 6
        Ok(())
    }

    fn answer(&self, _: &mut (), Train { x }: &Train, site: &mut Site<'_>) -> Trained {
        let mut y = x.clone();
        for _ in 0..self.steps.get() {
            let d = self.direction(&y, site); // line 2
            y.axpy(-*self.step, &d); // line 5
        }
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

impl PerFedavg {
    /// What the client deploys.
    fn personal(&self, _: &(), x: &Vector, site: &mut Site<'_>) -> Vector {
        let (mut y, mut g) = (x.clone(), x.zeros_like());
        for _ in 0..self.adapt.get() {
            site.train.train_into(&y, Rows::All, site.buffers, &mut g);
            y.axpy(-*self.inner_step, &g); // line 7
        }
        y
    }
}

impl Study for PerFedavg {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        Unsuitable::beyond("local_steps", self.steps.get(), MOST_STEPS)?;
        Unsuitable::beyond("adapt", self.adapt.get(), MOST_STEPS)?;
        self.weights.suits(&self.sampling)?;
        self.sampling.suits(clients)
    }
}
