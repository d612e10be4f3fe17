//! Clients that never train: who they are, and what they are judged on.

use motet_core::{Fraction, Seed};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize as Derive, Serialize};

use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::holdout::Parts;

/// Clients that never train and are judged with the model they would be given.
///
/// A number alone is the share of the clients: `unseen = 0.1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unseen {
    /// Share of the clients that never train, besides those to whom the source gives test rows only (default 0).
    pub clients: Fraction,
    /// Share of each one's examples that it is judged on (default ½). The others are its own, to personalise with.
    pub test: Fraction,
}

#[derive(Derive)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default = "nobody")]
    clients: Fraction,
    #[serde(default = "half")]
    test: Fraction,
}

fn nobody() -> Fraction {
    Fraction::new(0.0).expect("0 is a fraction")
}

fn half() -> Fraction {
    Fraction::new(0.5).expect("a half is a fraction")
}

impl<'de> Deserialize<'de> for Unseen {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Unseen;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a share of the clients, or { clients = share, test = share }")
            }
            fn visit_f64<E: serde::de::Error>(self, share: f64) -> Result<Unseen, E> {
                Fraction::new(share).map(|clients| Unseen { clients, test: half() }).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, share: i64) -> Result<Unseen, E> {
                self.visit_f64(share as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, share: u64) -> Result<Unseen, E> {
                self.visit_f64(share as f64)
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Unseen, M::Error> {
                let Written { clients, test } = Written::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Unseen { clients, test })
            }
        }
        from.deserialize_any(Either)
    }
}

impl Unseen {
    /// Takes the unseen out of the clients and adds the strangers; each keeps some rows to personalise with. Whoever has
    /// fewer than two rows is left out.
    pub(crate) fn part(&self, clients: &mut Vec<Parts>, strangers: Vec<Vec<u32>>, seed: Seed) -> Result<Vec<Parts>, ProblemError> {
        let wrong = |value: String, wanted: String| Err(ProblemError::Value { key: "unseen", value, wanted });
        let count = (*self.clients * clients.len() as f64).round() as usize;
        if count >= clients.len() {
            return wrong(self.clients.to_string(), format!("of {} client(s) at least one must train", clients.len()));
        }
        let chosen = dice::shared(seed, Step::Unseen).choose(count, clients.len());
        let mut hands = Vec::with_capacity(count + strangers.len());
        for &place in chosen.iter().rev() {
            let Parts { mut train, validation, test } = clients.remove(place as usize);
            train.extend(validation.into_iter().chain(test));
            train.sort_unstable();
            hands.push(train);
        }
        hands.reverse();
        hands.extend(strangers);
        hands.retain(|rows| rows.len() >= 2);
        if hands.is_empty() {
            let wanted = "the source has no clients for test alone; give a share of the clients, as in 0.1".into();
            return wrong(format!("{{ clients = {}, test = {} }}", self.clients, self.test), wanted);
        }
        Ok(hands.into_iter().enumerate().map(|(k, rows)| self.cut(k, rows, seed)).collect())
    }

    fn cut(&self, number: usize, rows: Vec<u32>, seed: Seed) -> Parts {
        let test = ((*self.test * rows.len() as f64).round() as usize).clamp(1, rows.len() - 1);
        let judged = dice::own(seed, Step::Unseen, number).choose(test, rows.len());
        let mut parts = Parts::default();
        for (k, row) in rows.into_iter().enumerate() {
            if judged.binary_search(&(k as u32)).is_ok() { parts.test.push(row) } else { parts.train.push(row) }
        }
        parts
    }
}
