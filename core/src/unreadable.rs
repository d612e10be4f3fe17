//! A value that does not fit, and where in it.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// Why a value cannot be read. Errors of serde are text alone: as text this begins with "in `path`: ", and whoever reads
/// something larger puts the path behind its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("in `{path}`: ") })]
pub struct Unreadable {
    /// Which part of the value, such as `solve.steps` or `sizes[2]`, counted from 1; empty if it is about all of it.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl Unreadable {
    /// What serde says of the part at this path.
    pub fn at(path: &Path, error: &impl Display) -> Self {
        let (mut path, text) = (written(path), error.to_string());
        let Some((inside, message)) = text.strip_prefix("in `").and_then(|text| text.split_once("`: ")) else {
            return Self { path, message: text };
        };
        join(&mut path, inside);
        Self { path, message: message.to_owned() }
    }
}

/// Reads a value, and says where it does not fit.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, Unreadable> {
    serde_path_to_error::deserialize(value).map_err(|e| Unreadable::at(e.path(), e.inner()))
}

/// `solve.steps`, `sizes[2]`: places in lists are counted from 1, as everywhere in experiment files.
fn written(path: &Path) -> String {
    path.iter().fold(String::new(), |mut path, segment| {
        match segment {
            Segment::Seq { index } => path.push_str(&format!("[{}]", index + 1)),
            Segment::Map { key } => join(&mut path, key),
            Segment::Enum { variant } => join(&mut path, variant),
            Segment::Unknown => {}
        }
        path
    })
}

fn join(path: &mut String, part: &str) {
    if !path.is_empty() && !part.starts_with('[') {
        path.push('.');
    }
    path.push_str(part);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug)]
    struct Inner;

    impl<'de> Deserialize<'de> for Inner {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let value = Value::deserialize(from)?;
            read::<BTreeMap<String, Vec<u32>>>(value).map(|_| Inner).map_err(serde::de::Error::custom)
        }
    }

    #[test]
    fn paths_go_through_what_is_read_by_itself() {
        let wrong = read::<BTreeMap<String, Inner>>(json!({ "source": { "sizes": [1, "two"] } })).unwrap_err();
        assert_eq!(wrong.path, "source.sizes[2]");
        assert!(wrong.message.starts_with("invalid type: string"), "{wrong}");
        assert_eq!(read::<u32>(json!(-1)).unwrap_err().path, "");
    }
}
