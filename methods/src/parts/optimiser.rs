//! What the server does with a gradient, or with something like one.
//!
//! All of them take a *gradient-like* q and step against it; q = x − x_end of local training is one, its negative is not.
//!
//! A q of a few rows is zero elsewhere. Plain steps and Adagrad leave those rows as they are. With momentum, Adam and Yogi old
//! gradients move them on while m fades: the model goes down whole in every round, so every row is moved in every step, and the
//! numbers are those of the dense q bit for bit, until an m has fallen below 1e-30. From there on it counts as 0: what it would
//! still have moved is below 1e-30 η/((1 − b₁) ε), and rows without m cost one look. `lazy = true` leaves rows that are not
//! named alone, as sparse optimisers of deep-learning libraries do; t counts every step, named or not.

use motet_core::{Fraction, Positive, Rate, SparseMean, Unsuitable, Vector, wire};
use serde::{Deserialize, Serialize};

use super::moving::{self, Adaptive, Adding, Following, Forgetting, Grow, Heavy, Plain};
use super::schedule::{Schedule, Shape, power};

/// A server optimiser and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Optimiser {
    /// x ← x − η q
    Sgd {
        /// η
        step: Schedule<Positive>,
    },
    /// v ← b v + q, x ← x − η v
    Momentum {
        /// η
        step: Schedule<Positive>,
        /// b
        #[serde(default = "nine_tenths")]
        b: Fraction,
        /// Are rows that are not named left alone?
        #[serde(default, skip_serializing_if = "is_false")]
        lazy: bool,
    },
    /// m ← b₁ m + (1 − b₁) q, v ← b₂ v + (1 − b₂) q², x ← x − η m/(√v + ε)
    Adam {
        /// η
        step: Schedule<Positive>,
        /// b₁
        #[serde(default = "nine_tenths")]
        b1: Fraction,
        /// b₂
        #[serde(default = "adam_b2")]
        b2: Fraction,
        /// ε
        #[serde(default = "adam_eps")]
        eps: Positive,
        /// How it begins.
        #[serde(default)]
        flavour: Flavour,
        /// Are rows that are not named left alone?
        #[serde(default, skip_serializing_if = "is_false")]
        lazy: bool,
    },
    /// v ← v + q², x ← x − η q/(√v + ε)
    Adagrad {
        /// η
        step: Schedule<Positive>,
        /// ε
        #[serde(default = "adagrad_eps")]
        eps: Positive,
        /// How it begins; there is no bias to correct.
        #[serde(default)]
        flavour: Flavour,
    },
    /// As Adam, with v ← v + (1 − b₂) sign(q² − v) q²
    Yogi {
        /// η
        step: Schedule<Positive>,
        /// b₁
        #[serde(default = "nine_tenths")]
        b1: Fraction,
        /// b₂
        #[serde(default = "yogi_b2")]
        b2: Fraction,
        /// ε
        #[serde(default = "yogi_eps")]
        eps: Positive,
        /// How it begins.
        #[serde(default)]
        flavour: Flavour,
        /// Are rows that are not named left alone?
        #[serde(default, skip_serializing_if = "is_false")]
        lazy: bool,
    },
}

/// How an adaptive optimiser begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// v⁰ = 0, and the bias of the first steps is corrected. Adam corrects m and v before ε is added, Yogi the step.
    #[default]
    Corrected,
    /// v⁰ = 0, without correction.
    Plain,
    /// v⁰ = ε², without correction.
    #[serde(rename = "fedopt")]
    FedOpt,
}

fn is_false(lazy: &bool) -> bool {
    !lazy
}
fn fraction(value: f64) -> Fraction {
    Fraction::new(value).expect("a default between 0 and 1")
}
fn positive(value: f64) -> Positive {
    Positive::new(value).expect("a positive default")
}
fn nine_tenths() -> Fraction {
    fraction(0.9)
}
fn adam_b2() -> Fraction {
    fraction(0.999)
}
fn adam_eps() -> Positive {
    positive(1e-4)
}
fn adagrad_eps() -> Positive {
    positive(1e-3)
}
fn yogi_b2() -> Fraction {
    fraction(0.99)
}
fn yogi_eps() -> Positive {
    positive(1e-5)
}

wire! {
    /// What an optimiser remembers.
    #[derive(Default, PartialEq)]
    pub struct Momenta {
        /// Steps taken.
        pub t: u64,
        /// The mean of the gradients, where one is kept.
        pub m: Option<Vector>,
        /// The scale of the gradients, where one is kept.
        pub v: Option<Vector>,
    }
}

impl Optimiser {
    /// Plain steps of the size that theory gives.
    pub fn sgd(step: Rate<Positive>) -> Self {
        Optimiser::Sgd { step: Schedule::constant(step) }
    }

