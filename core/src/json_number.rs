//! Numbers in JSON, which has only finite ones: NaN and the infinities are written as the words `"NaN"`, `"inf"` and `"-inf"`.
//!
//! Finite numbers are written as ever. `null`, which stood for all that is not finite in older records, is read as NaN.
//! For fields: `#[serde(with = "json_number")]`, or one of the modules for options, maps and triples.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that survives JSON, finite or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonNumber(pub f64);

impl Serialize for JsonNumber {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_finite() => to.serialize_f64(x),
            x if x.is_nan() => to.serialize_str("NaN"),
            x if x > 0.0 => to.serialize_str("inf"),
            _ => to.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for JsonNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Words)
    }
}

struct Words;

impl Visitor<'_> for Words {
    type Value = JsonNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"NaN\", \"inf\" or \"-inf\"")
    }
    fn visit_f64<E: Error>(self, x: f64) -> Result<JsonNumber, E> {
        Ok(JsonNumber(x))
    }
    fn visit_u64<E: Error>(self, x: u64) -> Result<JsonNumber, E> {
        Ok(JsonNumber(x as f64))
    }
    fn visit_i64<E: Error>(self, x: i64) -> Result<JsonNumber, E> {
        Ok(JsonNumber(x as f64))
    }
    fn visit_unit<E: Error>(self) -> Result<JsonNumber, E> {
        Ok(JsonNumber(f64::NAN))
    }
    fn visit_str<E: Error>(self, word: &str) -> Result<JsonNumber, E> {
        match word {
            "NaN" => Ok(JsonNumber(f64::NAN)),
            "inf" => Ok(JsonNumber(f64::INFINITY)),
            "-inf" => Ok(JsonNumber(f64::NEG_INFINITY)),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }
}

/// Writes a number of any kind.
pub fn serialize<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
    JsonNumber(*x).serialize(to)
}

/// Reads a number of any kind.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    JsonNumber::deserialize(from).map(|number| number.0)
}

/// A number that may be absent: absence is `null`, NaN is `"NaN"`.
pub mod optional {
    use super::{Deserialize, Deserializer, JsonNumber, Serialize, Serializer};

    /// Writes a number or its absence.
    pub fn serialize<S: Serializer>(x: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        x.map(JsonNumber).serialize(to)
    }

    /// Reads a number or its absence.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<JsonNumber>::deserialize(from)?.map(|number| number.0))
    }
}

/// Names and their numbers.
pub mod map {
    use std::collections::BTreeMap;

    use super::{Deserialize, Deserializer, JsonNumber, Serializer};

    /// Writes an object of numbers.
    pub fn serialize<S: Serializer>(map: &BTreeMap<String, f64>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(map.iter().map(|(name, x)| (name, JsonNumber(*x))))
    }

    /// Reads an object of numbers.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
        let read = BTreeMap::<String, JsonNumber>::deserialize(from)?;
        Ok(read.into_iter().map(|(name, number)| (name, number.0)).collect())
    }
}

/// Smallest, mean and largest of some numbers, or the absence of all three.
pub mod triple {
    use super::{Deserialize, Deserializer, JsonNumber, Serialize, Serializer};

    /// Writes three numbers or their absence.
    pub fn serialize<S: Serializer>(x: &Option<[f64; 3]>, to: S) -> Result<S::Ok, S::Error> {
        x.map(|x| x.map(JsonNumber)).serialize(to)
    }

    /// Reads three numbers or their absence.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[f64; 3]>, D::Error> {
        Ok(Option::<[JsonNumber; 3]>::deserialize(from)?.map(|x| x.map(|number| number.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_kind_survive_and_finite_ones_are_written_as_ever() {
        for x in [0.1 + 0.2, -0.0, 5.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY] {
            let text = serde_json::to_string(&JsonNumber(x)).unwrap();
            assert_eq!(serde_json::from_str::<JsonNumber>(&text).unwrap().0.to_bits(), x.to_bits(), "{text}");
            assert!(!x.is_finite() || text == serde_json::to_string(&x).unwrap());
        }
        assert_eq!(serde_json::to_string(&JsonNumber(f64::NAN)).unwrap(), "\"NaN\"");
        for nan in ["null", "\"NaN\""] {
            assert!(serde_json::from_str::<JsonNumber>(nan).unwrap().0.is_nan());
        }
        assert_eq!(serde_json::from_str::<JsonNumber>("7").unwrap().0, 7.0);
        let wrong = serde_json::from_str::<JsonNumber>("\"much\"").unwrap_err().to_string();
        assert!(wrong.contains("\"inf\""), "{wrong}");
    }
}
