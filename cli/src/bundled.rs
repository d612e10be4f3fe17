//! The experiments that travel inside the binary.

use std::path::PathBuf;

use crate::config::{ConfigError, Document, closest};
use crate::error::Error;

/// An experiment file inside the binary.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// `<paper>/<figure>`
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All of them, sorted by name.
pub const EXPERIMENTS: &[Bundled] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// The experiment behind `motet demo`.
pub const DEMO: Bundled = Bundled { name: "demo", text: include_str!("demo.toml") };

impl Bundled {
    /// The experiment called `name`, or that shows the figure of this name; a paper's name means all of its experiments.
    pub fn find(name: &str) -> Result<Vec<Bundled>, Error> {
        let called = |b: &&Bundled| b.name == name || b.name.split('/').next() == Some(name) || b.also().iter().any(|also| also == name);
        let found: Vec<_> = EXPERIMENTS.iter().filter(called).copied().collect();
        if found.is_empty() {
            let also: Vec<_> = EXPERIMENTS.iter().flat_map(Bundled::also).collect();
            let names = EXPERIMENTS.iter().map(|b| b.name).chain(also.iter().map(String::as_str));
            let hint = closest(name, names).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            return Err(Error::Unknown(format!("there is no bundled experiment \"{name}\"{hint} (motet list experiments)")));
        }
        Ok(found)
    }

    /// Other names it is asked for by.
    pub fn also(&self) -> Vec<String> {
        let table = toml::from_str::<toml::Table>(self.text).unwrap_or_default();
        let names = table.get("also").and_then(|also| also.as_array()).cloned().unwrap_or_default();
        names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    }

    /// Its document; with the overrides of its `[quick]` table if `quick`.
    pub fn document(&self, quick: bool) -> Result<Document, ConfigError> {
        let mut document = Document::parse(&format!("{}.toml", self.name), self.text, PathBuf::new())?;
        if let (true, Some(serde_json::Value::Object(overrides))) = (quick, document.root.get("quick").cloned()) {
            for (key, value) in overrides {
                document.assign(&key, &value)?;
            }
        }
        Ok(document)
    }
}
