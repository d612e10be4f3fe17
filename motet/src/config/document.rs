//! An experiment file as a tree of values, and errors that say where in it something is wrong.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is wrong with an experiment.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or cannot be read.
    #[error("{file}: {source}")]
    File {
        /// The file concerned.
        file: String,
        /// The error underneath.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{file}, line {line}: {message}")]
    Syntax {
        /// The file concerned.
        file: String,
        /// The line concerned.
        line: usize,
        /// What is wrong, in words for people.
        message: String,
    },
    /// A value does not fit.
    #[error("{file}: {key}: {message}")]
    Value {
        /// Which file.
        file: String,
        /// The key's path, such as `method[2].alpha`.
        key: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

/// No experiment has more bytes: its values are held several times over.
const LARGEST: u64 = 16 << 20;

/// An experiment file, read but not yet understood.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// How errors call it.
    pub file: String,
    /// Where relative paths start.
    pub folder: PathBuf,
    /// The text as written.
    pub text: String,
    /// The values.
    pub root: Map<String, Value>,
}

impl Document {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text = motet_files::read_text(path, LARGEST).map_err(|source| ConfigError::File { file: file.clone(), source })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Self::parse(&file, &text, folder)
    }

    /// Understands a text as TOML.
    pub fn parse(file: &str, text: &str, folder: PathBuf) -> Result<Self, ConfigError> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let at = e.span().map_or(0, |span| span.start);
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            ConfigError::Syntax { file: file.to_owned(), line, message: e.message().to_owned() }
        })?;
        let root = match serde_json::to_value(table) {
            Ok(Value::Object(root)) => root,
            Ok(_) | Err(_) => return Err(ConfigError::Syntax { file: file.to_owned(), line: 1, message: "not a table".into() }),
        };
        Ok(Self { file: file.to_owned(), folder, text: text.to_owned(), root })
    }

    /// Changes one value, as `--set run.rounds=10` or `--set method[2].alpha=0.3` asks. Counts methods
    /// from 1; a method without a number means all of them.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let mut shown: String = assignment.chars().take(SHOWN).collect();
        if shown.len() < assignment.len() {
            shown.push('…');
        }
        let wrong = |message: &str| ConfigError::Value { file: "--set".into(), key: shown.clone(), message: message.to_owned() };
        let (path, text) = assignment.split_once('=').ok_or_else(|| wrong("must be key=value, for example run.rounds=100"))?;
        self.assign(path.trim(), &parse_value(text.trim())).map_err(|e| match e {
            ConfigError::Value { message, .. } => wrong(&message),
            other => other,
        })
    }

    /// Puts a value under a path such as `run.rounds`.
    pub fn assign(&mut self, path: &str, value: &Value) -> Result<(), ConfigError> {
        let depth = path.matches('.').count() + 1;
        if depth > DEEPEST {
            return Err(self.wrong("--set", format!("the key has {depth} parts, at most {DEEPEST}, as in run.rounds=100")));
        }
        let mut root = Value::Object(std::mem::take(&mut self.root));
        let done = assign(&mut root, path, value);
        if let Value::Object(map) = root {
            self.root = map;
        }
        done.map_err(|message| self.wrong(path, message))
    }

    /// Reads part of the tree as a type, naming the key of what does not fit.
    pub fn section<T: DeserializeOwned>(&self, key: &str, value: Value) -> Result<T, ConfigError> {
        serde_path_to_error::deserialize(value).map_err(|e| {
            let path = e.path().to_string();
            let key = if path == "." { key.to_owned() } else { format!("{key}.{path}") };
            self.wrong(&key, with_suggestion(&e.into_inner().to_string()))
        })
    }

    /// An error at a key, with the line it stands on if that can be told.
    pub fn wrong(&self, key: &str, message: impl Into<String>) -> ConfigError {
        ConfigError::Value { file: self.file.clone(), key: key.to_owned(), message: message.into() }
    }
}

/// Parts of a key at most: trees of values are walked by recursion.
const DEEPEST: usize = 32;

