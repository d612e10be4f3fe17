//! Client state under loss: what the server did not hear never happened.

use std::sync::Arc;

use motet_core::{
    Abort, Adding, AfterRound, Algorithm, Checkpointer, ClientId, ClientVersions, Deployment, Fleet, Host, LastReplies, Memo, Misfit,
    ModelShape, Outcome, Participants, Plan, Population, Probe, Received, Roster, Round, Row, RunState, Sampling, Score, Seed, Shard,
    Silence, Site, Slot, Store, Study, Trained, Vector, Wave, Wire, WireError, message, sum_by_exchange, train, train_from, whole,
};
use motet_problems::synthetic::formula::q2;
use motet_runtime::{Frozen, Inline, Lossy, Memory};

const CLIENTS: u32 = 10;

/// A method whose server adds up what its clients say they added to their own sums: two exchanges a round, by seven
/// clients of ten or by all of them. All numbers are small integers, so that every sum is exact.
struct Tally {
    required: bool,
}

message! {
    /// To be added.
    struct Add { amount: f64 }
}

message! {
    /// What was added.
    struct Added { delta: f64 }
}

impl Algorithm for Tally {
    type Ask = Add;
    type Reply = Added;
    type Server = Vector;
    type Client = f64;

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, _: &mut Site<'_>) -> f64 {
        0.0
    }

    fn round(&self, total: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let cohort = if self.required { round.everyone().required() } else { round.sample(&Sampling::Clients(7)) };
        for _ in 0..2 {
            let amount = round.rng().below(10) as f64;
            round.ask(&cohort, Add { amount }, |_, added| total.f64s_mut()[0] += added.delta)?;
        }
        Ok(())
    }

    fn answer(&self, me: &mut f64, ask: &Add, site: &mut Site<'_>) -> Added {
        // Depends on the state, the ask and the dice: a wrong version of any of them shows.
        let delta = ask.amount + site.rng.below(100) as f64 + *me % 7.0;
        *me += delta;
        Added { delta }
    }

    fn fits(&self, _: &Add, _: &Added, _: ClientId, _: ModelShape) -> Result<(), Misfit> {
        Ok(())
    }

    fn shared<'a>(&self, total: &'a Vector, _: ClientId) -> &'a Vector {
        total
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Shared
    }
}

impl Study for Tally {}

type Sleep = Arc<dyn Store<ClientVersions<f64>>>;

fn stores() -> [Sleep; 2] {
    [Arc::new(Memory::default()), Arc::new(Frozen::default())]
}

fn host(method: &Arc<Tally>, store: &Sleep) -> Host<Tally> {
    let population: Arc<dyn Population> = Arc::new(vec![Shard::new(Arc::clone(&q2()[0])); CLIENTS as usize]);
    Host::new(Arc::clone(method), population, Arc::clone(store), Arc::new(Memo::default()), Seed(4))
}

fn run(method: &Arc<Tally>, store: &Sleep, loss: f64, quorum: f64) -> (Vec<Row>, Trained<Tally>) {
    let mut rows = vec![];
    let plan = Plan { quorum, ..Plan::new(200, Seed(4)) };
    let mut fleet = Lossy::new(Inline::new(host(method, store)), loss, Seed(9));
    let trained = train(&**method, Vector::from(vec![0.0]), &plan, &mut fleet, &mut rows).unwrap();
    assert_eq!(trained.outcome, motet_core::Outcome::Finished);
    (rows, trained)
}

#[test]
fn under_loss_the_total_is_the_sum_of_what_clients_remember() {
    for store in stores() {
        let method = Arc::new(Tally { required: false });
        let (rows, trained) = run(&method, &store, 0.2, 0.8);
        assert!(rows.last().unwrap().attempts > 220, "rounds were tried again");
        let remembered = |id| match store.read(id).unwrap() {
            Some(kept) => *kept.named(trained.heard.of(id)).expect("the version the server names is kept"),
            None => 0.0,
        };
        let sum: f64 = (0..CLIENTS).map(ClientId).map(remembered).sum();
        assert!(sum > 0.0);
        assert_eq!(trained.server.f64s(), [sum]);
    }
}

