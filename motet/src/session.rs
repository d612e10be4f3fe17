//! A method on a problem: the one place where code is compiled for every method.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use motet_core::{
    Abort, AfterRound, Checkpointer, ClientId, ClientVersions, Fleet, Host, LastReplies, Ledger, Memo, ModelShape, Outcome, Plan,
    Population, Probe, ProbeRequest, Reader, RunState, Scattered, Score, Seed, Sink, Store, StoreError, TrainError, Trained, Vector, Wire,
    train_from,
};
use motet_link::{Consent, FolderKeep, HostWork, Mark, Pocket, PocketKeep, Remote, Work};
use motet_methods::Method;
use motet_problems::Problem;
use motet_runtime::{Byzantine, Crew, Deployed, Homes, Keeps, Pool, Ranks, Team, serve};

use crate::client_states::{ClientStates, Quarters};
use crate::resume::Saved;
use crate::timed::Timed;
use crate::whereabouts::Whereabouts;

/// What a run is given: problem, plan, and where its clients are.
pub struct Ground<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) memo: Arc<Memo>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) seed: Seed,
    pub(crate) states: States<'a>,
    /// Do clients lie and devices fail, as the problem says?
    pub(crate) disturbed: bool,
    /// The ranks that clients are spread over, and where they live on them.
    pub(crate) crew: Option<Arc<dyn Crew>>,
    pub(crate) homes: Homes,
    /// The clients, where they are on other machines.
    pub(crate) remote: Option<Remote>,
}

/// What one client of a study is given, at its agent.
pub struct ClientGround<'a> {
    pub(crate) client: ClientId,
    pub(crate) population: Arc<dyn Population>,
    pub(crate) seed: Seed,
    pub(crate) home: ClientHome<'a>,
    pub(crate) consent: Consent,
    /// Is given the client's own model whenever it is measured as a whole.
    pub(crate) on_model: Box<dyn FnMut(Vector) + Send>,
}

/// Where the states of a client are kept that works on its own.
pub(crate) enum ClientHome<'a> {
    Folder(&'a Path),
    /// With somebody else; its local solves too, since it may be started anew for each task.
    Pocket(Pocket),
}

/// The client's half of a method at its agent, and what the agent remembers.
pub(crate) fn client_work<M: Method>(method: Arc<M>, ground: ClientGround<'_>) -> io::Result<(Box<dyn Work>, Mark)> {
    let ClientGround { client, population, seed, home, consent, on_model } = ground;
    let memo = Arc::<Memo>::default();
    let model = {
        let shard = population.shard(client).map_err(io::Error::other)?;
        ModelShape { dim: shard.train.dim(), precision: shard.train.precision() }
    };
    match home {
        ClientHome::Folder(folder) => {
            let (keep, mark) = FolderKeep::<M::Client>::open(folder, client)?;
            let host = Host::new(method, population, keep.store(), memo, seed);
            Ok((Box::new(HostWork::new((client, model), host, keep, consent).with_model(on_model)), mark))
        }
        ClientHome::Pocket(pocket) => {
            let (keep, mark) = PocketKeep::<M::Client>::open(pocket, client)?;
            memo.archive(|| keep.solves());
            let host = Host::new(method, population, keep.store(), memo, seed);
            Ok((Box::new(HostWork::new((client, model), host, keep, consent).with_model(on_model)), mark))
        }
    }
}

/// Where client states sleep.
pub(crate) enum States<'a> {
    /// In memory, and their sizes are noted.
    Sized(Arc<dyn Sizes>),
    /// In a folder with a limit to what stays in memory, or in memory where there is no folder; the run goes on from the newest
    /// of the saved moments, if there is one.
    Durable { folder: Option<&'a Path>, limit: u64, saved: &'a [Saved] },
}

