//! LocalUpdate: FedAvg, Reptile, first-order MAML and mini-batch SGD as one family, told apart by Θ and two rates.
//!
//! Charles, Konečný. *On the Outsized Importance of Learning Rates in Local Update Methods*. 2020.
//!
//! ```text
//! minimise f(x) = E fᵢ(x);   Θ = (θ₁, θ₂, …) with K entries
//! before   1  where rates are "theory" or learnt: L = max Lᵢ, μ = min μᵢ
//! round    2  draw clients S;  γ and η of this round
//!          3  send x (and γ, if it is not the first one)
//!          4  each i in S: optionally ℓᵢ = fᵢ(x);  y = x
//!          5  for k = 1 … K:  g_k = ∇fᵢ(y; B_k),  y ← y − γ g_k
//!          6  MAML only: g_K ← (I − γ ∇²fᵢ(y₁; B₁)) … (I − γ ∇²fᵢ(y_{K−1}; B_{K−1})) g_K
//!          7  send qᵢ = Σ θ_k g_k (and ℓᵢ)
//!          8  q = mean of qᵢ, estimated from S;  x ← x − η q, or a server optimiser's step against q
//!          9  LocalUpdateDecay only: lower γ and η if the mean of ℓᵢ is on a plateau
//! deploy  10  optionally some more steps of line 5, from x, with the γ of the round to come
//! ```
//!
//! This file is the one implementation of `local-update` and its named settings: `fedavg`, `local-sgd`, `reptile`,
//! `fomaml`, `maml`, `lookahead`, `minibatch-sgd`, `local-update-decay`. `motet list methods` shows them as one table.
//!
//! Where we leave the paper:
//! - Its (14) and (15) write q as a sum over clients where the mean is meant.
//! - Clients send the sum of their gradients, so γ = 0 makes sense (summed mini-batch SGD). With `send = "deltas"` they
//!   send x − y as FedOpt does; the server's rate is then multiplied by γ.
//! - Clients weigh alike, as in the paper; the released code weighs by processed examples: `weights = "examples"`.
//! - Theory: `server_step = "theory"` is Theorem 26, `server_step = { kind = "inverse", start = "theory" }` Theorem 27, and
//!   `step = "theory"` with it Theorem 29; `step = { estimate = { accuracy, online = true } }` is Theorem 17 with spreads that are bounded in
//!   rounds ([`spreads`]). All assume γ < 1/L and everyone's gradients: with sampled clients the
//!   variance of the draw comes on top, which Lemma 23 leaves out.
//! - m-MAML is Θ_{2m+1} on quadratics with full gradients alone (Theorem 4); in general line 6 takes Hessian-vector
//!   products, each on the batch of its step. With `hold`, that share of a client's examples is kept for the last
//!   gradient, the same examples in every round of a run and others with another seed; the other steps see the rest.
//! - Where a client's function depends on a few rows of x only (tag prediction), plain local steps are taken on these rows,
//!   and q is sent, averaged and applied by rows; elsewhere q is 0, and a server optimiser does what it does with zeros.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Deployment, Fraction, Misfit, ModelShape, NonNegative, Positive, Rate, Round, Sampling, Site,
    Study, Unsuitable, Update, Vector,
};
use serde::{Deserialize, Serialize};

pub use crate::parts::Amount;
use crate::parts::{BatchSize, Decay, Direction, Momenta, Optimiser, Schedule, Shape, Start, Walk, Weights, plain, rows};
use crate::registry::{Card, Reads};

mod adapting;
mod batches;
mod messages;
mod preset;
mod rate;
mod recipe;
mod settings;
mod sparse;
pub mod spreads;
mod table;
mod theory;

pub use adapting::{Adapting, Order};
use batches::{Batches, Rows, parted};
pub use messages::{Ask, Reply, Server};
pub use preset::{Common, Line, LocalUpdateFamily, Preset};
pub use rate::ClientRate;
pub use recipe::{Recipe, Rule};
pub use settings::{Draw, Send, Theta};
pub use spreads::{Accuracy, Spreads};
pub use table::{TABLE, line};
pub use theory::{Theory, phi};

