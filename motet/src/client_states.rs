//! Where the client states of one run sleep: in a file or in memory, on one rank or on several.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{ClientId, Reader, State, Store, StoreError, Wire, WireError};
use motet_runtime::{Disk, Homes, Keeps, Memory};

use crate::cluster::place;
use crate::resume::Saved;

/// Client states in a file, or in memory.
pub(crate) enum ClientStates<S> {
    /// In a file, and in memory what is in use.
    Disk(Arc<Disk<S>>),
    /// In memory.
    Memory(Arc<Memory<S>>),
}

/// Which rank's states, and where clients live.
pub(crate) struct Quarters<'a> {
    pub(crate) rank: usize,
    pub(crate) homes: &'a Homes,
}

impl Quarters<'_> {
    fn ranks(&self) -> usize {
        self.homes.ranks()
    }

    fn has(&self, client: u32) -> bool {
        self.homes.of(ClientId(client)) as usize == self.rank
    }
}

impl<S: State> ClientStates<S> {
    /// As they were when the first of these moments was saved. `folder` is where the run is kept, if on disk; `limit` is how
    /// many bytes of states may then stay in memory. A moment that was saved on another number of ranks is dealt anew.
    pub(crate) fn found(saved: &[Saved], folder: Option<&Path>, limit: u64, quarters: &Quarters<'_>) -> io::Result<Self> {
        let parts = saved.first().map(|newest| parts(&newest.index)).transpose()?.unwrap_or_default();
        let Some(folder) = folder else {
            let memory = Memory::default();
            for part in &parts {
                let states = Vec::<(u32, S)>::decode(&mut Reader::new(part)).map_err(io::Error::other)?;
                let mut own = states.into_iter().filter(|(id, _)| quarters.has(*id));
                own.try_for_each(|(id, state)| memory.put(ClientId(id), state)).map_err(io::Error::other)?;
            }
            return Ok(ClientStates::Memory(Arc::new(memory)));
        };
        let own = place(folder, quarters.ranks(), quarters.rank);
        if parts.len() == quarters.ranks() {
            // Older moments of as many ranks stay valid.
            let indices = saved.iter().map(|saved| self::parts(&saved.index)).collect::<io::Result<Vec<_>>>()?;
            let indices = indices.iter().filter(|parts| parts.len() == quarters.ranks());
            let indices: Vec<&[u8]> = indices.map(|parts| parts[quarters.rank]).collect();
            return Ok(ClientStates::Disk(Arc::new(Disk::open(&states(&own), limit, &indices).map_err(io::Error::other)?)));
        }
        std::fs::create_dir_all(&own)?;
        let disk = Disk::create(&states(&own), limit)?;
        for (rank, part) in parts.iter().enumerate() {
            let from = Disk::<S>::open(&states(&place(folder, parts.len(), rank)), limit, &[part]).map_err(io::Error::other)?;
            for client in from.clients().into_iter().filter(|client| quarters.has(client.0)) {
                if let Some(state) = from.read(client).map_err(io::Error::other)? {
                    disk.put(client, state).map_err(io::Error::other)?;
                }
            }
        }
        Ok(ClientStates::Disk(Arc::new(disk)))
    }

    /// What a host takes them from.
    pub(crate) fn store(&self) -> Arc<dyn Store<S>> {
        match self {
            ClientStates::Disk(disk) => Arc::clone(disk) as _,
            ClientStates::Memory(memory) => Arc::clone(memory) as _,
        }
    }
}

impl<S: State> Keeps for ClientStates<S> {
    fn commit(&self) -> Result<(u64, Vec<u8>), StoreError> {
        match self {
            ClientStates::Disk(disk) => disk.commit().map(|index| (disk.generation(), index)),
            ClientStates::Memory(memory) => {
                let all: Vec<(u32, S)> = memory.states().into_iter().map(|(id, state)| (id.0, state)).collect();
                let mut bytes = Vec::with_capacity(all.bytes() as usize);
                all.encode(&mut bytes);
                Ok((0, bytes))
            }
        }
    }

    fn release(&self, oldest: u64) {
        if let ClientStates::Disk(disk) = self {
            disk.release(oldest);
        }
    }
}

fn states(folder: &Path) -> PathBuf {
    folder.join("states")
}

/// Says that what follows is the states of several ranks: no index and no list of states begins so.
const RANKS: &[u8] = b"of ranks\xff\xff\xff\xff";

/// The states of all ranks as one: those of a single rank as they are.
pub(crate) fn joined(parts: Vec<Vec<u8>>) -> Vec<u8> {
    if let [_] = &parts[..] {
        return parts.concat();
    }
    let mut all = RANKS.to_vec();
    for part in parts {
        (part.len() as u64).encode(&mut all);
        all.extend(part);
    }
    all
}

/// The states of each rank.
pub(crate) fn parts(index: &[u8]) -> io::Result<Vec<&[u8]>> {
    let Some(mut all) = index.strip_prefix(RANKS) else { return Ok(vec![index]) };
    let mut parts = vec![];
    while !all.is_empty() {
        let cut =
            all.split_first_chunk().and_then(|(length, rest)| rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?));
        let (part, rest) = cut.ok_or_else(|| io::Error::other(WireError::Short))?;
        parts.push(part);
        all = rest;
    }
    Ok(parts)
}
