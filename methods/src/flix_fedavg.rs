//! FLIX by local epochs: what the released large-scale code of FLIX runs.
//!
//! Gasanov, Khaled, Horváth, Richtárik. *FLIX: A Simple and Communication-Efficient Alternative to
//! Local Methods in Federated Learning*. AISTATS 2022, the large-scale experiments, after
//! McMahan, Moore, Ramage, Hampson, Agüera y Arcas. *Communication-Efficient Learning of Deep Networks from Decentralized
//! Data*. AISTATS 2017.
//!
//! ```text
//! minimise F(x) = 1/n Σ fᵢ(Tᵢ(x)),   Tᵢ(x) = αᵢ x + (1 − αᵢ) xᵢ*
//! before   1  each client solves for xᵢ*
//! round    2  draw clients S
//!          3  each i in S starts at y = x and, for some epochs, batch after batch B of its
//!             shuffled examples: y ← y − γ αᵢ ∇fᵢ(Tᵢ(y); B)
//!          4  it sends Δᵢ = x − y and its number of examples mᵢ
//!          5  q = mean of Δᵢ over those with αᵢ > 0, estimated from S, and the optimiser steps against q
//! ```
//!
//! Clients count by mᵢ or alike: see [`Weights`]. Δᵢ is used as a gradient, never its negative. One epoch of
//! full batches with equal weights and server step 1 is gradient descent on F with step γ. Clients with αᵢ = 0 never move
//! x: they are dropped from the mean and not asked. A round in which nobody is asked changes nothing.

use std::num::NonZeroU32;

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Fraction, Misfit, ModelShape, PerClient, Positive, Rate, Round, Sampling, Site, Study,
    Unsuitable, Vector, message, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::{Amount, BatchSize, Direction, LocalSteps, MOST_EPOCHS, Momenta, Optimiser, Solve, Start, Walk, Weights, alpha_suits};
use crate::registry::{Card, Method, Reads};

/// FLIX by local epochs.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct FlixFedavg {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, or { per_client = [...] }.
    pub alpha: PerClient<Fraction>,
    /// γ: step size of local training.
    #[serde(rename = "step", alias = "client_step", alias = "gamma")]
    pub client_step: Positive,
    /// Passes over each client's examples per round (default 1).
    #[serde(default = "once")]
    pub epochs: NonZeroU32,
    /// |B|: examples per local step, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
    /// wᵢ: "examples" (default) or "uniform".
    #[serde(default)]
    pub weights: Weights,
    /// Server optimiser: { kind = "sgd" | "momentum" | "adam" | "adagrad" | "yogi", step = number, ... }; default sgd with step 1.
    #[serde(default = "replace")]
    pub optimiser: Optimiser,
    /// x⁰: "model" (default), "zeros" or "ones".
    #[serde(default)]
    pub start: Start,
    /// How local optima are found: { kind = "gd" | "line-search" | "newton" | "sgd", to = 1e-6, steps = 100000, ... } (default: "gd" to 1e-6, at most 100,000 steps).
    #[serde(default)]
    pub solve: Solve,
    /// What is done to a gradient before each local step: { clip = longest gradient, weight_decay = 1e-4, adam = { b1, b2, eps } } (default: plain steps).
    #[serde(default)]
    pub local: Direction,
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// A step of 1: x becomes the mean of what the clients ended with.
fn replace() -> Optimiser {
    Optimiser::sgd(Rate::Given(Positive::new(1.0).expect("1 is positive")))
}

impl Method for FlixFedavg {
    const CARD: Card = Card {
        name: "flix-fedavg",
        reads: Reads::Sums,
        about: "FLIX with epochs of local training on the mixture and any server optimiser (alpha = 1: FedAvg, FedOpt)",
        leaves: "the difference x − y that local epochs on its mixture make, and its number of examples mᵢ, in each round it takes part in",
        paper: "Gasanov, Khaled, Horváth, Richtárik 2022; McMahan et al. 2017",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5,"step":0.1,"batch":2,"sampling":{"clients":2}}"#,
    };
}

message! {
    /// Server to client: line 3.
    pub struct Improve {
        /// The shared model.
        x: Vector,
    }
}

message! {
    /// Client to server: line 4.
    pub struct Improvement {
        /// Δᵢ = x − y
        delta: Vector,
        /// mᵢ
        examples: u32,
    }
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// Of the optimiser.
        pub momenta: Momenta,
    }
}

impl Algorithm for FlixFedavg {
    type Ask = Improve;
    type Reply = Improvement;
    type Server = Server;
    type Client = ();

    fn server(&self, start: Vector) -> Server {
        Server { x: self.start.from(start), momenta: Momenta::default() }
    }

    fn client(&self, site: &mut Site<'_>) {
        if self.share(site.id) < 1.0 {
            self.solve.optimum(site); // line 1
        }
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = round.sample(&self.sampling).filter(|id| self.share(id) > 0.0); // line 2
        let sum = round.sum(&cohort, Improve { x: s.x.clone() }, |id| cohort.weight(id))?; // line 5
        if let (Rate::Given(step), true) = (self.optimiser.step(), sum.weight > 0.0) {
            let q = self.weights.estimate(sum, round.share_of(|id| self.share(id) > 0.0));
            round.state_is_finite(self.optimiser.apply(&mut s.x, &q, *step, &mut s.momenta));
        }
        Ok(())
    }

    fn answer(&self, _: &mut (), Improve { x }: &Improve, site: &mut Site<'_>) -> Improvement {
        let alpha = self.share(site.id);
        let anchor = (alpha < 1.0).then(|| self.solve.optimum(site));
        let (mut y, mut g, mut steps) = (x.clone(), x.zeros_like(), Walk::default());
        let local = LocalSteps { step: *self.client_step, steps: Amount::Epochs(self.epochs), batch: self.batch };
        local.walk(site, |train, rows, buffers| {
            match &anchor {
                Some(anchor) => train.train_into(&Vector::mix(alpha, &y, anchor), rows, buffers, &mut g),
                None => train.train_into(&y, rows, buffers, &mut g),
            }
            self.local.turn(&y, &mut g, &mut steps);
            y.axpy(-*self.client_step * alpha, &g); // line 3
        });
        let samples = site.train.samples();
        Improvement { delta: Vector::diff(x, &y), examples: u32::try_from(samples).unwrap_or(u32::MAX) } // line 4
    }

    fn fits(&self, _: &Improve, reply: &Improvement, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.delta.fits(model)
    }

    fn addend<'r>(&self, reply: &'r Improvement) -> Option<Addend<'r>> {
        Some(Addend::counting(self.weights.of(reply.examples)).vector(&reply.delta))
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) }
    }
}

impl FlixFedavg {
    /// αᵢ: the share of the shared model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        *self.alpha.of(client)
    }
}

impl Study for FlixFedavg {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        Some(&mut self.alpha)
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        Unsuitable::beyond("epochs", self.epochs.get(), MOST_EPOCHS)?;
        alpha_suits(&self.alpha, clients)?;
        self.weights.suits(&self.sampling)?;
        self.sampling.suits(clients)?;
        let theory = "theory has no server step for local epochs: give the optimiser's step as a number";
        Unsuitable::when(self.optimiser.step() == Rate::Theory, theory)?;
        Unsuitable::when(self.start == Start::OneShot, "flix-fedavg starts from \"model\", \"zeros\" or \"ones\"")?;
        self.optimiser.suits()
    }
}
