//! One compressor for all clients, or one for each.

use motet_core::{ClientId, Unsuitable};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::{Compress, Compressor};

/// In an experiment file: `compressor = { kind = "rand-k", k = 3 }`, or a list with one for each client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Compressors {
    /// All alike.
    Same(Compressor),
    /// By client number.
    Each(Vec<Compressor>),
}

impl Compressors {
    /// The compressor of one client.
    ///
    /// # Panics
    /// If there is none for it; [`Compressors::suits`] is asked before a run.
    pub fn of(&self, client: ClientId) -> &Compressor {
        match self {
            Compressors::Same(c) => c,
            Compressors::Each(list) => &list[client.0 as usize],
        }
    }

    /// Is it the same for all?
    pub fn is_common(&self) -> bool {
        matches!(self, Compressors::Same(_))
    }

    fn all(&self) -> &[Compressor] {
        match self {
            Compressors::Same(c) => std::slice::from_ref(c),
            Compressors::Each(list) => list,
        }
    }

    /// Is there one for each of so many clients, unbiased unless the method takes biased ones too?
    pub fn suits(&self, clients: Option<u32>, biased_too: bool) -> Result<(), Unsuitable> {
        if let Some(biased) = self.all().iter().find(|c| !biased_too && !c.unbiased()) {
            return Err(Unsuitable::Setting(format!("{} is biased: use it with ef or ef21", biased.name())));
        }
        match self {
            Compressors::Each(list) => Unsuitable::unless_listed("compressor", Some(list.len()), clients),
            _ => Ok(()),
        }
    }

    /// max ωᵢ
    pub fn largest_omega(&self, dim: usize) -> f64 {
        self.all().iter().map(|c| c.omega(dim).unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    }

    /// ωᵢ; infinite if biased.
    pub fn omega(&self, client: ClientId, dim: usize) -> f64 {
        self.of(client).omega(dim).unwrap_or(f64::INFINITY)
    }
}

impl<'de> Deserialize<'de> for Compressors {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Compressors;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a compressor { kind = ... }, or a list with one for each client")
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Compressors, M::Error> {
                Compressor::deserialize(MapAccessDeserializer::new(map)).map(Compressors::Same)
            }
            fn visit_seq<S: SeqAccess<'de>>(self, list: S) -> Result<Compressors, S::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Compressors::Each)
            }
        }
        from.deserialize_any(Either)
    }
}