/// What leaves the clients of the whole family.
pub(crate) const LEAVES: &str = "the sum of its gradients over local steps (FOMAML and MAML: of adapted models), in each round it takes part in; where examples weigh, their number; where theory sets rates Lᵢ and μᵢ once; with plateau decay its loss before training; with a rate that is learnt on the way also how far off and how bent its loss is";

/// LocalUpdate itself: nothing is fixed.
pub type LocalUpdate = LocalUpdateFamily<LocalUpdateSettings>;

/// Every setting of the family.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct LocalUpdateSettings {
    /// Θ: weights of the local gradients, "1:K" (all alike, default), "K" (the last one alone) or a list.
    #[serde(default)]
    pub theta: Theta,
    /// K: gradients per client and round (default 1), or { epochs = n }; left out where theta is a list.
    #[serde(rename = "local_steps", alias = "steps", default)]
    pub steps: Option<Amount>,
    /// γ: step size, a number from 0, "theory" (Theorem 29, with server_step), a schedule { kind = "inverse" | "staircase" | "cosine", start = ..., ... }, or { estimate = { accuracy = 0.1, online = true } }: the largest that keeps Theorem 17's bound.
    #[serde(rename = "step", alias = "gamma")]
    pub gamma: ClientRate,
    /// η: server step, a number, "theory" (Theorem 26), { kind = "inverse", start = "theory" } (27) or a schedule; this or optimiser must be given.
    #[serde(rename = "server_step", alias = "eta", default)]
    pub eta: Option<Schedule<Positive>>,
    /// Server optimiser: { kind = "sgd" | "momentum" | "adam" | "adagrad" | "yogi", step = number or schedule, ... }.
    #[serde(default)]
    pub optimiser: Option<Optimiser>,
    /// "uniform" (default) or "examples": by the examples a client worked on.
    #[serde(default = "uniform")]
    pub weights: Weights,
    /// "gradients" (default) or "deltas": x - x_end as in FedOpt, which multiplies the server step by step.
    #[serde(default)]
    pub send: Send,
    /// Share of each client's examples kept for the last gradient (default 0).
    #[serde(default)]
    pub hold: NonNegative,
    /// Steps a client takes from the shared model before it deploys (default 0).
    #[serde(default)]
    pub adapt: u32,
    /// Whether clients send their loss before training, which is recorded as cohort_loss (default false).
    #[serde(default)]
    pub loss: bool,
    /// |B|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// Batches: "fresh" (default, no example twice in a batch), "replacement" or "passes" (shuffled, one after the other).
    #[serde(default)]
    pub draw: Draw,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 }, { replacement = 10 }, { importance = { clients = 10, q = [...] } }, { passes = 10 } or { self-normalised = {...} } around one of these, which varies less from draw to draw but is biased where chances are unequal.
    #[serde(default)]
    pub sampling: Sampling,
    /// x⁰: "model" (default), "zeros" or "ones".
    #[serde(default)]
    pub start: Start,
    /// What is done to a gradient before each local step: { clip = longest gradient, weight_decay = 1e-4, adam = { b1, b2, eps } } (default: plain steps).
    #[serde(default)]
    pub local: Direction,
}

pub(crate) fn uniform() -> Weights {
    Weights::Uniform
}

pub(crate) fn fifth() -> Fraction {
    Fraction::new(0.2).expect("0.2 is a fraction")
}

impl Preset for LocalUpdateSettings {
    const CARD: Card = Card {
        name: "local-update",
        reads: Reads::Sums,
        about: "local steps, weighed by Theta, and separate client and server steps: FedAvg, Reptile, FOMAML and more as one",
        leaves: LEAVES,
        paper: "Charles, Konečný 2020",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"local_steps":3,"server_step":0.1,"batch":2,"sampling":{"clients":2}}"#,
    };
    const LINE: Line = Line { theta: "any", rates: "step, server_step free", deploys: "x, or adapt steps from it" };

    fn recipe(&self) -> Recipe {
        let LocalUpdateSettings { batch, draw, sampling, start, local, .. } = self.clone();
        let (gamma, accuracy) = match self.gamma {
            ClientRate::Given(gamma) => (gamma, None),
            ClientRate::Learnt(accuracy) => (Schedule::constant(Rate::Given(NonNegative::default())), Some(accuracy)),
        };
        Recipe {
            theta: self.theta.clone(),
            steps: self.steps,
            weights: self.weights,
            send: self.send,
            hold: *self.hold,
            adapt: self.adapt,
            loss: self.loss,
            accuracy,
            ..Recipe::new(gamma, Rule::either(self.eta, self.optimiser), Common { batch, draw, sampling, start, local })
        }
    }
}

