//! `motet results`: one page from the records of many experiments.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use motet::records::Records;
use motet::report::results;
use serde_json::{Map, Value, json};

use super::console::Console;
use super::recorded;
use motet::Error;
use motet::bundled::EXPERIMENTS;

/// Make one page of many experiments: figures, claims, measured values, data, deviations from the papers.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  motet reproduce --all --out runs && motet results runs/* --out docs/lab/results.md")]
pub(crate) struct ResultsArgs {
    /// Folders that experiments left
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The page; pictures go into a folder of the same name beside it
    #[arg(long, short, default_value = "results.md")]
    out: PathBuf,
}

impl ResultsArgs {
    /// Writes it; false if a claim that must hold does not.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let mut experiments = vec![];
        for folder in &self.folders {
            recorded(folder)?;
            let mut records = Records::read(folder)?;
            if records.summary.is_none() {
                return Err(Error::Unknown(format!("{}: this experiment has not ended", folder.display())));
            }
            let stated = stated(&records.manifest.experiment);
            for key in STATED {
                if let (true, Some(value)) = (records.manifest.resolved[key].is_null(), stated.get(key)) {
                    records.manifest.resolved[key] = value.clone();
                }
            }
            experiments.push((records.manifest.experiment.clone(), records));
        }
        let stem = self.out.file_stem().map_or_else(|| "results".into(), |stem| stem.to_string_lossy().into_owned());
        let parent = self.out.parent().unwrap_or(Path::new(""));
        let mut written = vec![];
        for (k, file) in results(&experiments, &stem).into_iter().enumerate() {
            // The page has the name that was asked for, whatever its ending.
            let path = if k == 0 { self.out.clone() } else { parent.join(&file.name) };
            let write = || path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &file.content));
            write().map_err(|source| Error::Write { path: path.clone(), source })?;
            written.push(path.display().to_string());
        }
        let claims = || experiments.iter().filter_map(|(_, records)| records.summary.as_ref()).flat_map(|summary| &summary.claims);
        let failed = claims().filter(|v| !v.holds && v.status == motet::records::Status::Must).count();
        let json = json!({ "written": written, "claims": claims().count(), "failed": failed });
        console.result(&json, || format!("{} claims of {} experiments: {}", claims().count(), experiments.len(), self.out.display()));
        Ok(failed == 0)
    }
}

/// What records of an older file may lack: it is said of the experiment, not of a run.
const STATED: [&str; 3] = ["about", "entries", "deviations"];

/// What the bundled experiment of this name says of itself.
fn stated(name: &str) -> Map<String, Value> {
    let documents = EXPERIMENTS.iter().filter_map(|bundled| bundled.document(true).ok());
    documents.map(|document| document.root).find(|root| root.get("name").and_then(Value::as_str) == Some(name)).unwrap_or_default()
}
