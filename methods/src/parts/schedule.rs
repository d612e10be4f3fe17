//! Rates that change from round to round.
//!
//! In an experiment file: `0.1`, `"theory"`, or a table, where t counts the server's steps from 0 and s is `start`:
//!
//! ```text
//! { kind = "inverse", start = s, after = b }              s b / (b + t)
//! { kind = "staircase", start = s, every = k, factor = c } s c^⌊t/k⌋
//! { kind = "cosine", start = s, rounds = T, last = l }     s (l + (1 − l) (1 + cos(π t/T))/2), s l from T on
//! ```

use std::num::NonZeroU64;

use motet_core::{Fraction, Positive, Rate, Unsuitable};
use serde::de::{Deserializer, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

/// A rate: where it starts and how it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule<T> {
    /// At t = 0.
    pub start: Rate<T>,
    /// What it is multiplied by later.
    pub shape: Shape,
}

/// How a rate goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// 1
    Constant,
    /// b / (b + t)
    Inverse {
        /// b; as theory says if absent.
        after: Option<Positive>,
    },
    /// c^⌊t/k⌋
    Staircase {
        /// k
        every: NonZeroU64,
        /// c
        factor: Positive,
    },
    /// Half a wave, from 1 to the last value.
    Cosine {
        /// T
        rounds: NonZeroU64,
        /// l
        last: Fraction,
    },
}

impl<T: Copy> Schedule<T> {
    /// The same in every round.
    pub fn constant(start: Rate<T>) -> Self {
        Self { start, shape: Shape::Constant }
    }

    /// The number at t = 0, if theory is not asked for it.
    pub fn given(&self) -> Option<T> {
        match self.start {
            Rate::Given(start) => Some(start),
            Rate::Theory => None,
        }
    }

    /// Is everything given that this schedule needs?
    pub fn suits(&self) -> Result<(), Unsuitable> {
        let lost = self.shape == Shape::Inverse { after: None } && self.given().is_some();
        Unsuitable::when(lost, "an inverse schedule that starts from a number needs after = b as well")
    }
}

impl Shape {
    /// The factor after `t` steps; `after` stands in for what theory is to give.
    pub fn at(&self, t: u64, after: f64) -> f64 {
        match *self {
            Shape::Constant => 1.0,
            Shape::Inverse { after: given } => {
                let b = given.map_or(after, |b| *b);
                b / (b + t as f64)
            }
            Shape::Staircase { every, factor } => power(*factor, t / every),
            Shape::Cosine { rounds, last } => {
                let u = t.min(rounds.get()) as f64 / rounds.get() as f64;
                *last + (1.0 - *last) * 0.5 * (1.0 + cos_pi(u))
            }
        }
    }
}

/// bᵗ by squaring: the same bits on every machine, which the library's power does not promise.
pub(crate) fn power(mut b: f64, mut t: u64) -> f64 {
    let mut product = 1.0;
    while t > 0 {
        if t % 2 == 1 {
            product *= b;
        }
        b *= b;
        t /= 2;
    }
    product
}

/// cos(π u) for 0 ≤ u ≤ 1 by its series: the same bits on every machine. At |x| ≤ π/2 the first term left out is below 1e-19.
fn cos_pi(u: f64) -> f64 {
    if u > 0.5 {
        return -cos_pi(1.0 - u);
    }
    let square = (std::f64::consts::PI * u).powi(2);
    let mut sum = 0.0;
    for k in (1..12).rev() {
        sum = (1.0 + sum) * -square / f64::from((2 * k - 1) * (2 * k));
    }
    1.0 + sum
}

/// What a table may say.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Table<T> {
    Inverse {
        start: Rate<T>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Positive>,
    },
    Staircase {
        start: Rate<T>,
        every: NonZeroU64,
        factor: Positive,
    },
    Cosine {
        start: Rate<T>,
        rounds: NonZeroU64,
        #[serde(default = "nothing")]
        last: Fraction,
    },
}

fn nothing() -> Fraction {
    Fraction::new(0.0).expect("0 is a fraction")
}

impl<T: Serialize + Copy> Serialize for Schedule<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let start = self.start;
        match self.shape {
            Shape::Constant => start.serialize(to),
            Shape::Inverse { after } => Table::Inverse { start, after }.serialize(to),
            Shape::Staircase { every, factor } => Table::Staircase { start, every, factor }.serialize(to),
            Shape::Cosine { rounds, last } => Table::Cosine { start, rounds, last }.serialize(to),
        }
    }
}

impl<'de, T: Deserialize<'de> + Copy> Deserialize<'de> for Schedule<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Copy> Visitor<'de> for Either<T> {
            type Value = Schedule<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, \"theory\" or { kind = \"inverse\" | \"staircase\" | \"cosine\", start = ... }")
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Self::Value, E> {
                T::deserialize(v.into_deserializer()).map(|v| Schedule::constant(Rate::Given(v)))
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Self::Value, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Self::Value, E> {
                self.visit_f64(v as f64)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Self::Value, E> {
                if v == "theory" {
                    Ok(Schedule::constant(Rate::Theory))
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(v), &self))
                }
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
                Ok(match Table::deserialize(MapAccessDeserializer::new(map))? {
                    Table::Inverse { start, after } => Schedule { start, shape: Shape::Inverse { after } },
                    Table::Staircase { start, every, factor } => Schedule { start, shape: Shape::Staircase { every, factor } },
                    Table::Cosine { start, rounds, last } => Schedule { start, shape: Shape::Cosine { rounds, last } },
                })
            }
        }
        from.deserialize_any(Either(std::marker::PhantomData))
    }
}
