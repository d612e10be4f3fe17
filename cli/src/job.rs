//! The job that this program is one rank of, where an MPI started it.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use motet::cluster::agree;
use motet::runtime::Crew;
use motet::{Error, Simulation};

use crate::interrupt;

/// Ranks that work on one command.
pub(crate) struct Job {
    crew: Arc<dyn Crew>,
    /// Have the ranks heard whether they are needed?
    agreed: Cell<bool>,
    #[cfg(feature = "mpi")]
    _session: motet::runtime::MpiSession,
}

impl Job {
    /// The job, if this is one of several ranks.
    #[cfg(feature = "mpi")]
    pub(crate) fn join() -> Option<Self> {
        // MPI is joined only where somebody started it: by itself it takes a second.
        let started = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"].iter().any(|name| std::env::var_os(name).is_some());
        let (session, crew) = started.then(motet::runtime::MpiCrew::join).flatten()?;
        Some(Self { crew: Arc::new(crew), agreed: Cell::new(false), _session: session })
    }

    /// The job, if this is one of several ranks: never, without the feature `mpi`.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn join() -> Option<Self> {
        None
    }

    pub(crate) fn crew(&self) -> &Arc<dyn Crew> {
        &self.crew
    }

    /// Is this rank the server, which speaks for all?
    pub(crate) fn leads(&self) -> bool {
        self.crew.rank() == 0
    }

    /// How many threads this rank has where nothing is said: its share of the machine's cores.
    pub(crate) fn threads() -> usize {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let named = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"];
        let here = named.iter().find_map(|name| std::env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(1);
        (cores / here.max(1)).max(1)
    }

    /// Rank 0 has built what it runs, or has not: every rank hears of it, once.
    pub(crate) fn ready(&self, failed: Option<&Error>) -> Result<(), Error> {
        self.agreed.set(true);
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
                "motet: a stop is asked for, or another rank has died: everything up to the last checkpoint is kept; go on with motet run --resume {folder}"
            );
        };
        thread::spawn(tell);
    }
}
