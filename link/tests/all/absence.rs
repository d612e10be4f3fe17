//! Rounds of participants that leave, come back, are revoked or never come: who is waited for, and what a round counts.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use motet_core::{
    Abort, Algorithm, Answer, ClientId, Deployment, Misfit, ModelShape, NotFinite, Outcome as Ending, Plan, Rhythm, Round, Row, Sampling,
    Seed, Site, Study, Trained, Vector, Wire, Work as Effort, message, train,
};
use motet_link::{Agent, Body, Call, Desk, Digest, Limits, Mark, MemorySpool, Next, Office, Outcome, Remote, Request, TaskHead, Work};

const CLIENTS: u32 = 3;
const ROUNDS: u64 = 20;
const LEASE: Duration = Duration::from_millis(250);

message! {
    /// Are you there?
    pub(crate) struct Question {}
}

message! {
    /// Here.
    pub(crate) struct Here { pub(crate) client: u32 }
}

/// A method that counts who answered.
#[derive(Clone)]
struct RollCall(Asks);

/// Whom it asks.
#[derive(Clone)]
enum Asks {
    /// All, who must answer.
    Everyone,
    /// All who answer.
    Any,
    Some(Sampling),
    /// Those who are there, if two are.
    Present,
}

impl Algorithm for RollCall {
    type Ask = Question;
    type Reply = Here;
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }
    fn client(&self, _: &mut Site<'_>) {}
    fn round(&self, counts: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = match &self.0 {
            Asks::Everyone => round.everyone().required(),
            Asks::Any => round.everyone(),
            Asks::Some(how) => round.sample(how),
            Asks::Present => round.present(&round.everyone()),
        };
        if matches!(self.0, Asks::Present) && cohort.len() < 2 {
            return Ok(());
        }
        let mut came = vec![0.0; CLIENTS as usize];
        round.ask(&cohort, Question {}, |id, _| came[id.0 as usize] += 1.0)?;
        counts.axpy(1.0, &came.into());
        Ok(())
    }
    fn answer(&self, (): &mut (), _: &Question, site: &mut Site<'_>) -> Here {
        Here { client: site.id.0 }
    }
    fn fits(&self, _: &Question, _: &Here, _: ClientId, _: ModelShape) -> Result<(), Misfit> {
        Ok(())
    }
    fn shared<'a>(&self, server: &'a Vector, _: ClientId) -> &'a Vector {
        server
    }
    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for RollCall {}

/// Says "here", and does what a test wants at a round.
struct Says<'a> {
    client: u32,
    at: &'a (dyn Fn(u32, u64) + Sync),
}

impl Work for Says<'_> {
    fn answer(&mut self, head: &TaskHead, _: bool, _: &[u8]) -> io::Result<Outcome> {
        (self.at)(self.client, head.slot.round);
        let mut bytes = vec![];
        Answer::new(Here { client: self.client }, Effort::default()).encode(&mut bytes);
        Ok(Outcome::Reply(Body::new(bytes)))
    }
    fn commit(&mut self, _: Mark) -> io::Result<()> {
        Ok(())
    }
}

fn run() -> Digest {
    Digest::of(b"absence")
}

/// Where agents find their desk, when they look for it, and what they do at a round.
struct Stage<'a> {
    office: &'a Arc<Office>,
    /// Is this one looking for its desk now?
    looks: &'a (dyn Fn(u32) -> bool + Sync),
    at: &'a (dyn Fn(u32, u64) + Sync),
}

fn office() -> Arc<Office> {
    let limits = Limits { lease: LEASE, ..Limits::default() };
    Office::new(Desk::new(run(), 1, 0..CLIENTS, Box::new(MemorySpool::default()), limits, Duration::ZERO), Box::new(|_| ()))
}

/// One agent after the other, as long as the run lasts.
fn live(client: u32, stage: &Stage<'_>, over: &AtomicBool) {
    let mut agent: Option<Agent<Says<'_>>> = None;
    let mut lives = 0;
    while !over.load(Ordering::Relaxed) {
        if !(stage.looks)(client) {
            agent = None;
            thread::sleep(Duration::from_millis(2));
            continue;
        }
        let agent = agent.get_or_insert_with(|| {
            lives += 1;
            let mark = Mark { session: motet_link::Session { count: lives, nonce: 0 }, ..Mark::default() };
            Agent::start(Says { client, at: stage.at }, run(), mark, 1, Limits::default()).unwrap()
        });
        match agent.hear(stage.office.handle(client, agent.call())).unwrap() {
            Next::Now => {}
            Next::Poll | Next::After(_) => thread::sleep(Duration::from_millis(2)),
            Next::Ended(_) => return,
        }
    }
}

/// Who answered how often, how the run ended, and its last row.
fn play(
    how: Asks,
    quorum: f64,
    fleet: impl FnOnce(Remote) -> Remote,
    deadline: Option<Duration>,
    stage: &Stage<'_>,
) -> (Trained<RollCall>, Vec<Row>) {
    let over = AtomicBool::new(false);
    let model = ModelShape { dim: CLIENTS as usize, precision: motet_core::Precision::F64 };
    let plan = Plan {
        quorum,
        // Whoever is away uses up none.
        attempts: 1,
        not_finite: NotFinite::Fatal,
        rhythm: Rhythm::At(vec![]),
        probe_clients: Some(0),
        ..Plan::new(ROUNDS, Seed(1))
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let over = &over;
            scope.spawn(move || live(client, stage, over));
        }
        let mut fleet = fleet(Remote::new(Arc::clone(stage.office), CLIENTS, model, deadline));
        let mut rows = vec![];
        let trained = train(&RollCall(how), Vector::from(vec![0.0; CLIENTS as usize]), &plan, &mut fleet, &mut rows);
        over.store(true, Ordering::Relaxed);
        (trained.unwrap(), rows)
    })
}