impl<P: Preset> LocalUpdateFamily<P> {
    /// The rates of this round: γ, and η as far as it is not the optimiser's own.
    fn rates(&self, s: &Server) -> (f64, f64) {
        let (r, t) = (&self.recipe, s.momenta.t);
        let theory = s.constants.map(|(smoothness, convexity)| Theory { smoothness, convexity, steps: r.count().unwrap_or(1) });
        let both = theory.map_or((f64::NAN, f64::NAN), |theory| theory.both(t + 1));
        let fallen = |decay: fn(&Decay, &crate::parts::Plateau, f64) -> f64, rate: f64| match (&r.decay, &s.plateau) {
            (Some(how), Some(state)) => decay(how, state, rate),
            _ => rate,
        };
        let learnt = r.accuracy.zip(s.spreads.as_ref()).zip(s.constants);
        let learnt = learnt.map(|((rule, spreads), known)| spreads.rate(*rule.accuracy, r.count().unwrap_or(1), known));
        let gamma = match (r.gamma.start, learnt) {
            (_, Some(gamma)) => gamma,
            (Rate::Given(start), None) => fallen(Decay::client, *start * r.gamma.shape.at(t, f64::NAN)),
            (Rate::Theory, None) => both.0,
        };
        let eta = match (&r.server, theory) {
            (Rule::Tied(slow), _) => return (gamma, *slow),
            (Rule::Optimiser(optimiser), _) => optimiser.schedule().given().map_or(f64::NAN, |step| *step),
            (Rule::Rate(Schedule { start: Rate::Given(start), shape }), _) => **start * shape.at(t, f64::NAN),
            (Rule::Rate(_), Some(_)) if r.gamma.start == Rate::Theory => both.1,
            (Rule::Rate(Schedule { shape: Shape::Inverse { after: None }, .. }), Some(theory)) => {
                let (first, after) = theory.inverse(gamma);
                first * Shape::Inverse { after: None }.at(t, after)
            }
            (Rule::Rate(Schedule { shape, .. }), Some(theory)) => theory.constant(gamma) * shape.at(t, f64::NAN),
            (Rule::Rate(_), None) | (Rule::Unclear, _) => f64::NAN,
        };
        (gamma, fallen(Decay::server, eta))
    }

    /// The first γ, which clients know.
    fn known_gamma(&self) -> f64 {
        self.recipe.gamma.given().map_or(f64::NAN, |gamma| *gamma)
    }

