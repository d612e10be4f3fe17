//! Scafflix: local training with control variates on FLIX mixtures, a step of its own for every client.
//!
//! Yi, Condat, Richtárik. *Explicit Personalization and Local Training: Double Communication
//! Acceleration in Federated Learning*. 2023.
//!
//! ```text
//! minimise F(x) = 1/n Σ fᵢ(Tᵢ(x)),   Tᵢ(x) = αᵢ x + (1 − αᵢ) xᵢ*,   xᵢ* = argmin fᵢ
//! before   1  each client solves for xᵢ*
//!          2  γᵢ = 1/Aᵢ,   wᵢ = αᵢ²/γᵢ,   p = √((1 + ω) min γᵢ μᵢ), at most 1
//!          3  hᵢ = 0, or hᵢ = ĝᵢ − (αᵢ/γᵢ) Σ αⱼ ĝⱼ / Σ wⱼ with ĝᵢ = ∇fᵢ(Tᵢ(x))
//! round    4  draw the number of local steps ℓ ~ Geometric(p) and, of those who are there, clients S;  each starts from xᵢ = x
//!          5  ℓ times (⌈rᵢ ℓ⌉ times on a slow device)   xᵢ ← xᵢ − (γᵢ/αᵢ) (gᵢ(Tᵢ(xᵢ)) − hᵢ)
//!          6  send mᵢ = xᵢ, or mᵢ = x + ρ Cᵢ(xᵢ − x)
//!          7  x ← Σ wᵢ mᵢ / Σ wᵢ over S
//!          8  hᵢ ← hᵢ + (p χ η αᵢ/γᵢ) (x − mᵢ),   χ = 1 if everyone takes part,   η = 1 if mᵢ = xᵢ
//!          9  with decay, i also sends fᵢ(Tᵢ(x)) of line 4, and all γᵢ fall if their mean is on a plateau, and wᵢ with them
//! ```
//!
//! This file is the one implementation of three methods: `scafflix`, `i-scaffnew` (α = 1) and
//! `scaffnew` (α = 1, one step for all).
//!
//! Where we leave the paper:
//! - Its coin is flipped at every step; we draw the number of steps to the next head, which is the same
//!   law. One round is one communication; the note `steps` is the paper's axis of iterations, and
//!   `stop = { iterations = T }` ends a run at the first communication from T on.
//! - The sums of its line 11 carry the index i where j is meant.
//! - It asks for Σ hᵢ = 0. What line 8 conserves is Σ αᵢ hᵢ, and the method converges to the point where
//!   ∇F = 1/n Σ αᵢ hᵢ: that sum must be 0. The paper's hᵢ = ∇fᵢ(Tᵢ(x⁰)) does not satisfy this; line 3
//!   projects it, which never increases the Lyapunov function and costs one exchange in round 0.
//! - Aᵢ is Lᵢ for exact gradients. For batches of b out of m examples it is twice the expected
//!   smoothness m(b−1)/(b(m−1)) Lᵢ + (m−b)/(b(m−1)) maxⱼ Lᵢⱼ (Gower et al. 2019), 2 maxⱼ Lᵢⱼ for b = 1:
//!   the smoothness of the mean alone is not enough.
//! - For a target ε, Corollary 2 lowers γᵢ to ε μmin/(2 Cᵢ). Its Cᵢ, the noise of gᵢ at the optimum (for
//!   batches twice the variance there), is not known beforehand: it is a parameter, or learnt in rounds ([`online`]).
//! - Clients with αᵢ = 0 have no part in x: they are never asked and deploy xᵢ*.
//!
//! Partial participation is not in the paper. `tracked` takes c of the n clients, keeps hᵢ of the others
//! and corrects line 8 by χ = n(c−1)/(c(n−1)); the mean goes back in a second, required exchange of the
//! same round. So it is, too, where everyone is asked and devices come and go: c is then the number of those who answered.
//! One client alone learns no hᵢ: such a round changes nothing. For equal α and γ this is TAMUNA without compression; for
//! unequal ones it is tested, not proven. `author` is what the released code for networks does: hᵢ is reset to 0 in every round. That is
//! local gradient descent on F (FLIX with federated averaging) and stops at a bias; the released code adds
//! a server Adam, weights by sample counts, and flips its coin once, when the function is compiled.
//!
//! Slow devices (`pace` rᵢ < 1) are not in the paper. Line 8 conserves Σ αᵢ hᵢ whatever each client did, and where hᵢ = ∇fᵢ(Tᵢ(x)) no
//! number of steps moves anybody: the fixed point is the optimum. Fewer steps make the update of hᵢ smaller, never larger. The rate
//! is the theorem's for rᵢ = 1; for others it is tested. (A relative with a theorem for unequal numbers of steps is GradSkip:
//! Maranjyan, Safaryan, Richtárik 2022.)
//!
//! The compressed uplink is not in the paper either: see [`uplink`] for what of it is theory (the fixed
//! point, the sum, ω = 0, one step per round) and what is only tested (the rate in between).
//!
//! The released *convex* code is Scaffnew on F: one step 1/Lα for every Fᵢ(x) = fᵢ(Tᵢ(x)), plain averages,
//! p = 1/√(L̄/μ̄). In our letters that is γᵢ = αᵢ²/Lα: `setting = "author"`. No theorem covers it where
//! αᵢ² Lᵢ > Lα.

