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

    /// The vector of `client` under `key`; `make` runs at most once, on one thread, and others wait. What is not `sound` after it was made
    /// is for those who wait alone, and is made again for the next.
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
        let archive = self.archive.get().map(|archive| &**archive);
        let mut stays = true;
        let found = cell.get_or_init(|| {
            if let Some(found) = archive.and_then(|archive| archive.get(client, key)) {
                stays = false;
                return found;
            }
            let (vector, work) = make(archive);
            stays = sound() && !archive.is_some_and(|archive| archive.put(client, key, &vector, work));
            (vector, work)
        });
        if !stays {
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_not_sound_is_made_again() {
        #[derive(Default)]
        struct Kept(Mutex<Vec<f64>>);
        impl Archive for Kept {
            fn get(&self, _: ClientId, _: u64) -> Option<(Vector, Work)> {
                None
            }
            fn put(&self, _: ClientId, _: u64, vector: &Vector, _: Work) -> bool {
                self.0.lock().unwrap().push(vector.at(0));
                false
            }
            fn is_enough(&self) -> bool {
                false
            }
        }
        for archived in [false, true] {
            let (memo, kept, made) = (Memo::default(), Arc::new(Kept::default()), Cell::new(0.0));
            if archived {
                memo.archive(|| Arc::clone(&kept) as Arc<dyn Archive>);
            }
            let ask = |sound: bool| {
                let make = |_: Option<&dyn Archive>| {
                    made.set(made.get() + 1.0);
                    (Vector::from(vec![made.get()]), Work::default())
                };
                memo.once(ClientId(3), 7, || sound, make).0.at(0)
            };
            assert_eq!([ask(false), ask(true), ask(true)], [1.0, 2.0, 2.0]);
            assert_eq!(*kept.0.lock().unwrap(), if archived { vec![2.0] } else { vec![] }, "and never archived");
        }
    }
}
