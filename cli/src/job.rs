//! The job that this program is one rank of, where an MPI started it.

use std::cell::{Cell, RefCell};
use std::env;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use motet::cluster::agree;
use motet::runtime::{Crew, CrewGone, Shelf};
use motet::{Error, Simulation};

#[cfg(feature = "mpi")]
use crate::cores;
use crate::interrupt;

/// Ranks that work on one command.
pub(crate) struct Job {
    crew: Arc<dyn Crew>,
    /// What ranks of this machine hold once, if there are several.
    shelf: RefCell<Option<Arc<Shelf>>>,
    /// How many threads this rank has where nothing is said.
    threads: usize,
    /// The number of the first rank's process, if that is on this machine and this is the next rank there.
    first: Option<u32>,
    /// Have the ranks heard whether they are needed?
    agreed: Cell<bool>,
    #[cfg(feature = "mpi")]
    _session: motet::runtime::MpiSession,
}

impl Job {
    /// The job, if this is one of several ranks.
    #[cfg(feature = "mpi")]
    pub(crate) fn join() -> Result<Option<Self>, Error> {
        // MPI is joined only where somebody started it: by itself it takes a second.
        let started = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"].iter().any(|name| env::var_os(name).is_some());
        let Some((session, crew)) = started.then(motet::runtime::MpiCrew::join).flatten() else { return Ok(None) };
        if crew.size() == 1 {
            alone("the MPI that this motet is linked with is not the one that started it")?;
        }
        let crew: Arc<dyn Crew> = Arc::new(crew);
        let shelf = RefCell::new(Shelf::between(&crew).map(Arc::new));
        let (threads, first) = (cores::share(&*crew).map_err(lost)?, first_process(&*crew).map_err(lost)?);
        Ok(Some(Self { crew, shelf, threads, first, agreed: Cell::new(false), _session: session }))
    }

    /// The job, if this is one of several ranks: never, without the feature `mpi`.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn join() -> Result<Option<Self>, Error> {
        alone("this motet is built without the feature `mpi`")?;
        Ok(None)
    }

    pub(crate) fn crew(&self) -> &Arc<dyn Crew> {
        &self.crew
    }

    /// What ranks of this machine hold once.
    pub(crate) fn shelf(&self) -> Option<Arc<Shelf>> {
        self.shelf.borrow().clone()
    }

    /// Is this rank the server, which speaks for all?
    pub(crate) fn leads(&self) -> bool {
        self.crew.rank() == 0
    }

    /// How many threads this rank has where nothing is said.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Rank 0 has built what it runs, or has not: every rank hears of it, once.
    pub(crate) fn ready(&self, failed: Option<&Error>) -> Result<(), Error> {
        self.agreed.set(true);
        // Everything that is held in common is built, or never will be. Once all agree, everybody has found it.
        let shelf = self.shelf.take();
        shelf.iter().for_each(|shelf| shelf.close());
        agree(&*self.crew, failed)
    }

    /// Ends the whole job at once: this rank cannot go on, and the others would wait for it.
    pub(crate) fn end(&self, code: u8) {
        #[cfg(feature = "mpi")]
        motet::runtime::MpiCrew::abort(code.into());
        #[cfg(not(feature = "mpi"))]
        std::process::exit(code.into());
    }

    /// The command is over: ranks that were not needed may go.
    pub(crate) fn over(&self) {
        if self.leads() && !self.agreed.get() {
            // They hear that there is nothing to do; who is gone has heard it.
            let _ = self.ready(Some(&Error::Unknown("nothing to serve".into())));
        }
    }

    /// What every rank but the first does: serves what it has built, as rank 0 has. Rank 0 says what is wrong with it.
    pub(crate) fn serve(&self, built: Option<Result<Simulation, Error>>) -> Result<bool, Error> {
        interrupt::leave_to_rank_0();
        let failed = built.as_ref().and_then(|built| built.as_ref().err());
        if self.ready(failed).is_err() {
            return Ok(true);
        }
        match built {
            Some(Ok(simulation)) => {
                self.watch(None)?;
                simulation.spread_over(Arc::clone(&self.crew)).serve(&self.crew).map(|()| true)
            }
            _ => Ok(true),
        }
    }

    /// From now on a signal says at once where the experiment can be gone on with, which rank 0 knows: a rank that dies takes the others
    /// along. Rank 0 says it; where it is the one that died, the next rank of its machine does. Every rank must call it.
    pub(crate) fn watch(&self, folder: Option<&Path>) -> Result<(), Error> {
        let mut folder = folder.map(|folder| folder.display().to_string().into_bytes()).unwrap_or_default();
        self.crew.broadcast(&mut folder).map_err(lost)?;
        let (leads, first) = (self.leads(), self.first);
        if !leads && first.is_none() {
            return Ok(());
        }
        let folder = String::from_utf8_lossy(&folder).into_owned();
        let tell = move || {
            while !interrupt::requested() {
                thread::sleep(Duration::from_millis(50));
            }
            if leads || first.is_some_and(|process| !is_alive(process)) {
                eprintln!("motet: {STOPPING}{folder}");
            }
        };
        thread::spawn(tell);
        Ok(())
    }
}

