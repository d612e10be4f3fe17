//! FLIX by stochastic gradients: sampled clients, mini-batches, and any server optimiser.
//!
//! Gasanov, Khaled, Horváth, Richtárik. *FLIX: A Simple and Communication-Efficient Alternative to
//! Local Methods in Federated Learning*. AISTATS 2022, the large-scale experiments.
//!
//! ```text
//! minimise F(x) = 1/n Σ fᵢ(Tᵢ(x)),   Tᵢ(x) = αᵢ x + (1 − αᵢ) xᵢ*
//! before   1  each client solves for xᵢ*
//!          2  optionally γ from Lα = 1/n Σ αᵢ² Lᵢ, and x = Σ αᵢ² Lᵢ xᵢ* / Σ αᵢ² Lᵢ
//! round    3  draw clients S with weights wᵢ such that E Σ_S wᵢ vᵢ = 1/n Σ vᵢ
//!          4  each i in S draws a batch B and sends gᵢ = αᵢ ∇fᵢ(Tᵢ(x); B)
//!          5  q = Σ_S wᵢ gᵢ, and the optimiser steps against q
//!          6  with decay, i also sends ℓᵢ = fᵢ(Tᵢ(x)), and the step falls if their mean is on a plateau
//! ```
//!
//! q is right on average for ∇F, whatever the sampling. With everyone, full batches and plain steps
//! this is [`flix`](crate::flix). Sampled clients with αᵢ = 0 have a gradient of zero and are not asked; a
//! round in which nobody is asked changes nothing.
//!
//! Not in the paper: with `alpha = { estimate = { eps = ε, online = true } }` each sampled client takes the largest αᵢ that costs it at most ε at
//! the present x, by measuring on all of its examples; see [`Shares`]. The step is then a number.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Facts, Fraction, Misfit, ModelShape, PerClient, Promise, Rate, Round, Rows, Sampling,
    Site, Study, Unsuitable, Vector, message, wire,
};
use serde::{Deserialize, Serialize};

use crate::parts::{BatchSize, Decay, MixtureConstants, Momenta, Optimiser, Plateau, Schedule, Shares, Solve, Start, rows};
use crate::registry::{Card, Method, Reads};

/// FLIX by stochastic gradients.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct FlixSgd {
    /// αᵢ: share of the shared model in what each client deploys, from 0 to 1: a number, { per_client = [...] }, or { estimate = { eps = 1e-3, online = true } }: the largest that costs the client at most eps.
    pub alpha: Shares,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
    /// |B|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// Server optimiser: { kind = "sgd" | "momentum" | "adam" | "adagrad" | "yogi", step = number or "theory", ... }; default sgd with "theory" = 1/Lα.
    #[serde(default = "plain")]
    pub optimiser: Optimiser,
    /// The step gets smaller when the cohort's loss stops falling: { delta = 1e-4, window = 100, patience = 100, cooldown = 100, server_factor = 0.9, ... } (default: none).
    #[serde(default)]
    pub decay: Option<Decay>,
    /// x⁰: "model" (default), "zeros", "ones" or "one-shot" (average of the local optima).
    #[serde(default)]
    pub start: Start,
    /// How local optima are found: { kind = "gd" | "line-search" | "newton" | "sgd", to = 1e-6, steps = 100000, ... } (default: "gd" to 1e-6, at most 100,000 steps).
    #[serde(default)]
    pub solve: Solve,
}

fn plain() -> Optimiser {
    Optimiser::sgd(Rate::Theory)
}

impl Method for FlixSgd {
    const CARD: Card = Card {
        name: "flix-sgd",
        reads: Reads::Sums,
        about: "FLIX with sampled clients, mini-batches and any server optimiser",
        leaves: r#"a gradient of a batch, αᵢ ∇fᵢ(αᵢ x + (1 − αᵢ) xᵢ*; B), in each round; with plateau decay the loss of the batch; with `step = "theory"` αᵢ² Lᵢ once; with `start = "one-shot"` its own model xᵢ* once; learnt shares αᵢ in each round"#,
        paper: "Gasanov, Khaled, Horváth, Richtárik 2022",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"alpha":0.5,"sampling":{"clients":2},"batch":3}"#,
    };
}