use motet_core::{
    Abort, Addend, Algorithm, ClientId, Cohort, Deployment, Fraction, Meter, Misfit, ModelShape, PerClient, Positive, Probability, Rate,
    Round, Rows, Site, Study, Unsuitable, Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::compress::Compressors;
use crate::parts::{BatchSize, Decay, Solve, Start, coin_suits};
use crate::registry::{Card, Method};

mod kind;
mod messages;
pub mod online;
mod opening;
mod participants;
mod settings;
pub mod uplink;
mod walk;

pub use kind::{Kind, Personal};
pub(crate) use kind::{LEAVES, READS};
pub use messages::{Ask, Client, Reply, Server};
pub use online::Met;
pub use participants::{Participants, Variant};
pub use settings::{Coin, Controls, Setting, Steps, Target};

/// Scafflix itself.
pub type Scafflix = ScafflixFamily<Personal>;

/// The algorithm of Scafflix, i-Scaffnew and Scaffnew.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields, bound(serialize = "", deserialize = ""))]
pub struct ScafflixFamily<K: Kind> {
    /// The settings that only one of the three methods has.
    #[serde(flatten)]
    pub kind: K,
    /// γᵢ: stepsize, a number, or "theory" (default): 1/A_i, A_i = L_i for exact gradients.
    #[serde(alias = "gamma", default = "settings::theory")]
    pub step: Rate<Positive>,
    /// Multiplies the stepsize of theory (default 1).
    #[serde(default = "settings::one")]
    pub scale: Positive,
    /// p: chance of communication after a step, a number, or "theory" (default): sqrt((1 + omega) min step_i mu_i), omega = 0 without compressor.
    #[serde(default = "settings::theory")]
    pub p: Rate<Probability>,
    /// "geometric" (default), or for tests and ablations { every = k }: exactly k steps per round.
    #[serde(default)]
    pub coin: Coin,
    /// Examples per gradient, drawn without replacement: a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// { eps = 1e-3, noise = C }: steps at most eps mu/(2 C_i), which bring Psi below eps despite noise; online = true learns the noise in rounds (default: none).
    #[serde(default)]
    pub target: Option<Target>,
    /// x⁰: "model" (default), "zeros", "ones" or "one-shot" (average of the local optima).
    #[serde(default)]
    pub start: Start,
    /// hᵢ⁰: control variates at the start, "zero" (default) or "projected-gradients" (one more exchange).
    #[serde(default)]
    pub h0: Controls,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 } or { passes = 10 }; with variant = "author" beside it hᵢ is reset in every round, else kept ("tracked").
    #[serde(default, alias = "participation")]
    pub sampling: Participants,
    /// rᵢ: share of the round's local steps that a client takes, rounded up; a number above 0 up to 1 (default), or { per_client = [...] } for slow devices.
    #[serde(default = "settings::whole")]
    pub pace: PerClient<Probability>,
    /// Cᵢ: compresses what clients send, as { kind = "rand-k", k = 0.2 }; bernoulli, qsgd or natural; or a list with one for each client (default: none).
    #[serde(default)]
    pub compressor: Option<Compressors>,
    /// The steps get smaller when the loss stops falling: { delta = 1e-4, window = 100, patience = 100, cooldown = 100, client_factor = 0.1, ... } (default: none).
    #[serde(default)]
    pub decay: Option<Decay>,
    /// How local optima are found: { kind = "gd" | "newton", to = 1e-6, steps = 100000 }.
    #[serde(default)]
    pub solve: Solve,
}