/// What is said before the folder when a job ends early.
const STOPPING: &str = "stopping, because it was asked to or because another rank has died. Everything up to the last checkpoint is kept; go on with motet run --resume ";

fn lost(gone: CrewGone) -> Error {
    Error::Rank { rank: gone.0, reason: "is gone".into() }
}

/// The process of rank 0 for the next rank of its machine; nothing for all others. Every rank must call it.
#[cfg(feature = "mpi")]
fn first_process(crew: &dyn Crew) -> Result<Option<u32>, CrewGone> {
    let number = std::process::id().to_le_bytes().to_vec();
    let next = crew.neighbours().get(1).copied().filter(|_| crew.neighbours()[0] == 0);
    let to = |rank: usize| if crew.rank() == 0 && next == Some(rank) { number.clone() } else { vec![] };
    let heard = crew.swap((0..crew.size()).map(to).collect())?;
    Ok(heard[0].as_slice().try_into().ok().filter(|_| crew.rank() > 0).map(u32::from_le_bytes))
}

/// Is there such a process, and has it not ended? Where the system does not say, it is taken to be there.
fn is_alive(process: u32) -> bool {
    if !Path::new("/proc/self/stat").exists() {
        return true;
    }
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // After the name, which may hold anything, comes the state: Z for who has ended and nobody has asked how.
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// A word that a launcher has put into the surroundings of its ranks.
type Surroundings<'a> = &'a dyn Fn(&str) -> Option<String>;

fn surroundings(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Which rank this is, if a launcher says so.
fn rank(around: Surroundings<'_>) -> Option<usize> {
    ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"].iter().find_map(|name| around(name)?.parse().ok())
}

/// How many ranks were started. PMIx tells its ranks through its library only: of those that `srun --mpi=pmix` starts, Slurm says how many there are.
fn started(around: Surroundings<'_>) -> usize {
    let counted = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(|name| around(name)?.parse().ok());
    let by_slurm = || around("PMIX_RANK").and_then(|_| around("SLURM_STEP_NUM_TASKS")?.parse().ok());
    counted.or_else(by_slurm).unwrap_or(1)
}

/// Of ranks that all end before they know of each other, the first says why: the others end here.
pub(crate) fn leave_the_word_to_rank_0(code: i32) {
    if rank(&surroundings).is_some_and(|rank| rank > 0) {
        // Whoever ends first ends all.
        thread::sleep(Duration::from_secs(1));
        std::process::exit(code);
    }
}

/// Refuses to be one of several programs that an MPI has started and that know nothing of each other: each would do all the work, and
/// they would fight for one folder.
fn alone(because: &str) -> Result<(), Error> {
    let count = started(&surroundings);
    if count < 2 {
        return Ok(());
    }
    leave_the_word_to_rank_0(2);
    let how = "build it with `cargo install --path cli --features mpi` and the MPI that starts it";
    Err(Error::Unknown(format!("{count} ranks were started, but {because}: each would run everything by itself; {how}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launcher_says_how_many_ranks_there_are() {
        let cases: [(&[(&str, &str)], _); 5] = [
            (&[], (None, 1)),
            (&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3"), ("PMIX_RANK", "2")], (Some(2), 3)),
            (&[("PMI_RANK", "0"), ("PMI_SIZE", "8")], (Some(0), 8)),
            (&[("PMIX_RANK", "5"), ("SLURM_STEP_NUM_TASKS", "64")], (Some(5), 64)),
            // Separate tasks of a step without an MPI.
            (&[("SLURM_PROCID", "5"), ("SLURM_STEP_NUM_TASKS", "64")], (None, 1)),
        ];
        for (given, expected) in cases {
            let around = |name: &str| given.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            assert_eq!((rank(&around), started(&around)), expected, "{given:?}");
        }
    }

    #[test]
    fn the_page_quotes_what_is_said_when_a_rank_dies() {
        let page = include_str!("../../docs/how-to/clusters.md");
        assert!(page.contains(&format!("\nmotet: {STOPPING}results\n")));
        assert!(is_alive(std::process::id()));
        #[cfg(target_os = "linux")]
        assert!(!is_alive(u32::MAX));
    }
}
