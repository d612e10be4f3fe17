//! First-order MAML: the gradient after m steps of adaptation, used as if it were one at x.
//!
//! Finn, Abbeel, Levine. *Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks*. ICML 2017.
//!
//! [`crate::local_update`] with Θ_{m+1}: m steps on 80 % of a client's examples, the gradient on the other 20 %, as in the FLIX
//! paper's baseline, and test-time adaptation by the same m steps. All lines are there.

use std::num::NonZeroU32;

use motet_core::{Fraction, NonNegative, Positive, Rate};
use serde::{Deserialize, Serialize};

use crate::local_update::{Amount, Common, Family, Line, Preset, Recipe, Rule, Theta, fifth, parameters, text, uniform};
use crate::parts::{Optimiser, Schedule, Weights};
use crate::registry::Card;

/// First-order MAML.
pub type Fomaml = Family<Settings>;

/// What First-order MAML leaves open.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// γ
    pub gamma: NonNegative,
    /// m
    #[serde(default = "once")]
    pub inner: NonZeroU32,
    /// η
    #[serde(default)]
    pub eta: Option<Schedule<Positive>>,
    /// Or a server optimiser.
    #[serde(default)]
    pub optimiser: Option<Optimiser>,
    /// Share of the examples kept for the outer gradient.
    #[serde(default = "fifth")]
    pub hold: Fraction,
    /// Steps before a client deploys; m unless told.
    #[serde(default)]
    pub adapt: Option<u32>,
    /// What qᵢ weighs.
    #[serde(default = "uniform")]
    pub weights: Weights,
    /// The rest.
    #[serde(flatten)]
    pub common: Common,
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Preset for Settings {
    const CARD: Card = Card {
        name: "fomaml",
        about: "MAML without second derivatives: the gradient after m steps of adaptation",
        paper: "Finn, Abbeel, Levine 2017",
        parameters: parameters![
            ("gamma", "client rate, also of the adaptation"),
            text::INNER,
            text::ETA,
            text::OPTIMISER,
            text::HOLD,
            text::ADAPT,
            text::WEIGHTS,
        ],
        example: r#"{"gamma":0.1,"inner":2,"eta":0.1,"batch":2,"sampling":{"clients":2}}"#,
    };
    const LINE: Line = Line { theta: "K, K = m + 1", rates: "gamma, eta free", deploys: "x after m steps" };

    fn recipe(&self) -> Recipe {
        let gamma = Schedule::constant(Rate::Given(self.gamma));
        Recipe {
            theta: Theta::Last,
            steps: Some(Amount::Steps(self.inner.saturating_add(1))),
            weights: self.weights,
            hold: *self.hold,
            exact: false,
            adapt: self.adapt.unwrap_or(self.inner.get()),
            ..Recipe::new(gamma, Rule::either(self.eta, self.optimiser), self.common.clone())
        }
    }
}
