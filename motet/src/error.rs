//! What can go wrong, and the exit code it deserves.

use std::path::{Path, PathBuf};

use motet_core::TrainError;
use motet_problems::ProblemError;
use motet_records::{ReadError, WriteError};
use motet_report::claims::ClaimError;
use serde_json::Value;

use crate::config::{ConfigError, Document};

/// Why a command ends early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The experiment does not make sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The problem cannot be built.
    #[error("{file}: {}{source}", if key.is_empty() { String::new() } else { format!("{key}: ") })]
    Problem {
        /// The experiment file, or the data.
        file: String,
        /// Where in the file, such as `problem.source.path`; empty if it is about data alone.
        key: String,
        /// The error underneath; boxed, since it is large and every result has room for it.
        source: Box<ProblemError>,
    },
    /// A method does not fit the problem.
    #[error("{file}: {key}: {reason}")]
    Unsuited {
        /// The experiment file.
        file: String,
        /// Which method.
        key: String,
        /// The reason, in words for people.
        reason: String,
    },
    /// The machine is too small.
    #[error("{file}: {reason}")]
    Unfit {
        /// The experiment file.
        file: String,
        /// Why, and what would help.
        reason: String,
    },
    /// A claim that cannot be judged.
    #[error("{file}: claims: {source}")]
    Claim {
        /// The experiment file.
        file: String,
        /// The error underneath.
        source: ClaimError,
    },
    /// A name nobody knows.
    #[error("{0}")]
    Unknown(String),
    /// Records that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output folder is taken.
    #[error("{} exists and is not empty: choose another folder with --out, or pass --overwrite to replace the records in it", .0.display())]
    Taken(PathBuf),
    /// A file that cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file or folder concerned.
        path: PathBuf,
        /// The error underneath.
        source: std::io::Error,
    },
    /// A run that could not go on.
    #[error("run \"{label}\", seed {seed}: {source}")]
    Run {
        /// The label of the run concerned.
        label: String,
        /// Its seed.
        seed: u64,
        /// The error underneath.
        source: TrainError,
    },
    /// Something that a run was given has failed. What was kept before stays, and the run can go on from it.
    #[error("run \"{label}\", seed {seed}: {reason}")]
    Failed {
        /// The label of the run concerned.
        label: String,
        /// Its seed.
        seed: u64,
        /// What failed.
        reason: String,
    },
    /// Another rank of the job cannot go on.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// Which one.
        rank: usize,
        /// The reason, in words for people.
        reason: String,
    },
    /// Somebody stopped it; not an error, but not an end either.
    #[error("{what}{}", folder.as_ref().map_or(String::new(), |folder| format!("; go on with: motet run --resume {}", folder.display())))]
    Interrupted {
        /// Where it stands.
        what: String,
        /// Its folder, from which it can go on; none if its records are in memory.
        folder: Option<PathBuf>,
    },
    /// An experiment that cannot go on from what is there.
    #[error("{}: {reason}", folder.display())]
    Unresumable {
        /// Its folder.
        folder: PathBuf,
        /// The reason, in words for people.
        reason: String,
    },
    /// Something in the report could not be drawn.
    #[error("cannot render the report: {0}")]
    Report(String),
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        Error::Write { path: error.path, source: error.source }
    }
}

impl Error {
    /// What is wrong with the problem of an experiment, at the key that names it.
    pub fn problem(document: &Document, source: ProblemError) -> Self {
        let problem = document.root.get("problem").unwrap_or(&Value::Null);
        let key = match &source {
            ProblemError::MissingFile { path, .. } => place(problem, path, "problem"),
            _ => None,
        };
        Self::Problem { file: document.file.clone(), key: key.unwrap_or_else(|| "problem".into()), source: source.into() }
    }

    /// What is wrong with data that no experiment file names.
    pub fn data(name: impl Into<String>, source: ProblemError) -> Self {
        Self::Problem { file: name.into(), key: String::new(), source: source.into() }
    }

    /// 2: the input is wrong; 1: a run failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Write { .. }
            | Error::Run { .. }
            | Error::Failed { .. }
            | Error::Rank { .. }
            | Error::Interrupted { .. }
            | Error::Report(_) => 1,
            _ => 2,
        }
    }
}

/// The key under which a file, or the folder it is in, is named.
fn place(tree: &Value, file: &Path, at: &str) -> Option<String> {
    match tree {
        Value::String(text) if !text.is_empty() && file.starts_with(text) => Some(at.to_owned()),
        Value::Object(table) => table.iter().find_map(|(key, inner)| place(inner, file, &format!("{at}.{key}"))),
        Value::Array(items) => (1..).zip(items).find_map(|(number, inner)| place(inner, file, &format!("{at}[{number}]"))),
        _ => None,
    }
}