message! {
    /// Server to client.
    pub enum Ask {
        /// For the constants of line 2.
        Introduce {
            /// Is xᵢ* wanted too?
            optimum: bool,
        },
        /// For the gradient of line 4.
        Differentiate {
            /// The shared model.
            x: Vector,
        },
        /// For lines 4 and 6.
        Assess {
            /// The shared model.
            x: Vector,
        },
    }
}

message! {
    /// Client to server.
    pub enum Reply {
        /// Line 2.
        Introduction {
            /// αᵢ² Lᵢ, if Lᵢ is known.
            curvature: Option<f64>,
            /// xᵢ*, if wanted.
            optimum: Option<Vector>,
        },
        /// Line 4.
        Gradient {
            /// αᵢ ∇fᵢ(Tᵢ(x); B)
            g: Vector,
        },
        /// Lines 4 and 6.
        Assessed {
            /// αᵢ ∇fᵢ(Tᵢ(x); B)
            g: Vector,
            /// ℓᵢ
            loss: f64,
        },
        /// Line 4, with shares that are learnt.
        Shared {
            /// αᵢ ∇fᵢ(Tᵢ(x); B)
            g: Vector,
            /// αᵢ
            share: f64,
        },
    }
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// γ
        pub step: f64,
        /// Of the optimiser.
        pub momenta: Momenta,
        /// Of the decay, where there is one.
        pub plateau: Option<Plateau>,
    }
}

impl Algorithm for FlixSgd {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = ();

    fn server(&self, start: Vector) -> Server {
        Server { x: self.start.from(start), step: f64::NAN, momenta: Momenta::default(), plateau: self.decay.as_ref().map(Decay::begin) }
    }

    fn client(&self, site: &mut Site<'_>) {
        if self.alpha.mixes(site.id) || self.start == Start::OneShot {
            self.solve.optimum(site); // line 1
        }
    }

    /// Line 2, asked only for what is not given.
    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let average = self.start == Start::OneShot;
        if let (Rate::Given(step), false) = (self.optimiser.step(), average) {
            s.step = *step;
            return Ok(());
        }
        let sharing = round.everyone().filter(|id| self.share(id) > 0.0);
        let sum = round.sum(&sharing, Ask::Introduce { optimum: average }, |_| 1.0)?;
        if sum.numbers[0] > 0.0 {
            return Err(Abort::Unsuited(
                "theory needs the smoothness of the model, which is not known: give step as a number, and a start other than \"one-shot\""
                    .into(),
            ));
        }
        // Those who stayed silent count as those who answered do on average.
        let part = sharing.len() as f64 / (sum.answered.len().max(1) * round.everyone().len().max(1)) as f64;
        s.step = match self.optimiser.step() {
            Rate::Given(step) => *step,
            Rate::Theory => self.optimiser.theory(sum.weight * part).unwrap_or(f64::NAN),
        };
        if average && sum.weight > 0.0 {
            s.x = sum.mean();
        }
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let drawn = round.sample(&self.sampling); // line 3
        let cohort = drawn.filter(|id| self.share(id) > 0.0);
        let x = s.x.clone();
        let ask = if self.decay.is_some() { Ask::Assess { x } } else { Ask::Differentiate { x } };
        let sum = round.sum(&cohort, ask, |id| cohort.weight(id))?; // line 5
        let loss = sum.numbers[0] / sum.divisor(round.share_of(|id| self.share(id) > 0.0));
        let (answered, share) = (sum.answered.clone(), sum.numbers[0]);
        let mut q = sum.total();
        if answered.is_empty() {
            return Ok(());
        }
        if self.alpha.learnt().is_some() {
            round.note("share", share / answered.len() as f64);
        }
        if answered.len() < cohort.len() {
            q.scale(cohort.len() as f64 / answered.len() as f64);
        }
        if matches!(self.sampling, Sampling::SelfNormalised(_)) {
            q.scale(1.0 / drawn.total_weight());
        }
        let decay = self.decay.as_ref().zip(s.plateau.as_mut());
        let step = decay.as_ref().map_or(s.step, |(decay, state)| decay.server(state, s.step));
        round.state_is_finite(self.optimiser.apply(&mut s.x, &q.into(), step, &mut s.momenta));
        let Some((decay, state)) = decay else { return Ok(()) };
        decay.push(state, loss); // line 6
        round.note("eta", step);
        round.note("cohort_loss", loss);
        Ok(())
    }

    fn answer(&self, _: &mut (), ask: &Ask, site: &mut Site<'_>) -> Reply {
        match ask {
            Ask::Introduce { optimum } => Reply::Introduction {
                curvature: site.train.constants().smoothness.map(|l| self.share(site.id).powi(2) * l),
                optimum: optimum.then(|| self.solve.optimum(site)),
            },
            Ask::Differentiate { x } | Ask::Assess { x } => {
                let (alpha, model) = self.mixed(x, site);
                let loss = matches!(ask, Ask::Assess { .. }).then(|| site.train.value(&model, Rows::All)); // line 6
                let batch = self.batch.draw(site.train.samples(), &mut site.rng); // line 4
                let mut g = model.zeros_like();
                site.train.train_into(&model, rows(&batch), site.buffers, &mut g);
                g.scale(alpha);
                match loss {
                    None if self.alpha.learnt().is_some() => Reply::Shared { g, share: alpha },
                    None => Reply::Gradient { g },
                    Some(loss) => Reply::Assessed { g, loss },
                }
            }
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, reply) {
            (Ask::Introduce { optimum: wanted }, Reply::Introduction { curvature, optimum }) => {
                Misfit::of_constant("curvature", *curvature)?;
                Misfit::of_optional(optimum.as_ref(), *wanted, model)
            }
            (Ask::Differentiate { .. }, Reply::Gradient { g }) if self.alpha.learnt().is_none() => g.fits(model),
            (Ask::Differentiate { .. }, Reply::Shared { g, share }) if self.alpha.learnt().is_some() => {
                Misfit::of_constant("share", Some(*share))?;
                g.fits(model)
            }
            (Ask::Assess { .. }, Reply::Assessed { g, .. }) => g.fits(model),
            _ => Err(Misfit::Variant),
        }
    }

    fn addend<'r>(&self, reply: &'r Reply) -> Option<Addend<'r>> {
        match reply {
            // Σ cᵢ is the sum's weight; the number counts those who do not know theirs.
            Reply::Introduction { curvature, optimum } => {
                let known = Addend::counting(curvature.unwrap_or(0.0)).plain(f64::from(u8::from(curvature.is_none())));
                Some(optimum.iter().fold(known, Addend::vector))
            }
            Reply::Gradient { g } => Some(Addend::counting(1.0).vector(g)),
            Reply::Assessed { g, loss } => Some(Addend::counting(1.0).vector(g).number(*loss)),
            Reply::Shared { g, share } => Some(Addend::counting(1.0).vector(g).plain(*share)),
        }
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        match self.alpha.learnt() {
            None => Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) },
            Some(_) => Deployment::Own(|method, _, x, site| method.mixed(x, site).1),
        }
    }
}

