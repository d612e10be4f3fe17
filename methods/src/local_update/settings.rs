//! The settings of LocalUpdate, each with the ways people write it.

use std::num::NonZeroU32;

use motet_core::NonNegative;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::SerializeMap;
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

/// How much a client works in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// K gradients.
    Steps(NonZeroU32),
    /// So many passes over its examples.
    Epochs(NonZeroU32),
}

impl Default for Amount {
    fn default() -> Self {
        Amount::Steps(NonZeroU32::MIN)
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

impl Serialize for Amount {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Amount::Steps(steps) => steps.serialize(to),
            Amount::Epochs(epochs) => {
                let mut table = to.serialize_map(Some(1))?;
                table.serialize_entry("epochs", epochs)?;
                table.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Ways;
        impl<'de> Visitor<'de> for Ways {
            type Value = Amount;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of steps from 1, or { epochs = n }")
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Amount, E> {
                let steps = u32::try_from(v).ok().and_then(NonZeroU32::new);
                steps.map(Amount::Steps).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(v), &self))
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Amount, E> {
                u64::try_from(v).map_err(|_| E::invalid_value(Unexpected::Signed(v), &self)).and_then(|v| self.visit_u64(v))
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Amount, M::Error> {
                let mut epochs = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key != "epochs" {
                        return Err(M::Error::unknown_field(&key, &["epochs"]));
                    }
                    epochs = Some(map.next_value()?);
                }
                epochs.map(Amount::Epochs).ok_or_else(|| M::Error::missing_field("epochs"))
            }
        }
        from.deserialize_any(Ways)
    }
}
