//! What an unfinished experiment keeps so that it can go on: `DIR/resume/`.
//!
//! ```text
//! experiment.json     the experiment, with every change made on the command line
//! finished.jsonl      one line for each run that is done: its card, its summary, how long the records were then
//! solves-<k>          local solves of problem k
//! trial-<k>           the end of trial k, for a longer one that goes on from it
//! run/                the run under way
//!   <round>.checkpoint    the last three moments
//!   states                client states; the checkpoints say where each lies
//! ```
//!
//! The order of writing makes a kill at any moment harmless: records first, then client states, then the checkpoint that
//! names both. What no checkpoint and no finished run names never happened: records are cut back to the length named.

mod keeper;
mod saved;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use motet_core::{Manifest, Reader, RunCard, RunSummary, Wire, wire};
use motet_runtime::Checkpoints;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use keeper::Saver;
pub(crate) use saved::Saved;

use crate::config::Document;
use crate::error::Error;
use crate::stream::Stream;

wire! {
    /// How long the files of records are.
    #[derive(Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Lengths {
        pub(crate) rows: u64,
        pub(crate) clients: u64,
        pub(crate) merits: u64,
    }
}

impl Lengths {
    /// As they are in a folder now.
    fn found(folder: &Path) -> Self {
        let length = |name: &str| fs::metadata(folder.join(name)).map_or(0, |about| about.len());
        Self { rows: length("rows.jsonl"), clients: length("clients.jsonl"), merits: length("merits.bin") }
    }

    fn within(&self, found: &Self) -> bool {
        self.rows <= found.rows && self.clients <= found.clients && self.merits <= found.merits
    }
}

/// A run that is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) lengths: Lengths,
    pub(crate) card: RunCard,
    pub(crate) summary: RunSummary,
}

/// The folder.
#[derive(Debug)]
pub(crate) struct Resume {
    folder: PathBuf,
    finished: Stream,
    /// Held as long as the program lives: two of them in one folder would spoil each other's records.
    _lock: File,
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

impl Resume {
    /// For a new experiment in `folder`.
    pub(crate) fn begin(folder: &Path, document: &Document) -> Result<Self, Error> {
        let folder = folder.join("resume");
        let write = || -> io::Result<Stream> {
            fs::create_dir_all(&folder)?;
            replace(&folder.join(EXPERIMENT), &serde_json::to_vec(document)?)?;
            Stream::open(&folder.join("finished.jsonl"), 0)
        };
        let finished = write().map_err(|source| Error::Write { path: folder.clone(), source })?;
        let _lock = lock(&folder)?;
        Ok(Self { folder, finished, _lock })
    }

    /// Was an experiment begun in `folder` and not ended?
    pub(crate) fn is_in(folder: &Path) -> bool {
        folder.join("resume").join(EXPERIMENT).exists()
    }

    /// The experiment that was begun in `folder`.
    pub(crate) fn document(folder: &Path) -> Result<Document, Error> {
        let path = folder.join("resume").join(EXPERIMENT);
        let unreadable = |source| Error::Write { path: path.clone(), source };
        let text = fs::read(&path).map_err(unreadable)?;
        serde_json::from_slice(&text).map_err(|e| unreadable(e.into()))
    }

