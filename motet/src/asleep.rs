//! Where the client states of one run sleep.

use std::io;
use std::path::Path;
use std::sync::Arc;

use motet_core::{ClientId, Reader, State, Store, StoreError, Wire};
use motet_runtime::{Disk, Memory};

use crate::resume::Saved;

/// Client states in a file, or in memory.
pub(crate) enum Asleep<S> {
    /// In a file, and in memory what is in use.
    Disk(Arc<Disk<S>>),
    /// In memory.
    Memory(Arc<Memory<S>>),
}

impl<S: State> Asleep<S> {
    /// As they were when the first of these moments was saved. `folder` is where the run is kept, if on disk; `limit` is how
    /// many bytes of states may then stay in memory.
    pub(crate) fn found(saved: &[Saved], folder: Option<&Path>, limit: u64) -> io::Result<Self> {
        let Some(folder) = folder else {
            let memory = Memory::default();
            if let Some(newest) = saved.first() {
                let states = Vec::<(u32, S)>::decode(&mut Reader::new(&newest.index)).map_err(io::Error::other)?;
                states.into_iter().try_for_each(|(id, state)| memory.put(ClientId(id), state)).map_err(io::Error::other)?;
            }
            return Ok(Asleep::Memory(Arc::new(memory)));
        };
        let path = folder.join("states");
        if saved.is_empty() {
            std::fs::create_dir_all(folder)?;
            return Ok(Asleep::Disk(Arc::new(Disk::create(&path, limit)?)));
        }
        let indices: Vec<&[u8]> = saved.iter().map(|saved| &*saved.index).collect();
        Ok(Asleep::Disk(Arc::new(Disk::open(&path, limit, &indices).map_err(io::Error::other)?)))
    }

    /// What a host takes them from.
    pub(crate) fn store(&self) -> Arc<dyn Store<S>> {
        match self {
            Asleep::Disk(disk) => Arc::clone(disk) as _,
            Asleep::Memory(memory) => Arc::clone(memory) as _,
        }
    }

    /// Makes them as durable as they can be: the number of that version, and what finds them again.
    pub(crate) fn commit(&self) -> Result<(u64, Vec<u8>), StoreError> {
        match self {
            Asleep::Disk(disk) => disk.commit().map(|index| (disk.generation(), index)),
            Asleep::Memory(memory) => {
                let all: Vec<(u32, S)> = memory.states().into_iter().map(|(id, state)| (id.0, state)).collect();
                let mut bytes = Vec::with_capacity(all.bytes() as usize);
                all.encode(&mut bytes);
                Ok((0, bytes))
            }
        }
    }

    /// What only older versions than this one name is not needed any more.
    pub(crate) fn release(&self, oldest: u64) {
        if let Asleep::Disk(disk) = self {
            disk.release(oldest);
        }
    }
}
