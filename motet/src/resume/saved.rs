//! A moment of a run, as a checkpoint holds it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use motet_core::{Algorithm, ClientId, Kept, Moment, Reader, Store, StoreError, Wire, wire};
use motet_records::Lengths;
use motet_runtime::{Disk, Memory};

wire! {
    /// The body of a checkpoint.
    #[derive(Default)]
    pub(crate) struct Saved {
        /// Which run of the experiment.
        pub(crate) run: u64,
        /// Records up to this moment.
        pub(crate) lengths: Lengths,
        /// Training took so long.
        pub(crate) seconds: f64,
        /// Number of the index of client states.
        pub(crate) generation: u64,
        /// Where client states lie; the states themselves if they are not on disk.
        pub(crate) index: Vec<u8>,
        /// Everything else.
        pub(crate) moment: Vec<u8>,
    }
}

/// Where the clients of a method sleep.
pub(crate) enum States<A: Algorithm> {
    /// In a file, and in memory what is in use.
    Disk(Arc<Disk<Kept<A::Client>>>),
    /// In memory.
    Memory(Arc<Memory<Kept<A::Client>>>),
}

impl<A: Algorithm> States<A> {
    /// What a host takes them from.
    pub(crate) fn store(&self) -> Arc<dyn Store<Kept<A::Client>>> {
        match self {
            States::Disk(disk) => Arc::clone(disk) as _,
            States::Memory(memory) => Arc::clone(memory) as _,
        }
    }

    /// Makes them as durable as they can be; what finds them again, and its number.
    pub(super) fn commit(&self) -> Result<(u64, Vec<u8>), StoreError> {
        match self {
            States::Disk(disk) => disk.commit().map(|index| (disk.generation(), index)),
            States::Memory(memory) => {
                let all: Vec<(u32, Kept<A::Client>)> = memory.states().into_iter().map(|(id, state)| (id.0, state)).collect();
                let mut bytes = Vec::with_capacity(all.bytes() as usize);
                all.encode(&mut bytes);
                Ok((0, bytes))
            }
        }
    }

    /// What only older commits than this one name is not needed any more.
    pub(super) fn release(&self, oldest: u64) {
        if let States::Disk(disk) = self {
            disk.release(oldest);
        }
    }

    /// As they were when the first of these moments was saved.
    fn found(saved: &[Saved], folder: Option<&Path>, limit: u64) -> io::Result<Self> {
        let Some(folder) = folder else {
            let memory = Memory::default();
            if let Some(newest) = saved.first() {
                let states = Vec::<(u32, Kept<A::Client>)>::decode(&mut Reader::new(&newest.index)).map_err(io::Error::other)?;
                states.into_iter().try_for_each(|(id, state)| memory.put(ClientId(id), state)).map_err(io::Error::other)?;
            }
            return Ok(States::Memory(Arc::new(memory)));
        };
        let path = folder.join("states");
        if saved.is_empty() {
            std::fs::create_dir_all(folder)?;
            return Ok(States::Disk(Arc::new(Disk::create(&path, limit)?)));
        }
        let indices: Vec<&[u8]> = saved.iter().map(|saved| &*saved.index).collect();
        Ok(States::Disk(Arc::new(Disk::open(&path, limit, &indices).map_err(io::Error::other)?)))
    }
}

/// A run as it was.
pub(crate) struct Past<A: Algorithm> {
    pub(crate) moment: Moment<A>,
    pub(crate) states: States<A>,
    pub(crate) seconds: f64,
    /// Numbers of the indices that checkpoints hold, oldest first.
    pub(crate) generations: Vec<u64>,
}

impl<A: Algorithm> Past<A> {
    /// The newest of the saved moments, or the beginning. `folder` is where the run is kept, if on disk; `limit` is how many
    /// bytes of client states may then stay in memory.
    pub(crate) fn of(saved: &[Saved], begin: Moment<A>, folder: Option<&Path>, limit: u64) -> io::Result<Self> {
        let states = States::found(saved, folder, limit)?;
        let Some(newest) = saved.first() else { return Ok(Self { moment: begin, states, seconds: 0.0, generations: vec![] }) };
        let moment = Moment::decode(&mut Reader::new(&newest.moment)).map_err(|e| io::Error::other(e.to_string()))?;
        let generations = saved.iter().rev().map(|saved| saved.generation).collect();
        Ok(Self { moment, states, seconds: newest.seconds, generations })
    }
}
