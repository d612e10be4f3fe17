//! FedAdp: clients count the more, the smaller the angle of their gradient to a reference.
//!
//! Wu, Wang. *Fast-Convergent Federated Learning with Adaptive Weighting*. IEEE Transactions on Cognitive
//! Communications and Networking, 2021.
//!
//! ```text
//! before   1  flavour original: every client says how many examples mᵢ it has
//! round    2  every client i sends gᵢ = ∇fᵢ(x; Bᵢ)
//!          3  θᵢ = angle of gᵢ and the reference: the target's gradient (code), or Σ mᵢ gᵢ / Σ mᵢ (original)
//!          4  flavour original: θᵢ ← ((t − 1) θᵢ,old + θᵢ)/t, smoothed over the t rounds i was heard
//!          5  Gᵢ = A (1 − exp(−exp(−A (θᵢ − 1)))),   wᵢ ∝ exp(Gᵢ) (code) or mᵢ exp(Gᵢ) (original)
//!          6  x ← x − γ Σ wᵢ gᵢ
//! ```
//!
//! "code" is what the released code of MeritFed (Tupitsa et al. 2024) compares with: no smoothing, no sizes. The
//! original flavour has one local step. Where the target is silent, the code flavour tries the round again.

use motet_core::{Abort, Algorithm, Mean, Positive, Round, Site, Study, Unsuitable, Vector, wire};
use serde::{Deserialize, Serialize};

use crate::parts::questions::{Ask, Places, Reply};
use crate::parts::{
    BatchSize, Clip, Gradients, Simplex, Weighed, cosine, one_target, own_gradient, simplex_of, target_suits, weighs_for_one_target,
};
use crate::registry::{Card, Method, Reads};

/// Weights by angles.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
pub struct FedAdp {
    /// The client whose model it is (default 0).
    #[serde(default)]
    pub target: u32,
    /// γ: step size, a number.
    #[serde(alias = "gamma")]
    pub step: Positive,
    /// |Bᵢ|: examples per gradient, a number or "all" (default).
    #[serde(default)]
    pub batch: BatchSize,
    /// "code" (angle to the target's gradient, the default) or "original" (to the mean by sizes, smoothed, weighted by sizes).
    #[serde(default)]
    pub flavour: Flavour,
    /// A: how steeply weight falls with the angle (default 5).
    #[serde(default = "five")]
    pub sharpness: Positive,
    /// Longer gradients are shortened to this length: "none" (default), "median" of the cohort's lengths, or a number.
    #[serde(default)]
    pub clip: Clip,
}

/// Which rule for weights: the paper's or the released code's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// As MeritFed's released code has it.
    #[default]
    Code,
    /// As its authors have it.
    Original,
}

fn five() -> Positive {
    Positive::new(5.0).expect("5 is positive")
}

impl Method for FedAdp {
    const CARD: Card = Card {
        name: "fedadp",
        reads: Reads::Single,
        about: "gradients weighted by their angle to the target's (or to the mean)",
        leaves: r#"a gradient of a batch in each round; with `flavour = "original"` its number of examples mᵢ"#,
        paper: "Wu, Wang 2021",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.02,"batch":3}"#,
    };
}

wire! {
    /// What the server keeps.
    pub struct Server {
        /// x and w
        pub model: Weighed,
        /// Of the original flavour, the smoothed θᵢ and how often i was heard
        pub clients: Vec<Angle>,
    }
}

wire! {
    /// What is known of one client.
    #[derive(PartialEq, Default)]
    pub struct Angle {
        /// mᵢ
        pub samples: u64,
        /// θᵢ
        pub angle: f64,
        /// t
        pub heard: u64,
    }
}

impl FedAdp {
    /// Line 5: weights from angles; `sizes` are the mᵢ, if they count.
    pub fn weigh(&self, angles: &[f64], sizes: Option<&[f64]>) -> Simplex {
        let mut w = sizes.map_or_else(|| Simplex::uniform(angles.len()), Simplex::from_weights);
        w.multiply(&angles.iter().map(|angle| self.gompertz(*angle)).collect::<Vec<_>>());
        w
    }

    /// Gᵢ
    pub fn gompertz(&self, angle: f64) -> f64 {
        let a = *self.sharpness;
        a * (1.0 - (-(-a * (angle - 1.0)).exp()).exp())
    }

    /// Line 3: the angle of each gradient to the reference.
    pub fn angles(&self, reference: &Vector, gradients: &Gradients) -> Vec<f64> {
        gradients.rows().iter().map(|g| cosine(reference, g).acos()).collect()
    }

    /// Line 4.
    fn smoothed(&self, clients: &mut [Angle], places: &[usize], angles: &mut [f64]) {
        for (&k, angle) in places.iter().zip(angles) {
            let known = &mut clients[k];
            known.heard += 1;
            known.angle += (*angle - known.angle) / known.heard as f64;
            *angle = known.angle;
        }
    }
}

impl Algorithm for FedAdp {
    type Ask = Ask;
    type Reply = Reply;
    type Server = Server;
    type Client = Places;

    one_target!(Server, model);

    fn server(&self, start: Vector) -> Server {
        Server { model: Weighed::new(start), clients: vec![] }
    }

    fn open(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        s.model.w = simplex_of(&round.everyone());
        if self.flavour == Flavour::Original {
            s.clients = vec![Angle::default(); s.model.w.len()];
            round.ask(&round.everyone().required(), Ask::Count {}, |id, reply| {
                if let Reply::Counted { samples } = reply {
                    s.clients[id.0 as usize].samples = samples; // line 1
                }
            })?;
        }
        Ok(())
    }

    fn round(&self, s: &mut Server, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let gradients = s.model.gather(round, self.clip)?; // line 2
        let w = match self.flavour {
            Flavour::Code => {
                let reference = own_gradient(&gradients, self.target, round)?; // line 3
                self.weigh(&self.angles(reference, &gradients), None) // line 5
            }
            Flavour::Original => {
                let mut mean = Mean::like(&s.model.x);
                let places = gradients.places();
                let sizes: Vec<f64> = places.iter().map(|&k| s.clients[k].samples as f64).collect();
                gradients.rows().iter().zip(&sizes).for_each(|(g, size)| mean.add(*size, g));
                let mut angles = self.angles(&mean.finish(), &gradients); // line 3
                self.smoothed(&mut s.clients, &places, &mut angles); // line 4
                self.weigh(&angles, Some(&sizes))
            }
        };
        s.model.step(*self.step, &gradients, &w); // line 6
        Ok(())
    }

    fn answer(&self, me: &mut Places, ask: &Ask, site: &mut Site<'_>) -> Reply {
        me.answer(ask, self.batch, site)
    }
}

impl Study for FedAdp {
    weighs_for_one_target!(Server, model);

    fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        target_suits("target", self.target, clients)
    }
}
