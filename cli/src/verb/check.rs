//! `motet check`: an experiment fully resolved, its constants, theory's predictions, and what it will cost; or the records of
//! one, compared with their checksums.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use motet::Error;
use motet::check::Check;
use motet::config::Document;
use motet::records::{ReadError, Records, Verification, names, verify};
use serde_json::json;

use super::console::Console;
use super::run::HowArgs;

/// Check an experiment without running it: resolved values, constants, predictions, cost. Or check that the records in a folder
/// are as they were written.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet check mushrooms.toml --set method.alpha=0.3\n  motet check motet-runs/demo\n\nOf a folder, every file is compared with checksums.jsonl, and what is damaged is named: file, bytes, what is wrong. Exit codes: 0 if it is whole, 1 if it is damaged, 2 if it is no folder of records. A folder without checksums (record format 1) is only read."
)]
pub(crate) struct CheckArgs {
    /// The experiment, or a folder that one left.
    experiment: PathBuf,
    #[command(flatten)]
    how: HowArgs,
}

impl CheckArgs {
    /// Prints it; false if a run would fail, or if records are damaged.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        if self.experiment.is_dir() {
            if self.how.is_given() {
                return Err(Error::Unknown(format!(
                    "{} is a folder of records: it is checked as it is, without --set, --seed, --threads, --out and --overwrite",
                    self.experiment.display()
                )));
            }
            return records(&self.experiment, console);
        }
        let experiment = self.how.experiment(Document::read(&self.experiment)?, console)?;
        let file = experiment.document.file.clone();
        let check = Check::of(experiment, self.how.pool(console))?;
        console.result(&check, || check.to_string());
        let folder = self.how.out.as_deref().filter(|out| out.exists()).unwrap_or(Path::new("."));
        match check.misfit(folder) {
            None => Ok(!check.fails()),
            Some(reason) => Err(Error::Unfit { file, reason }),
        }
    }
}

/// Compares the records of a folder with their checksums; false if anything is damaged.
fn records(folder: &Path, console: Console<'_>) -> Result<bool, Error> {
    let found = verify(folder)?;
    let mut damaged: Vec<(String, String)> = found.damaged.iter().map(|d| (d.span.file.clone(), d.to_string())).collect();
    if damaged.is_empty() {
        // What has no checksum, or none yet, must at least be readable.
        match Records::read(folder).and_then(|mut records| records.read_models(folder)) {
            Ok(()) => {}
            Err(ReadError::File { path, source }) if path == folder.join(names::MANIFEST) && source.kind() == ErrorKind::NotFound => {
                return Err(Error::Unknown(format!("{}: there are no records in this folder", folder.display())));
            }
            Err(error @ (ReadError::Newer { .. } | ReadError::File { .. })) => return Err(error.into()),
            Err(error) => {
                let file = error.file();
                let name = file.strip_prefix(folder).unwrap_or(&file);
                damaged.push((name.to_string_lossy().into_owned(), error.to_string()));
            }
        }
    }
    let mut files: Vec<&str> = damaged.iter().map(|(file, _)| file.as_str()).collect();
    files.dedup();
    console.result(&json!({ "whole": damaged.is_empty(), "damaged": files }), || match damaged.as_slice() {
        [] => whole(folder, &found),
        damaged => damaged.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n"),
    });
    Ok(damaged.is_empty())
}

/// What people are told of a folder in which nothing is damaged.
fn whole(folder: &Path, found: &Verification) -> String {
    if !folder.join(names::CHECKSUMS).exists() {
        return "these records have no checksums (format 1); they can be read".into();
    }
    let open: u64 = found.uncovered.iter().map(|span| span.to - span.from).sum();
    match open {
        0 => "every file is as it was written".into(),
        open => format!("every file is as it was written, as far as there are checksums: the last {open} bytes have none yet"),
    }
}
