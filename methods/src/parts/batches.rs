//! Mini-batches of a client's examples.

use motet_core::{Rng, Rows};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// How many examples a gradient looks at: a number, or "all".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchSize {
    /// Every one.
    #[default]
    All,
    /// This many, or all if there are fewer.
    Of(u32),
}

impl BatchSize {
    /// A uniform batch without replacement; none stands for all examples.
    pub fn draw(self, samples: usize, rng: &mut Rng) -> Option<Vec<u32>> {
        match self {
            BatchSize::Of(size) if (size as usize) < samples => Some(rng.choose(size as usize, samples)),
            _ => None,
        }
    }

    /// One pass over all examples in shuffled order, batch after batch; a batch of everything is not shuffled.
    pub fn pass(self, samples: usize, rng: &mut Rng, mut each: impl FnMut(Rows<'_>)) {
        match self {
            BatchSize::Of(size) if (size as usize) < samples => {
                let mut order: Vec<u32> = (0..samples as u32).collect();
                rng.shuffle(&mut order);
                order.chunks(size.max(1) as usize).for_each(|rows| each(Rows::Only(rows)));
            }
            _ => each(Rows::All),
        }
    }
}

/// The rows of a drawn batch.
pub fn rows(batch: &Option<Vec<u32>>) -> Rows<'_> {
    batch.as_deref().map_or(Rows::All, Rows::Only)
}

impl Serialize for BatchSize {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            BatchSize::All => to.serialize_str("all"),
            BatchSize::Of(size) => size.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for BatchSize {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = BatchSize;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of examples from 1, or \"all\"")
            }
            /// Earlier records say so of all examples.
            fn visit_unit<E>(self) -> Result<BatchSize, E> {
                Ok(BatchSize::All)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<BatchSize, E> {
                match u32::try_from(v) {
                    Ok(size) if size > 0 => Ok(BatchSize::Of(size)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Unsigned(v), &self)),
                }
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<BatchSize, E> {
                match u64::try_from(v) {
                    Ok(v) => self.visit_u64(v),
                    Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(v), &self)),
                }
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<BatchSize, E> {
                if v == "all" { Ok(BatchSize::All) } else { Err(E::invalid_value(serde::de::Unexpected::Str(v), &self)) }
            }
        }
        from.deserialize_any(Either)
    }
}
