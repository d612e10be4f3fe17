//! An experiment's records in memory, and back from disk.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{ClientId, Merit, Metrics, Row, Vector};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::event::Event;
use crate::format::Format;
use crate::manifest::Manifest;
use crate::models::{ModelError, Models};
use crate::summary::{ClientRow, Summary};
use crate::verify::{Damage, WholeFiles, verify_records};
use crate::{merits, names};

/// Everything an experiment left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// What was planned.
    pub manifest: Manifest,
    /// What came of it; absent while the experiment runs or if it was cut short.
    pub summary: Option<Summary>,
    /// Every measured round of every run, in the order written.
    pub rows: Vec<Row>,
    /// Every client at the end of every run.
    pub clients: Vec<ClientRow>,
    /// Who counted how much for whom, in the order written.
    pub merits: Vec<Merit>,
    /// What happened beside the rounds, in the order written.
    pub events: Vec<Event>,
    /// Final models, where the experiment keeps them and they are in memory: a folder's are left on disk until
    /// [`Records::read_models`] is called.
    pub models: Vec<Arc<Models>>,
}

/// Records that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not there, or not ours to read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The error underneath.
        source: io::Error,
    },
    /// Written by a later program.
    #[error("{}: written by format {format}, this program reads 1 to {}: use a newer motet", path.display(), Format::CURRENT)]
    Newer {
        /// Which file.
        path: PathBuf,
        /// The format it was written in.
        format: Format,
    },
    /// Not what was written.
    #[error("{}: {damage}{}; `motet check {}` names all that is damaged", folder.display(), more(*others), folder.display())]
    Damaged {
        /// The experiment's folder.
        folder: PathBuf,
        /// The first damage.
        damage: Damage,
        /// How many more there are.
        others: usize,
    },
    /// Not what a run leaves.
    #[error("{}, line {line}: {source}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// The line concerned.
        line: usize,
        /// The error underneath.
        source: serde_json::Error,
    },
    /// A merit ledger that is none.
    #[error("{}: {source}", path.display())]
    Ledger {
        /// Which file.
        path: PathBuf,
        /// The error underneath.
        source: motet_core::WireError,
    },
    /// A file of models that is none.
    #[error("{}: {source}", path.display())]
    Model {
        /// Which file.
        path: PathBuf,
        /// The error underneath.
        source: ModelError,
    },
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(", and {others} more") }
}

impl ReadError {
    /// The file it is about.
    pub fn file(&self) -> PathBuf {
        match self {
            ReadError::File { path, .. }
            | ReadError::Newer { path, .. }
            | ReadError::Content { path, .. }
            | ReadError::Ledger { path, .. }
            | ReadError::Model { path, .. } => path.clone(),
            ReadError::Damaged { folder, damage, .. } => folder.join(&damage.span.file),
        }
    }
}

impl Manifest {
    /// Reads the manifest of a folder, of any format that this program knows.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        /// What every format has had and will have.
        #[derive(Deserialize)]
        struct Version {
            #[serde(default = "Format::first")]
            format: Format,
        }
        let path = folder.join(names::MANIFEST);
        let text = motet_files::read_text(&path, u64::MAX).map_err(|source| ReadError::File { path: path.clone(), source })?;
        let wrong = |source: serde_json::Error| ReadError::Content { path: path.clone(), line: source.line(), source };
        let Version { format } = serde_json::from_str(&text).map_err(wrong)?;
        if !format.is_known() {
            return Err(ReadError::Newer { path, format });
        }
        serde_json::from_str(&text).map_err(wrong)
    }
}

impl Records {
    /// Reads the folder of an experiment. `summary.json`, `clients.jsonl`, `merits.bin` and `events.jsonl` may be missing; a
    /// last line without its newline was being written when the run died and is dropped. What is not as it was written is an error:
    /// records are verified before they are read.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let manifest = Manifest::read(folder);
        if !matches!(manifest, Err(ReadError::Newer { .. })) {
            verify_records(folder)?.undamaged(folder)?;
        }
        let manifest = manifest?;
        let summary = optional(read_json(&folder.join(names::SUMMARY)))?;
        let mut rows = read_lines(&folder.join(names::ROWS))?;
        if !manifest.format.counts_from_the_start() {
            count_from_the_start(&mut rows);
        }
        let clients = optional(read_lines(&folder.join(names::CLIENTS)))?.unwrap_or_default();
        let merits = optional(read_merits(&folder.join(names::MERITS)))?.unwrap_or_default();
        let events = optional(read_lines(&folder.join(names::EVENTS)))?.unwrap_or_default();
        Ok(Self { manifest, summary, rows, clients, merits, events, models: vec![] })
    }

    /// Reads the models of a folder, of those runs that left any; those that are not as they were written are an error.
    pub fn read_models(&mut self, folder: &Path) -> Result<(), ReadError> {
        self.models.clear();
        let checksums = WholeFiles::of(folder)?;
        let damaged = |damage| ReadError::Damaged { folder: folder.into(), damage, others: 0 };
        for card in &self.manifest.runs {
            let name = names::model(card);
            let path = folder.join(&name);
            let read = motet_files::read(&path, u64::MAX).map_err(|source| ReadError::File { path: path.clone(), source });
            let Some(bytes) = optional(read)? else {
                checksums.may_be_missing(folder, &name).map_err(damaged)?;
                continue;
            };
            checksums.fit(&name, &bytes).map_err(damaged)?;
            let models = Models::decode(card.run, &bytes).map_err(|source| ReadError::Model { path, source })?;
            self.models.push(Arc::new(models));
        }
        Ok(())
    }

    /// The rows of one run.
    pub fn rows_of(&self, run: usize) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.run == run)
    }

    /// The final model of a client in a run, or the shared one, where it is in memory.
    pub fn model(&self, run: usize, client: Option<ClientId>) -> Option<&Vector> {
        self.models.iter().find(|models| models.run == run)?.model(client)
    }
}

/// Rows of formats 1 and 2 count attempts and notes since the row before: adds them up.
fn count_from_the_start(rows: &mut [Row]) {
    let mut before: BTreeMap<usize, (u64, Metrics)> = BTreeMap::new();
    for row in rows {
        let (attempts, totals) = before.entry(row.run).or_default();
        *attempts += row.attempts;
        for (name, value) in &row.notes {
            *totals.entry(name.clone()).or_insert(0.0) += value;
        }
        (row.attempts, row.totals) = (*attempts, totals.clone());
    }
}

fn optional<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(ReadError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(other) => Err(other),
    }
}

fn read_merits(path: &Path) -> Result<Vec<Merit>, ReadError> {
    let bytes = motet_files::read(path, u64::MAX).map_err(|source| ReadError::File { path: path.into(), source })?;
    merits::read_all(&bytes).map_err(|source| ReadError::Ledger { path: path.into(), source })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let text = motet_files::read_text(path, u64::MAX).map_err(|source| ReadError::File { path: path.into(), source })?;
    serde_json::from_str(&text).map_err(|source| ReadError::Content { path: path.into(), line: source.line(), source })
}

fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, ReadError> {
    let file = |source| ReadError::File { path: path.into(), source };
    let mut from = BufReader::new(motet_files::open(path).map_err(file)?.0);
    let (mut items, mut text) = (vec![], String::new());
    while from.read_line(&mut text).map_err(file)? > 0 {
        if text.ends_with('\n') {
            let line = items.len() + 1;
            items.push(serde_json::from_str(&text).map_err(|source| ReadError::Content { path: path.into(), line, source })?);
        }
        text.clear();
    }
    Ok(items)
}
