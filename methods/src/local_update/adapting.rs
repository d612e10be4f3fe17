//! The members of the family that adapt before they differentiate: MAML and its first-order form.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::num::NonZeroU32;

use motet_core::{Fraction, NonNegative, Positive, Rate};
use serde::{Deserialize, Serialize};

use super::{Amount, Common, LEAVES, Line, Preset, Recipe, Rule, Theta, fifth, uniform};
use crate::parts::{Optimiser, Schedule, Weights};
use crate::registry::{Card, Reads};

/// What differs between FOMAML and MAML.
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

/// The settings of FOMAML and MAML.
#[derive(Clone, Debug, Serialize, Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields, bound = "")]
pub struct Adapting<O> {
    /// γ: step size, also of the adaptation.
    #[serde(rename = "step", alias = "gamma")]
    pub gamma: NonNegative,
    /// m: steps of adaptation in training (default 1).
    #[serde(default = "once")]
    pub inner: NonZeroU32,
    /// η: server step, a number, "theory" or a schedule; this or optimiser must be given.
    #[serde(rename = "server_step", alias = "eta", default)]
    pub eta: Option<Schedule<Positive>>,
    /// Server optimiser: { kind = "sgd" | "momentum" | "adam" | "adagrad" | "yogi", step = number or schedule, ... }.
    #[serde(default)]
    pub optimiser: Option<Optimiser>,
    /// Share of each client's examples kept for the outer gradient (default 0.2).
    #[serde(default = "fifth")]
    pub hold: Fraction,
    /// Steps a client takes from the shared model before it deploys (default: as in training).
    #[serde(default)]
    pub adapt: Option<u32>,
    /// "uniform" (default) or "examples": by the examples a client worked on.
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
        leaves: LEAVES,
        paper: "Finn, Abbeel, Levine 2017",
        parameters: <Self as motet_core::Documented>::PARAMETERS,
        example: r#"{"step":0.1,"inner":2,"server_step":0.1,"batch":2,"sampling":{"clients":2}}"#,
    };
    const LINE: Line = Line { theta: O::THETA, rates: "step, server_step free", deploys: "x after m steps" };

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