impl States<'_> {
    /// In memory, from the beginning.
    pub(crate) const NEW: Self = States::Durable { folder: None, limit: u64::MAX, saved: &[] };
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
    fn anchors(&self, wanted: Vec<bool>) -> Result<Vec<Option<Vector>>, StoreError>;

    /// |αᵢ ∇fᵢ(Tᵢ(x))|²; NaN if the client no longer has the state that was last heard of.
    fn gradient2(&self, client: ClientId, x: &Vector) -> Result<f64, StoreError>;

    /// What was heard of everyone at each of the saved moments that it could go on from, oldest first.
    fn heard_before(&self) -> Vec<LastReplies>;

    /// Runs the rounds that are left.
    fn train(
        self: Box<Self>,
        plan: &Plan,
        sink: &mut dyn Sink,
        checkpoints: &mut dyn AnyCheckpointer,
    ) -> Result<Box<dyn TrainedSession>, TrainError>;

    /// Time that is spent on measuring, so far.
    fn probing(&self) -> Rc<Cell<Duration>>;

    /// Serves the clients of this rank until rank 0 says that the run is over.
    fn serve(self: Box<Self>) -> Result<(), Abort>;
}

/// A session whose rounds are over.
pub trait TrainedSession {
    /// How it ended.
    fn ended(&self) -> Ended;

    /// Scores what clients deploy with the model that was reached; nothing is heard of those who are excluded.
    fn probe(&mut self, to: &[ClientId], look: ProbeRequest, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort>;

    /// The model that the server would hand a client now.
    fn shared(&self, client: ClientId) -> Vector;

    /// The server's state as bytes.
    fn server(&self) -> Vec<u8>;
}

/// How a training ended.
pub struct Ended {
    /// What was heard of each client.
    pub heard: LastReplies,
    /// What was spent.
    pub ledger: Ledger,
    /// Rounds completed.
    pub rounds: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Is given the state of the run after every round, whatever the method: to write it to disk, or to end the run there.
pub trait AnyCheckpointer {
    /// After a round that is not the last.
    fn after(&mut self, moment: &dyn AnyRunState) -> io::Result<AfterRound>;

    /// After the last round: a longer run may go on from here.
    fn end(&mut self, moment: &dyn AnyRunState) -> io::Result<()>;
}

/// The state of a run between two rounds, which can be written to disk.
pub trait AnyRunState {
    /// The round to come.
    fn next_round(&self) -> u64;
    /// What was heard of everyone.
    fn heard(&self) -> LastReplies;
    /// Everything the loop knows, as bytes.
    fn scattered(&self) -> Scattered;
    /// Makes the client states as durable as they can be: the number of that version, and what finds them again.
    fn commit(&self) -> io::Result<(u64, Vec<u8>)>;
    /// Versions before this one are needed no more.
    fn release(&self, oldest: u64) -> io::Result<()>;
}

/// Threads, ranks or agents, and around them liars, devices and a clock for measuring.
type Carriers<M> = Timed<Deployed<Byzantine<Whereabouts<M>>>>;

/// The shell around one method.
pub(crate) struct Live<M: Method> {
    method: Arc<M>,
    host: Host<M>,
    model: ModelShape,
    fleet: Carriers<M>,
    states: ClientStates<ClientVersions<M::Client>>,
    pool: Arc<Pool>,
    now: RunState<M>,
    heard_before: Vec<LastReplies>,
    crew: Option<Arc<dyn Crew>>,
    team: Option<Arc<Team<M>>>,
}

impl<M: Method> Live<M> {
    pub(crate) fn open(method: Arc<M>, ground: Ground<'_>) -> io::Result<Self> {
        let Ground { problem, memo, pool, seed, states, disturbed, crew, homes, remote } = ground;
        let rank = crew.as_ref().map_or(0, |crew| crew.rank());
        let quarters = Quarters { rank, homes: &homes };
        let start = problem.start().into_owned();
        let model = ModelShape::of(&start);
        let mut now = RunState::before(&*method, start);
        let mut heard_before = vec![];
        let (states, store) = match states {
            States::Sized(sizes) => {
                let states = ClientStates::found(&[], None, u64::MAX, &quarters)?;
                let store: Arc<dyn Store<_>> = Arc::new(Sized { inner: states.store(), sizes });
                (states, store)
            }
            States::Durable { folder, limit, saved } => {
                let states = ClientStates::found(saved, folder, limit, &quarters)?;
                // Only the server has it.
                for moment in saved.iter().rev().filter(|_| rank == 0) {
                    now = Self::moment(&moment.moment.as_bytes(0..moment.moment.len()))?;
                    heard_before.push(now.account.heard.clone());
                }
                let store = states.store();
                (states, store)
            }
        };
        let population = Arc::clone(&problem.population) as Arc<dyn Population>;
        let host = Host::new(Arc::clone(&method), population, store, memo, seed);
        let (liars, devices) = if disturbed { (problem.liars, problem.devices) } else { (None, None) };
        let honest = match &crew {
            Some(crew) if rank == 0 => Ranks::new(host.clone(), Arc::clone(&pool), Arc::clone(crew), homes),
            _ => Ranks::alone(host.clone(), Arc::clone(&pool)),
        };
        let team = honest.team();
        let honest = remote.map_or(Whereabouts::Here(honest), Whereabouts::Away);
        let fleet = Timed { inner: Deployed::new(Byzantine::new(honest, liars, seed), devices, seed), probing: Rc::default() };
        Ok(Self { method, host, model, fleet, states, pool, now, crew, team, heard_before })
    }

