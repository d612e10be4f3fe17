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

/// The papers' network experiments, each of which must be shown by an experiment here: their short names, and where they are.
pub const REQUIRED: &[(&str, &str)] = &[
    ("A5", "FLIX, figure 4"),
    ("A6", "FLIX, figure 1"),
    ("A7", "FLIX, figures 6 and 7"),
    ("A8", "FLIX, table 1"),
    ("B2", "Scafflix, figure 2"),
    ("B3", "Scafflix, figure 3a"),
    ("B4", "Scafflix, figure 3b"),
    ("B5", "Scafflix, figure 3c"),
    ("C2", "MeritFed, figures 4 to 7"),
    ("C3", "MeritFed, figures 12 to 15"),
    ("D2", "LocalUpdate, figure 2"),
    ("D3", "LocalUpdate, figure 3"),
    ("D4", "LocalUpdate, figure 4"),
    ("D5", "LocalUpdate, figure 5"),
    ("D6", "LocalUpdate, figures 6 and 7"),
    ("D7", "LocalUpdate, figures 8 and 9"),
];

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

    /// Other names by which it can be found.
    pub fn also(&self) -> Vec<String> {
        self.list("also")
    }

    /// Which figures, tables and statements of the papers it shows, by their short names.
    pub fn entries(&self) -> Vec<String> {
        self.list("entries")
    }

    /// The required figures and statements that no experiment shows, by paper and number.
    pub fn missing() -> Vec<&'static str> {
        let shown: Vec<String> = EXPERIMENTS.iter().flat_map(Bundled::entries).collect();
        REQUIRED.iter().filter(|(entry, _)| !shown.iter().any(|s| s == entry)).map(|(_, place)| *place).collect()
    }

    fn list(&self, key: &str) -> Vec<String> {
        let table = toml::from_str::<toml::Table>(self.text).expect("a bundled experiment is TOML");
        let names = table.get(key).and_then(|list| list.as_array()).cloned().unwrap_or_default();
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
