//! What runs keep beside their records: client states, local optima, and checkpoints.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use motet_core::{Reader, Wire};
use motet_files::kill;
use motet_records::Records;
use motet_runtime::Checkpoints;

use super::{Saved, Standing};
use crate::config::StoreSection;

/// Where runs keep what they need beside their records: a folder that outlives the program, or memory.
#[derive(Debug, Default)]
pub struct Workplace {
    /// The folder, if there is one.
    folder: Option<PathBuf>,
    /// Does it outlive the program? Then moments of runs are kept in it.
    lasting: bool,
    /// A folder for client states that the experiment wants on disk, though its records are in memory.
    temporary: Option<tempfile::TempDir>,
    /// Of a run that is done while others are: the folder that all share, and the name of whoever does it.
    common: Option<(PathBuf, usize)>,
    /// Without a folder: trial → its end.
    ends: BTreeMap<usize, Saved>,
    /// What an earlier, unfinished go at the experiment left.
    past: Option<(Standing, Records)>,
}

/// Copies client states, of one rank or of several.
fn copy_states(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if name == "states" {
            fs::copy(entry, to.join(name))?;
        } else if entry.is_dir() {
            copy_states(&entry, &to.join(name))?;
        }
    }
    Ok(())
}

impl Workplace {
    /// For recorders without a folder: client states sleep in memory, unless the experiment asks for a disk.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// In a folder that outlives the program.
    pub(super) fn lasting(folder: PathBuf) -> Self {
        Self { folder: Some(folder), lasting: true, ..Self::default() }
    }

    /// Ends of trials are in a folder that others use too, and local solves in files of one's own in it.
    pub(crate) fn beside(&mut self, common: PathBuf, who: usize) {
        self.common = Some((common, who));
    }

    /// What an earlier go at the experiment left.
    pub(crate) fn begun_before(&mut self, standing: Standing, records: Records) {
        self.past = Some((standing, records));
    }

    /// Where an earlier go at the experiment stands, and its records up to there.
    pub(crate) fn past(&mut self) -> Option<(Standing, Records)> {
        self.past.take()
    }

    /// An experiment begins: what another one left in memory goes, and a temporary folder is made if this one wants client
    /// states on disk and there is no other.
    pub(crate) fn prepare(&mut self, store: StoreSection) -> io::Result<()> {
        self.clear();
        if self.folder.is_none() && matches!(store, StoreSection::Disk { .. }) {
            let temporary = tempfile::tempdir()?;
            self.folder = Some(temporary.path().to_owned());
            self.temporary = Some(temporary);
        }
        Ok(())
    }

    /// Can a run go on from here after the program has ended?
    pub(crate) fn is_lasting(&self) -> bool {
        self.lasting
    }

    /// Where the run under way is kept, if on disk.
    pub(crate) fn run(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("run"))
    }

    /// Where local solves of a problem are kept, if on disk.
    pub(crate) fn solves(&self, problem: usize) -> Option<PathBuf> {
        Some(match &self.common {
            Some((common, who)) => common.join(format!("solves-{problem}-of-{who}")),
            None => self.folder.as_ref()?.join(format!("solves-{problem}")),
        })
    }

    /// Keeps the end of a trial whose moments are not on disk.
    pub(super) fn keep_end(&mut self, saved: Saved) {
        self.ends.insert(saved.run as usize, saved);
    }

    /// Keeps what the run under way has on disk as the end of trial `run`.
    pub(crate) fn keep_trial(&self, run: usize) -> io::Result<()> {
        let (Some(from), Some(to)) = (self.run(), self.trial(run)) else { return Ok(()) };
        Checkpoints::new(&to).clear()?;
        kill::point(|| ());
        fs::rename(from, to)
    }

    /// Begins the run under way at the end of trial `run`; its last moment, if it has one.
    pub(crate) fn go_on_from(&self, run: usize) -> io::Result<Vec<Saved>> {
        let (Some(from), Some(to)) = (self.trial(run), self.run()) else { return Ok(self.ends.get(&run).cloned().into_iter().collect()) };
        let Some(found) = Checkpoints::new(&from).find()?.whole.into_iter().next() else { return Ok(vec![]) };
        copy_states(&from, &to)?;
        let saved = Saved::decode(&mut Reader::new(&found.body)).map_err(io::Error::other)?;
        Ok(vec![saved])
    }

    /// Nothing goes on from these trials any more.
    pub(crate) fn forget_trials(&mut self, runs: std::ops::Range<usize>) -> io::Result<()> {
        for run in runs {
            self.ends.remove(&run);
            self.trial(run).map_or(Ok(()), |folder| Checkpoints::new(&folder).clear())?;
        }
        Ok(())
    }

    /// A run is done: what it kept is not needed any more.
    pub(crate) fn clear_run(&self) -> io::Result<()> {
        kill::point(|| ());
        self.run().map_or(Ok(()), |folder| Checkpoints::new(&folder).clear())
    }

    /// The experiment is done: forgets what was not on lasting disk.
    pub(crate) fn clear(&mut self) {
        if !self.lasting {
            *self = Self::default();
        }
    }

    /// Where the end of a trial is kept, if on disk.
    fn trial(&self, run: usize) -> Option<PathBuf> {
        let folder = self.common.as_ref().map(|(common, _)| common).or(self.folder.as_ref())?;
        Some(folder.join(format!("trial-{run}")))
    }
}