impl<K: Kind> Method for ScafflixFamily<K> {
    const CARD: Card = K::CARD;

    fn reads_sums(&self) -> bool {
        self.compressor.is_none() && self.start != Start::OneShot
    }
}

impl<K: Kind> ScafflixFamily<K> {
    /// Those who have a part in x.
    fn sharing(&self, round: &Round<'_, Self>) -> Cohort {
        round.everyone().filter(|id| self.share(id) > 0.0).required()
    }

    /// γᵢ as the server knows it.
    fn gamma(&self, s: &Server, id: ClientId) -> f64 {
        let given = || self.step_of(id, self.given().unwrap_or(f64::NAN));
        s.steps.get(id.0 as usize).copied().unwrap_or_else(given)
    }

    /// wᵢ, up to a common factor: what the decay takes from every γᵢ alike cancels in line 7.
    fn weight(&self, s: &Server, id: ClientId) -> f64 {
        let (gamma, slow) = (self.gamma(s, id), s.plateau.as_ref().map_or(1.0, |state| state.client));
        self.share(id).powi(2) / gamma * (slow / self.slowed(gamma, slow))
    }

    /// What the decay multiplies a client's γᵢ by, which never falls below the least.
    fn slowed(&self, gamma: f64, slow: f64) -> f64 {
        let least = self.decay.map_or(0.0, |decay| *decay.least / gamma);
        slow.max(least.min(1.0))
    }

    fn given(&self) -> Option<f64> {
        match self.step {
            Rate::Given(step) => Some(*step),
            Rate::Theory => None,
        }
    }

    /// γᵢ from the common number: the authors' step is one for x, not for Tᵢ(x).
    fn step_of(&self, id: ClientId, common: f64) -> f64 {
        match self.kind.steps() {
            Steps::Own | Steps::Common => common,
            Steps::OfMixture => common * self.share(id).powi(2),
        }
    }

    /// γᵢ, lowered for the target: `room` is ε μmin/2.
    fn lowered(&self, id: ClientId, step: f64, room: Option<f64>) -> f64 {
        let noise = self.target.as_ref().map_or(0.0, |target| target.noise.as_ref().map_or(0.0, |noise| *noise.of(id)));
        room.filter(|_| noise > 0.0).map_or(step, |room| step.min(room / noise)) // line 2
    }

    /// Line 8, if the client waits for it.
    fn settle(&self, me: &mut Client, mean: &Vector, gain: f64, id: ClientId) {
        if let Some(sent) = me.sent.take() {
            let rate = self.chance(me.p, me.slow) * gain * me.pace * self.share(id) / (me.step * me.slow);
            me.h.axpy(rate, mean); // line 8
            me.h.axpy(-rate, &sent);
        }
    }

    /// Who works in this round. Where everyone is there in every round, all who are drawn must answer; else those who do.
    fn cohort(&self, sharing: &Cohort, round: &mut Round<'_, Self>) -> Cohort {
        let drawn = round.sample_from(sharing, &self.sampling.how);
        if round.is_steady() { drawn.required() } else { round.present(&drawn).optional() }
    }

    /// Lines 6 and 7, in full, and line 9.
    fn gather(&self, s: &mut Server, cohort: &Cohort, steps: u32, round: &mut Round<'_, Self>) -> Result<(Vector, Cohort), Abort> {
        let x = s.x.clone();
        let ask = match (&s.plateau, &s.met) {
            (Some(state), _) => Ask::Assess { x, steps, slow: state.client },
            (None, Some(met)) => Ask::Gauge { x, steps, slow: met.slow() },
            (None, None) => Ask::Advance { x, steps },
        };
        let sum = round.sum(cohort, ask, |id| self.weight(s, id))?;
        let (who, told) = (sum.answered.clone(), sum.numbers[0]);
        let answered = who.len() as f64;
        if let (Some(decay), Some(state), true) = (&self.decay, &mut s.plateau, answered > 0.0) {
            round.note("slow", state.client);
            round.note("cohort_loss", told / answered);
            decay.push(state, told / answered); // line 9
        }
        if let (Some(met), true) = (&mut s.met, answered > 0.0) {
            round.note("slow", met.slow());
            met.hear(told / answered);
            round.note("noise", met.mean);
        }
        Ok((sum.mean(), who)) // line 7
    }

