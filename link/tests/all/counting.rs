//! A method that counts: every reply says how often its client was heard, so that one reply folded twice, or not at all, shows.

use std::io;
use std::sync::{Arc, Mutex};

use motet_core::{
    Abort, Algorithm, Batch, ClientId, ClientVersions, Deployment, Host, Memo, Misfit, ModelShape, Objective, Reader, Round, Seed, Shard,
    Site, Store, StoreError, Vector, Wire, message, whole,
};
use motet_link::{Keep, Mark};

pub(crate) struct Counting;

message! {
    /// Count one more.
    pub(crate) struct Count { pub(crate) padding: Vec<f64> }
}

message! {
    /// Who counts, and how far it is.
    pub(crate) struct Counted { pub(crate) client: u32, pub(crate) total: u64, pub(crate) padding: Vec<f64> }
}

impl Algorithm for Counting {
    type Ask = Count;
    type Reply = Counted;
    type Server = Vector;
    type Client = u64;

    fn server(&self, start: Vector) -> Vector {
        start
    }
    fn client(&self, _: &mut Site<'_>) -> u64 {
        0
    }
    fn round(&self, _: &mut Vector, _: &mut Round<'_, Self>) -> Result<(), Abort> {
        Ok(())
    }
    fn answer(&self, me: &mut u64, ask: &Count, site: &mut Site<'_>) -> Counted {
        *me += 1;
        Counted { client: site.id.0, total: *me, padding: ask.padding.clone() }
    }
    fn fits(&self, _: &Count, _: &Counted, _: ClientId, _: ModelShape) -> Result<(), Misfit> {
        Ok(())
    }
    fn shared<'a>(&self, server: &'a Vector, _: ClientId) -> &'a Vector {
        server
    }
    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

struct Nothing;

impl Objective for Nothing {
    fn dim(&self) -> usize {
        1
    }
    fn samples(&self) -> usize {
        1
    }
    fn value(&self, _: &Vector, _: Batch<'_>) -> f64 {
        0.0
    }
    fn gradient(&self, _: &Vector, _: Batch<'_>, _: &mut Vector) {}
}

/// A host of clients that only count, whose states are in this store.
pub(crate) fn host(clients: usize, store: Arc<dyn Store<ClientVersions<u64>>>) -> Host<Counting> {
    let shards = vec![Shard::new(Arc::new(Nothing)); clients];
    Host::new(Arc::new(Counting), Arc::new(shards), store, Arc::new(Memo::default()), Seed(1))
}

/// One client's disk: what was committed survives a kill, what was not does not.
#[derive(Clone, Default)]
pub(crate) struct OneDisk(Arc<Mutex<Sides>>);

#[derive(Default)]
struct Sides {
    memory: Option<Vec<u8>>,
    durable: (Option<Vec<u8>>, Mark),
    /// Kills after so many more operations.
    fuse: Option<u32>,
    commits: u64,
    /// Says that it is durable, and is not.
    careless: bool,
}

impl OneDisk {
    pub(crate) fn careless() -> Self {
        Self(Arc::new(Mutex::new(Sides { careless: true, ..Sides::default() })))
    }

    pub(crate) fn kill_at(&self, operation: u32) {
        self.0.lock().unwrap().fuse = Some(operation);
    }
    /// What is found after a kill.
    pub(crate) fn restart(&self) -> Mark {
        let mut sides = self.0.lock().unwrap();
        sides.fuse = None;
        sides.memory = sides.durable.0.clone();
        sides.durable.1
    }
    pub(crate) fn commits(&self) -> u64 {
        self.0.lock().unwrap().commits
    }
}

impl Sides {
    fn step(&mut self) -> io::Result<()> {
        match &mut self.fuse {
            Some(0) => Err(io::Error::other("killed")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Store<ClientVersions<u64>> for OneDisk {
    fn take(&self, client: ClientId) -> Result<Option<ClientVersions<u64>>, StoreError> {
        self.read(client)
    }
    fn put(&self, client: ClientId, state: ClientVersions<u64>) -> Result<(), StoreError> {
        let mut sides = self.0.lock().unwrap();
        sides.step().map_err(|e| StoreError { client: client.0, reason: e.to_string() })?;
        let mut bytes = vec![];
        state.encode(&mut bytes);
        sides.memory = Some(bytes);
        Ok(())
    }
    fn read(&self, _: ClientId) -> Result<Option<ClientVersions<u64>>, StoreError> {
        let sides = self.0.lock().unwrap();
        Ok(sides.memory.as_ref().map(|bytes| ClientVersions::decode(&mut Reader::new(bytes)).unwrap()))
    }
}

impl Keep for OneDisk {
    fn commit(&mut self, mark: Mark) -> io::Result<()> {
        let mut sides = self.0.lock().unwrap();
        sides.step()?;
        let state = if sides.careless { sides.durable.0.clone() } else { sides.memory.clone() };
        sides.durable = (state, mark);
        sides.commits += 1;
        // Killed after it is durable, before anything is said.
        sides.step()
    }
}

/// A reply read back.
pub(crate) fn counted(bytes: &[u8]) -> Counted {
    whole::<motet_core::Answer<Counted>>(bytes).unwrap().reply
}
