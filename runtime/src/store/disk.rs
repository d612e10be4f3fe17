//! Client state on disk, for more clients than memory holds, in a form that survives a kill.
//!
//! Records lie in one file. A record that a committed index names is never written over: its successor goes to a free
//! place, and the place of the old one becomes free only when no index that names it is kept any more. Whoever keeps the
//! index ([`Disk::commit`]) and hands it back ([`Disk::open`]) finds every client as it was at that moment, whatever
//! happened to the file since. States in use stay in memory as values up to a limit; the least recently used go to the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motet_core::{ClientId, Reader, Store, StoreError, Wire, WireError};
use motet_files::kill;

use super::extents::{Extents, Place};
use super::helper::Helper;

/// So many bytes are written before they are sent on to the disk, so that a commit does not wait for all of them.
const BEHIND: u64 = 64 << 20;

/// Client states in a file, with a cache.
pub struct Disk<S> {
    desk: Arc<Mutex<Desk<S>>>,
    /// Reads ahead and writes behind; absent where everything stays in memory.
    helper: Option<Helper>,
}

pub(super) struct Desk<S> {
    file: File,
    extents: Extents,
    entries: BTreeMap<u32, Entry<S>>,
    /// When last used → whose state it is; only states in memory.
    recent: BTreeMap<u64, u32>,
    clock: u64,
    /// Bytes of the states in memory, and how many there may be.
    held: u64,
    limit: u64,
    /// Number of the last committed index.
    generation: u64,
    /// Places that only committed indices name, with the last such index.
    retired: Vec<(u64, Place)>,
    /// Bytes written since they were last sent on to the disk.
    unsent: u64,
    /// Is everything durable that was written? A file that was just opened may not be.
    durable: bool,
}

/// One client's state: in memory, in the file, in both, or out with its client.
struct Entry<S> {
    value: Option<Held<S>>,
    /// The last state that was written. It stays while its client is out: the committed index may name it.
    written: Option<Written>,
    /// Has its client taken it? Then it is not here, whatever the file still has.
    out: bool,
}

struct Held<S> {
    state: S,
    bytes: u64,
    used: u64,
    /// Not in the file yet.
    fresh: bool,
}

#[derive(Clone, Copy)]
struct Written {
    place: Place,
    /// Does a committed index name it?
    committed: bool,
}

/// Why committed states cannot be found again.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The index is not one of ours.
    #[error("the index of client states is damaged: {0}")]
    Index(#[from] WireError),
}

