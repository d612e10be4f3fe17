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
//! are logarithms, warm-started; `gram` walks the same way with fewer questions where ∇²f̂ = c I; inner averaging and late damping are those of the released code for networks.
//! Batches run through the data in shuffled passes. Clipping is ours, against clients that lie. Whoever stays
//! silent in line 2 keeps its weight, and the others share the rest. With η = 0 this is distributed SGD.

use motet_core::{Abort, Algorithm, ClientId, Positive, Round, Site, Study, Unsuitable, Vector};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Places, Reply, Validation};
use crate::parts::{BatchSize, Clip, Mirror, Weighed, one_target, simplex_of, target_suits, weighs_for_one_target};
use crate::registry::{Card, Method, Reads};

/// Merit-weighted gradients for one target.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct MeritFed {
    /// The client whose model it is (default 0).
    #[serde(default)]
    pub target: u32,
    /// γ: stepsize, a number.
    pub step: Positive,
    /// |Bᵢ|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// How weights are sought: { kind = "md" | "smd" | "zeroth", rate = ..., steps = 10, batch = "all", width = 0.001, warm = true, average = false, gram = false, damp = { after = 400, by = 10 } }.
    pub mirror: Mirror,
    /// What a target judges by: "held-out" (default), "fresh" (a new batch per question) or "training".
    #[serde(default)]
    pub validation: Validation,
    /// Longest gradient: "none" (default), "median" of the cohort's lengths, or a number.
    #[serde(default)]
    pub clip: Clip,
}

impl Method for MeritFed {
    const CARD: Card = Card {
        name: "meritfed",
        reads: Reads::Single,
        about: "one target's model from everyone's gradients, weighted by what they do for its validation loss",
        paper: "Tupitsa, Horváth, Takáč, Gorbunov 2024",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.02,"batch":3,"mirror":{"kind":"smd","rate":5,"steps":3,"batch":2},"validation":"training"}"#,
    };
}

impl Algorithm for MeritFed {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Weighed;
    type Client = Places;

    one_target!(Weighed);

    fn server(&self, start: Vector) -> Weighed {
        Weighed::new(start)
    }

    fn open(&self, s: &mut Weighed, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        s.w = simplex_of(&round.everyone()); // line 1
        Ok(())
    }

    fn round(&self, s: &mut Weighed, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let gradients = s.gather(round, self.clip)?; // line 2
        let mut search = self.mirror.search(s.w.among(&gradients.places()), round.index()); // line 3
        while let Some(question) = search.question(&s.x, *self.step, &gradients, round.rng()) {
            let answer = round.ask_one(ClientId(self.target), question)?; // line 4
            search.learn(self.target, *self.step, &gradients, &answer)?; // line 5
        }
        s.step(*self.step, &gradients, search.weights()); // line 6
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        me.judge(ask, self.batch, self.validation, self.mirror.batch, site)
    }
}

impl Study for MeritFed {
    weighs_for_one_target!(Weighed);

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        target_suits("target", self.target, clients)?;
        self.mirror.suits(self.validation)
    }
}
