//! Who takes part in a round, and what becomes of the control variates of the others.
//!
//! In an experiment file: `"everyone"`, a sampling such as `{ clients = 10 }`, or one with a variant beside it,
//! `{ clients = 10, variant = "author" }`.

use motet_core::{Sampling, Unsuitable};
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

/// A sampling, and what becomes of hᵢ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Participants {
    /// How a round's cohort is drawn.
    pub how: Sampling,
    /// What becomes of hᵢ.
    pub variant: Variant,
}

/// What becomes of hᵢ under partial participation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Kept, and corrected in the same round: converges to the optimum.
    #[default]
    Tracked,
    /// Reset to 0 in every round, as in the released code for networks: has a bias.
    Author,
}

impl Participants {
    /// Is everyone asked in every round?
    pub(super) fn are_everyone(&self) -> bool {
        self.how == Sampling::Everyone
    }

    /// Can control variates be learnt with cohorts of so many clients that are drawn in this way?
    pub(super) fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        let c = match self.how {
            // With everyone of a population without end, asking says so.
            Sampling::Everyone => return Ok(()),
            Sampling::Bernoulli(_) => return self.how.suits(clients),
            Sampling::Clients(c) | Sampling::Passes(c) => c,
            Sampling::Replacement(_) | Sampling::Importance { .. } | Sampling::SelfNormalised(_) => {
                let alike = "control variates need cohorts in which all are equally probable: sampling = { clients = c }, \
                             { bernoulli = p } or { passes = c }";
                return Err(Unsuitable::Setting(alike.into()));
            }
        };
        let few = format!("{c} clients per round cannot learn control variates: at least 2, or variant = \"author\"");
        Unsuitable::when(self.variant == Variant::Tracked && c < 2, few)?;
        Unsuitable::when(c == 0, "sampling asks for 0 clients: at least 1")?;
        if let (Sampling::Passes(_), Variant::Tracked, Some(n)) = (&self.how, self.variant, clients) {
            passes_suit(n, c)?;
        }
        match clients {
            Some(n) => Unsuitable::when(c > n, format!("sampling asks for {c} clients, the problem has {n}")),
            None => Ok(()),
        }
    }
}

/// The rounds of a pass are as equal in size as can be: has the smallest of them the two clients that learn from each other?
fn passes_suit(n: u32, c: u32) -> Result<(), Unsuitable> {
    // So many rounds at most can have two clients each.
    let least = n.div_ceil((n / 2).max(1));
    let alone = format!(
        "sampling = {{ passes = {c} }} leaves some rounds with one of the {n} clients, which cannot learn control variates: \
         at least {{ passes = {least} }}, or variant = \"author\""
    );
    Unsuitable::when(n >= 2 && n / n.div_ceil(c) < 2, alone)
}

/// With the variant beside it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    variant: Variant,
    #[serde(flatten)]
    how: Sampling,
}

impl Serialize for Participants {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Whoever names clients is told the variant too, so that claims can name it.
        if *self == Self::default() { self.how.serialize(to) } else { Table { variant: self.variant, how: self.how.clone() }.serialize(to) }
    }
}

impl<'de> Deserialize<'de> for Participants {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Participants;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"everyone\", { clients = c }, { bernoulli = p } or { passes = c }, with variant = \"tracked\" or \"author\"")
            }
            /// Earlier records say so of everyone.
            fn visit_unit<E>(self) -> Result<Participants, E> {
                Ok(Participants::default())
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Participants, E> {
                if v == "everyone" { Ok(Participants::default()) } else { Err(E::invalid_value(serde::de::Unexpected::Str(v), &self)) }
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Participants, M::Error> {
                let Table { variant, how } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Participants { how, variant })
            }
        }
        from.deserialize_any(Either)
    }
}