impl<S: Wire + Send + 'static> Disk<S> {
    /// A new file; what was in it is forgotten. `limit`: bytes of states that may stay in memory.
    pub fn create(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Self::with_helper(Desk::on(file, limit), path)
    }

    /// The states as they were when `indices[0]` was committed. The other indices stay valid too.
    pub fn open(path: &Path, limit: u64, indices: &[&[u8]]) -> Result<Self, OpenError> {
        let indices = indices.iter().map(|bytes| Index::decode(&mut Reader::new(bytes))).collect::<Result<Vec<_>, _>>()?;
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        if !indices.iter().flat_map(|index| &index.places).all(|(_, place)| place.lies_within(length)) {
            return Err(WireError::Unsound("a place beyond the end of the states").into());
        }
        let mut desk = Desk::on(file, limit);
        let (mut used, mut current) = (vec![], BTreeSet::new());
        if let Some(newest) = indices.first() {
            desk.generation = newest.generation;
            for &(client, place) in &newest.places {
                let written = Some(Written { place, committed: true });
                desk.entries.insert(client, Entry { value: None, written, out: false });
                current.insert(place);
                used.push(place);
            }
        }
        for index in indices.iter().skip(1) {
            for &(_, place) in index.places.iter().filter(|(_, place)| current.insert(*place)) {
                desk.retired.push((index.generation, place));
                used.push(place);
            }
        }
        desk.extents = Extents::around(used);
        Ok(Self::with_helper(desk, path)?)
    }

    fn with_helper(desk: Desk<S>, path: &Path) -> io::Result<Self> {
        let (limited, desk) = (desk.limit < u64::MAX, Arc::new(Mutex::new(desk)));
        let helper = if limited { Some(Helper::new(&desk, File::open(path)?)) } else { None };
        Ok(Self { desk, helper })
    }

    /// Makes every state durable and returns the index that finds them again.
    pub fn commit(&self) -> Result<Vec<u8>, StoreError> {
        let desk = &mut *self.desk();
        let fresh: Vec<u32> = desk.entries.iter().filter(|(_, e)| e.value.as_ref().is_some_and(|h| h.fresh)).map(|(k, _)| *k).collect();
        fresh.into_iter().try_for_each(|client| desk.write(client))?;
        if !desk.durable {
            desk.file.sync_data().map_err(|e| StoreError { client: 0, reason: format!("cannot make the states durable: {e}") })?;
            (desk.durable, desk.unsent) = (true, 0);
        }
        desk.generation += 1;
        let mut places = vec![];
        for (client, entry) in &mut desk.entries {
            if let Some(written) = &mut entry.written {
                written.committed = true;
                places.push((*client, written.place));
            }
        }
        let index = Index { generation: desk.generation, places };
        let mut bytes = Vec::with_capacity(index.bytes() as usize);
        index.encode(&mut bytes);
        Ok(bytes)
    }

    /// Whose states there are.
    pub fn clients(&self) -> Vec<ClientId> {
        self.desk().entries.keys().map(|client| ClientId(*client)).collect()
    }

    /// Number of the last index committed.
    pub fn generation(&self) -> u64 {
        self.desk().generation
    }

    /// Indices before `oldest` are no longer kept by anyone: what only they named may be written over.
    pub fn release(&self, oldest: u64) {
        let desk = &mut *self.desk();
        let (gone, kept) = desk.retired.drain(..).partition(|(generation, _)| *generation < oldest);
        desk.retired = kept;
        let gone: Vec<(u64, Place)> = gone;
        gone.into_iter().for_each(|(_, place)| desk.extents.release(place));
    }

    /// Bytes of states in memory.
    pub fn held(&self) -> u64 {
        self.desk().held
    }
}

impl<S> Disk<S> {
    #[cfg(test)]
    fn on(file: File, limit: u64) -> Self {
        Self { desk: Arc::new(Mutex::new(Desk::on(file, limit))), helper: None }
    }

    fn desk(&self) -> MutexGuard<'_, Desk<S>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Wire + Clone + Send + 'static> Store<S> for Disk<S> {
    fn take(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        let desk = &mut *self.desk();
        let Some(entry) = desk.entries.get_mut(&client.0) else { return Ok(None) };
        let state = match entry.value.take() {
            Some(held) => {
                desk.held -= held.bytes;
                desk.recent.remove(&held.used);
                Some(held.state)
            }
            None => desk.fetch(client.0)?,
        };
        if let Some(entry) = desk.entries.get_mut(&client.0) {
            entry.out = true;
        }
        Ok(state)
    }

    fn put(&self, client: ClientId, state: S) -> Result<(), StoreError> {
        let desk = &mut *self.desk();
        desk.clock += 1;
        let held = Held { bytes: state.bytes(), state, used: desk.clock, fresh: true };
        desk.held += held.bytes;
        desk.recent.insert(held.used, client.0);
        let entry = desk.entries.entry(client.0).or_insert(Entry { value: None, written: None, out: false });
        entry.out = false;
        if let Some(before) = entry.value.replace(held) {
            desk.held -= before.bytes;
            desk.recent.remove(&before.used);
        }
        desk.shrink()?;
        if let (Some(helper), true) = (&self.helper, desk.unsent >= BEHIND) {
            desk.unsent = 0;
            helper.send();
        }
        Ok(())
    }

    fn expect(&self, clients: &[ClientId]) {
        let Some(helper) = &self.helper else { return };
        let desk = &mut *self.desk();
        // What is needed soon is not what should leave memory now.
        let room = (desk.limit / 2) as usize;
        let mut ahead = 0;
        for client in clients {
            let Some(place) = desk.asleep(client.0) else { continue };
            ahead += place.length as usize;
            if ahead > room {
                break;
            }
            helper.fetch(client.0);
        }
    }

    fn read(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        let desk = &mut *self.desk();
        match desk.entries.get(&client.0).map(|entry| &entry.value) {
            None => Ok(None),
            Some(Some(held)) => Ok(Some(held.state.clone())),
            Some(None) => desk.fetch(client.0),
        }
    }
}

impl<S> Desk<S> {
    fn on(file: File, limit: u64) -> Self {
        Self {
            file,
            extents: Extents::default(),
            entries: BTreeMap::new(),
            recent: BTreeMap::new(),
            clock: 0,
            held: 0,
            limit,
            generation: 0,
            retired: vec![],
            unsent: 0,
            durable: false,
        }
    }
}

impl<S: Wire> Desk<S> {
    /// Sends the least recently used states to the file until the rest fits.
    fn shrink(&mut self) -> Result<(), StoreError> {
        while self.held > self.limit {
            let Some((_, client)) = self.recent.pop_first() else { break };
            self.write(client)?;
            if let Some(held) = self.entries.get_mut(&client).and_then(|entry| entry.value.take()) {
                self.held -= held.bytes;
            }
        }
        Ok(())
    }