    fn draws<'a>(&self, samples: usize, part: Option<&'a [u32]>) -> Batches<'a> {
        let Common { batch, draw, .. } = self.recipe.common;
        Batches { size: batch, draw, samples, part }
    }

    /// B₁ … B_K; the last one of the part held back, where there is one.
    fn batches(&self, site: &mut Site<'_>) -> Vec<Rows> {
        let samples = site.train.samples();
        match parted(site, self.recipe.hold) {
            None => self.draws(samples, None).of(self.recipe.amount(), &mut site.rng),
            Some((inner, outer)) => {
                let before = self.recipe.count().unwrap_or(1) - 1;
                let mut all: Vec<Rows> = (0..before).map(|_| self.draws(samples, Some(&inner)).one(&mut site.rng)).collect();
                all.push(self.draws(samples, Some(&outer)).one(&mut site.rng));
                all
            }
        }
    }

    /// Lines 5 to 7: qᵢ, and how many examples were differentiated.
    fn learn(&self, x: &Vector, gamma: f64, site: &mut Site<'_>) -> (Update, u32) {
        let r = &self.recipe;
        let batches = self.batches(site);
        if let Some(on) = site.train.compact().filter(|_| r.only_sums(gamma)) {
            return sparse::learn(&on, x, gamma, &batches, r.send, site);
        }
        let (count, samples) = (batches.len(), site.train.samples());
        if r.send == Send::Deltas && r.common.local.is_plain() {
            // Read off the end of the steps: no need to see what led there.
            let (mut y, mut spare, mut examples) = (x.clone(), None, 0);
            for batch in &batches {
                site.train.step(&mut y, rows(batch), site.buffers, gamma, &mut spare); // line 5
                examples += batch.as_ref().map_or(samples, Vec::len);
            }
            return (y.taken_from(x).into(), u32::try_from(examples).unwrap_or(u32::MAX));
        }
        let (mut y, mut g) = (x.clone(), x.zeros_like());
        let mut q = (r.send == Send::Gradients).then(|| x.zeros_like());
        let (mut examples, mut path, mut walk) = (0, vec![], Walk::default());
        for (k, batch) in batches.iter().enumerate() {
            site.train.train_into(&y, rows(batch), site.buffers, &mut g); // line 5
            r.common.local.turn(&y, &mut g, &mut walk);
            examples += batch.as_ref().map_or(samples, Vec::len);
            let weight = r.theta.at(k, count);
            if let Some(q) = q.as_mut().filter(|_| weight > 0.0) {
                q.axpy(weight, &g);
            }
            if k + 1 < count || r.send == Send::Deltas {
                if r.exact {
                    path.push(y.clone());
                }
                y.axpy(-gamma, &g);
            }
        }
        let Some(mut q) = q else { return (y.taken_from(x).into(), u32::try_from(examples).unwrap_or(u32::MAX)) };
        for (y, batch) in path.iter().zip(&batches).rev() {
            site.train.hessian_vector(y, &q, rows(batch), &mut g);
            q.axpy(-gamma, &g); // line 6
        }
        (q.into(), u32::try_from(examples).unwrap_or(u32::MAX)) // line 7
    }
}

impl<P: Preset> Algorithm for LocalUpdateFamily<P> {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = ();

    fn server(&self, start: Vector) -> Server {
        let plateau = self.recipe.decay.as_ref().map(Decay::begin);
        let spreads = self.recipe.accuracy.map(|_| Spreads::unknown());
        Server { x: self.recipe.common.start.from(start), momenta: Momenta::default(), constants: None, plateau, spreads }
    }

    fn client(&self, _: &mut Site<'_>) {}

    /// Line 1: nobody may stay silent, since the rates depend on the extreme clients.
    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        if !self.recipe.asks_theory() {
            return Ok(());
        }
        let (mut most, mut least) = (Some(0.0f64), Some(f64::INFINITY));
        round.ask(&round.everyone().required(), Ask::Introduce {}, |_, reply| {
            if let Reply::Introduction { smoothness, convexity } = reply {
                most = most.zip(smoothness).map(|(a, b)| a.max(b));
                least = least.zip(convexity).map(|(a, b)| a.min(b));
            }
        })?;
        let (Some(most), Some(least)) = (most, least.filter(|least| *least > 0.0)) else {
            return Err(Abort::Unsuited(
                "theory needs a model that is known to be smooth and strongly convex: give the rates as numbers".into(),
            ));
        };
        if self.recipe.gamma.given().is_some_and(|gamma| *gamma * most >= 1.0) {
            return Err(Abort::Unsuited(format!("theory needs step < 1/L = {}: lower step or give server_step as a number", 1.0 / most)));
        }
        s.constants = Some((most, least));
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = round.sample(&self.recipe.common.sampling); // line 2
        let (gamma, eta) = self.rates(s);
        let x = s.x.clone();
        let mut signs = None;
        if let Some(spreads) = &mut s.spreads {
            spreads.await_everyone(round.index())?;
            signs = spreads.try_signs(|| round.rng().next_u64());
        }
        let ask = match &s.spreads {
            Some(_) => Ask::Explore { x, gamma, signs },
            None if gamma == self.known_gamma() => Ask::Train { x },
            None => Ask::TrainAt { x, gamma },
        }; // line 3
        let sum = round.sum(&cohort, ask, |id| cohort.weight(id))?;
        let loss = sum.numbers[0] / self.recipe.weights.divisor(&sum, 1.0);
        if sum.weight == 0.0 {
            return Ok(());
        }
        let told = s.spreads.as_ref().and_then(|_| spreads::heard(&sum, &round.everyone(), signs.is_some()));
        let q = self.recipe.weights.estimate(sum, 1.0);
        round.accept();
        if let (Some(spreads), Some((far2, bent)), Some((most, least))) = (&mut s.spreads, told, s.constants) {
            spreads.hear(far2, bent, round.everyone().len() as f64);
            round.note("sigma_c", spreads.centres2.sqrt());
            round.note("sigma_a", spreads.curvatures(most, least));
        }
        let finite = match &self.recipe.server {
            Rule::Optimiser(optimiser) => optimiser.apply(&mut s.x, &q, eta, &mut s.momenta), // line 8
            _ => {
                s.momenta.t += 1;
                plain(&mut s.x, &q, eta)
            }
        };
        round.state_is_finite(finite);
        round.note("q_norm", q.norm());
        if self.recipe.varies() {
            round.note("gamma", gamma);
            round.note("eta", eta);
        }
        if self.recipe.loss {
            round.note("cohort_loss", loss);
            if let (Some(how), Some(state)) = (&self.recipe.decay, &mut s.plateau) {
                how.push(state, loss); // line 9
            }
        }
        Ok(())
    }

