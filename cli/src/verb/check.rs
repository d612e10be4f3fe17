//! `motet check`: an experiment fully resolved, its constants, theory's predictions, and what it will cost; or the records of
//! one, compared with their checksums.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use motet::check::{Check, Layout};
use motet::config::Document;
use motet::records::{ReadError, Records, Verification, names, verify};
use motet::{Error, Network};
use serde_json::json;

use super::console::Console;
use super::how::HowArgs;

/// Check an experiment without running it: resolved values, constants, predictions, cost. Or check that the records in a folder
/// are as they were written.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet check mushrooms.toml --set method.alpha=0.3\n  motet check motet-runs/demo\n  motet check big.toml --ranks 64 --nodes 8 --network network.json\n\nGiven a folder, it compares every file with checksums.jsonl and names what is damaged: file, bytes, what is wrong. Exit codes: 0 if all is as it was written, 1 if something is damaged, 2 if the folder holds no records. A folder without checksums (record format 1) is only read."
)]
pub(crate) struct CheckArgs {
    /// The experiment, or a folder that one left.
    experiment: PathBuf,
    /// Also predict how long a round takes on this many MPI ranks, each with --threads threads
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    ranks: Option<u32>,
    /// How many machines these ranks are on [default: 1]
    #[arg(long, requires = "ranks", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    nodes: Option<u32>,
    /// What `motet bench mpi` measured between the ranks [default: 50 us and 10 Gbit/s are assumed]
    #[arg(long, value_name = "FILE", requires = "ranks")]
    network: Option<PathBuf>,
    #[command(flatten)]
    how: HowArgs,
    /// The folder that a run would write to: is there room on its disk? [default: this folder]
    #[arg(long)]
    out: Option<PathBuf>,
}

impl CheckArgs {
    /// Prints it; false if a run would fail, or if records are damaged.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        if self.experiment.is_dir() {
            if self.how.changes.is_given() || self.how.threads.is_some() || self.ranks.is_some() || self.out.is_some() {
                return Err(Error::Unknown(format!(
                    "{} is a folder of records: it is checked as it is, without --set, --seed, --threads, --ranks and --out",
                    self.experiment.display()
                )));
            }
            return records(&self.experiment, console);
        }
        let experiment = self.how.experiment(Document::read(&self.experiment)?, console)?;
        let file = experiment.document.file.clone();
        let cluster = self.cluster()?;
        let pool = self.how.pool(console);
        let threads = pool.threads();
        let mut check = Check::of(experiment, pool)?;
        if let Some((ranks, nodes, network)) = &cluster {
            check = check.spread_over(Layout { ranks: *ranks, nodes: *nodes, threads }, network);
        }
        console.result(&check, || check.to_string());
        let folder = self.out.as_deref().filter(|out| out.exists()).unwrap_or(Path::new("."));
        match check.misfit(folder) {
            None => Ok(!check.fails()),
            Some(reason) => Err(Error::Unfit { file, reason }),
        }
    }
}

impl CheckArgs {
    /// Ranks, nodes and how fast they reach each other, where that is asked about.
    fn cluster(&self) -> Result<Option<(usize, usize, Network)>, Error> {
        let Some(ranks) = self.ranks else { return Ok(None) };
        let nodes = self.nodes.unwrap_or(1);
        if nodes > ranks {
            return Err(Error::Unknown(format!("--nodes {nodes}: {ranks} ranks are on at most {ranks} nodes")));
        }
        let network = match &self.network {
            None => Network::assumed(),
            Some(file) => Network::read(file)?,
        };
        Ok(Some((ranks as usize, nodes as usize, network)))
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
