//! What a client has, as bytes that somebody else keeps: a node of another system, which calls upon the client for one task at a time.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motet_core::{Archive, ClientId, ClientVersions, State, Store, Vector, Work as Effort, whole, wire};
use motet_runtime::Memory;

use crate::agent::Mark;
use crate::digest::{Digest, bytes_of};
use crate::payload::Payload;
use crate::work::Keep;

/// What one client has in one run, as it was last committed.
#[derive(Clone, Debug)]
pub struct Pocket {
    run: Digest,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Pocket {
    /// For a run, with the bytes that an earlier life left; empty ones before anything was left. What was left by another run is
    /// forgotten.
    pub fn with(run: Digest, bytes: Vec<u8>) -> Self {
        Self { run, bytes: Arc::new(Mutex::new(bytes)) }
    }

    /// What is in it now.
    pub fn bytes(&self) -> Vec<u8> {
        lock(&self.bytes).clone()
    }
}

wire! {
    struct Held {
        run: Digest,
        mark: Mark,
        /// All versions of the client's state, if it has any.
        versions: Option<Payload>,
        solves: Vec<Solve>,
    }
}

wire! {
    /// A local solve, and what it took.
    struct Solve {
        key: u64,
        vector: Vector,
        gradients: u64,
        values: u64,
    }
}

/// A client's states and local solves in a [`Pocket`].
pub struct PocketKeep<S: State> {
    client: ClientId,
    pocket: Pocket,
    store: Arc<Memory<ClientVersions<S>>>,
    solves: Arc<Solves>,
}

impl<S: State> PocketKeep<S> {
    /// Reads what is in a pocket. The mark is the one last committed.
    pub fn open(pocket: Pocket, client: ClientId) -> io::Result<(Self, Mark)> {
        let bytes = pocket.bytes();
        let damaged =
            |error| io::Error::new(io::ErrorKind::InvalidData, format!("what was kept of client {} is damaged: {error}", client.0));
        let keep = Self { client, pocket, store: Arc::default(), solves: Arc::default() };
        if bytes.is_empty() {
            return Ok((keep, Mark::default()));
        }
        let held: Held = whole(&bytes).map_err(damaged)?;
        if held.run != keep.pocket.run {
            return Ok((keep, Mark::default()));
        }
        if let Some(versions) = held.versions {
            keep.store.put(client, whole(&versions.as_bytes()).map_err(damaged)?).map_err(io::Error::other)?;
        }
        for Solve { key, vector, gradients, values } in held.solves {
            keep.solves.put(client, key, &vector, Effort { gradients, values });
        }
        Ok((keep, held.mark))
    }

    /// Where the states are, for the host.
    pub fn store(&self) -> Arc<dyn Store<ClientVersions<S>>> {
        Arc::clone(&self.store) as _
    }

    /// Where local solves are, for the host's memo: who is started anew for each task would solve again for each.
    pub fn solves(&self) -> Arc<dyn Archive> {
        Arc::clone(&self.solves) as _
    }
}

impl<S: State> Keep for PocketKeep<S> {
    fn commit(&mut self, mark: Mark) -> io::Result<()> {
        let versions = self.store.read(self.client).map_err(io::Error::other)?.map(|versions| Payload::of(&versions));
        let solve = |(key, (vector, work)): (&u64, &(Vector, Effort))| Solve {
            key: *key,
            vector: vector.clone(),
            gradients: work.gradients,
            values: work.values,
        };
        let solves = lock(&self.solves.0).iter().map(solve).collect();
        *lock(&self.pocket.bytes) = bytes_of(&Held { run: self.pocket.run, mark, versions, solves });
        Ok(())
    }
}

/// One client's local solves by their key.
#[derive(Default)]
struct Solves(Mutex<BTreeMap<u64, (Vector, Effort)>>);

impl Archive for Solves {
    fn get(&self, _: ClientId, key: u64) -> Option<(Vector, Effort)> {
        lock(&self.0).get(&key).cloned()
    }
    fn put(&self, _: ClientId, key: u64, vector: &Vector, work: Effort) -> bool {
        lock(&self.0).insert(key, (vector.clone(), work));
        true
    }
    fn is_enough(&self) -> bool {
        false
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