/// Characters of an assignment that a message repeats.
const SHOWN: usize = 80;

/// A value as people type it behind `--set`: TOML if it is, else text.
fn parse_value(text: &str) -> Value {
    let table = format!("value = {text}").parse::<toml::Table>().ok();
    let value = table.and_then(|mut t| t.remove("value")).and_then(|v| serde_json::to_value(v).ok());
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

pub(super) fn assign(tree: &mut Value, path: &str, value: &Value) -> Result<(), String> {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    let (name, index) = match head.strip_suffix(']').and_then(|h| h.split_once('[')) {
        Some((name, index)) => (name, Some(index.parse::<usize>().map_err(|_| format!("\"{index}\" is not a number"))?)),
        None => (head, None),
    };
    let Value::Object(table) = tree else { return Err(format!("there is no \"{name}\" to set")) };
    let slot = table.entry(name).or_insert_with(|| Value::Object(Map::new()));
    match (slot, rest) {
        (Value::Array(items), Some(rest)) if index.is_none() => items.iter_mut().try_for_each(|item| assign(item, rest, value)),
        (Value::Array(items), rest) if index.is_some() => {
            let (count, index) = (items.len(), index.unwrap_or(0));
            let item = index.checked_sub(1).and_then(|k| items.get_mut(k)).ok_or(format!("there are {count} {name}s, counted from 1"))?;
            match rest {
                Some(rest) => assign(item, rest, value),
                None => {
                    *item = value.clone();
                    Ok(())
                }
            }
        }
        (slot, Some(rest)) => {
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            assign(slot, rest, value)
        }
        (slot, None) => {
            *slot = value.clone();
            Ok(())
        }
    }
}

/// Adds "did you mean" to serde's "unknown field `x`, expected one of …".
pub(crate) fn with_suggestion(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match names.split_first() {
        Some((unknown, known)) if message.starts_with("unknown") => match closest(unknown, known.iter().copied()) {
            Some(name) => format!("{message}; did you mean `{name}`?"),
            None => message.to_owned(),
        },
        _ => message.to_owned(),
    }
}

/// The name nearest to a misspelt one, if any is near.
pub(crate) fn closest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|name| (strsim::damerau_levenshtein(unknown, name), name));
    scored.min().filter(|(distance, name)| *distance <= 1 + name.len() / 3).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::parse("e.toml", text, PathBuf::new()).unwrap()
    }

    #[test]
    fn values_are_set_by_path() {
        let mut d = document("[run]\nrounds = 1\n[[method]]\nkind = 'a'\n[[method]]\nkind = 'b'");
        d.set("run.rounds=20").unwrap();
        d.set("run.stop.gap=1e-9").unwrap();
        d.set("method.alpha={ grid = [0.1, 1] }").unwrap();
        d.set("method[2].kind=flix").unwrap();
        d.set("seeds=[4, 5]").unwrap();
        let expect = r#"{"run":{"rounds":20,"stop":{"gap":1e-9}},"method":[{"kind":"a","alpha":{"grid":[0.1,1]}},{"kind":"flix","alpha":{"grid":[0.1,1]}}],"seeds":[4,5]}"#;
        assert_eq!(serde_json::to_string(&d.root).unwrap(), expect);
        assert!(d.set("run.rounds").unwrap_err().to_string().contains("key=value"));
        assert!(d.set("method[3].kind=x").unwrap_err().to_string().contains("there are 2 methods"));
    }

    #[test]
    fn syntax_errors_name_the_line() {
        let e = Document::parse("e.toml", "a = 1\nb = = 2\n", PathBuf::new()).unwrap_err().to_string();
        assert!(e.starts_with("e.toml, line 2:"), "{e}");
    }

    #[test]
    fn misspelt_keys_get_a_suggestion() {
        let text = with_suggestion("unknown field `alhpa`, expected one of `alpha`, `step`");
        assert!(text.ends_with("did you mean `alpha`?"), "{text}");
        assert_eq!(closest("zzzzzz", ["alpha"].into_iter()), None);
    }
}