#[test]
fn a_required_cohort_does_not_notice_loss() {
    for store in stores() {
        let method = Arc::new(Tally { required: true });
        let (calm, _) = run(&method, &store, 0.0, 1.0);
        let (lossy, trained) = run(&method, &stores()[0], 0.3, 1.0);
        assert_eq!(calm.len(), lossy.len());
        for (calm, lossy) in calm.iter().zip(&lossy) {
            assert_eq!((&calm.metrics, calm.attempts), (&lossy.metrics, lossy.attempts), "round {}", calm.round);
            assert_eq!((calm.bits.up, calm.gradients), (lossy.bits.up, lossy.gradients));
        }
        // Asking again is paid for.
        assert!(lossy.last().unwrap().bits.down > calm.last().unwrap().bits.down);
        assert!((0..CLIENTS).all(|i| trained.heard.of(ClientId(i)).is_some()));
    }
}

#[test]
fn a_client_that_lost_the_version_named_stays_silent() {
    let slot = |round| Slot { round, attempt: 0, exchange: 0 };
    for store in stores() {
        let host = host(&Arc::new(Tally { required: false }), &store);
        let answers = |at: u64, heard: Option<Slot>| host.answer(ClientId(3), slot(at), heard, &Add { amount: 1.0 }).unwrap().is_ok();
        assert!(answers(1, None));
        assert!(answers(2, Some(slot(1))));
        assert!(!answers(3, None), "what came before round 1 was forgotten when round 2 opened");
        assert!(!answers(3, Some(slot(9))), "it never answered in round 9");
    }
}

#[test]
fn a_late_ask_does_not_cost_a_client_its_state() {
    let slot = |round| Slot { round, attempt: 0, exchange: 0 };
    for store in stores() {
        let host = host(&Arc::new(Tally { required: false }), &store);
        let answer = |at: u64, heard: Option<Slot>| host.answer(ClientId(3), slot(at), heard, &Add { amount: 1.0 }).unwrap();
        answer(1, None).unwrap();
        answer(2, Some(slot(1))).unwrap();
        let third = answer(3, Some(slot(2))).unwrap().reply.delta;
        // The ask of round 1 arrives once more, naming what was forgotten since.
        assert_eq!(answer(1, None).err(), Some(Silence::Lost));
        let again = answer(3, Some(slot(2))).expect("the version that the server names is still there").reply.delta;
        assert_eq!(third, again);
        assert!(answer(4, Some(slot(3))).is_ok());
    }
}

#[test]
fn an_ask_of_an_attempt_given_up_comes_too_late_and_changes_nothing() {
    let slot = |round, attempt| Slot { round, attempt, exchange: 0 };
    for store in stores() {
        let host = host(&Arc::new(Tally { required: false }), &store);
        let answer = |at: Slot, heard: Option<Slot>| host.answer(ClientId(3), at, heard, &Add { amount: 1.0 }).unwrap();
        answer(slot(1, 0), None).unwrap();
        answer(slot(2, 1), Some(slot(1, 0))).unwrap();
        // The version that it names is still there: to open this attempt would forget what the newer one left.
        assert_eq!(answer(slot(2, 0), Some(slot(1, 0))).err(), Some(Silence::Late));
        assert!(answer(slot(3, 0), Some(slot(2, 1))).is_ok());
    }
}

