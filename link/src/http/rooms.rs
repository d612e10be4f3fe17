//! How many connections each client has.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// So many connections a client may have open; an agent needs one.
const MOST: usize = 8;

/// Connections of known clients, oldest first. One too many ends the oldest: an agent whose network has forgotten its connections makes new ones.
#[derive(Default)]
pub(super) struct Rooms(Mutex<BTreeMap<u32, VecDeque<Arc<Notify>>>>);

/// A connection of a client, for as long as it lives.
pub(super) struct Room<'a> {
    rooms: &'a Rooms,
    client: u32,
    full: Arc<Notify>,
}

impl Rooms {
    /// One more connection of this client.
    pub(super) fn enter(&self, client: u32) -> Room<'_> {
        let full = Arc::<Notify>::default();
        let mut rooms = self.lock();
        let open = rooms.entry(client).or_default();
        open.push_back(Arc::clone(&full));
        if open.len() > MOST
            && let Some(oldest) = open.pop_front()
        {
            oldest.notify_one();
        }
        Room { rooms: self, client, full }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, VecDeque<Arc<Notify>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room<'_> {
    /// Ends when the client has opened too many others.
    pub(super) async fn is_wanted(&self) {
        self.full.notified().await;
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut rooms = self.rooms.lock();
        let Some(open) = rooms.get_mut(&self.client) else { return };
        open.retain(|other| !Arc::ptr_eq(other, &self.full));
        if open.is_empty() {
            rooms.remove(&self.client);
        }
    }
}
