//! MeritFed: for one target client, learn in every round how much each gradient is worth.
//!
//! Tupitsa, Horváth, Takáč, Gorbunov. *Federated Learning Can Find Friends That Are Advantageous*. 2024, Algorithm 1.
//!
//! ```text
//! minimise f₁, the target's loss; f̂ is the same on its validation data
//! before   1  w = (1/n, …, 1/n)
//! round    2  every client i sends gᵢ = ∇fᵢ(x; Bᵢ)
//!          3  w ≈ argmin over the simplex of φ(w) = f̂(x − γ Σ wᵢ gᵢ), by mirror steps; in each:
//!          4     the server sends y = x − γ Σ wᵢ gᵢ, the target answers ∇f̂(y)
//!          5     wᵢ ∝ wᵢ exp(η γ ⟨∇f̂(y), gᵢ⟩)
//!          6  x ← x − γ Σ wᵢ gᵢ
//! ```
//!
//! The server holds the gradients and the target holds its validation data: a mirror step costs a model down and a
//! vector up, and the target learns no gradient but sums of them. `zeroth` asks for two values instead: two models
//! down, two numbers up; the estimator is the paper's times the direction e, which is missing in print. Weights
//! are logarithms, warm-started; inner averaging and late damping are those of the released code for networks.
//! Batches run through the data in shuffled passes. Clipping is ours, against clients that lie. Whoever stays
//! silent in line 2 keeps its weight, and the others share the rest. With η = 0 this is distributed SGD.

use motet_core::{Abort, Algorithm, ClientId, Positive, Round, Site, Vector, wire};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Places, Reply, Validation, unable};
use crate::parts::{BatchSize, Clip, Gradients, MIRROR, Mirror, MirrorKind, Simplex, gather_gradients, refuse_target, simplex_of};
use crate::registry::{Card, Method};

/// Merit-weighted gradients for one target.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeritFed {
    /// Whose model it is.
    #[serde(default)]
    pub target: u32,
    /// γ
    pub step: Positive,
    /// |Bᵢ|
    #[serde(default)]
    pub batch: BatchSize,
    /// How line 3 is solved.
    pub mirror: Mirror,
    /// f̂
    #[serde(default)]
    pub validation: Validation,
    /// What is done to long gradients before line 3.
    #[serde(default)]
    pub clip: Clip,
}

impl Method for MeritFed {
    const CARD: Card = Card {
        name: "meritfed",
        about: "one target's model from everyone's gradients, weighted by what they do for its validation loss",
        paper: "Tupitsa, Horváth, Takáč, Gorbunov 2024",
        parameters: &[
            ("target", "the client whose model it is; 0 unless told"),
            ("step", "stepsize: a number"),
            ("batch", "examples per gradient: a number or \"all\" (default)"),
            ("mirror", MIRROR),
            ("validation", "what the target judges by: \"held-out\" (default), \"fresh\" (a new batch per question) or \"training\""),
            ("clip", "longest gradient: \"none\" (default), \"median\" of the cohort's lengths, or a number"),
        ],
        example: r#"{"step":0.02,"batch":3,"mirror":{"kind":"smd","rate":5,"steps":3,"batch":2},"validation":"training"}"#,
    };
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x
        pub x: Vector,
        /// w, by client number
        pub w: Simplex,
    }
}

impl Algorithm for MeritFed {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = Places;

    fn server(&self, start: Vector) -> Server {
        Server { x: start, w: Simplex::uniform(0) }
    }

    fn client(&self, _: &mut Site<'_>) -> Places {
        Places::default()
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        s.w = simplex_of(&round.everyone()); // line 1
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let gradients: Gradients = self.clip.applied(gather_gradients(round, &s.x)?); // line 2
        s.w.banish(round.lied());
        let places = gradients.places();
        let mut search = self.mirror.search(s.w.among(&places), round.index()); // line 3
        for _ in 0..self.mirror.steps {
            let question = search.question(&s.x, *self.step, &gradients, round.rng()); // line 4
            let answer = round.ask_one(ClientId(self.target), question)?;
            if !search.learn(*self.step, &gradients, &answer) {
                return Err(unable(self.target));
            } // line 5 is in `learn`
        }
        s.w.put_back(&places, search.weights());
        s.x = gradients.step(&s.x, -*self.step, &search.weights().weights()); // line 6
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        me.judge(ask, self.batch, self.validation, self.mirror.batch, site)
    }

    fn shared<'a>(&self, s: &'a Server, _: ClientId) -> &'a Vector {
        &s.x
    }

    fn target(&self) -> Option<ClientId> {
        Some(ClientId(self.target))
    }

    fn merit(&self, s: &Server, _: ClientId) -> Option<Vec<f64>> {
        Some(s.w.weights())
    }

    fn refuse(&self, clients: Option<u32>) -> Option<String> {
        let all = self.validation == Validation::Fresh && self.mirror.batch == BatchSize::All;
        refuse_target(self.target, clients).or_else(|| self.mirror.refuse()).or_else(|| {
            all.then(|| {
                let needs = if self.mirror.kind == MirrorKind::Md { "mirror.kind = \"smd\" and mirror.batch" } else { "mirror.batch" };
                format!("validation = \"fresh\" draws a new batch for every question: give {needs}")
            })
        })
    }
}