#[test]
fn a_server_that_begins_again_may_ask_the_past_once_more() {
    let slot = |round, attempt| Slot { round, attempt, exchange: 0 };
    for store in stores() {
        let host = host(&Arc::new(Tally { required: false }), &store);
        let answer = |at: Slot, heard: Option<Slot>| host.answer(ClientId(3), at, heard, &Add { amount: 1.0 }).unwrap();
        answer(slot(1, 0), None).unwrap();
        let first = answer(slot(2, 0), Some(slot(1, 0))).unwrap().reply.delta;
        answer(slot(2, 1), Some(slot(1, 0))).unwrap();
        assert_eq!(answer(slot(2, 0), Some(slot(1, 0))).err(), Some(Silence::Late));
        host.rewind(ClientId(3), Some(slot(1, 0))).unwrap();
        assert_eq!(answer(slot(2, 0), Some(slot(1, 0))).unwrap().reply.delta, first);
        // Rewinding to what was never answered forgets nothing.
        host.rewind(ClientId(3), Some(slot(9, 0))).unwrap();
        assert!(answer(slot(3, 0), Some(slot(2, 0))).is_ok());
    }
}

/// Any fleet, one of whose clients sends bytes that are no reply.
struct Garbled<F> {
    inner: F,
    client: ClientId,
}

impl<F: Fleet<Tally>> Fleet<Tally> for Garbled<F> {
    fn roster(&self) -> Roster {
        self.inner.roster()
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        self.inner.is_there(slot, client)
    }
    fn is_steady(&self) -> bool {
        self.inner.is_steady()
    }
    fn participants(&self) -> Option<&dyn Participants> {
        self.inner.participants()
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, Add>, each: &mut dyn FnMut(ClientId, Received<Added>)) -> Result<(), Abort> {
        let garbled = self.client;
        self.inner.exchange(slot, wave, &mut |id, received| each(id, if id == garbled { Err(WireError::Short.into()) } else { received }))
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, Add>, adding: &mut Adding<'_, Tally>) -> Result<(), Abort> {
        sum_by_exchange(self, slot, wave, adding)
    }
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        self.inner.round_closed(clients, heard)
    }
    fn elapsed(&mut self) -> f64 {
        self.inner.elapsed()
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.inner.probe(probe, each)
    }
}

/// Stops after a round and remembers the moment as bytes.
struct StopAfter(u64, Vec<u8>);

impl Checkpointer<Tally> for StopAfter {
    fn after(&mut self, moment: &RunState<Tally>) -> std::io::Result<AfterRound> {
        self.1.clear();
        moment.encode(&mut self.1);
        Ok(if moment.next > self.0 { AfterRound::Stop } else { AfterRound::GoOn })
    }
}

#[test]
fn a_resumed_run_remembers_who_broke_the_protocol() {
    let plan = Plan { quorum: 0.5, ..Plan::new(30, Seed(4)) };
    let run = |cut: u64| {
        let (method, store, mut rows) = (Arc::new(Tally { required: false }), &stores()[0], vec![]);
        let fleet = || Garbled { inner: Inline::new(host(&method, store)), client: ClientId(3) };
        let (mut stop, start) = (StopAfter(cut, vec![]), RunState::before(&*method, Vector::from(vec![0.0])));
        let mut trained = train_from(&*method, start, &plan, &mut fleet(), &mut rows, &mut stop).unwrap();
        if trained.outcome != Outcome::Finished {
            let moment = whole::<RunState<Tally>>(&stop.1).unwrap();
            trained = train_from(&*method, moment, &plan, &mut fleet(), &mut rows, &mut StopAfter(99, vec![])).unwrap();
        }
        assert_eq!(trained.outcome, Outcome::Finished);
        (format!("{rows:?}"), rows.iter().flat_map(|row: &Row| row.breaches.clone()).collect::<Vec<_>>(), trained.server)
    };
    let (rows, breaches, total) = run(99);
    assert_eq!(breaches.len(), 3, "asked until the third, in rounds {breaches:?}");
    assert!(breaches.iter().all(|breach| breach.client == 3 && breach.reason == "the bytes end early"));
    for cut in 0..10 {
        assert_eq!(run(cut), (rows.clone(), breaches.clone(), total.clone()), "cut after round {cut}");
    }
}
