//! The settings of LocalUpdate, each with the ways people write it.

use motet_core::NonNegative;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};

/// Θ: what each local gradient counts for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Theta {
    /// "1:K": all alike, Θ_{1:K}.
    #[default]
    All,
    /// "K": the last one alone, Θ_K.
    Last,
    /// θ₁, θ₂, …
    Each(Vec<NonNegative>),
}

impl Theta {
    /// θ of gradient k of K, both counted from 0.
    pub(super) fn at(&self, k: usize, count: usize) -> f64 {
        match self {
            Theta::All => 1.0,
            Theta::Last => f64::from(u8::from(k + 1 == count)),
            Theta::Each(weights) => weights.get(k).map_or(0.0, |w| **w),
        }
    }
}

/// Where a batch comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// Each batch anew, no example twice in it.
    #[default]
    Fresh,
    /// Each example anew: one may come twice.
    Replacement,
    /// Batch after batch of the shuffled examples, which are shuffled again when they are used up.
    Passes,
}

/// What a client sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Send {
    /// Σ θ_k g_k, as the paper has it: γ = 0 makes sense.
    #[default]
    Gradients,
    /// x − x_end, as FedOpt has it: γ Σ g_k, so that the server's rate is multiplied by γ.
    Deltas,
}

impl Serialize for Theta {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Theta::All => to.serialize_str("1:K"),
            Theta::Last => to.serialize_str("K"),
            Theta::Each(weights) => weights.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Theta {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Ways;
        impl<'de> Visitor<'de> for Ways {
            type Value = Theta;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"1:K\" (all gradients alike), \"K\" (the last one alone) or a list of weights, not all 0")
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Theta, E> {
                match v {
                    "1:K" => Ok(Theta::All),
                    "K" => Ok(Theta::Last),
                    _ => Err(E::invalid_value(Unexpected::Str(v), &self)),
                }
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Theta, S::Error> {
                let mut weights: Vec<NonNegative> = vec![];
                while let Some(weight) = seq.next_element()? {
                    weights.push(weight);
                }
                if weights.iter().all(|w| **w == 0.0) {
                    return Err(S::Error::invalid_value(Unexpected::Other("a list of zeros"), &self));
                }
                Ok(Theta::Each(weights))
            }
        }
        from.deserialize_any(Ways)
    }
}
