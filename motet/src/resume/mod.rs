//! What an unfinished experiment keeps so that it can go on: `DIR/resume/`.
//!
//! ```text
//! lock                held by the program that is at work; has its number
//! experiment.json     the experiment, with every change made on the command line
//! finished.jsonl      one line for each run that is done: its card, its summary, how long the records were then, a checksum
//! solves-<k>          local solves of problem k
//! trial-<k>           the end of trial k, for a longer one that goes on from it
//! aside-<k>/          run k, done while others are: a folder of records with a `resume` of its own
//! run/                the run under way
//!   <round>.checkpoint    the last three moments
//!   states                client states; the checkpoints say where each lies
//!   ranks-<n>/<rank>/      the same of each rank, where there are several
//!   dealt-<k>/             the same two, since the number of ranks has changed k times
//! ```
//!
//! The order of writing makes a kill at any moment harmless: records first, then client states, then the checkpoint that
//! names both. What no checkpoint and no finished run names never happened: records are cut back to the length named.

mod compare;
mod keeper;
mod lock;
mod saved;
mod workplace;

use std::fs;
use std::io;
use std::path::Path;

use motet_core::{Reader, Wire};
use motet_files::{kill, replace};
use motet_records::{Lengths, RunCard, RunSummary, Stream, sha256};
use motet_runtime::Checkpoints;
use serde::{Deserialize, Serialize};

pub(crate) use compare::compare;
pub(crate) use keeper::Saver;
pub(crate) use lock::Lock;
pub(crate) use saved::Saved;
pub use workplace::Workplace;

use crate::config::Document;
use crate::error::Error;

/// A run that is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) lengths: Lengths,
    pub(crate) card: RunCard,
    pub(crate) summary: RunSummary,
}

impl Finished {
    /// As a line of the file. What it says goes into the summary when the experiment goes on, so it has a checksum.
    fn line(&self) -> io::Result<String> {
        let run = serde_json::to_string(self)?;
        Ok(format!("{BEFORE}{}{BETWEEN}{run}{AFTER}", sha256(run.as_bytes())))
    }

    /// Out of a line, if it is as it was written.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = str::from_utf8(line).ok()?.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
        let (checksum, run) = line.split_once(BETWEEN)?;
        if sha256(run.as_bytes()) != checksum { None } else { serde_json::from_str(run).ok() }
    }
}

const BEFORE: &str = "{\"sha256\":\"";
const BETWEEN: &str = "\",\"run\":";
const AFTER: &str = "}\n";

/// The folder.
#[derive(Debug)]
pub(crate) struct Resume {
    finished: Stream,
    /// Where runs keep what they need.
    pub(crate) workplace: Workplace,
    lock: Lock,
}

/// Where an experiment stands.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Runs that are done, in the order of the manifest.
    pub(crate) finished: Vec<Finished>,
    /// Moments of the run under way, newest first.
    pub(crate) saved: Vec<Saved>,
}

impl Standing {
    /// How long the records were.
    pub(crate) fn lengths(&self) -> Lengths {
        let newest = self.saved.first().map(|saved| saved.lengths);
        newest.or(self.finished.last().map(|done| done.lengths)).unwrap_or_default()
    }
}

const EXPERIMENT: &str = "experiment.json";
const FINISHED: &str = "finished.jsonl";

/// Was an experiment begun in `folder` and not ended?
pub(crate) fn is_begun(folder: &Path) -> bool {
    folder.join("resume").join(EXPERIMENT).exists()
}

/// Removes what a kill at the very end may have left in the folder of a finished experiment, unless somebody is at work in it.
pub(crate) fn sweep(folder: &Path) {
    if folder.join("resume").exists()
        && let Ok(lock) = Lock::take(folder)
        && !is_begun(folder)
    {
        // What cannot be removed is in nobody's way.
        let _ = lock.clear();
        lock.withdraw();
    }
}

impl Resume {
    /// For a new experiment in the folder of a lock; whatever was kept there goes.
    pub(crate) fn begin(lock: Lock, document: &Document) -> Result<Self, Error> {
        let folder = lock.room().to_owned();
        let write = || -> io::Result<Stream> {
            lock.clear()?;
            kill::point(|| ());
            replace(&folder.join(EXPERIMENT), &serde_json::to_vec(document)?)?;
            Stream::open(&folder.join(FINISHED), 0, 0)
        };
        let finished = write().map_err(|source| Error::Write { path: folder.clone(), source })?;
        Ok(Self { finished, workplace: Workplace::lasting(folder), lock })
    }