    /// A saved moment, to its last byte: a build of the same version whose method kept something else wrote other bytes.
    fn moment(bytes: &[u8]) -> io::Result<RunState<M>> {
        let mut reader = Reader::new(bytes);
        let moment = RunState::decode(&mut reader).ok().filter(|_| reader.left() == 0);
        let other = || {
            format!(
                "the checkpoint was written by another build of motet, whose {} kept other things: finish it with that one, or run anew with --overwrite",
                M::CARD.name
            )
        };
        moment.ok_or_else(|| io::Error::other(other()))
    }
}

impl<M: Method> Session for Live<M> {
    fn next_round(&self) -> u64 {
        self.now.next
    }

    fn anchors(&self, wanted: Vec<bool>) -> Result<Vec<Option<Vector>>, StoreError> {
        let (mut anchors, mut failed) = (vec![None; wanted.len()], None);
        if let Some(team) = &self.team {
            let ids: Vec<ClientId> = (0..wanted.len()).filter(|&k| wanted[k]).map(|k| ClientId(k as u32)).collect();
            let found = team.anchors(&ids).map_err(store_error)?;
            ids.iter().zip(found).for_each(|(id, anchor)| anchors[id.0 as usize] = Some(anchor));
            return Ok(anchors);
        }
        let host = self.host.clone();
        let solve = move |k: usize| wanted[k].then(|| host.anchor(ClientId(k as u32))).transpose();
        self.pool.scatter(anchors.len(), solve, |k, anchor| match anchor {
            Ok(anchor) => anchors[k] = anchor,
            Err(error) => failed = failed.take().or(Some(error)),
        });
        failed.map_or(Ok(anchors), Err)
    }

    fn gradient2(&self, client: ClientId, x: &Vector) -> Result<f64, StoreError> {
        let look = ProbeRequest { gradient: true, ..ProbeRequest::default() };
        let heard = &self.now.account.heard;
        let mut score = None;
        match &self.team {
            Some(team) => {
                let probe = Probe { round: 0, to: &[client], shared: &|_| x, heard, look, reference: None };
                team.probe(&probe, &mut |_, found| score = Some(found)).map_err(store_error)?;
            }
            None => score = self.host.score(client, heard.of(client), 0, x, None, look)?,
        }
        Ok(score.and_then(|s| s.gradient).map_or(f64::NAN, |g| g.norm2()))
    }

    fn heard_before(&self) -> Vec<LastReplies> {
        self.heard_before.clone()
    }

    fn train(
        self: Box<Self>,
        plan: &Plan,
        sink: &mut dyn Sink,
        checkpoints: &mut dyn AnyCheckpointer,
    ) -> Result<Box<dyn TrainedSession>, TrainError> {
        let Self { method, mut fleet, states, now, team, .. } = *self;
        let mut keeper = Erased::<M> { to: checkpoints, states: &states, team: team.as_deref() };
        let trained = train_from(&*method, now, plan, &mut fleet, sink, &mut keeper)?;
        Ok(Box::new(Over { method, fleet, trained }))
    }

