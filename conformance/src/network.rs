//! The same bits between machines that die, over a network that loses.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use motet_core::{
    Abort, Adding, AfterRound, Checkpointer, ClientId, Fleet, LastReplies, Message, Outcome, Participants, Probe, Purpose, Received,
    Roster, Row, RunState, Score, Seed, Slot, StoreError, Study, TrainError, Vector, Wave, Wire, sum_by_exchange, train_from, whole,
};
use motet_link::{
    self as link, Agent, Consent, Desk, Digest, FolderKeep, FolderSpool, HostWork, Keep, Limits, Mark, Next, Office, Remote, Response,
    TaskHead, Work,
};
use motet_runtime::Memory;

use crate::breaches::{Spoil, changed};
use crate::trial::Traces;
use crate::{Check, Trial};

/// Rows, ledger and final state of a run over the network are those of the run inline: each client is an agent of its own
/// with its state on disk, calls and responses get lost, doubled and delayed, agents are killed at any moment and the
/// coordinator in the middle of rounds, and everyone goes on from what is durable. Asks whose vectors are no models are declined.
#[derive(Clone, Copy, Debug)]
pub struct EqualOverTheNetwork;

const SEED: Seed = Seed(7);

impl Check for EqualOverTheNetwork {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        if trial.shards.len() < 3 {
            return Ok(()); // Two clients show nothing that three do not.
        }
        let reference = trial.traces(method, &trial.plan(SEED), &mut trial.inline(method, SEED))?;
        let remote = over_the_network(method, trial)?;
        reference.parts_from(&remote).map_or(Ok(()), Err)
    }
}

/// Replies of more than a few numbers go in pieces.
fn limits() -> Limits {
    Limits { whole: 200, piece: 200, ..Limits::default() }
}

fn run() -> Digest {
    Digest::of(b"conformance")
}

/// Where the coordinator is found, while it is there.
type Door = Mutex<Option<Arc<Office>>>;

fn over_the_network<A: Study>(method: &Arc<A>, trial: &Trial) -> Result<Traces, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (door, done) = (Door::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let agents: Vec<_> = (0..trial.shards.len() as u32)
            .map(|client| {
                let home = folder.path().join(format!("{client}"));
                let (door, done) = (&door, &done);
                scope.spawn(move || {
                    let ended = live(method, trial, ClientId(client), &home, door, done);
                    ended.map_err(|e| format!("client {client}: {e}"))
                })
            })
            .collect();
        let traces = coordinate(method, trial, &folder.path().join("spool"), &door);
        done.store(true, Ordering::Relaxed);
        for agent in agents {
            agent.join().map_err(|_| "an agent panicked".to_owned())??;
        }
        traces
    })
}

/// One agent after the other in the same folder, each until it is killed.
fn live<A: Study>(method: &Arc<A>, trial: &Trial, client: ClientId, home: &Path, door: &Door, done: &AtomicBool) -> io::Result<()> {
    let mut dice = Seed(3).fixed(client, Purpose::Fault);
    let mut asked = BTreeSet::new();
    while !done.load(Ordering::Relaxed) {
        let (keep, mark) = FolderKeep::open(home, client)?;
        let host = trial.host(method, keep.store(), SEED);
        let work = HostWork::new((client, trial.model()), host, keep, Consent { scores: true, vectors: true });
        let mut agent = Agent::start(work, run(), mark, dice.next_u64(), limits())?;
        let mut delayed = None;
        while !done.load(Ordering::Relaxed) && !dice.coin(0.01) {
            let office = door.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let Some(office) = office.filter(|_| !dice.coin(0.05)) else {
                thread::sleep(Duration::from_micros(200));
                continue;
            };
            let response = office.handle(client.0, agent.call());
            let response = if dice.coin(0.05) { office.handle(client.0, agent.call()) } else { response };
            if dice.coin(0.05) {
                delayed = Some(response);
                continue;
            }
            let stale = if dice.coin(0.2) { delayed.take() } else { None };
            for response in [response].into_iter().chain(stale) {
                if let Response::Task { head, whole: Some(ask) } = &response {
                    strange_asks(method, trial, client, (head, &ask.as_bytes()), &mut asked)?;
                }
                match agent.hear(response)? {
                    Next::Now => {}
                    Next::Poll | Next::After(_) => thread::sleep(Duration::from_micros(100)),
                    Next::Ended(why) => return Err(io::Error::other(why)),
                }
            }
        }
    }
    Ok(())
}