    fn answer(&self, _: &mut (), ask: &Ask, site: &mut Site<'_>) -> Reply {
        let (x, gamma) = match ask {
            Ask::Introduce {} => {
                let known = site.train.constants();
                return Reply::Introduction { smoothness: known.smoothness, convexity: known.convexity };
            }
            Ask::Train { x } => (x, self.known_gamma()),
            Ask::TrainAt { x, gamma } | Ask::Explore { x, gamma, .. } => (x, *gamma),
        };
        if let Ask::Explore { signs, .. } = ask {
            let (far2, bent) = spreads::look(x, *signs, site);
            return Reply::Explored { q: self.learn(x, gamma, site).0, far2, bent };
        }
        let loss = self.recipe.loss.then(|| site.train.value(x, motet_core::Rows::All)); // line 4
        let (q, examples) = self.learn(x, gamma, site);
        Reply::new(q, (self.recipe.weights == Weights::Examples).then_some(examples), loss)
    }

    fn fits(&self, ask: &Ask, reply: &Reply, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(ask, self.recipe.weights == Weights::Examples, self.recipe.loss, model)
    }

    fn addend<'r>(&self, reply: &'r Reply) -> Option<Addend<'r>> {
        reply.addend()
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn local_rate(&self, s: &Server) -> Option<f64> {
        (self.recipe.adapt > 0).then(|| self.rates(s).0)
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        if self.recipe.adapt == 0 { Deployment::Shared } else { Deployment::Own(Self::adapted) }
    }
}

impl<P: Preset> LocalUpdateFamily<P> {
    /// Line 10: some more steps from the shared model.
    fn adapted(&self, _: &(), shared: &Vector, site: &mut Site<'_>) -> Vector {
        let Some(steps) = std::num::NonZeroU32::new(self.recipe.adapt) else { return shared.clone() };
        let (samples, gamma) = (site.train.samples(), site.rate.unwrap_or(self.known_gamma()));
        let parts = parted(site, self.recipe.hold);
        let inner = parts.as_ref().map(|(inner, _)| &inner[..]);
        let (mut y, mut g, mut walk) = (shared.clone(), shared.zeros_like(), Walk::default());
        for batch in self.draws(samples, inner).of(Amount::Steps(steps), &mut site.rng) {
            site.train.gradient_into(&y, rows(&batch), &mut g);
            self.recipe.common.local.turn(&y, &mut g, &mut walk);
            y.axpy(-gamma, &g); // line 10
        }
        y
    }
}

impl<P: Preset> Study for LocalUpdateFamily<P> {
    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        self.recipe.suits(clients)
    }
}
