//! `"2 GB"`: sizes as people write them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const UNITS: [(&str, u64); 8] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl Size {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit() && !"._".contains(c))?;
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.replace('_', "").parse().ok()?;
        let (_, factor) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
        let bytes = number * *factor as f64;
        (bytes.is_finite() && bytes < 1e18).then_some(Self(bytes as u64))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) = UNITS[..4].iter().find(|(_, factor)| self.0 >= *factor).unwrap_or(&("B", 1));
        let number = format!("{:.3}", self.0 as f64 / *factor as f64);
        write!(f, "{} {name}", number.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format!("must be a size such as \"2 GB\" or \"512 MB\", got \"{text}\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = |text: &str| Size::parse(text).map(|size| size.0);
        assert_eq!(read("2 GB"), Some(2_000_000_000));
        assert_eq!((read("1.5gib"), read("512MB"), read("0 B")), (Some(3 << 29), Some(512_000_000), Some(0)));
        assert_eq!((read("2"), read("GB"), read("-1 GB"), read("2 pounds"), read("1e9 GB")), (None, None, None, None, None));
        assert_eq!(
            (Size(2_000_000_000).to_string(), Size(1500).to_string(), Size(7).to_string()),
            ("2 GB".into(), "1.5 kB".into(), "7 B".into())
        );
    }
}
