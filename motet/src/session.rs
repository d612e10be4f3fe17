//! A method on a problem: the one place where code is compiled for every method.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use motet_core::{
    Abort, ClientId, Fleet, Heard, Host, Keeper, Kept, Ledger, Look, Memo, Moment, Next, Outcome, Plan, Population, Probe, Reader, Score,
    Seed, Sink, Store, StoreError, TrainError, Trained, Vector, Wire, train_from,
};
use motet_methods::Method;
use motet_problems::Problem;
use motet_runtime::{Byzantine, Deployed, Disk, Memory, Pool, Threads};

use crate::recorder::Timed;
use crate::resume::Saved;

/// What a run stands on.
pub struct Ground<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) memo: Arc<Memo>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) seed: Seed,
    pub(crate) states: States<'a>,
    /// Do clients lie and devices fail, as the problem says?
    pub(crate) disturbed: bool,
}

/// Where client states sleep.
pub(crate) enum States<'a> {
    /// In memory.
    Memory,
    /// In memory, and their sizes are noted.
    Sized(Arc<dyn Sizes>),
    /// In a folder, with a limit to what stays in memory; the run goes on from the newest of the saved moments, if there is one.
    Folder { path: &'a Path, limit: u64, saved: &'a [Saved] },
}

/// Is told the size of every state that is put to sleep.
pub(crate) trait Sizes: Send + Sync {
    /// A client's state of so many bytes.
    fn note(&self, client: ClientId, bytes: u64);
}

/// A method on a problem, whatever its types are.
pub trait Session {
    /// The round to come; 0 before anything was asked.
    fn next_round(&self) -> u64;

    /// xᵢ* of the clients that `wanted` marks, on all threads.
    fn anchors(&self, wanted: Vec<bool>) -> Vec<Option<Vector>>;

    /// |αᵢ ∇fᵢ(Tᵢ(x))|²; NaN if the client cannot be measured.
    fn gradient2(&self, client: ClientId, x: &Vector) -> f64;

    /// Runs the rounds that are left.
    fn train(&mut self, plan: &Plan, sink: &mut dyn Sink, checkpoints: &mut dyn Checkpointer) -> Result<Ended, TrainError>;

    /// Scores what clients deploy with the model that was reached.
    fn probe(&mut self, to: &[ClientId], look: Look, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort>;

    /// The model that the server would hand a client now.
    fn shared(&self, client: ClientId) -> Vector;

    /// The server's state as bytes.
    fn server(&self) -> Vec<u8>;

    /// Time that was spent on measuring, so far.
    fn probing(&self) -> Rc<Cell<Duration>>;
}

/// How a training ended.
pub struct Ended {
    /// What was heard of each client.
    pub heard: Heard,
    /// What was spent.
    pub ledger: Ledger,
    /// Rounds completed.
    pub rounds: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Is offered every moment between two rounds: to make it durable, or to end the run there.
pub trait Checkpointer {
    /// After a round that is not the last.
    fn after(&mut self, moment: &dyn RunMoment) -> io::Result<Next>;

    /// After the last round: a longer run may go on from here.
    fn end(&mut self, moment: &dyn RunMoment) -> io::Result<()>;
}

/// A moment of a run that can be made durable.
pub trait RunMoment {
    /// The round to come.
    fn next_round(&self) -> u64;
    /// Everything the loop knows, as bytes.
    fn bytes(&self) -> Vec<u8>;
    /// Makes the client states durable: where each lies, and the number of that index. None where states are in memory.
    fn commit(&self) -> io::Result<Option<(Vec<u8>, u64)>>;
    /// Indices before this one are needed no more.
    fn release(&self, generation: u64);
}

/// The shell around one method.
pub(crate) struct Live<M: Method> {
    method: Arc<M>,
    host: Host<M>,
    fleet: Timed<Deployed<Byzantine<Threads<M>>>>,
    disk: Option<Arc<Disk<Kept<M::Client>>>>,
    pool: Arc<Pool>,
    now: Moment<M>,
}

impl<M: Method> Live<M> {
    pub(crate) fn open(method: Arc<M>, ground: Ground<'_>) -> io::Result<Self> {
        let Ground { problem, memo, pool, seed, states, disturbed } = ground;
        let mut now = Moment::before(method.server(problem.start.clone()));
        let mut disk = None;
        let store: Arc<dyn Store<Kept<M::Client>>> = match states {
            States::Memory => Arc::new(Memory::default()),
            States::Sized(sizes) => Arc::new(Sized { inner: Memory::default(), sizes }),
            States::Folder { path, limit, saved } => {
                let file = path.join("states");
                let states = match saved.first() {
                    None => {
                        std::fs::create_dir_all(path)?;
                        Disk::create(&file, limit)?
                    }
                    Some(newest) => {
                        now = Moment::decode(&mut Reader::new(&newest.moment)).map_err(|e| io::Error::other(e.to_string()))?;
                        let indices: Vec<&[u8]> = saved.iter().map(|saved| &*saved.index).collect();
                        Disk::open(&file, limit, &indices).map_err(io::Error::other)?
                    }
                };
                Arc::clone(disk.insert(Arc::new(states))) as _
            }
        };
        let population = Arc::clone(&problem.population) as Arc<dyn Population>;
        let host = Host::new(Arc::clone(&method), population, store, memo, seed);
        let (liars, devices) = if disturbed { (problem.liars, problem.devices) } else { (None, None) };
        let honest = Threads::new(host.clone(), Arc::clone(&pool));
        let fleet = Timed { inner: Deployed::new(Byzantine::new(honest, liars, seed), devices, seed), probing: Rc::default() };
        Ok(Self { method, host, fleet, disk, pool, now })
    }
}

impl<M: Method> Session for Live<M> {
    fn next_round(&self) -> u64 {
        self.now.next
    }

