//! The job that this program is one rank of, where an MPI started it.

use std::cell::{Cell, RefCell};
use std::env;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use motet::cluster::agree;
use motet::runtime::{Crew, Shelf};
use motet::{Error, Simulation};

use crate::interrupt;

/// Ranks that work on one command.
pub(crate) struct Job {
    crew: Arc<dyn Crew>,
    /// What ranks of this machine hold once, if there are several.
    shelf: RefCell<Option<Arc<Shelf>>>,
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
        Ok(Some(Self { crew, shelf, agreed: Cell::new(false), _session: session }))
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

    /// How many threads this rank has where nothing is said: its share of the machine's cores.
    pub(crate) fn threads() -> usize {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let named = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"];
        let here = named.iter().find_map(|name| env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(1);
        (cores / here.max(1)).max(1)
    }

    /// Rank 0 has built what it runs, or has not: every rank hears of it, once.
    pub(crate) fn ready(&self, failed: Option<&Error>) -> Result<(), Error> {
        self.agreed.set(true);
        // Everything that is held in common is built, or never will be. Once all agree, everybody has found it.
        let shelf = self.shelf.take();
        shelf.iter().for_each(|shelf| shelf.close());
        agree(&*self.crew, failed)
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
            Some(Ok(simulation)) => simulation.serve(&self.crew).map(|()| true),
            _ => Ok(true),
        }
    }

    /// From now on a signal says at once where the experiment can be gone on with: a rank that dies takes the others along.
    pub(crate) fn watch(&self, folder: &Path) {
        let folder = folder.display().to_string();
        let tell = move || {
            while !interrupt::requested() {
                thread::sleep(Duration::from_millis(50));
            }
            eprintln!(
                "motet: stopping, because it was asked to or because another rank has died. Everything up to the last checkpoint is kept; go on with motet run --resume {folder}"
            );
        };
        thread::spawn(tell);
    }
}

/// A number that an MPI has put into the surroundings of its ranks.
fn told(names: [&str; 2]) -> Option<usize> {
    names.iter().find_map(|name| env::var(name).ok()?.parse().ok())
}

/// Of ranks that all end before they know of each other, the first says why: the others end here.
pub(crate) fn leave_the_word_to_rank_0(code: i32) {
    if told(["OMPI_COMM_WORLD_RANK", "PMI_RANK"]).is_some_and(|rank| rank > 0) {
        // Whoever ends first ends all.
        thread::sleep(Duration::from_secs(1));
        std::process::exit(code);
    }
}

/// Refuses to be one of several programs that an MPI has started and that know nothing of each other: each would do all the work, and
/// they would fight for one folder.
fn alone(because: &str) -> Result<(), Error> {
    let count = told(["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]).unwrap_or(1);
    if count < 2 {
        return Ok(());
    }
    leave_the_word_to_rank_0(2);
    let how = "build it with `cargo install --path cli --features mpi` and the MPI that starts it";
    Err(Error::Unknown(format!("{count} ranks were started, but {because}: each would run everything by itself; {how}")))
}
