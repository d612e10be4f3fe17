//! Numbers that were checked when they were read: plain `f64` in arithmetic, never out of range.

use std::ops::Deref;

use serde::de::{Deserializer, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use crate::algorithm::ClientId;

macro_rules! checked {
    ($($(#[$doc:meta])* $name:ident: $range:literal, |$v:ident| $ok:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("The number, if it is ", $range, ".")]
            pub fn new(value: f64) -> Result<Self, OutOfRange> {
                let $v = value;
                if $ok { Ok(Self(value)) } else { Err(OutOfRange { value, range: $range }) }
            }
        }
        impl TryFrom<f64> for $name {
            type Error = OutOfRange;
            fn try_from(value: f64) -> Result<Self, OutOfRange> {
                Self::new(value)
            }
        }
        impl From<$name> for f64 {
            fn from(checked: $name) -> f64 {
                checked.0
            }
        }
        impl Deref for $name {
            type Target = f64;
            fn deref(&self) -> &f64 {
                &self.0
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

checked! {
    /// A step size, a tolerance, a regulariser's strength.
    Positive: "a positive number", |v| v > 0.0 && v.is_finite();
    /// A rate that may be switched off.
    NonNegative: "zero or a positive number", |v| v >= 0.0 && v.is_finite();
    /// A share, ends included: α of a mixture.
    Fraction: "a number from 0 to 1", |v| (0.0..=1.0).contains(&v);
    /// A chance that is not zero.
    Probability: "a number above 0 and at most 1", |v| v > 0.0 && v <= 1.0;
}

impl Fraction {
    /// The whole.
    pub const ONE: Self = Self(1.0);
}

/// Switched off.
impl Default for NonNegative {
    fn default() -> Self {
        Self(0.0)
    }
}

/// A number outside the range of its type.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("must be {range}, got {value}")]
pub struct OutOfRange {
    value: f64,
    range: &'static str,
}

/// One value for all clients, or one for each.
///
/// In an experiment file: `alpha = 0.3` or `alpha = { per_client = [0.1, 0.4, 0.7] }`.
#[derive(Clone, Debug, PartialEq)]
pub enum PerClient<T> {
    /// All alike.
    Same(T),
    /// By client number.
    Each(Vec<T>),
}

impl<T: Copy> PerClient<T> {
    /// The value of one client.
    ///
    /// # Panics
    /// If there is no value for it; [`PerClient::covers`] is asked before a run.
    pub fn of(&self, client: ClientId) -> T {
        match self {
            PerClient::Same(v) => *v,
            PerClient::Each(v) => v[client.0 as usize],
        }
    }

    /// Is there a value for each of `clients`?
    pub fn covers(&self, clients: usize) -> bool {
        match self {
            PerClient::Same(_) => true,
            PerClient::Each(v) => v.len() == clients,
        }
    }

    /// How many are listed, if they are.
    pub fn listed(&self) -> Option<usize> {
        match self {
            PerClient::Same(_) => None,
            PerClient::Each(v) => Some(v.len()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed<T> {
    per_client: Vec<T>,
}

impl<T: Serialize> Serialize for PerClient<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            PerClient::Same(v) => v.serialize(to),
            PerClient::Each(v) => {
                use serde::ser::SerializeStruct;
                let mut table = to.serialize_struct("PerClient", 1)?;
                table.serialize_field("per_client", v)?;
                table.end()
            }
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerClient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = PerClient<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, or { per_client = [...] }")
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Self::Value, E> {
                T::deserialize(v.into_deserializer()).map(PerClient::Same)
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Self::Value, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Self::Value, E> {
                self.visit_f64(v as f64)
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
                Listed::deserialize(MapAccessDeserializer::new(map)).map(|l| PerClient::Each(l.per_client))
            }
        }
        from.deserialize_any(Either(std::marker::PhantomData))
    }
}

/// A number, or "theory": the value the method's theorem asks for on the problem at hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate<T> {
    /// As the theorem says.
    Theory,
    /// As the experiment says.
    Given(T),
}

impl<T: Serialize> Serialize for Rate<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Rate::Theory => to.serialize_str("theory"),
            Rate::Given(v) => v.serialize(to),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Rate<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Rate<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number or \"theory\"")
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Self::Value, E> {
                T::deserialize(v.into_deserializer()).map(Rate::Given)
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Self::Value, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Self::Value, E> {
                self.visit_f64(v as f64)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Self::Value, E> {
                if v == "theory" { Ok(Rate::Theory) } else { Err(E::invalid_value(serde::de::Unexpected::Str(v), &self)) }
            }
        }
        from.deserialize_any(Either(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_say_what_would_be_right() {
        assert_eq!(Fraction::new(1.5).unwrap_err().to_string(), "must be a number from 0 to 1, got 1.5");
        assert!(Positive::new(f64::NAN).is_err() && Positive::new(0.0).is_err());
        assert!(Probability::new(0.0).is_err() && Probability::new(1.0).is_ok());
        assert!(NonNegative::new(0.0).is_ok() && NonNegative::new(f64::INFINITY).is_err());
    }

    #[test]
    fn per_client_and_rate_read_what_people_write() {
        let same: PerClient<Fraction> = serde_json::from_str("1").unwrap();
        assert_eq!(*same.of(ClientId(7)), 1.0);
        let each: PerClient<Fraction> = serde_json::from_str(r#"{"per_client":[0.1,0.4]}"#).unwrap();
        assert_eq!(*each.of(ClientId(1)), 0.4);
        assert!(each.covers(2) && !each.covers(3));
        assert_eq!(serde_json::to_string(&each).unwrap(), r#"{"per_client":[0.1,0.4]}"#);
        let bad = serde_json::from_str::<PerClient<Fraction>>("1.5").unwrap_err().to_string();
        assert!(bad.contains("from 0 to 1"), "{bad}");
        assert_eq!(serde_json::from_str::<Rate<Positive>>("\"theory\"").unwrap(), Rate::Theory);
        let bad = serde_json::from_str::<Rate<Positive>>("\"fast\"").unwrap_err().to_string();
        assert!(bad.contains("a number or \"theory\""), "{bad}");
    }
}
