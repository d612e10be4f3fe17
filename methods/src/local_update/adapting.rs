//! The members of the family that adapt before they differentiate: MAML and its first-order form.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::num::NonZeroU32;

use motet_core::{Fraction, NonNegative, Positive, Rate};
use serde::{Deserialize, Serialize};

use super::{Amount, Common, Line, Preset, Recipe, Rule, Theta, fifth, parameters, text, uniform};
use crate::parts::{Optimiser, Schedule, Weights};
use crate::registry::{Card, Reads};

/// What tells the members apart.
pub trait Order: Clone + Debug + Send + Sync + 'static {
    /// How it is called.
    const NAME: &'static str;
    /// What it is.
    const ABOUT: &'static str;
    /// Θ, in the table of the family.
    const THETA: &'static str;
    /// Is the last gradient carried back through the steps before it?
    const EXACT: bool;
}

/// What they leave open.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct Adapting<O> {
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
    #[serde(skip)]
    order: PhantomData<O>,
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl<O: Order> Preset for Adapting<O> {
    const CARD: Card = Card {
        name: O::NAME,
        reads: Reads::Sums,
        about: O::ABOUT,
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
    const LINE: Line = Line { theta: O::THETA, rates: "gamma, eta free", deploys: "x after m steps" };

    fn recipe(&self) -> Recipe {
        let gamma = Schedule::constant(Rate::Given(self.gamma));
        Recipe {
            theta: Theta::Last,
            steps: Some(Amount::Steps(self.inner.saturating_add(1))),
            weights: self.weights,
            hold: *self.hold,
            exact: O::EXACT,
            adapt: self.adapt.unwrap_or(self.inner.get()),
            ..Recipe::new(gamma, Rule::either(self.eta, self.optimiser), self.common.clone())
        }
    }
}
