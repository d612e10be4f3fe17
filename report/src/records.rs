//! A run's records, in memory and back from disk.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use motet_core::{ClientRow, Manifest, Merit, Row, Summary};

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
}

/// Records that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not there, or not ours to read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not what a run leaves.
    #[error("{}, line {line}: {source}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// A merit ledger that is none.
    #[error("{}: {source}", path.display())]
    Ledger {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: motet_core::WireError,
    },
}

impl Records {
    /// Reads the folder of an experiment. `summary.json`, `clients.jsonl` and `merits.bin` may be missing; a last
    /// line of `rows.jsonl` without its newline was being written when the run died and is dropped.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let manifest = read_json(&folder.join("manifest.json"))?;
        let summary = optional(read_json(&folder.join("summary.json")))?;
        let rows = read_lines(&folder.join("rows.jsonl"))?;
        let clients = optional(read_lines(&folder.join("clients.jsonl")))?.unwrap_or_default();
        let merits = optional(read_merits(&folder.join("merits.bin")))?.unwrap_or_default();
        Ok(Self { manifest, summary, rows, clients, merits })
    }

    /// The rows of one run.
    pub fn rows_of(&self, run: usize) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.run == run)
    }
}

fn optional<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(ReadError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(other) => Err(other),
    }
}

fn read_merits(path: &Path) -> Result<Vec<Merit>, ReadError> {
    let bytes = fs::read(path).map_err(|source| ReadError::File { path: path.into(), source })?;
    Merit::read_all(&bytes).map_err(|source| ReadError::Ledger { path: path.into(), source })
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let text = fs::read_to_string(path).map_err(|source| ReadError::File { path: path.into(), source })?;
    serde_json::from_str(&text).map_err(|source| ReadError::Content { path: path.into(), line: source.line(), source })
}

fn read_lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>, ReadError> {
    let file = |source| ReadError::File { path: path.into(), source };
    let mut from = BufReader::new(fs::File::open(path).map_err(file)?);
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
