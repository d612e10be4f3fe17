//! An experiment's split as files: one table for each client, and the study file that works for `run` and `serve`.

use std::fs;
use std::path::{Path, PathBuf};

use motet_problems::{Exported, Folders};
use serde_json::{Map, Value, json};

use crate::config::Experiment;
use crate::error::Error;

/// Writes `DIR/clients/NAME.csv` and `DIR/study.toml`; returns the latter.
pub fn export(experiment: &Experiment, out: &Path) -> Result<PathBuf, Error> {
    let unwritten = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Write { path, source }
    };
    if experiment.problems.len() > 1 {
        let reason = "one problem is exported at a time, and this experiment has a grid of them".to_owned();
        return Err(Error::Unsuited { file: experiment.document.file.clone(), key: "problem".into(), reason });
    }
    let [folder, path] = ["clients", "study.toml"].map(|name| out.join(name));
    if folder.exists() || path.exists() {
        return Err(Error::Taken(out.into()));
    }
    let config = &experiment.problems[0].config;
    let exported = Exported::of(config, &Folders::beside(&experiment.document.folder), experiment.seeds[0]);
    let Exported { schema, clients } = exported.map_err(|source| Error::problem(&experiment.document, source))?;
    fs::create_dir_all(&folder).map_err(unwritten(&folder))?;
    for (name, text) in &clients {
        let table = folder.join(format!("{name}.csv"));
        motet_files::replace(&table, text.as_bytes()).map_err(unwritten(&table))?;
    }
    let mut root = experiment.document.root.clone();
    let problem = root.entry("problem").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(problem) = problem {
        for key in ["split", "unseen", "weights", "byzantine", "devices", "file_gib"] {
            problem.remove(key);
        }
        problem.insert("source".into(), json!({ "kind": "table", "path": "clients", "target": schema.target }));
        let schema = serde_json::to_value(&schema).map_err(|e| unwritten(out)(std::io::Error::other(format!("the schema: {e}"))))?;
        problem.insert("schema".into(), schema);
    }
    let text = toml::to_string(&root).map_err(|e| unwritten(&path)(std::io::Error::other(e)))?;
    motet_files::replace(&path, text.as_bytes()).map_err(unwritten(&path))?;
    Ok(path)
}