    /// Writes a state that is not in the file yet, to a place that no kept index names.
    fn write(&mut self, client: u32) -> Result<(), StoreError> {
        let Some(entry) = self.entries.get_mut(&client) else { return Ok(()) };
        let Some(held) = entry.value.as_mut().filter(|held| held.fresh) else { return Ok(()) };
        let mut bytes = Vec::with_capacity(held.bytes as usize);
        held.state.encode(&mut bytes);
        let place = self.extents.take(bytes.len() as u64, crc32fast::hash(&bytes));
        kill::point(|| {
            let half = &bytes[..bytes.len() / 2];
            let _ = self.file.seek(SeekFrom::Start(place.offset())).and_then(|_| self.file.write_all(half));
        });
        let written = self.file.seek(SeekFrom::Start(place.offset())).and_then(|_| self.file.write_all(&bytes));
        if let Err(error) = written {
            self.extents.release(place);
            return Err(StoreError { client, reason: format!("cannot be written: {error}") });
        }
        held.fresh = false;
        self.unsent += place.length;
        self.durable = false;
        match entry.written.replace(Written { place, committed: false }) {
            Some(Written { place, committed: true }) => self.retired.push((self.generation, place)),
            Some(Written { place, committed: false }) => self.extents.release(place),
            None => {}
        }
        Ok(())
    }

    /// Reads a state from the file; none if its client has it.
    fn fetch(&mut self, client: u32) -> Result<Option<S>, StoreError> {
        let here = self.entries.get(&client).filter(|entry| !entry.out);
        let Some(Written { place, .. }) = here.and_then(|entry| entry.written) else { return Ok(None) };
        record(&mut self.file, place).map(Some).map_err(|reason| StoreError { client, reason })
    }
}

/// Reads a record.
pub(super) fn record<S: Wire>(file: &mut File, place: Place) -> Result<S, String> {
    let mut bytes = vec![0; place.length as usize];
    let read = file.seek(SeekFrom::Start(place.offset())).and_then(|_| file.read_exact(&mut bytes));
    read.map_err(|e| format!("cannot be read: {e}"))?;
    if crc32fast::hash(&bytes) != place.checksum {
        return Err("is damaged on disk: its checksum does not fit".into());
    }
    S::decode(&mut Reader::new(&bytes)).map_err(|e| e.to_string())
}

impl<S: Wire> Desk<S> {
    /// Where a state lies that is neither in memory nor out with its client.
    pub(super) fn asleep(&self, client: u32) -> Option<Place> {
        match self.entries.get(&client) {
            Some(Entry { value: None, written: Some(written), out: false }) => Some(written.place),
            _ => None,
        }
    }

    /// Takes in a state that was read ahead, unless something happened to it since.
    pub(super) fn take_in(&mut self, client: u32, place: Place, state: S) {
        if self.asleep(client) != Some(place) {
            return;
        }
        self.clock += 1;
        let held = Held { bytes: state.bytes(), state, used: self.clock, fresh: false };
        self.held += held.bytes;
        self.recent.insert(held.used, client);
        if let Some(entry) = self.entries.get_mut(&client) {
            entry.value = Some(held);
        }
        // What cannot be written now is told to the next client that comes.
        let _ = self.shrink();
    }
}

motet_core::wire! {
    /// Where every client's state lies.
    struct Index {
        generation: u64,
        places: Vec<(u32, Place)>,
    }
}

#[cfg(test)]
mod tests;