    fn probing(&self) -> Rc<Cell<Duration>> {
        Rc::clone(&self.fleet.probing)
    }

    fn serve(self: Box<Self>) -> Result<(), Abort> {
        let Self { host, model, pool, states, crew, .. } = *self;
        crew.map_or(Ok(()), |crew| serve((&host, model), &pool, &*crew, &states))
    }
}

/// The shell around one method when its rounds are over.
struct Over<M: Method> {
    method: Arc<M>,
    fleet: Carriers<M>,
    trained: Trained<M>,
}

impl<M: Method> TrainedSession for Over<M> {
    fn ended(&self) -> Ended {
        let Trained { heard, ledger, rounds, outcome, .. } = &self.trained;
        Ended { heard: heard.clone(), ledger: ledger.clone(), rounds: *rounds, outcome: outcome.clone() }
    }

    fn probe(&mut self, to: &[ClientId], look: ProbeRequest, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        let Self { method, fleet, trained } = self;
        let shared = |id: ClientId| method.shared(&trained.server, id);
        let look = ProbeRequest { rate: method.local_rate(&trained.server), ..look };
        let to: Vec<ClientId> = to.iter().copied().filter(|id| !trained.excluded.contains(id)).collect();
        fleet.probe(&Probe { round: trained.rounds, to: &to, shared: &shared, heard: &trained.heard, look, reference: None }, each)
    }

    fn shared(&self, client: ClientId) -> Vector {
        self.method.shared(&self.trained.server, client).clone()
    }

    fn server(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.trained.server.bytes() as usize);
        self.trained.server.encode(&mut bytes);
        bytes
    }
}

/// Hands moments of one method to a checkpointer that knows none.
struct Erased<'a, M: Method> {
    to: &'a mut dyn AnyCheckpointer,
    states: &'a ClientStates<ClientVersions<M::Client>>,
    team: Option<&'a Team<M>>,
}

impl<M: Method> Checkpointer<M> for Erased<'_, M> {
    fn after(&mut self, moment: &RunState<M>) -> io::Result<AfterRound> {
        self.to.after(&Saveable { moment, states: self.states, team: self.team })
    }

    fn end(&mut self, moment: &RunState<M>) -> io::Result<()> {
        self.to.end(&Saveable { moment, states: self.states, team: self.team })
    }
}

/// A moment of one method.
struct Saveable<'a, M: Method> {
    moment: &'a RunState<M>,
    states: &'a ClientStates<ClientVersions<M::Client>>,
    team: Option<&'a Team<M>>,
}

impl<M: Method> AnyRunState for Saveable<'_, M> {
    fn next_round(&self) -> u64 {
        self.moment.next
    }

    fn heard(&self) -> LastReplies {
        self.moment.account.heard.clone()
    }

    fn scattered(&self) -> Scattered {
        Scattered::of(self.moment)
    }

    fn commit(&self) -> io::Result<(u64, Vec<u8>)> {
        let (generation, own) = self.states.commit().map_err(io::Error::other)?;
        let mut parts = vec![own];
        if let Some(team) = self.team {
            for (other, part) in team.commit().map_err(io::Error::other)? {
                // All ranks commit together, and so have the same number.
                debug_assert_eq!(other, generation);
                parts.push(part);
            }
        }
        Ok((generation, self.states.joined(parts)))
    }

    fn release(&self, oldest: u64) -> io::Result<()> {
        self.states.release(oldest);
        self.team.map_or(Ok(()), |team| team.release(oldest)).map_err(io::Error::other)
    }
}

/// A rank that is gone, as whoever waits for a client's data sees it.
fn store_error(abort: Abort) -> StoreError {
    match abort {
        Abort::Store(error) => error,
        other => StoreError { client: 0, reason: other.to_string() },
    }
}

/// A store that notes how large states are.
struct Sized<T> {
    inner: Arc<dyn Store<T>>,
    sizes: Arc<dyn Sizes>,
}

impl<T: Wire> Store<T> for Sized<T> {
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