    /// η at the first step, as it was written.
    pub fn step(&self) -> Rate<Positive> {
        self.schedule().start
    }

    /// η
    pub fn schedule(&self) -> Schedule<Positive> {
        match *self {
            Optimiser::Sgd { step }
            | Optimiser::Momentum { step, .. }
            | Optimiser::Adam { step, .. }
            | Optimiser::Adagrad { step, .. }
            | Optimiser::Yogi { step, .. } => step,
        }
    }

    /// η on a function of this smoothness: 1/L for plain steps, (1 − b)/L with momentum, whose steps add up to
    /// 1/(1 − b) of one; none where theory has no answer.
    pub fn theory(&self, smoothness: f64) -> Option<f64> {
        match self {
            Optimiser::Sgd { .. } => Some(1.0 / smoothness),
            Optimiser::Momentum { b, .. } if **b < 1.0 => Some((1.0 - **b) / smoothness),
            _ => None,
        }
    }

    /// Is its step known?
    pub fn suits(&self) -> Result<(), Unsuitable> {
        let theory = self.step() == Rate::Theory && self.theory(1.0).is_none();
        let inverse = self.schedule().shape == Shape::Inverse { after: None };
        Unsuitable::when(theory, "theory has no step for this optimiser: give step as a number")?;
        Unsuitable::when(inverse, "an inverse schedule of the step needs after = b")
    }

    /// One step of x against q, where it has numbers: see the top of this file for the others. η is `step` at the first, and follows
    /// the schedule from there. Says whether all it wrote is finite.
    pub fn apply(&self, x: &mut Vector, q: &SparseMean, step: f64, state: &mut Momenta) -> bool {
        state.t += 1;
        let step = step * self.schedule().shape.at(state.t - 1, f64::NAN);
        match *self {
            Optimiser::Sgd { .. } => plain(x, q, step),
            Optimiser::Momentum { b, lazy, .. } => {
                let (v, rule) = (state.v.get_or_insert_with(|| x.zeros_like()), Heavy { b: *b, rate: step });
                if !lazy {
                    moving::coast(x, None, v, q, &rule);
                }
                moving::step(x, None, Some(v), q, &rule)
            }
            Optimiser::Adam { b1, b2, eps, flavour, lazy, .. } => {
                let (one, two) = corrections(flavour, *b1, *b2, state.t);
                let rule = Adaptive { b1: *b1, eps: *eps, rate: step / one, scale: 1.0 / two, grow: Forgetting(*b2) };
                adapt(x, q, state, flavour, lazy, &rule)
            }
            Optimiser::Adagrad { eps, flavour, .. } => {
                adapt(x, q, state, flavour, true, &Adaptive { b1: 0.0, eps: *eps, rate: step, scale: 1.0, grow: Adding })
            }
            Optimiser::Yogi { b1, b2, eps, flavour, lazy, .. } => {
                let (one, two) = corrections(flavour, *b1, *b2, state.t);
                let rule = Adaptive { b1: *b1, eps: *eps, rate: step * two.sqrt() / one, scale: 1.0, grow: Following(*b2) };
                adapt(x, q, state, flavour, lazy, &rule)
            }
        }
    }
}

/// x ← x − rate q; are all numbers that were written finite?
pub fn plain(x: &mut Vector, q: &SparseMean, rate: f64) -> bool {
    moving::step(x, None, None, q, &Plain { rate })
}

/// A step by a rule that remembers v, and m where b₁ > 0.
fn adapt<G: Grow>(x: &mut Vector, q: &SparseMean, state: &mut Momenta, flavour: Flavour, lazy: bool, rule: &Adaptive<G>) -> bool {
    let first = if flavour == Flavour::FedOpt { rule.eps * rule.eps } else { 0.0 };
    let v = state.v.get_or_insert_with(|| Vector::filled(x.len(), first, x.precision()));
    // Without b₁, m is q itself: nothing to remember.
    let mut m = (rule.b1 != 0.0).then(|| state.m.get_or_insert_with(|| x.zeros_like()));
    if !lazy {
        moving::coast(x, m.as_deref_mut(), v, q, rule);
    }
    moving::step(x, m, Some(v), q, rule)
}

/// 1 − b₁ᵗ and 1 − b₂ᵗ, or ones where nothing is corrected.
fn corrections(flavour: Flavour, b1: f64, b2: f64, t: u64) -> (f64, f64) {
    match flavour {
        Flavour::Corrected => (1.0 - power(b1, t), 1.0 - power(b2, t)),
        Flavour::Plain | Flavour::FedOpt => (1.0, 1.0),
    }
}