    /// Lines 5 and 6 of one client, in full.
    fn advance(&self, me: &mut Client, x: &Vector, steps: u32, site: &mut Site<'_>) -> Vector {
        let moved = self.walk(me, x, steps, site); // line 5
        // The authors' variant forgets: its hᵢ is 0 for ever.
        me.sent = (self.sampling.variant != Variant::Author).then(|| moved.clone());
        moved // line 6
    }

    /// Aᵢ
    fn bound(&self, f: &Meter<'_>) -> Option<f64> {
        settings::bound(f.constants(), self.batch, f.samples())
    }
}

impl<K: Kind> Algorithm for ScafflixFamily<K> {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = Client;

    fn server(&self, start: Vector) -> Server {
        let p = if let Rate::Given(p) = self.p { *p } else { f64::NAN };
        Server { x: self.start.from(start), steps: vec![], p, plateau: self.decay.as_ref().map(Decay::begin), met: None }
    }

    fn client(&self, site: &mut Site<'_>) -> Client {
        if self.share(site.id) < 1.0 || self.start == Start::OneShot {
            self.solve.optimum(site); // line 1
        }
        let own = || self.bound(&site.train).map_or(f64::NAN, |a| *self.scale / a);
        Client {
            h: Vector::zeros(site.train.dim(), site.train.precision()), // line 3
            sent: None,
            step: self.given().map_or_else(own, |step| self.step_of(site.id, step)), // line 2
            p: if let Rate::Given(p) = self.p { *p } else { f64::NAN },
            pace: 1.0,
            slow: 1.0,
        }
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let sharing = self.sharing(round);
        let nobody = sharing.is_empty() && !round.everyone().is_empty();
        if nobody {
            return Ok(());
        }
        if self.p == Rate::Theory || self.step == Rate::Theory || self.start == Start::OneShot || self.target.is_some() {
            self.introduce(s, &sharing, round)?; // line 2
        }
        if self.h0 == Controls::ProjectedGradients {
            self.project(s, &sharing, round)?; // line 3
        }
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let sharing = self.sharing(round);
        if sharing.is_empty() && !round.everyone().is_empty() {
            return Ok(());
        }
        let p = self.chance(s.p, s.met.as_ref().map_or(1.0, Met::slow));
        let steps = match self.coin {
            Coin::Geometric => u32::try_from(round.rng().geometric(p)).unwrap_or(u32::MAX), // line 4
            Coin::Every(steps) => steps,
        };
        let (cohort, tracked) = (self.cohort(&sharing, round), self.sampling.variant == Variant::Tracked);
        let too_few = |count: usize| count == 0 || tracked && count < 2 && count != sharing.len();
        if too_few(cohort.len()) {
            return Ok(());
        }
        let (x, answered) = match &self.compressor {
            None => self.gather(s, &cohort, steps, round)?,
            Some(compressors) => self.gather_compressed(compressors, s, &cohort, steps, round)?,
        };
        if too_few(answered.len()) {
            return Err(Abort::Quorum { asked: cohort.len(), answered: answered.len() });
        }
        s.x = x;
        // Where everyone is there in the next round too, the mean rides on its ask.
        if tracked && !(self.sampling.are_everyone() && round.is_steady()) {
            let gain = settings::gain(sharing.len(), answered.len());
            round.ask(&answered.required(), Ask::Settle { mean: s.x.clone(), gain }, |_, _| {})?;
        }
        round.note("steps", f64::from(steps));
        round.note("p", p);
        Ok(())
    }