/// Long enough that no test would end if it were waited for.
const LONG: Option<Duration> = Some(Duration::from_secs(3600));

#[test]
fn who_is_revoked_or_struck_out_in_a_round_is_done_without_whatever_the_quorum_is() {
    for (how, deadline) in [(Asks::Everyone, None), (Asks::Any, None), (Asks::Everyone, LONG), (Asks::Any, LONG), (Asks::Present, LONG)] {
        for struck in [false, true] {
            let office = office();
            let leaves = |client: u32, round: u64| {
                if (client, round) != (1, 5) {
                    return;
                }
                match struck {
                    false => office.revoke(1),
                    true => (0..3).for_each(|_| {
                        let (_, task) = office.desk().open_tasks().into_iter().find(|(client, _)| *client == 1).unwrap();
                        let session = motet_link::Session { count: 9, nonce: 0 };
                        let request = Request::Fetch { task, offset: u64::MAX };
                        office.handle(1, Call { protocol: motet_link::PROTOCOL, run: run(), session, request });
                    }),
                }
            };
            let stage = Stage { office: &office, looks: &|_| true, at: &leaves };
            let (trained, rows) = play(how.clone(), 1.0, |fleet| fleet, deadline, &stage);
            assert_eq!((trained.outcome, trained.excluded), (Ending::Finished, vec![ClientId(1)]), "struck: {struck}");
            assert_eq!(trained.server.to_f64(), [20.0, 4.0, 20.0]);
            assert_eq!(rows[0].attempts, 1 + ROUNDS);
        }
    }
}

#[test]
fn a_round_that_nobody_is_there_for_waits_and_counts_neither_as_a_round_nor_as_an_attempt() {
    // Of how many each round is at least: whoever comes back first may find itself alone, where that is enough.
    let two = || Asks::Some(Sampling::Clients(2));
    for (how, deadline, least) in [(two(), None, 1.0), (two(), LONG, 1.0), (Asks::Present, LONG, 2.0), (Asks::Any, LONG, 3.0)] {
        let (office, away_until) = (office(), AtomicU64::new(0));
        let began = Instant::now();
        let now = || began.elapsed().as_millis() as u64;
        let looks = |_| now() >= away_until.load(Ordering::Relaxed);
        // The network of the centre is away for four leases from round 5 on.
        let leaves = |client: u32, round: u64| {
            if (client, round, away_until.load(Ordering::Relaxed)) == (0, 5, 0) {
                away_until.store(now() + 4 * LEASE.as_millis() as u64, Ordering::Relaxed);
            }
        };
        let stage = Stage { office: &office, looks: &looks, at: &leaves };
        let (trained, rows) = play(how, 1.0, |fleet| fleet, deadline, &stage);
        assert_eq!(trained.outcome, Ending::Finished);
        let counts = trained.server.to_f64();
        assert!(counts.iter().sum::<f64>() >= least * ROUNDS as f64, "{counts:?}");
        assert_eq!(rows[0].attempts, 1 + ROUNDS, "waiting uses up no attempts");
        assert!(now() >= 4 * LEASE.as_millis() as u64, "it waited");
    }
}

#[test]
fn one_who_never_comes_costs_the_others_nothing_where_there_is_a_deadline() {
    let mut samplings = vec![Asks::Any, Asks::Present];
    samplings.extend([Sampling::Clients(2), Sampling::Passes(3), Sampling::Replacement(8)].map(Asks::Some));
    for how in samplings {
        let office = office();
        let began = Instant::now();
        let stage = Stage { office: &office, looks: &|client| client != 2, at: &|_, _| () };
        let (trained, rows) = play(how, 0.6, |fleet| fleet, LONG, &stage);
        assert_eq!(trained.outcome, Ending::Finished);
        assert_eq!((trained.server.to_f64()[2], rows[0].attempts), (0.0, 1 + ROUNDS));
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

#[test]
fn a_stop_is_heard_while_a_round_waits_and_its_tasks_are_closed() {
    // One that never comes: without a deadline it is asked and waited for, with one the round does not begin.
    for (how, deadline) in [(Asks::Any, None), (Asks::Everyone, LONG)] {
        let (office, looked) = (office(), Arc::new(AtomicU64::new(0)));
        let stage = Stage { office: &office, looks: &|client| client != 2, at: &|_, _| () };
        let count = Arc::clone(&looked);
        let watched = |fleet: Remote| fleet.watched(vec![], Box::new(move || count.fetch_add(1, Ordering::Relaxed) >= 12));
        let began = Instant::now();
        let (trained, _) = play(how, 1.0, watched, deadline, &stage);
        assert_eq!(trained.outcome, Ending::Interrupted { round: 0 });
        assert_eq!(trained.server.to_f64(), [0.0; 3], "the round did not happen");
        assert!(office.desk().open_tasks().is_empty());
        assert!(looked.load(Ordering::Relaxed) == 13 && began.elapsed() < Duration::from_secs(5), "looked every 50 ms or so");
    }
}