    fn anchors(&self, wanted: Vec<bool>) -> Vec<Option<Vector>> {
        let mut anchors = vec![None; wanted.len()];
        let host = self.host.clone();
        let solve = move |k: usize| wanted[k].then(|| host.anchor(ClientId(k as u32)));
        self.pool.scatter(anchors.len(), solve, |k, anchor| anchors[k] = anchor);
        anchors
    }

    fn gradient2(&self, client: ClientId, x: &Vector) -> f64 {
        let look = Look { gradient: true, ..Look::default() };
        let score = self.host.score(client, self.now.heard.of(client), 0, x, None, look).ok().flatten();
        score.and_then(|s| s.gradient).map_or(f64::NAN, |g| g.norm2())
    }

    fn train(&mut self, plan: &Plan, sink: &mut dyn Sink, checkpoints: &mut dyn Checkpointer) -> Result<Ended, TrainError> {
        let begin = self.now.clone();
        let mut keeper = Erased { to: checkpoints, disk: self.disk.clone() };
        let Trained { server, heard, ledger, rounds, outcome } =
            train_from(&*self.method, begin, plan, &mut self.fleet, sink, &mut keeper)?;
        (self.now.server, self.now.heard, self.now.next) = (server, heard.clone(), rounds + 1);
        Ok(Ended { heard, ledger, rounds, outcome })
    }

    fn probe(&mut self, to: &[ClientId], look: Look, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        let (method, now) = (&self.method, &self.now);
        let shared = |id: ClientId| method.shared(&now.server, id);
        let round = now.next.saturating_sub(1);
        self.fleet.probe(&Probe { round, to, shared: &shared, heard: &now.heard, look, reference: None }, each)
    }

    fn shared(&self, client: ClientId) -> Vector {
        self.method.shared(&self.now.server, client).clone()
    }

    fn server(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.now.server.bytes() as usize);
        self.now.server.encode(&mut bytes);
        bytes
    }

    fn probing(&self) -> Rc<Cell<Duration>> {
        Rc::clone(&self.fleet.probing)
    }
}

/// Hands moments of one method to a checkpointer that knows none.
struct Erased<'a, M: Method> {
    to: &'a mut dyn Checkpointer,
    disk: Option<Arc<Disk<Kept<M::Client>>>>,
}

impl<M: Method> Keeper<M> for Erased<'_, M> {
    fn after(&mut self, moment: &Moment<M>) -> io::Result<Next> {
        self.to.after(&Kind { moment, disk: self.disk.as_deref() })
    }

    fn end(&mut self, moment: &Moment<M>) -> io::Result<()> {
        self.to.end(&Kind { moment, disk: self.disk.as_deref() })
    }
}

struct Kind<'a, M: Method> {
    moment: &'a Moment<M>,
    disk: Option<&'a Disk<Kept<M::Client>>>,
}

impl<M: Method> RunMoment for Kind<'_, M> {
    fn next_round(&self) -> u64 {
        self.moment.next
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.moment.bytes() as usize);
        self.moment.encode(&mut bytes);
        bytes
    }

    fn commit(&self) -> io::Result<Option<(Vec<u8>, u64)>> {
        let Some(disk) = self.disk else { return Ok(None) };
        let index = disk.commit().map_err(io::Error::other)?;
        Ok(Some((index, disk.generation())))
    }

    fn release(&self, generation: u64) {
        if let Some(disk) = self.disk {
            disk.release(generation);
        }
    }
}

/// A store that notes how large states are.
struct Sized<S> {
    inner: S,
    sizes: Arc<dyn Sizes>,
}

impl<T: Wire, S: Store<T>> Store<T> for Sized<S> {
    fn take(&self, client: ClientId) -> Result<Option<T>, StoreError> {
        self.inner.take(client)
    }
    fn put(&self, client: ClientId, state: T) -> Result<(), StoreError> {
        self.sizes.note(client, state.bytes());
        self.inner.put(client, state)
    }
    fn read(&self, client: ClientId) -> Result<Option<T>, StoreError> {
        self.inner.read(client)
    }
    fn expect(&self, clients: &[ClientId]) {
        self.inner.expect(clients);
    }
}
