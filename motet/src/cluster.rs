//! An experiment on several ranks: rank 0 runs it, the others serve the clients that live with them.
//!
//! Every rank builds the same problems. For each run rank 0 tells the others what it is (`Opening`), they open the same method on the
//! same problem, and serve until the run is over.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{Reader, Seed, Wire, WireError, wire};
use motet_runtime::{Crew, CrewGone, Homes, Solves, leave};
use serde_json::Map;

use crate::config::StoreSection;
use crate::error::Error;
use crate::resume::Saved;
use crate::session::{Ground, States};
use crate::simulate::{Built, Simulation};

wire! {
    /// What rank 0 tells the others before a run.
    #[derive(Default)]
    pub(crate) struct Opening {
        /// Is there another run at all?
        pub(crate) more: bool,
        /// So many groups of ranks do runs side by side, if not 0, in folders within this one; nothing else below is said then.
        pub(crate) groups: u32,
        pub(crate) problem: u32,
        /// The method as it fits the problem, and its parameters as JSON.
        pub(crate) entry: u32,
        pub(crate) params: String,
        pub(crate) seed: u64,
        /// Where the run is kept, if on disk.
        pub(crate) folder: Option<String>,
        /// Where local solves are kept, if on disk.
        pub(crate) solves: Option<String>,
        /// Moments to go on from, without what only the server needs.
        pub(crate) saved: Vec<Saved>,
    }
}

/// The first byte of an opening: no order that ranks get within a run begins so, so that neither is taken for the other.
const OPENING: u8 = 0xA7;

impl Opening {
    /// Goes to all other ranks.
    pub(crate) fn tell(&self, crew: &dyn Crew) -> Result<(), Error> {
        let mut message = vec![OPENING];
        self.encode(&mut message);
        crew.broadcast(&mut message).map_err(gone)
    }

    fn heard(message: &[u8]) -> Result<Self, WireError> {
        let own = message.strip_prefix(&[OPENING]).ok_or(WireError::Unsound("something else than the next run"))?;
        Self::decode(&mut Reader::new(own))
    }
}

/// Tells the other ranks what the next run is and waits until they have opened it; the first who could not says why.
pub(crate) fn open(crew: &dyn Crew, opening: &Opening) -> Result<(), Error> {
    opening.tell(crew)?;
    let mut failed = None;
    for rank in 1..crew.size() {
        let said = crew.receive(rank).map_err(gone)?;
        if !said.is_empty() {
            failed = failed.or(Some(Error::Rank { rank, reason: String::from_utf8_lossy(&said).into_owned() }));
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Is everybody ready? The first rank that is not says why; all ranks hear of it.
pub fn agree(crew: &dyn Crew, own: Option<&Error>) -> Result<(), Error> {
    if crew.rank() > 0 {
        crew.send(0, own.map(ToString::to_string).unwrap_or_default().as_bytes()).map_err(gone)?;
    }
    let mut wrong = vec![];
    if crew.rank() == 0 {
        for rank in 1..crew.size() {
            let said = crew.receive(rank).map_err(gone)?;
            if !said.is_empty() && wrong.is_empty() {
                (rank as u32).encode(&mut wrong);
                wrong.extend(said);
            }
        }
        if own.is_some() {
            wrong = vec![0; 4];
        }
    }
    crew.broadcast(&mut wrong).map_err(gone)?;
    if wrong.is_empty() {
        return Ok(());
    }
    let mut from = Reader::new(&wrong);
    let rank = u32::decode(&mut from).unwrap_or_default() as usize;
    let reason = String::from_utf8_lossy(wrong.get(4..).unwrap_or_default()).into_owned();
    Err(Error::Rank { rank, reason })
}

/// Lets the other ranks of a crew go.
pub(crate) fn dismiss(crew: &dyn Crew) -> Result<(), Error> {
    Opening::default().tell(crew)
}

/// Lets the other ranks leave a run that they have opened and this one could not.
pub(crate) fn let_leave(crew: &dyn Crew) -> Result<(), Error> {
    leave(crew).map_err(gone)
}

pub(crate) fn gone(gone: CrewGone) -> Error {
    Error::Rank { rank: gone.0, reason: "is gone".into() }
}

/// Where a rank keeps its client states: alone in the folder of the run, or in a folder of its own.
pub(crate) fn place(folder: &Path, ranks: usize, rank: usize) -> PathBuf {
    if ranks == 1 { folder.to_owned() } else { folder.join(format!("ranks-{ranks}")).join(rank.to_string()) }
}

impl Built {
    /// Where clients live on so many ranks: by their examples, where they are known. Where all have as many, they are dealt in turn, for which
    /// no list is needed.
    pub(crate) fn homes(&self, ranks: usize) -> Homes {
        let sizes = if ranks > 1 { self.problem.sizes() } else { vec![] };
        let alike = sizes.windows(2).all(|pair| pair[0] == pair[1]);
        Homes::new(ranks, if alike { vec![] } else { sizes })
    }
}

impl Simulation {
    /// Serves the runs of rank 0 until there are no more: what every other rank does instead of running.
    pub fn serve(&self, crew: &Arc<dyn Crew>) -> Result<(), Error> {
        loop {
            let mut message = vec![];
            crew.broadcast(&mut message).map_err(gone)?;
            let unread = |error: &dyn ToString| Error::Rank { rank: 0, reason: format!("says what cannot be read: {}", error.to_string()) };
            let opening = Opening::heard(&message).map_err(|e| unread(&e))?;
            if !opening.more {
                return Ok(());
            }
            if opening.groups > 0 {
                self.in_a_group(crew, opening.groups as usize, Path::new(opening.folder.as_deref().unwrap_or_default()))?;
                continue;
            }
            match self.session(crew, &opening) {
                Ok(session) => {
                    crew.send(0, &[]).map_err(gone)?;
                    session.serve().map_err(|abort| Error::Rank { rank: crew.rank(), reason: abort.to_string() })?;
                }
                Err(reason) => {
                    crew.send(0, reason.as_bytes()).map_err(gone)?;
                    // Rank 0 tells those who did open the run to leave, and everyone hears it.
                    crew.broadcast(&mut vec![]).map_err(gone)?;
                }
            }
        }
    }

    fn session(&self, crew: &Arc<dyn Crew>, opening: &Opening) -> Result<Box<dyn crate::session::Session>, String> {
        let unknown = || "this rank has built another experiment than rank 0".to_owned();
        let built = self.problems().get(opening.problem as usize).ok_or_else(unknown)?;
        let entry = self.entries().get(opening.entry as usize).ok_or_else(unknown)?;
        let params: Map<_, _> = serde_json::from_str(&opening.params).map_err(|e| e.to_string())?;
        let method = entry.method.with_params(params)?;
        if let Some(path) = &opening.solves
            && self.experiment().run.store != StoreSection::Memory
            && !built.memo.is_archived()
        {
            let path = PathBuf::from(format!("{path}-rank-{}", crew.rank()));
            let solves = Solves::open(&path, self.limit()).map_err(|e| format!("{}: {e}", path.display()))?;
            built.memo.archive(|| Arc::new(solves));
        }
        let folder = opening.folder.as_deref().map(Path::new);
        let states = States::Durable { folder, limit: self.limit(), saved: &opening.saved };
        let homes = built.homes(crew.size());
        let ground = Ground { crew: Some(Arc::clone(crew)), homes, ..built.ground(self.pool(), Seed(opening.seed), states) };
        method.on(ground).map_err(|e| e.to_string())
    }
}
