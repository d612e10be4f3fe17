//! Clipping: no gradient is longer than a bound.

use motet_core::{Positive, Vector};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use crate::parts::Gradients;

/// The longest gradient that counts in full: "none", "median" or a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Clip {
    /// No bound.
    #[default]
    None,
    /// The median of the cohort's lengths: as long as most are honest, no lie is longer than an honest gradient.
    Median,
    /// This length.
    To(Positive),
}

impl Clip {
    /// Shortens the rows that are too long.
    pub fn applied(self, mut gradients: Gradients) -> Gradients {
        let bound = match self {
            Clip::None => return gradients,
            Clip::To(length) => *length,
            Clip::Median => {
                let mut lengths: Vec<f64> = gradients.rows().iter().map(Vector::norm).collect();
                lengths.sort_by(f64::total_cmp);
                match lengths.get(lengths.len().saturating_sub(1) / 2) {
                    Some(median) => *median,
                    None => return gradients,
                }
            }
        };
        for g in gradients.rows_mut() {
            let length = g.norm();
            if length > bound {
                g.scale(bound / length);
            }
        }
        gradients
    }
}

impl Serialize for Clip {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Clip::None => to.serialize_str("none"),
            Clip::Median => to.serialize_str("median"),
            Clip::To(length) => length.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Clip {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Clip;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"none\", \"median\" or a length above 0")
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Clip, E> {
                Positive::new(v).map(Clip::To).map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Clip, E> {
                self.visit_f64(v as f64)
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Clip, E> {
                self.visit_f64(v as f64)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Clip, E> {
                match v {
                    "none" => Ok(Clip::None),
                    "median" => Ok(Clip::Median),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(v), &self)),
                }
            }
        }
        from.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_core::ClientId;

    #[test]
    fn the_longest_becomes_as_long_as_the_median_even_where_squares_overflow() {
        let mut gradients = Gradients::default();
        for (i, length) in [1.0, 2.0, 3.0, 4.0, 1e200].into_iter().enumerate() {
            gradients.push(ClientId(i as u32), Vector::from(vec![0.0, length]));
        }
        let lengths: Vec<f64> = Clip::Median.applied(gradients).rows().iter().map(Vector::norm).collect();
        // |1e200|² is infinite: such a gradient is clipped to nothing, which is also no longer than the median.
        assert_eq!(lengths, [1.0, 2.0, 3.0, 3.0, 0.0]);
    }

    #[test]
    fn it_reads_what_people_write() {
        let read = |text: &str| serde_json::from_str::<Clip>(text);
        assert_eq!(read("\"median\"").unwrap(), Clip::Median);
        assert_eq!(read("2").unwrap(), Clip::To(Positive::new(2.0).unwrap()));
        assert!(read("-1").is_err() && read("\"mean\"").is_err());
    }
}
