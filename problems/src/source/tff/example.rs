//! tf.train.Example: numbers and texts by name, in the wire form of protocol buffers.
//!
//! ```text
//! Example  1: Features      Features  1: entry, many times      entry  1: name  2: Feature
//! Feature  1: texts (1: bytes, many times)  2: floats (1: packed or not)  3: whole numbers (1: packed or not)
//! ```

use std::collections::BTreeMap;

/// The features of one example, by name.
pub(super) type Example = BTreeMap<String, Value>;

/// What a feature is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Numbers(Vec<f32>),
    Whole(Vec<i64>),
    Texts(Vec<Vec<u8>>),
}

impl Value {
    /// How many numbers or texts.
    pub(super) fn len(&self) -> usize {
        match self {
            Value::Numbers(all) => all.len(),
            Value::Whole(all) => all.len(),
            Value::Texts(all) => all.len(),
        }
    }
}

/// Reads an example.
pub(super) fn decode(bytes: &[u8]) -> Result<Example, String> {
    let mut example = Example::new();
    for features in Fields(bytes).numbered(1) {
        for entry in Fields(features?.bytes()?).numbered(1) {
            let (mut name, mut value) = (String::new(), Value::Texts(Vec::new()));
            for field in Fields(entry?.bytes()?) {
                match field? {
                    (1, body) => name = String::from_utf8_lossy(body.bytes()?).into_owned(),
                    (2, body) => value = feature(body.bytes()?).map_err(|what| format!("feature `{name}`: {what}"))?,
                    _ => {}
                }
            }
            example.insert(name, value);
        }
    }
    if example.is_empty() { Err("no features: this is not a tf.train.Example".into()) } else { Ok(example) }
}

fn feature(bytes: &[u8]) -> Result<Value, String> {
    let mut value = Value::Texts(Vec::new());
    for field in Fields(bytes) {
        let (kind, list) = field?;
        let list = Fields(list.bytes()?).numbered(1);
        value = match kind {
            1 => Value::Texts(list.map(|text| Ok(text?.bytes()?.to_vec())).collect::<Result<_, String>>()?),
            2 => Value::Numbers(floats(list)?),
            3 => Value::Whole(whole(list)?),
            _ => continue,
        };
    }
    Ok(value)
}

fn floats<'a>(list: impl Iterator<Item = Result<Body<'a>, String>>) -> Result<Vec<f32>, String> {
    let mut values = Vec::new();
    for body in list {
        match body? {
            Body::Four(bytes) => values.push(f32::from_le_bytes(bytes)),
            Body::Bytes(packed) => match packed.as_chunks::<4>() {
                (chunks, []) => values.extend(chunks.iter().map(|&bytes| f32::from_le_bytes(bytes))),
                _ => return Err(format!("{} bytes of numbers, which have four each", packed.len())),
            },
            _ => return Err("a number of another form".into()),
        }
    }
    Ok(values)
}

fn whole<'a>(list: impl Iterator<Item = Result<Body<'a>, String>>) -> Result<Vec<i64>, String> {
    let mut values = Vec::new();
    for body in list {
        match body? {
            Body::Number(number) => values.push(number as i64),
            Body::Bytes(mut packed) => {
                while !packed.is_empty() {
                    values.push(varint(&mut packed)? as i64);
                }
            }
            _ => return Err("a whole number of another form".into()),
        }
    }
    Ok(values)
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
enum Body<'a> {
    Number(u64),
    Four([u8; 4]),
    Eight,
    Bytes(&'a [u8]),
}

impl<'a> Body<'a> {
    fn bytes(self) -> Result<&'a [u8], String> {
        match self {
            Body::Bytes(bytes) => Ok(bytes),
            _ => Err("a number where a message should be".into()),
        }
    }
}

/// One field after another, each with its number.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn numbered(self, wanted: u64) -> impl Iterator<Item = Result<Body<'a>, String>> {
        self.filter_map(move |field| match field {
            Ok((number, body)) => (number == wanted).then_some(Ok(body)),
            Err(what) => Some(Err(what)),
        })
    }

    fn field(&mut self) -> Result<(u64, Body<'a>), String> {
        let tag = varint(&mut self.0)?;
        let body = match tag & 7 {
            0 => Body::Number(varint(&mut self.0)?),
            1 => self.take(8).map(|_| Body::Eight)?,
            2 => {
                let length = varint(&mut self.0)?;
                Body::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => Body::Four(*self.take(4)?.first_chunk().ok_or(CUT_OFF)?),
            form => return Err(format!("a field of the unknown form {form}")),
        };
        Ok((tag >> 3, body))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Body<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

const CUT_OFF: &str = "cut off";

/// Seven bits a byte, the lowest first; the last byte has no eighth.
fn varint(from: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first().ok_or(CUT_OFF)?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number of more than ten bytes".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, body: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, body.len() as u8][..], body].concat()
    }

    fn example(feature: Vec<u8>) -> Vec<u8> {
        field(1, &field(1, &[field(1, b"x"), field(2, &feature)].concat()))
    }

    #[test]
    fn lists_may_be_packed_or_not() {
        let half = 0.5f32.to_le_bytes();
        for (feature, value) in [
            (field(2, &field(1, &[half, half].concat())), Value::Numbers(vec![0.5, 0.5])),
            (field(2, &[&[0x0d][..], &half].concat()), Value::Numbers(vec![0.5])),
            (field(3, &field(1, &[5, 0x96, 0x01])), Value::Whole(vec![5, 150])),
            (field(3, &[0x08, 7]), Value::Whole(vec![7])),
            (field(3, &[&[0x08][..], &[0xff; 9], &[1]].concat()), Value::Whole(vec![-1])),
            (field(1, &[field(1, b"a"), field(1, b"")].concat()), Value::Texts(vec![b"a".to_vec(), vec![]])),
        ] {
            assert_eq!(decode(&example(feature)).unwrap()["x"], value);
        }
    }

    #[test]
    fn whatever_is_cut_off_or_bent_is_told_and_nothing_is_trusted() {
        let whole = example(field(2, &field(1, &0.5f32.to_le_bytes())));
        for cut in 1..whole.len() {
            assert!(decode(&whole[..cut]).is_err(), "{cut} bytes");
        }
        for (bytes, message) in [
            (vec![], "no features"),
            (vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f], "cut off"),
            (vec![0x0b], "unknown form 3"),
            (vec![0xff; 11], "more than ten bytes"),
            (vec![0x08, 1], "a number where a message should be"),
            (example(field(2, &field(1, &[1, 2, 3]))), "feature `x`: 3 bytes of numbers"),
            (example(field(3, &[0x0d, 0, 0, 0, 0])), "a whole number of another form"),
        ] {
            let error = decode(&bytes).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
