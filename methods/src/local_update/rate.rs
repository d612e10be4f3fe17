//! γ as an experiment says it: a schedule, or an accuracy that rounds find it for.

use motet_core::NonNegative;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use super::Accuracy;
use crate::parts::Schedule;

/// The client step of LocalUpdate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientRate {
    /// A number, "theory" or a schedule.
    Given(Schedule<NonNegative>),
    /// `{ estimate = { accuracy = 0.1, online = true } }`
    Learnt(Accuracy),
}

#[derive(Serialize)]
struct Estimated {
    estimate: Accuracy,
}

impl Serialize for ClientRate {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            ClientRate::Given(schedule) => schedule.serialize(to),
            ClientRate::Learnt(accuracy) => Estimated { estimate: *accuracy }.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ClientRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ClientRate;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "a number, \"theory\", { kind = \"inverse\" | \"staircase\" | \"cosine\", start = ... } or \
                     { estimate = { accuracy = 0.1, online = true } }",
                )
            }
            fn visit_f64<E: Error>(self, v: f64) -> Result<ClientRate, E> {
                Schedule::deserialize(v.into_deserializer()).map(ClientRate::Given)
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<ClientRate, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<ClientRate, E> {
                self.visit_f64(v as f64)
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<ClientRate, E> {
                Schedule::deserialize(v.into_deserializer()).map(ClientRate::Given)
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ClientRate, M::Error> {
                let first = map.next_key::<String>()?;
                if first.as_deref() != Some("estimate") {
                    return Schedule::deserialize(MapAccessDeserializer::new(Read { first, rest: map })).map(ClientRate::Given);
                }
                let accuracy = map.next_value()?;
                match map.next_key::<String>()? {
                    Some(other) => Err(M::Error::custom(format!("{other} cannot stand beside an estimate, which decides alone"))),
                    None => Ok(ClientRate::Learnt(accuracy)),
                }
            }
        }
        from.deserialize_any(Either)
    }
}

/// A map whose first key was read already.
struct Read<M> {
    first: Option<String>,
    rest: M,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Read<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        match self.first.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.rest.next_value_seed(seed)
    }
}
