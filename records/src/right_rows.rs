//! Which test examples a model gets right, as short text: their number and four of them in each hexadecimal digit.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One bit for each test example, in their order: `"6:b4"` has six, of which the first, third, fourth and sixth are right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RightRows(pub Vec<bool>);

impl Serialize for RightRows {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let digit = |four: &[bool]| {
            let value = (0..4).fold(0, |value, k| 2 * value + u32::from(four.get(k).copied().unwrap_or(false)));
            char::from_digit(value, 16).unwrap_or('0')
        };
        to.serialize_str(&format!("{}:{}", self.0.len(), self.0.chunks(4).map(digit).collect::<String>()))
    }
}

impl<'de> Deserialize<'de> for RightRows {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format!("{text:?} is not a list of rows such as \"6:b4\"")))
    }
}

impl RightRows {
    fn parse(text: &str) -> Option<Self> {
        let (count, digits) = text.split_once(':')?;
        let count: usize = count.parse().ok()?;
        // The digits bound what is made of them.
        if digits.len() != count.div_ceil(4) {
            return None;
        }
        let mut rows = Vec::with_capacity(count);
        for digit in digits.chars() {
            let value = digit.to_digit(16)?;
            rows.extend((0..4).rev().map(|bit| value >> bit & 1 == 1));
        }
        let beyond = rows.split_off(count);
        (!beyond.contains(&true)).then_some(Self(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_and_other_text_is_refused() {
        for count in 0..20usize {
            let rows = RightRows((0..count).map(|k| k * k % 3 == 1).collect());
            let text = serde_json::to_string(&rows).unwrap();
            assert_eq!(serde_json::from_str::<RightRows>(&text).unwrap(), rows, "{text}");
        }
        assert_eq!(serde_json::to_string(&RightRows(vec![true, false, true, true, false, true])).unwrap(), "\"6:b4\"");
        for wrong in ["", "6", "6:b", "6:b44", "6:b5", "6:xy", "-1:", "99999999999999999999:0", "4:é"] {
            assert!(RightRows::parse(wrong).is_none(), "{wrong}");
        }
    }
}
