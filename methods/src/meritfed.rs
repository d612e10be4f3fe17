//! MeritFed: for one target client, learn in every round how much each gradient is worth.
//!
//! Tupitsa, Horváth, Takáč, Gorbunov. *Federated Learning Can Find Friends That Are Advantageous*. 2024, Algorithm 1.
//!
//! ```text
//! minimise f₁, the target's loss; f̂ is the same on its validation data
//! before   1  w = (1/n, …, 1/n)
//! round    2  draw clients S, the target among them; each i in S sends gᵢ = ∇fᵢ(x; Bᵢ), or the sum of the gradients of K local
//!             steps of length s, or C(gᵢ)
//!          3  w ≈ argmin over the simplex of φ(w) = f̂(x − γ Σ wᵢ gᵢ), by mirror steps; in each:
//!          4     the server sends y = x − γ Σ wᵢ gᵢ, the target answers ∇f̂(y), with a guard drawn towards ∇f₁(y)
//!          5     wᵢ ∝ wᵢ exp(η γ ⟨∇f̂(y), gᵢ⟩)
//!          6  x ← x − γ Σ wᵢ gᵢ
//! ```
//!
//! The server holds the gradients and the target holds its validation data: a mirror step costs a model down and a
//! vector up, and the target learns no gradient but sums of them. `zeroth` asks for two values instead: two models
//! down, two numbers up; the estimator is the paper's times the direction e, which is missing in print. Weights
//! are logarithms, warm-started; `gram` walks the same way with fewer questions where ∇²f̂ = c I; inner averaging and late damping are those of the released code for networks.
//! Batches run through the data in shuffled passes. Clipping is ours, against clients that lie. Whoever stays
//! silent in line 2, or is not in S, keeps its weight, and the others share the rest. With η = 0 this is distributed SGD.
//!
//! Line 2 of the paper has everyone, one step and no compressor. What of its theory holds for the rest:
//! - Line 3 makes f̂(x − γ Σ wᵢ gᵢ) at most δ larger than with any other weights on S, *whatever the gᵢ are*: with the target in S, a
//!   round is never worse than the target's own gᵢ alone, or than the mean over any group in S, but for δ and for f̂ ≠ f₁.
//! - Sampling: Theorem 3.4 compares with the mean over the group G of clients like the target. With S it is the mean over
//!   G ∩ S: σ²/|G| becomes σ² E[1/|G ∩ S|].
//! - An unbiased compressor leaves gradients unbiased, with the variance (1 + ω) σ² + ω |∇f₁|² in place of σ². The second part takes
//!   from the descent: for γ ≤ 1/(L (1 + ω/|G|)), too, the theorem holds with (1 + ω) σ² in place of σ².
//! - Local steps make gᵢ a gradient of another function (on quadratics LocalUpdate's surrogate); no rate is known, the first
//!   statement holds. `step` is then s, and γ is `server_step`.
//! - The guard: see [`Guard`].

use motet_core::{
    Abort, Algorithm, ClientId, Cohort, Deployment, Misfit, ModelShape, Positive, Round, Sampling, Site, Study, Unsuitable, Vector,
};
use serde::{Deserialize, Serialize};

use crate::parts::compress::{Compressors, Turn};
use crate::parts::questions::{Ask, Judging, Places, Reply, Validation, too_long};
use crate::parts::{Amount, BatchSize, Clip, Gradients, Mirror, Weighed, simplex_of, target_suits, weighs_for_one_target};
use crate::registry::{Card, Method, Reads};

mod guard;

pub use guard::Guard;

/// Merit-weighted gradients for one target.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct MeritFed {
    /// The client whose model it is (default 0).
    #[serde(default)]
    pub target: u32,
    /// s: step size of local steps, and of the server if server_step is not given.
    pub step: Positive,
    /// γ: step size of the model (default: step).
    #[serde(alias = "gamma", default)]
    pub server_step: Option<Positive>,
    /// K: gradients per client and round, a number (default 1), or { epochs = n }.
    #[serde(default)]
    pub local_steps: Amount,
    /// S: "everyone" (default), { clients = 10 }, { bernoulli = 0.1 } or another sampling; the target is always there.
    #[serde(default)]
    pub sampling: Sampling,
    /// C: compresses what clients send, as { kind = "rand-k", k = 0.2 }; or a list with one for each client (default: none).
    #[serde(default)]
    pub compressor: Option<Compressors>,
    /// |Bᵢ|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// How weights are sought: { kind = "md" | "smd" | "zeroth", rate = ..., steps = 10, batch = "all", width = 0.001, warm = true, average = false, gram = false, damp = { after = 400, by = 10 } }.
    pub mirror: Mirror,
    /// What a target judges by: "held-out" (default), "fresh" (a new batch per question) or "training".
    #[serde(default)]
    pub validation: Validation,
    /// Against over-fitting few validation data: {} or { follows = 0.25 } moves the slopes of the validation loss towards those of the training loss, the more the noisier they are (default: none).
    #[serde(default)]
    pub guard: Option<Guard>,
    /// Longer gradients are shortened to this length: "none" (default), "median" of the cohort's lengths, or a number.
    #[serde(default)]
    pub clip: Clip,
}

impl Method for MeritFed {
    const CARD: Card = Card {
        name: "meritfed",
        reads: Reads::Single,
        about: "one target's model from everyone's gradients, weighted by what they do for its validation loss",
        leaves: "a gradient of a batch in each round; from the target also gradients, or pairs of values, of its validation loss at candidates, 10 or more times a round",
        paper: "Tupitsa, Horváth, Takáč, Gorbunov 2024",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.02,"batch":3,"mirror":{"kind":"smd","rate":5,"steps":3,"batch":2},"validation":"training"}"#,
    };
}

