//! State as values, in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use motet_core::{ClientId, Store, StoreError};

/// Keeps every client's state as it is.
pub struct Memory<S> {
    shelves: [Mutex<Shelf<S>>; SHELVES],
}

/// A client whose state is out keeps its place: it will be back.
type Shelf<S> = BTreeMap<ClientId, Option<S>>;

/// Clients are spread over this many locks, so that threads seldom meet.
const SHELVES: usize = 64;

impl<S> Default for Memory<S> {
    fn default() -> Self {
        Self { shelves: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl<S> Memory<S> {
    fn shelf(&self, client: ClientId) -> MutexGuard<'_, Shelf<S>> {
        self.shelves[client.0 as usize % SHELVES].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone> Memory<S> {
    /// A copy of every state that is here, in rising order of clients.
    pub fn states(&self) -> Vec<(ClientId, S)> {
        let copy = |shelf: &Mutex<Shelf<S>>| {
            let shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
            shelf.iter().filter_map(|(id, state)| Some((*id, state.clone()?))).collect::<Vec<_>>()
        };
        let mut states: Vec<(ClientId, S)> = self.shelves.iter().flat_map(copy).collect();
        states.sort_by_key(|(id, _)| *id);
        states
    }
}

impl<S: Clone + Send> Store<S> for Memory<S> {
    fn take(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        Ok(self.shelf(client).get_mut(&client).and_then(Option::take))
    }
    fn put(&self, client: ClientId, state: S) -> Result<(), StoreError> {
        self.shelf(client).insert(client, Some(state));
        Ok(())
    }
    fn read(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        Ok(self.shelf(client).get(&client).cloned().flatten())
    }
}
