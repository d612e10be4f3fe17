//! State on disk: more clients than memory holds, and a past that a kill cannot change.
//!
//! Records lie in one file. A record that a committed index names is never written over: its successor goes to a free
//! place, and the place of the old one becomes free only when no index that names it is kept any more. Whoever keeps the
//! index ([`Disk::commit`]) and hands it back ([`Disk::open`]) finds every client as it was at that moment, whatever
//! happened to the file since. States in use stay in memory as values up to a limit; the least recently used go to the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use motet_core::{ClientId, Reader, Store, StoreError, Wire, WireError};

use super::extents::{Extents, Place};

/// Client states in a file, with a cache.
pub struct Disk<S> {
    desk: Mutex<Desk<S>>,
}

struct Desk<S> {
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
}

/// One client's state: in memory, in the file, in both, or out with its client.
struct Entry<S> {
    value: Option<Held<S>>,
    written: Option<Written>,
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

impl<S: Wire> Disk<S> {
    /// A new file; what was in it is forgotten. `limit`: bytes of states that may stay in memory.
    pub fn create(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Self::on(file, limit))
    }

    /// The states as they were when `indices[0]` was committed. The other indices stay valid too.
    pub fn open(path: &Path, limit: u64, indices: &[&[u8]]) -> Result<Self, OpenError> {
        let indices = indices.iter().map(|bytes| Index::decode(&mut Reader::new(bytes))).collect::<Result<Vec<_>, _>>()?;
        let mut desk = Desk::on(OpenOptions::new().read(true).write(true).open(path)?, limit);
        let (mut used, mut current) = (vec![], BTreeSet::new());
        if let Some(newest) = indices.first() {
            desk.generation = newest.generation;
            for &(client, place) in &newest.places {
                let written = Some(Written { place, committed: true });
                desk.entries.insert(client, Entry { value: None, written });
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
        Ok(Self { desk: Mutex::new(desk) })
    }

    fn on(file: File, limit: u64) -> Self {
        Self { desk: Mutex::new(Desk::on(file, limit)) }
    }

    /// Makes every state durable and returns the index that finds them again.
    pub fn commit(&self) -> Result<Vec<u8>, StoreError> {
        let desk = &mut *self.desk();
        let fresh: Vec<u32> = desk.entries.iter().filter(|(_, e)| e.value.as_ref().is_some_and(|h| h.fresh)).map(|(k, _)| *k).collect();
        fresh.into_iter().try_for_each(|client| desk.write(client))?;
        desk.file.sync_data().map_err(|e| StoreError { client: 0, reason: format!("cannot make the states durable: {e}") })?;
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
    fn desk(&self) -> MutexGuard<'_, Desk<S>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Wire + Clone + Send> Store<S> for Disk<S> {
    fn take(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        let desk = &mut *self.desk();
        let Some(entry) = desk.entries.get_mut(&client.0) else { return Ok(None) };
        match entry.value.take() {
            Some(held) => {
                desk.held -= held.bytes;
                desk.recent.remove(&held.used);
                Ok(Some(held.state))
            }
            None => desk.fetch(client.0),
        }
    }

    fn put(&self, client: ClientId, state: S) -> Result<(), StoreError> {
        let desk = &mut *self.desk();
        desk.clock += 1;
        let held = Held { bytes: state.bytes(), state, used: desk.clock, fresh: true };
        desk.held += held.bytes;
        desk.recent.insert(held.used, client.0);
        let entry = desk.entries.entry(client.0).or_insert(Entry { value: None, written: None });
        if let Some(before) = entry.value.replace(held) {
            desk.held -= before.bytes;
            desk.recent.remove(&before.used);
        }
        desk.shrink()
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
        let written = self.file.seek(SeekFrom::Start(place.offset())).and_then(|_| self.file.write_all(&bytes));
        if let Err(error) = written {
            self.extents.release(place);
            return Err(StoreError { client, reason: format!("cannot be written: {error}") });
        }
        held.fresh = false;
        match entry.written.replace(Written { place, committed: false }) {
            Some(Written { place, committed: true }) => self.retired.push((self.generation, place)),
            Some(Written { place, committed: false }) => self.extents.release(place),
            None => {}
        }
        Ok(())
    }

    /// Reads a state from the file; none if its client has it.
    fn fetch(&mut self, client: u32) -> Result<Option<S>, StoreError> {
        let Some(Written { place, .. }) = self.entries.get(&client).and_then(|entry| entry.written) else { return Ok(None) };
        let wrong = |reason: String| StoreError { client, reason };
        let mut bytes = vec![0; place.length as usize];
        let read = self.file.seek(SeekFrom::Start(place.offset())).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|e| wrong(format!("cannot be read: {e}")))?;
        if crc32fast::hash(&bytes) != place.checksum {
            return Err(wrong("is damaged on disk: its checksum does not fit".into()));
        }
        S::decode(&mut Reader::new(&bytes)).map(Some).map_err(|e| wrong(e.to_string()))
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
mod tests {
    use super::*;
    use motet_core::Vector;

    fn state(value: f64, len: usize) -> Vector {
        vec![value; len].into()
    }

    fn at(k: u32) -> ClientId {
        ClientId(k)
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::create(&folder.path().join("s"), 5 * 84).unwrap();
        for round in 0..3 {
            for k in 0..50 {
                let before = disk.take(at(k)).unwrap();
                assert_eq!(before, (round > 0).then(|| state(f64::from(k + round), 10)));
                disk.put(at(k), state(f64::from(k + round + 1), 10)).unwrap();
                assert!(disk.held() <= 5 * 84);
            }
        }
        assert_eq!(disk.read(at(7)).unwrap(), Some(state(10.0, 10)));
        assert_eq!(disk.read(at(99)).unwrap(), None);
        let length = std::fs::metadata(folder.path().join("s")).unwrap().len();
        assert!(length <= 52 * 256, "places are used again, the file has {length} bytes");
    }

    #[test]
    fn a_kept_index_finds_its_states_whatever_happened_since() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let disk = Disk::create(&path, 0).unwrap();
        let mut kept: Vec<(Vec<u8>, f64)> = vec![];
        for round in 0..20u32 {
            for k in 0..8 {
                // Sizes differ, and not every client works in every round.
                if (k + round) % 3 != 0 {
                    disk.take(at(k)).unwrap();
                    disk.put(at(k), state(f64::from(100 * round + k), 5 + (round as usize * 13 + k as usize) % 90)).unwrap();
                }
            }
            if round % 2 == 1 {
                kept.push((disk.commit().unwrap(), f64::from(round)));
                if kept.len() > 3 {
                    kept.remove(0);
                }
                disk.release(disk.generation() - kept.len() as u64 + 1);
            }
            // As after a kill: each kept index, opened afresh, gives the last state up to its round.
            for newest in 0..kept.len() {
                let indices: Vec<&[u8]> = kept[..=newest].iter().rev().map(|k| &*k.0).collect();
                let found = Disk::<Vector>::open(&path, 0, &indices).unwrap();
                for k in 0..8u32 {
                    let last = (0..=kept[newest].1 as u32).rev().find(|r| (k + r) % 3 != 0).unwrap();
                    assert_eq!(found.read(at(k)).unwrap().unwrap().at(0), f64::from(100 * last + k), "client {k} at round {last}");
                }
            }
        }
    }

    #[test]
    fn every_damaged_byte_of_a_record_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let disk = Disk::create(&path, 0).unwrap();
        disk.put(at(3), state(1.5, 6)).unwrap();
        let index = disk.commit().unwrap();
        let whole = std::fs::read(&path).unwrap();
        for byte in 0..whole.len() {
            let mut bad = whole.clone();
            bad[byte] ^= 0x10;
            std::fs::write(&path, &bad).unwrap();
            let error = Disk::<Vector>::open(&path, 0, &[&index]).unwrap().read(at(3)).unwrap_err();
            assert!(error.to_string().contains("client 3") && error.to_string().contains("damaged"), "{error}");
        }
        assert!(Disk::<Vector>::open(&path, 0, &[&index[..index.len() - 1]]).is_err());
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_client() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let file = OpenOptions::new().read(true).write(true).open(full).unwrap();
        let disk = Disk::on(file, 0);
        let error = disk.put(at(4), state(1.0, 1000)).unwrap_err();
        assert!(error.to_string().contains("client 4") && error.to_string().contains("cannot be written"), "{error}");
    }
}