impl MeritFed {
    /// γ
    fn gamma(&self) -> f64 {
        *self.server_step.unwrap_or(self.step)
    }

    /// Who works in this round: those who are drawn, and the target.
    fn cohort(&self, round: &mut Round<'_, Self>) -> Cohort {
        let (drawn, target) = (round.sample(&self.sampling), ClientId(self.target));
        if drawn.ids().contains(&target) {
            return drawn;
        }
        let mut ids: Vec<ClientId> = drawn.ids().to_vec();
        ids.insert(ids.partition_point(|id| *id < target), target);
        Cohort::new(ids)
    }

    /// Line 2. Whoever sends no numbers loses its weight.
    fn gather(&self, s: &mut Weighed, round: &mut Round<'_, Self>) -> Result<Gradients, Abort> {
        let (cohort, x) = (self.cohort(round).drop_non_finite(), s.x.clone());
        let (mut gradients, dim) = (Gradients::default(), x.len());
        let turn = self.compressor.as_ref().map(|_| Turn { round: round.index(), key: round.rng().next_u64() });
        let ask = match turn {
            Some(turn) => Ask::Condense { x, turn },
            None if self.local_steps == Amount::default() => Ask::Differentiate { models: vec![x] },
            None => Ask::Work { x },
        };
        let (precision, mut overlong) = (s.x.precision(), None);
        round.ask(&cohort, ask, |id, reply| match (reply, &self.compressor, turn) {
            (Reply::Gradients { g }, ..) => g.into_iter().take(1).for_each(|g| gradients.push(id, g)),
            (Reply::Condensed { packed }, Some(compressors), Some(turn)) => {
                let mut g = Vector::zeros(dim, precision);
                compressors.of(id).opened(&packed, &turn.of(id), dim).add_to(1.0, &mut g);
                gradients.push(id, g);
            }
            (Reply::Unable {}, ..) => overlong = Some(id),
            _ => {}
        })?;
        if let Some(client) = overlong {
            return Err(too_long(client.0));
        }
        s.w.banish(round.dropped());
        Ok(self.clip.applied(gradients))
    }
}

impl Algorithm for MeritFed {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Weighed;
    type Client = Places;

    fn server(&self, start: Vector) -> Weighed {
        Weighed::new(start)
    }

    fn client(&self, _: &mut Site<'_>) -> Places {
        Places::default()
    }

    fn open(&self, s: &mut Weighed, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        s.w = simplex_of(&round.everyone()); // line 1
        Ok(())
    }

    fn round(&self, s: &mut Weighed, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let (gradients, gamma, target) = (self.gather(s, round)?, self.gamma(), ClientId(self.target)); // line 2
        let mut search = self.mirror.search(s.w.among(&gradients.places()), round.index()); // line 3
        let mut drawn = None;
        while let Some(question) = search.question(&s.x, gamma, &gradients, round.rng()) {
            let mut answer = round.ask_one(target, question)?; // line 4
            if let Reply::Guarded { v, curvature, share } = answer {
                answer = if self.mirror.gram { Reply::Shape { v, curvature } } else { Reply::Slope { v } };
                drawn = Some(share);
            }
            search.learn(self.target, gamma, &gradients, &answer)?; // line 5
        }
        if let Some(share) = drawn {
            round.note("guard", share);
        }
        let w = search.weights();
        s.step(gamma, &gradients, w); // line 6
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        match (ask, &self.compressor) {
            (Ask::Work { x }, _) => {
                me.work(x, self.local_steps, *self.step, self.batch, site).map_or(Reply::Unable {}, |q| Reply::Gradients { g: vec![q] })
            }
            (Ask::Condense { x, turn }, Some(compressors)) => {
                let Some(q) = me.work(x, self.local_steps, *self.step, self.batch, site) else { return Reply::Unable {} };
                let mut opened = x.zeros_like();
                let packed = compressors.of(site.id).compress_into(&q, &turn.of(site.id), &mut site.rng, 1.0, &mut opened);
                Reply::Condensed { packed }
            }
            _ => self
                .guard
                .and_then(|guard| guard.answer(ask, site))
                .unwrap_or_else(|| me.judge(ask, self.batch, Judging { on: self.validation, batch: self.mirror.batch }, site)),
        }
    }

    fn fits(&self, ask: &Ask, reply: &Reply, from: ClientId, model: ModelShape) -> Result<(), Misfit> {
        match (ask, reply, &self.compressor) {
            (Ask::Condense { turn, .. }, Reply::Condensed { packed }, Some(compressors)) => {
                compressors.of(from).fits(packed, &turn.of(from), model)
            }
            _ => reply.fits(ask, model),
        }
    }

    fn shared<'a>(&self, s: &'a Weighed, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for MeritFed {
    weighs_for_one_target!(Weighed);

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        target_suits("target", self.target, clients)?;
        self.local_steps.suits("local_steps")?;
        let alike = "meritfed learns its weights, and unequal chances of being drawn would distort them: take a sampling in which all clients are equally probable";
        Unsuitable::when(self.sampling.has_unequal_chances(), alike)?;
        self.sampling.suits(clients)?;
        self.compressor.as_ref().map_or(Ok(()), |compressors| compressors.suits(clients, false))?;
        self.guard.map_or(Ok(()), |guard| guard.suits(&self.mirror, self.validation))?;
        self.mirror.suits(self.validation)
    }

    fn fits_validation(&self) -> bool {
        self.validation != Validation::Training
    }
}