/// Nobody works on an ask, nor falls over it, that has a vector of another length or precision than models have. Each kind is tried once.
fn strange_asks<A: Study>(
    method: &Arc<A>,
    trial: &Trial,
    client: ClientId,
    (head, ask): (&TaskHead, &[u8]),
    asked: &mut BTreeSet<&'static str>,
) -> io::Result<()> {
    let read = || whole::<A::Ask>(ask).map_err(io::Error::other);
    if head.is_probe || !asked.insert(read()?.kind()) {
        return Ok(());
    }
    let host = trial.host(method, Arc::new(Memory::default()), SEED);
    let mut work = HostWork::new((client, trial.model()), host, Forgetful, Consent::default());
    let mut vectors = 0;
    read()?.vectors(&mut |_| vectors += 1);
    for how in (0..vectors).flat_map(Spoil::vector) {
        let (mut strange, mut place, mut bytes) = (read()?, 0, vec![]);
        strange.vectors(&mut |x| {
            *x = changed(x, how, place).unwrap_or_else(|| x.clone());
            place += 1;
        });
        strange.encode(&mut bytes);
        let outcome = work.answer(&TaskHead { heard: None, floor: None, ..*head }, false, &bytes)?;
        if !matches!(outcome, link::Outcome::Declined(_)) {
            return Err(io::Error::other(format!("{how:?} in an ask {}: {outcome:?}", strange.kind())));
        }
    }
    Ok(())
}

/// Keeps nothing.
struct Forgetful;

impl Keep for Forgetful {
    fn commit(&mut self, _: Mark) -> io::Result<()> {
        Ok(())
    }
}

/// One coordinator after the other, each from the last round that is durable.
fn coordinate<A: Study>(method: &Arc<A>, trial: &Trial, spool: &Path, door: &Door) -> Result<Traces, String> {
    let mut dice = Seed(4).fixed(ClientId(0), Purpose::Fault);
    let (mut rows, mut saved): (Vec<Row>, Option<Vec<u8>>) = (vec![], None);
    let clients = trial.shards.len() as u32;
    let model = trial.model();
    for start in 1.. {
        let spool = Box::new(FolderSpool::open(spool).map_err(|e| e.to_string())?);
        let desk = Desk::new(run(), start, 0..clients, spool, limits(), Duration::ZERO);
        let office = Office::new(desk, Box::new(|_| ()));
        *door.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&office));
        let from = match &saved {
            Some(moment) => whole(moment).map_err(|e| e.to_string())?,
            None => RunState::before(&**method, Vector::from(vec![0.0; trial.dim])),
        };
        rows.retain(|row: &Row| row.round < from.next);
        // The first four die, the sooner the earlier in the run; the fifth finishes.
        let left = if start <= 4 { Some(dice.below(6)) } else { None };
        let mut fleet = Mortal { inner: Remote::new(Arc::clone(&office), clients, model, None), left };
        let mut keep = KeepEveryRound { office: &office, saved: &mut saved };
        let trained = train_from(&**method, from, &trial.plan(SEED), &mut fleet, &mut rows, &mut keep);
        *door.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match trained {
            Ok(trained) if trained.outcome == Outcome::Finished => return Ok(Traces::of(&rows, &trained)),
            Ok(trained) => return Err(format!("the run {}", trained.outcome)),
            Err(TrainError::Store { source, .. }) if source.reason == KILLED => {}
            Err(error) => return Err(format!("{error}: {error:?}")),
        }
    }
    unreachable!("the fifth start does not die")
}

/// A round is durable before anything of the next is asked.
struct KeepEveryRound<'a> {
    office: &'a Office,
    saved: &'a mut Option<Vec<u8>>,
}

impl<A: Study> Checkpointer<A> for KeepEveryRound<'_> {
    fn after(&mut self, moment: &RunState<A>) -> io::Result<AfterRound> {
        let mut bytes = vec![];
        moment.encode(&mut bytes);
        *self.saved = Some(bytes);
        self.office.desk().settled(moment.next)?;
        Ok(AfterRound::GoOn)
    }
}

const KILLED: &str = "the coordinator was killed";

/// A fleet whose coordinator dies after some exchanges: before it asks, or when all have answered and nobody was heard.
struct Mortal {
    inner: Remote,
    left: Option<usize>,
}

impl<A: Study> Fleet<A> for Mortal {
    fn roster(&self) -> Roster {
        Fleet::<A>::roster(&self.inner)
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        Fleet::<A>::is_there(&self.inner, slot, client)
    }
    fn is_steady(&self) -> bool {
        Fleet::<A>::is_steady(&self.inner)
    }
    fn participants(&self) -> Option<&dyn Participants> {
        Fleet::<A>::participants(&self.inner)
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        match &mut self.left {
            Some(0) => {
                if slot.round.is_multiple_of(2) {
                    Fleet::<A>::exchange(&mut self.inner, slot, wave, &mut |_, _| ())?;
                }
                return Err(StoreError { client: 0, reason: KILLED.into() }.into());
            }
            Some(left) => *left -= 1,
            None => {}
        }
        Fleet::<A>::exchange(&mut self.inner, slot, wave, each)
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        sum_by_exchange(self, slot, wave, adding)
    }
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        Fleet::<A>::round_closed(&mut self.inner, clients, heard)
    }
    fn elapsed(&mut self) -> f64 {
        Fleet::<A>::elapsed(&mut self.inner)
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        Fleet::<A>::probe(&mut self.inner, probe, each)
    }
}