    fn answer(&self, me: &mut Client, ask: &Ask, site: &mut Site<'_>) -> Reply {
        match ask {
            Ask::Introduce { optimum } => {
                let known = site.train.constants();
                let optimum = optimum.then(|| self.solve.optimum(site));
                Reply::Introduction { smoothness: known.smoothness, bound: self.bound(&site.train), convexity: known.convexity, optimum }
            }
            Ask::Begin { step, room, p } => {
                let step = step.map_or(me.step, |common| self.step_of(site.id, common));
                me.step = self.lowered(site.id, step, *room);
                me.p = *p;
                Reply::Done {}
            }
            Ask::Differentiate { x } => {
                let at = self.deploys(site.id).model(self, me, x, site);
                me.h = site.train.gradient(&at);
                Reply::Gradient { g: me.h.clone() }
            }
            Ask::Project { excess } => {
                me.h.axpy(-self.share(site.id) / me.step, excess); // line 3
                Reply::Done {}
            }
            Ask::Advance { x, steps } => {
                self.settle(me, x, 1.0, site.id); // with everyone, the mean rides on the next ask
                Reply::Moved { x: self.advance(me, x, *steps, site) }
            }
            Ask::Assess { x, steps, slow } => {
                self.settle(me, x, 1.0, site.id);
                me.slow = self.slowed(me.step, *slow);
                let at = self.deploys(site.id).model(self, me, x, site);
                let loss = site.train.value(&at, Rows::All);
                Reply::Assessed { x: self.advance(me, x, *steps, site), loss }
            }
            Ask::Gauge { x, steps, slow } => {
                self.settle(me, x, 1.0, site.id);
                me.slow = *slow;
                let at = self.deploys(site.id).model(self, me, x, site);
                let noise = me.step * self.gauge(&at, site);
                Reply::Gauged { x: self.advance(me, x, *steps, site), noise }
            }
            Ask::Condense { x, steps, turn, damping } => {
                self.settle(me, x, 1.0, site.id);
                let moved = self.walk(me, x, *steps, site);
                Reply::Condensed { packed: self.condense(me, &moved, x, (*turn, *damping), site) } // line 6
            }
            Ask::Settle { mean, gain } => {
                self.settle(me, mean, *gain, site.id);
                Reply::Done {}
            }
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, from: ClientId, model: ModelShape) -> Result<(), Misfit> {
        reply.fits(ask, self.compressor.as_ref(), from, model)
    }

    fn addend<'r>(&self, reply: &'r Reply) -> Option<Addend<'r>> {
        match reply {
            Reply::Gradient { g: x } | Reply::Moved { x } => Some(Addend::counting(1.0).vector(x)),
            Reply::Assessed { x, loss: told } | Reply::Gauged { x, noise: told } => Some(Addend::counting(1.0).vector(x).plain(*told)),
            Reply::Introduction { .. } | Reply::Condensed { .. } | Reply::Done {} => None,
        }
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, client: ClientId) -> Deployment<Self> {
        Deployment::Mixture { share: self.share(client), anchor: |method, site| method.solve.optimum(site) }
    }
}

impl<K: Kind> ScafflixFamily<K> {
    /// αᵢ: the share of the shared model in what the client deploys.
    pub fn share(&self, client: ClientId) -> f64 {
        self.kind.alpha().map_or(1.0, |alpha| *alpha.of(client))
    }
}

impl<K: Kind> Study for ScafflixFamily<K> {
    fn alpha(&mut self) -> Option<&mut PerClient<Fraction>> {
        self.kind.alpha_mut()
    }

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        Unsuitable::unless_listed("alpha", self.kind.alpha().and_then(PerClient::listed), clients)?;
        Unsuitable::unless_listed("noise", self.target.as_ref().and_then(|t| t.noise.as_ref()?.listed()), clients)?;
        coin_suits(self.p)?;
        Unsuitable::unless_listed("pace", self.pace.listed(), clients)?;
        settings::suits(self.coin)?;
        self.sampling.suits(clients)?;
        self.compressor_suits(clients)?;
        self.target_suits()?;
        let kept = self.sampling.variant == Variant::Author && self.h0 != Controls::Zero;
        Unsuitable::when(kept, "variant = \"author\" resets control variates in every round: leave h0 out, or take \"tracked\"")?;
        let both = self.decay.is_some() && self.compressor.is_some();
        Unsuitable::when(both, "decay goes with uncompressed replies: leave one of the two out")
    }
}