impl FlixSgd {
    /// αᵢ: the share of the shared model in what the client deploys; 1 where it is learnt.
    pub fn share(&self, client: ClientId) -> f64 {
        self.alpha.of(client)
    }

    /// αᵢ and Tᵢ(x)
    fn mixed(&self, x: &Vector, site: &mut Site<'_>) -> (f64, Vector) {
        let Some(learnt) = self.alpha.learnt() else { return (self.share(site.id), self.deploys(site.id).model(self, &(), x, site)) };
        learnt.mixture(x, &self.solve.optimum(site), site)
    }
}

impl Study for FlixSgd {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        self.alpha.given_mut()
    }

    /// With everyone, full batches and plain steps this is `flix`, and so is its promise; a step of 1/Lα is longer than
    /// any theorem about sampled gradients allows.
    fn promise(&self, facts: &Facts<'_>) -> Option<Promise> {
        let whole = self.sampling == Sampling::Everyone && self.batch == BatchSize::All;
        let exact = whole && self.decay.is_none() && self.alpha.learnt().is_none();
        match self.optimiser {
            Optimiser::Sgd { step } if exact && step == Schedule::constant(step.start) => {
                MixtureConstants::new(facts, |id| self.share(id)).descent(step.start, "FLIX Theorem 2")
            }
            _ => None,
        }
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.alpha.suits(clients)?;
        let learnt = self.alpha.learnt().is_some();
        let theory = "shares that are learnt change the smoothness of F: give the optimiser's step as a number";
        Unsuitable::when(learnt && self.optimiser.step() == Rate::Theory, theory)?;
        Unsuitable::when(learnt && self.decay.is_some(), "decay looks at the loss of fixed shares: leave it or alpha's estimate out")?;
        self.sampling.suits(clients)?;
        self.optimiser.suits()
    }
}
