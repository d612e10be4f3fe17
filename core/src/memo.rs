//! Vectors that depend on a client's data alone, made once and shared by all runs on a problem.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::algorithm::ClientId;
use crate::site::Work;
use crate::vector::Vector;

/// Pure local models, kept outside the versioned client state: they never change.
#[derive(Debug, Default)]
pub struct Memo {
    shelves: [Mutex<Shelf>; SHELVES],
}

/// Clients are spread over this many locks, so that threads seldom meet.
const SHELVES: usize = 16;

type Shelf = BTreeMap<(u64, ClientId), Arc<OnceLock<(Vector, Work)>>>;

impl Memo {
    /// The vector of `client` under `key`; `make` runs at most once, on one thread, and others wait.
    pub(crate) fn once(&self, client: ClientId, key: u64, make: impl FnOnce() -> (Vector, Work)) -> (Vector, Work) {
        let cell = {
            let shelf = &self.shelves[client.0 as usize % SHELVES];
            let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
            let cell = shelf.entry((key, client)).or_default();
            if let Some(done) = cell.get() {
                return done.clone();
            }
            Arc::clone(cell)
        };
        cell.get_or_init(make).clone()
    }
}
