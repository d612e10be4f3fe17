//! TAWT: weights that grow with the cosine of a client's gradient and the target's.
//!
//! Chen, Crammer, He, Roth, Su. *Weighted Training for Cross-Task Learning*. 2021; the heuristic form that
//! Tupitsa, Horváth, Takáč, Gorbunov (2024) compare MeritFed with.
//!
//! ```text
//! before   1  w = (1/n, …, 1/n)
//! round    2  every client i sends gᵢ = ∇fᵢ(x; Bᵢ)
//!          3  in rounds 1, 3, 5, …: wᵢ ∝ wᵢ exp(c cos(g₁, gᵢ)),   by default c = 100 γ
//!          4  x ← x − γ Σ wᵢ gᵢ
//! ```
//!
//! Weights persist, and the target's cosine with itself is the largest: in the end it stands alone. If the target is
//! silent, the round is tried again.

use motet_core::{Abort, Algorithm, NonNegative, Positive, Round, Site, Study, Unsuitable, Vector};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Places, Reply};
use crate::parts::{
    BatchSize, Clip, Gradients, Weighed, cosine, one_target, own_gradient, simplex_of, target_suits, weighs_for_one_target,
};
use crate::registry::{Card, Method, Reads};

/// Weights by cosines.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct Tawt {
    /// The client whose model it is (default 0).
    #[serde(default)]
    pub target: u32,
    /// γ: step size, a number.
    #[serde(alias = "gamma")]
    pub step: Positive,
    /// |Bᵢ|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// c: how fast weights move (default: 100 times the step).
    #[serde(default)]
    pub rate: Option<NonNegative>,
    /// Longer gradients are shortened to this length: "none" (default), "median" of the cohort's lengths, or a number.
    #[serde(default)]
    pub clip: Clip,
}

impl Method for Tawt {
    const CARD: Card = Card {
        name: "tawt",
        reads: Reads::Single,
        about: "gradients weighted by a running product of their cosines with the target's",
        leaves: "a gradient of a batch in each round; from the target also the gradient of its validation loss",
        paper: "Chen, Crammer, He, Roth, Su 2021",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.02,"batch":3}"#,
    };
}

impl Tawt {
    /// Line 3: by which exponents the weights are multiplied.
    pub fn exponents(&self, reference: &Vector, gradients: &Gradients) -> Vec<f64> {
        let c = self.rate.map_or(100.0 * *self.step, |rate| *rate);
        gradients.rows().iter().map(|g| c * cosine(reference, g)).collect()
    }
}

impl Algorithm for Tawt {
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
        if round.index() % 2 == 1 {
            let mut w = s.w.among(&gradients.places());
            w.multiply(&self.exponents(own_gradient(&gradients, self.target, round)?, &gradients)); // line 3
            s.step(*self.step, &gradients, &w); // line 4
        } else {
            s.walk(*self.step, &gradients, &s.w.among(&gradients.places()));
        }
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        me.answer(ask, self.batch, site)
    }
}

impl Study for Tawt {
    weighs_for_one_target!(Weighed);

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        target_suits("target", self.target, clients)
    }
}