    /// Finds out where an experiment stands; damage is told to `say`.
    pub(crate) fn find(folder: &Path, say: &dyn Fn(&str)) -> Result<(Self, Standing), Error> {
        let lengths = Lengths::found(folder);
        let folder = folder.join("resume");
        let _lock = lock(&folder)?;
        let unreadable = |path: &Path, source| Error::Write { path: path.into(), source };
        let path = folder.join("finished.jsonl");
        let text = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => vec![],
            read => read.map_err(|e| unreadable(&path, e))?,
        };
        let (mut finished, mut whole) = (vec![], 0);
        // A last line without its end was being written when the program died.
        for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let run: Finished = serde_json::from_slice(line).map_err(|e| unreadable(&path, e.into()))?;
            // After a power failure a later write may be there and an earlier one not.
            if !run.lengths.within(&lengths) {
                break;
            }
            finished.push(run);
            whole += line.len() as u64;
        }
        let run = folder.join("run");
        let holdings = Checkpoints::new(&run).find().map_err(|e| unreadable(&run, e))?;
        for damaged in &holdings.damaged {
            let name = damaged.file_name().unwrap_or_default().to_string_lossy();
            say(&format!("{name} is damaged and is not used; going on from the one before it"));
            fs::remove_file(damaged).map_err(|e| unreadable(damaged, e))?;
        }
        let decode = |body: &[u8]| Saved::decode(&mut Reader::new(body));
        let saved = holdings.whole.iter().map(|found| decode(&found.body)).collect::<Result<Vec<_>, _>>();
        let mut saved = saved.map_err(|e| unreadable(&run, io::Error::other(format!("not a checkpoint of this version: {e}"))))?;
        // Of a run that is done: it was killed before it could clear up.
        saved.retain(|saved| saved.run == finished.len() as u64 && saved.lengths.within(&lengths));
        let lines = Stream::open(&path, whole).map_err(|e| unreadable(&path, e))?;
        Ok((Self { folder, finished: lines, _lock }, Standing { finished, saved }))
    }

    /// Where the run under way is kept.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// Where the end of a trial is kept.
    fn trial(&self, run: usize) -> PathBuf {
        self.folder.join(format!("trial-{run}"))
    }

    /// Keeps what the run under way has as the end of trial `run`.
    pub(crate) fn keep_trial(&self, run: usize) -> io::Result<()> {
        let to = self.trial(run);
        Checkpoints::new(&to).clear()?;
        fs::rename(self.run(), to)
    }

    /// Begins the run under way at the end of trial `run`; its last moment, if it has one.
    pub(crate) fn go_on_from(&self, run: usize) -> io::Result<Vec<Saved>> {
        let (from, to) = (self.trial(run), self.run());
        let Some(found) = Checkpoints::new(&from).find()?.whole.into_iter().next() else { return Ok(vec![]) };
        fs::create_dir_all(&to)?;
        fs::copy(from.join("states"), to.join("states"))?;
        let saved = Saved::decode(&mut Reader::new(&found.body)).map_err(io::Error::other)?;
        Ok(vec![saved])
    }

    /// Nothing goes on from these trials any more.
    pub(crate) fn forget_trials(&self, runs: std::ops::Range<usize>) -> io::Result<()> {
        runs.into_iter().try_for_each(|run| Checkpoints::new(&self.trial(run)).clear())
    }

    /// Where local solves of a problem are kept.
    pub(crate) fn solves(&self, problem: usize) -> PathBuf {
        self.folder.join(format!("solves-{problem}"))
    }

    /// A run is done; what it kept to go on is not needed any more.
    pub(crate) fn finish(&mut self, run: &Finished, durable: bool) -> io::Result<()> {
        let mut line = serde_json::to_vec(run)?;
        line.push(b'\n');
        self.finished.append(&line)?;
        if durable {
            self.finished.sync()?;
        }
        Checkpoints::new(&self.run()).clear()
    }

    /// The experiment is done.
    pub(crate) fn end(&self) -> io::Result<()> {
        // First what says that there is something to go on from: a kill in between leaves remains, not half a past.
        fs::remove_file(self.folder.join(EXPERIMENT))?;
        fs::remove_dir_all(&self.folder)
    }

    /// Removes what a kill at the very end may have left in the folder of a finished experiment.
    pub(crate) fn sweep(folder: &Path) {
        let _ = fs::remove_dir_all(folder.join("resume"));
    }
}

fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(|source| Error::Write { path: path.clone(), source })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let reason = "another motet is at work in this folder".to_owned();
            Err(Error::Unresumable { folder: folder.parent().unwrap_or(folder).into(), reason })
        }
        // A file system without locks is no reason not to run.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(file),
    }
}

/// Refuses to go on with another experiment, or on other data, than what was begun in `folder`.
pub(crate) fn compare(folder: &Path, now: &Manifest) -> Result<(), Error> {
    let path = folder.join("manifest.json");
    let Ok(text) = fs::read(&path) else { return Ok(()) };
    let before: Manifest = serde_json::from_slice(&text).map_err(|e| Error::Write { path, source: e.into() })?;
    let changed = (before.motet != now.motet).then(|| format!("was begun by motet {}, this is {}", before.motet, now.motet));
    let changed = changed.or_else(|| difference(&before.resolved, &now.resolved));
    let data =
        || before.inputs.iter().find(|input| !now.inputs.contains(input)).map(|input| format!("the file {} has changed", input.name));
    match changed.or_else(data) {
        Some(what) => Err(Error::Unresumable { folder: folder.into(), reason: format!("cannot go on with another experiment: {what}") }),
        None => Ok(()),
    }
}

/// Written beside, made durable, and renamed: a reader finds the old file or the new one, never half of it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let write = || -> io::Result<()> {
        fs::write(&beside, bytes)?;
        fs::File::open(&beside)?.sync_all()?;
        fs::rename(&beside, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

/// The first key under which two experiments differ, with both values. Where client states sleep and how often a run is
/// kept changes no number, and may change.
pub(crate) fn difference(before: &Value, now: &Value) -> Option<String> {
    differ("", before, now)
}

const FREE: [&str; 2] = ["run.store", "run.checkpoint"];

fn differ(key: &str, before: &Value, now: &Value) -> Option<String> {
    if before == now || FREE.contains(&key) {
        return None;
    }
    let under = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    let absent = Value::Null;
    match (before, now) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            names.into_iter().find_map(|name| differ(&under(name), a.get(name).unwrap_or(&absent), b.get(name).unwrap_or(&absent)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len()).find_map(|k| differ(&format!("{key}[{}]", k + 1), &a[k], &b[k]))
        }
        _ => Some(format!("{key} was {before} and is now {now}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_experiment_is_told_by_its_key() {
        let a = json!({ "run": { "rounds": 5, "store": 1 }, "method": [{ "kind": "flix", "alpha": 0.1 }] });
        let mut b = a.clone();
        b["run"]["store"] = json!(2);
        assert_eq!(difference(&a, &b), None);
        b["method"][0]["alpha"] = json!(0.2);
        assert_eq!(difference(&a, &b).unwrap(), "method[1].alpha was 0.1 and is now 0.2");
        b["run"]["stop"] = json!({ "gap": 1 });
        assert!(difference(&a, &b).unwrap().starts_with("run.stop was null"));
    }
}
