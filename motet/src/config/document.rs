//! An experiment file as a tree of values, and errors that say where in it something is wrong.

use std::path::{Path, PathBuf};

use motet_core::unreadable::{self, Unreadable};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::words::in_plain_words;
use crate::catalogue::Catalogue;

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
    /// from 1; a method without a number means all that have the parameter, which the catalogue knows.
    pub fn set(&mut self, assignment: &str, catalogue: &Catalogue) -> Result<(), ConfigError> {
        let mut shown: String = assignment.chars().take(SHOWN).collect();
        if shown.len() < assignment.len() {
            shown.push('…');
        }
        let wrong = |message: &str| ConfigError::Value { file: "--set".into(), key: shown.clone(), message: message.to_owned() };
        let (path, text) = assignment
            .split_once('=')
            .filter(|(path, _)| !path.trim().is_empty())
            .ok_or_else(|| wrong("must be key=value, for example run.rounds=100"))?;
        let value = parse_value(text.trim());
        for place in self.places(path.trim(), catalogue).map_err(|message| wrong(&message))? {
            self.assign(&place, &value).map_err(|e| match e {
                ConfigError::Value { message, .. } => wrong(&message),
                other => other,
            })?;
        }
        Ok(())
    }

    /// `method.alpha` is `method[1].alpha`, `method[3].alpha`, …: every method that has the parameter, or of which nothing is known.
    fn places(&self, path: &str, catalogue: &Catalogue) -> Result<Vec<String>, String> {
        let (Some(parameter), Some(Value::Array(methods))) = (path.strip_prefix("method."), self.root.get("method")) else {
            return Ok(vec![path.to_owned()]);
        };
        let kinds: Vec<&str> = methods.iter().map(|method| method.get("kind").and_then(Value::as_str).unwrap_or_default()).collect();
        let of_all = ["kind", "label", "tune"].contains(&parameter.split('.').next().unwrap_or_default());
        let takes = |kind: &str| of_all || catalogue.card(kind).is_none() || catalogue.knows(kind, parameter);
        let places: Vec<String> =
            (1..).zip(&kinds).filter(|(_, kind)| takes(kind)).map(|(number, _)| format!("method[{number}].{parameter}")).collect();
        if places.is_empty() && !kinds.is_empty() {
            let known = kinds.iter().filter_map(|kind| catalogue.card(kind)).flat_map(|card| card.parameters.names());
            let hint = closest(parameter, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(format!("no method here has `{parameter}` (they are {}){hint}", kinds.join(", ")));
        }
        Ok(places)
    }

    /// What the experiment is called where it does not say so itself: its file's name.
    pub fn stem(&self) -> &str {
        Path::new(&self.file).file_stem().and_then(|stem| stem.to_str()).unwrap_or("experiment")
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
        unreadable::read(value).map_err(|Unreadable { path, message }| {
            let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            self.wrong(&format!("{key}{dot}{path}"), in_plain_words(&message))
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
        let catalogue = Catalogue::standard();
        for assignment in ["run.rounds=20", "run.stop.gap=1e-9", "method.alpha={ grid = [0.1, 1] }", "method[2].kind=flix", "seeds=[4, 5]"]
        {
            d.set(assignment, &catalogue).unwrap();
        }
        let expect = r#"{"run":{"rounds":20,"stop":{"gap":1e-9}},"method":[{"kind":"a","alpha":{"grid":[0.1,1]}},{"kind":"flix","alpha":{"grid":[0.1,1]}}],"seeds":[4,5]}"#;
        assert_eq!(serde_json::to_string(&d.root).unwrap(), expect);
        assert!(d.set("run.rounds", &catalogue).unwrap_err().to_string().contains("key=value"));
        assert!(d.set("method[3].kind=x", &catalogue).unwrap_err().to_string().contains("there are 2 methods"));
    }

    #[test]
    fn a_parameter_of_all_methods_is_set_where_it_is_known() {
        let mut d = document("[[method]]\nkind = 'local'\n[[method]]\nkind = 'flix'\nalpha = 1\n[[method]]\nkind = 'fedavg'");
        let catalogue = Catalogue::standard();
        d.set("method.alpha=0.3", &catalogue).unwrap();
        d.set("method.solve.to=1e-3", &catalogue).unwrap();
        let expect =
            r#"{"method":[{"kind":"local","solve":{"to":0.001}},{"kind":"flix","alpha":0.3,"solve":{"to":0.001}},{"kind":"fedavg"}]}"#;
        assert_eq!(serde_json::to_string(&d.root).unwrap(), expect);
        let nobody = d.set("method.alhpa=0.3", &catalogue).unwrap_err().to_string();
        assert!(nobody.contains("no method here has `alhpa` (they are local, flix, fedavg); did you mean `alpha`?"), "{nobody}");
    }

    #[test]
    fn syntax_errors_name_the_line() {
        let e = Document::parse("e.toml", "a = 1\nb = = 2\n", PathBuf::new()).unwrap_err().to_string();
        assert!(e.starts_with("e.toml, line 2:"), "{e}");
    }
}
