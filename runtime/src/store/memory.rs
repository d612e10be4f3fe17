//! State as values, in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use motet_core::{ClientId, Store, StoreError};

/// Keeps every client's state as it is.
pub struct Memory<S> {
    shelves: [Mutex<BTreeMap<ClientId, S>>; SHELVES],
}

/// Clients are spread over this many locks, so that threads seldom meet.
const SHELVES: usize = 64;

impl<S> Default for Memory<S> {
    fn default() -> Self {
        Self { shelves: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl<S> Memory<S> {
    fn shelf(&self, client: ClientId) -> MutexGuard<'_, BTreeMap<ClientId, S>> {
        self.shelves[client.0 as usize % SHELVES].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone + Send> Store<S> for Memory<S> {
    fn take(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        Ok(self.shelf(client).remove(&client))
    }
    fn put(&self, client: ClientId, state: S) -> Result<(), StoreError> {
        self.shelf(client).insert(client, state);
        Ok(())
    }
    fn read(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        Ok(self.shelf(client).get(&client).cloned())
    }
}
