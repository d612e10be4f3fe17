//! Vectors that depend on a client's data alone, made once and shared by all runs on a problem.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::algorithm::ClientId;
use crate::site::Work;
use crate::vector::Vector;

/// Pure local models, kept outside the versioned client state: they never change.
#[derive(Default)]
pub struct Memo {
    shelves: [Mutex<Shelf>; SHELVES],
    archive: OnceLock<Arc<dyn Archive>>,
}

/// Where vectors go that memory cannot hold. What it loses is made again, to the same bits: it needs to report no failure.
pub trait Archive: Send + Sync {
    /// What was put there.
    fn get(&self, client: ClientId, key: u64) -> Option<(Vector, Work)>;
    /// Keeps a vector and what it took; false if it cannot.
    fn put(&self, client: ClientId, key: u64, vector: &Vector, work: Work) -> bool;
    /// Has a vector that is being made taken long enough? Gradients are zero from then on, so that every solve ends where it is.
    /// Only for estimates: what is made so is not what was asked for.
    fn is_enough(&self) -> bool;
}

/// Clients are spread over this many locks, so that threads seldom meet.
const SHELVES: usize = 16;

type Shelf = BTreeMap<(u64, ClientId), Arc<OnceLock<(Vector, Work)>>>;

impl Memo {
    /// Puts vectors into this archive from now on, and keeps in memory only those that are being made; a second archive is ignored.
    pub fn archive(&self, archive: impl FnOnce() -> Arc<dyn Archive>) {
        self.archive.get_or_init(archive);
    }

    /// Is there an archive?
    pub fn is_archived(&self) -> bool {
        self.archive.get().is_some()
    }

    /// The vector of `client` under `key`; `make` runs at most once, on one thread, and others wait. An archive, which may outlive
    /// the program, gets what is `sound` after it was made.
    pub(crate) fn once(
        &self,
        client: ClientId,
        key: u64,
        sound: impl Fn() -> bool,
        make: impl FnOnce(Option<&dyn Archive>) -> (Vector, Work),
    ) -> (Vector, Work) {
        let cell = {
            let mut shelf = self.shelf(client);
            let cell = shelf.entry((key, client)).or_default();
            if let Some(done) = cell.get() {
                return done.clone();
            }
            Arc::clone(cell)
        };
        let Some(archive) = self.archive.get() else { return cell.get_or_init(|| make(None)).clone() };
        let mut kept = false;
        let found = cell.get_or_init(|| match archive.get(client, key) {
            Some(found) => {
                kept = true;
                found
            }
            None => {
                let (vector, work) = make(Some(&**archive));
                kept = sound() && archive.put(client, key, &vector, work);
                (vector, work)
            }
        });
        if kept {
            self.shelf(client).remove(&(key, client));
        }
        found.clone()
    }

    fn shelf(&self, client: ClientId) -> MutexGuard<'_, Shelf> {
        self.shelves[client.0 as usize % SHELVES].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memo").field("archived", &self.is_archived()).finish_non_exhaustive()
    }
}
