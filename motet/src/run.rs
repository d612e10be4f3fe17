//! One run: one method on one problem.

use std::sync::Arc;

use motet_core::{
    Abort, AfterRound, Checkpointer, ClientId, Fleet, Host, Ledger, Memo, Merit, Outcome, Plan, Population, Probe, ProbeRequest, Rhythm,
    Row, RunState, Seed, Sink, Stop, Study, TrainError, Vector, train_from,
};
use motet_runtime::{Memory, Pool, Threads};

use crate::clients::Clients;
use crate::observer::{Event, Observer, Unobserved};

/// A method, its clients, and how long and how to run it.
///
/// ```
/// use motet::{Run, methods::flix::Flix, problems::synthetic::formula::lrs};
/// let clients = lrs(10, 20, 12); // ten clients with twenty examples each, in dimension 12
/// let run = Run::new(Flix::mixing(0.5)?, clients).rounds(50).seed(1).train()?;
/// assert!(run.rows[50].metrics["loss"] < run.rows[0].metrics["loss"]);
/// assert_eq!(run.personal.len(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run<A: Study> {
    method: A,
    clients: Clients,
    plan: Plan,
    threads: Option<usize>,
    start: Option<Vector>,
}

/// What a run leaves.
#[derive(Clone, Debug)]
pub struct Trained<A: Study> {
    /// One for each measured round.
    pub rows: Vec<Row>,
    /// Who counted how much for whom, where the method weighs clients.
    pub merits: Vec<Merit>,
    /// The server's last state.
    pub server: A::Server,
    /// The model that the server would hand client 0.
    pub shared: Vector,
    /// What each client deploys; empty if the population has no end.
    pub personal: Vec<(ClientId, Vector)>,
    /// What was sent and computed.
    pub ledger: Ledger,
    /// Rounds completed.
    pub rounds: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The method does not suit these clients.
    #[error("the method does not suit these clients: {0}")]
    Unsuited(#[from] motet_core::Unsuitable),
    /// There is nobody to train with, or their functions do not go together.
    #[error("{0}")]
    Clients(String),
    /// The loop could not go on.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// What clients deploy could not be fetched at the end.
    #[error("cannot fetch the clients' models: {0}")]
    Fetch(#[from] Abort),
}

impl<A: Study> Run<A> {
    /// A hundred rounds with seed 0 on all cores, measured after each, from where the clients' functions start.
    pub fn new(method: A, clients: impl Into<Clients>) -> Self {
        let plan =
            Plan { look: ProbeRequest { train: true, validation: true, test: true, ..ProbeRequest::default() }, ..Plan::new(100, Seed(0)) };
        Self { method, clients: clients.into(), plan, threads: None, start: None }
    }

    /// How many rounds.
    pub fn rounds(mut self, rounds: u64) -> Self {
        self.plan.rounds = rounds;
        self
    }

    /// The seed of all dice.
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = Seed(seed);
        self
    }

    /// How many threads to use (default: all cores).
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Where the shared model starts.
    pub fn start(mut self, start: impl Into<Vector>) -> Self {
        self.start = Some(start.into());
        self
    }

    /// Measures after every this many rounds; 0 measures only at the end.
    pub fn measure_every(mut self, rounds: u64) -> Self {
        self.plan.rhythm = if rounds == 0 { Rhythm::At(vec![]) } else { Rhythm::Every(rounds) };
        self
    }

    /// End early when a metric reaches a value: see [`Stop`].
    pub fn stop(mut self, metric: &str, value: f64) -> Self {
        self.plan.stop.push(Stop { metric: metric.to_owned(), value });
        self
    }

    /// Change anything else about the plan.
    pub fn plan(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }

    /// Trains to the end.
    pub fn train(self) -> Result<Trained<A>, RunError> {
        self.train_observed(&Unobserved)
    }

    /// Trains to the end, or until the observer says stop.
    pub fn train_observed(self, observer: &dyn Observer) -> Result<Trained<A>, RunError> {
        let Self { method, clients, plan, threads, start } = self;
        let (population, default) = clients.check()?;
        method.suits(clients.count())?;
        let start = match start {
            Some(start) if start.len() != default.len() || start.precision() != default.precision() => {
                let (has, wants) = (start.len(), default.len());
                return Err(RunError::Clients(format!(
                    "the start has {has} numbers of {} bits, the clients' functions take {wants} of {}",
                    start.precision().bits(),
                    default.precision().bits()
                )));
            }
            Some(start) => start,
            None => default,
        };
        let (method, pool) = (Arc::new(method), Arc::new(threads.map_or_else(Pool::all_cores, Pool::new)));
        let store = Arc::new(Memory::default());
        let host = Host::new(Arc::clone(&method), Arc::clone(&population), store, Arc::<Memo>::default(), plan.seed);
        let mut fleet = Threads::new(host, pool);
        observer.notice(Event::Begin { label: "run", seed: plan.seed.0, rounds: plan.rounds });
        let mut kept = RowKeeper { rows: vec![], merits: vec![], observer };
        let begin = RunState::before(&*method, start);
        let trained = train_from(&*method, begin, &plan, &mut fleet, &mut kept, &mut Stops(observer))?;
        let personal = models(&*method, &trained, &*population, &mut fleet)?;
        let shared = method.shared(&trained.server, ClientId(0)).clone();
        let motet_core::Trained { server, ledger, rounds, outcome, .. } = trained;
        Ok(Trained { rows: kept.rows, merits: kept.merits, server, shared, personal, ledger, rounds, outcome })
    }
}

/// What every client of a list deploys.
fn models<A: Study>(
    method: &A,
    trained: &motet_core::Trained<A>,
    population: &dyn Population,
    fleet: &mut dyn Fleet<A>,
) -> Result<Vec<(ClientId, Vector)>, Abort> {
    let ids: Vec<ClientId> = match population.roster() {
        motet_core::Roster::Listed(ids) => ids.to_vec(),
        motet_core::Roster::Counted(n) => (0..n).map(ClientId).collect(),
        motet_core::Roster::Unbounded => vec![],
    };
    let shared = |id: ClientId| method.shared(&trained.server, id);
    let look = ProbeRequest { model: true, rate: method.local_rate(&trained.server), ..ProbeRequest::default() };
    let probe = Probe { round: trained.rounds, to: &ids, shared: &shared, heard: &trained.heard, look, reference: None };
    let mut personal = vec![];
    fleet.probe(&probe, &mut |id, score| personal.extend(score.model.map(|model| (id, model))))?;
    Ok(personal)
}

/// Rows to memory and to the observer.
struct RowKeeper<'a> {
    rows: Vec<Row>,
    merits: Vec<Merit>,
    observer: &'a dyn Observer,
}

impl Sink for RowKeeper<'_> {
    fn row(&mut self, row: &Row) -> std::io::Result<()> {
        self.observer.notice(Event::Row(row));
        self.rows.push(row.clone());
        Ok(())
    }

    fn merit(&mut self, merit: &Merit) -> std::io::Result<()> {
        self.merits.push(merit.clone());
        Ok(())
    }
}

/// Ends a run when the observer says so.
struct Stops<'a>(&'a dyn Observer);

impl<A: Study> Checkpointer<A> for Stops<'_> {
    fn after(&mut self, _: &RunState<A>) -> std::io::Result<AfterRound> {
        Ok(if self.0.stop() { AfterRound::Stop } else { AfterRound::GoOn })
    }
}
