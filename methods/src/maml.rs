//! MAML: a start from which m steps of adaptation lead far.
//!
//! Finn, Abbeel, Levine. *Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks*. ICML 2017.
//!
//! [`crate::local_update`] with Θ_{m+1} whose last gradient is carried back through the m steps (its line 6), so that the server descends
//! mean fᵢ(X_m(x)) itself. Hessian-vector products are exact where the model has them, else central differences of gradients. All lines
//! are there. On quadratics with full gradients it is Θ_{2m+1} (Theorem 4 of LocalUpdate).

use std::num::NonZeroU32;

use motet_core::{Fraction, NonNegative, Positive, Rate};
use serde::{Deserialize, Serialize};

use crate::local_update::{Amount, Common, Family, Line, Preset, Recipe, Rule, Theta, fifth, parameters, text, uniform};
use crate::parts::{Optimiser, Schedule, Weights};
use crate::registry::Card;

/// MAML.
pub type Maml = Family<Settings>;

/// What MAML leaves open.
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
        name: "maml",
        about: "a start from which m steps of adaptation go far, by Hessian-vector products",
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
    const LINE: Line = Line { theta: "K, K = m + 1, exact (2m + 1 on quadratics)", rates: "gamma, eta free", deploys: "x after m steps" };

    fn recipe(&self) -> Recipe {
        let gamma = Schedule::constant(Rate::Given(self.gamma));
        Recipe {
            theta: Theta::Last,
            steps: Some(Amount::Steps(self.inner.saturating_add(1))),
            weights: self.weights,
            hold: *self.hold,
            exact: true,
            adapt: self.adapt.unwrap_or(self.inner.get()),
            ..Recipe::new(gamma, Rule::either(self.eta, self.optimiser), self.common.clone())
        }
    }
}