    /// The experiment that was begun in `folder`.
    pub(crate) fn document(folder: &Path) -> Result<Document, Error> {
        let path = folder.join("resume").join(EXPERIMENT);
        let unreadable = |source| Error::Write { path: path.clone(), source };
        let text = motet_files::read(&path, u64::MAX).map_err(unreadable)?;
        serde_json::from_slice(&text).map_err(|e| unreadable(e.into()))
    }

    /// Finds out where the experiment in `folder` stands, of whose growing files so much has checksums; damaged checkpoints are
    /// told to `say`. `first` is the first run of which there are records here.
    pub(crate) fn find(
        folder: &Path,
        lock: Lock,
        (covered, first): (&Lengths, usize),
        say: &dyn Fn(&str),
    ) -> Result<(Self, Standing), Error> {
        let experiment = folder;
        let folder = lock.room().to_owned();
        let unreadable = |path: &Path, source| Error::Write { path: path.into(), source };
        let path = folder.join(FINISHED);
        let text = match motet_files::read(&path, u64::MAX) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => vec![],
            read => read.map_err(|e| unreadable(&path, e))?,
        };
        let (mut finished, mut whole) = (vec![], 0);
        // A last line without its end was being written when the program died.
        for (k, line) in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).enumerate() {
            let run = Finished::parse(line).ok_or_else(|| Error::Unresumable {
                folder: experiment.into(),
                reason: format!("resume/{FINISHED}, line {}: is not what was written", k + 1),
            })?;
            // After a power failure a later write may be there and an earlier one not.
            if !run.lengths.within(covered) {
                break;
            }
            finished.push(run);
            whole += line.len() as u64;
        }
        let run = folder.join("run");
        let holdings = Checkpoints::new(&run).find().map_err(|e| unreadable(&run, e))?;
        let decode = |body: &[u8]| Saved::decode(&mut Reader::new(body));
        let saved = holdings.whole.iter().map(|found| decode(&found.body)).collect::<Result<Vec<_>, _>>();
        let mut saved = saved.map_err(|e| unreadable(&run, io::Error::other(format!("not a checkpoint of this version: {e}"))))?;
        for damaged in &holdings.damaged {
            let name = damaged.file_name().unwrap_or_default().to_string_lossy();
            say(&format!("{name} is damaged and is not used; going on from the one before it"));
            fs::remove_file(damaged).map_err(|e| unreadable(damaged, e))?;
        }
        // Of a run that is done: it was killed before it could clear up.
        saved.retain(|saved| saved.run == (first + finished.len()) as u64 && saved.lengths.within(covered));
        let lines = Stream::open(&path, whole, whole).map_err(|e| unreadable(&path, e))?;
        Ok((Self { finished: lines, workplace: Workplace::lasting(folder), lock }, Standing { finished, saved }))
    }

    /// The runs that are done in a folder, whoever is at work in it.
    pub(crate) fn finished(folder: &Path) -> Result<Vec<Finished>, Error> {
        let path = folder.join("resume").join(FINISHED);
        let text = match motet_files::read(&path, u64::MAX) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            read => read.map_err(|source| Error::Write { path, source })?,
        };
        Ok(text.split_inclusive(|byte| *byte == b'\n').map_while(Finished::parse).collect())
    }

    /// A run is done.
    pub(crate) fn finish(&mut self, run: &Finished, durable: bool) -> io::Result<()> {
        self.finished.append(run.line()?.as_bytes())?;
        if durable {
            self.finished.sync()?;
        }
        Ok(())
    }

    /// The experiment is done.
    pub(crate) fn end(&self) -> io::Result<()> {
        // First what says that there is something to go on from: a kill in between leaves remains, not half a past.
        fs::remove_file(self.lock.room().join(EXPERIMENT))?;
        kill::point(|| ());
        self.lock.clear()?;
        kill::point(|| ());
        self.lock.withdraw();
        Ok(())
    }
}
