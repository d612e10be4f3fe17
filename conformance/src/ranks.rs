//! What must not depend on how many ranks the clients are spread over.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use motet_core::{ClientVersions, Outcome, Plan, Seed, StoreError, Study};
use motet_runtime::{Crew, CrewGone, Frozen, Homes, Keeps, LocalCrew, Memory, Pool, Ranks, serve};

use crate::trial::Traces;
use crate::{Check, Trial};

const SEED: Seed = Seed(7);

/// Rows, ledger and final state are equal to the last bit inline and on so many ranks, clients living where the costs say.
#[derive(Clone, Copy, Debug)]
pub struct EqualOnAnyNumberOfRanks;

/// Keeps nothing: these runs are not resumed.
struct Unkept;

impl Keeps for Unkept {
    fn commit(&self) -> Result<(u64, Vec<u8>), StoreError> {
        Ok((0, vec![]))
    }
    fn release(&self, _: u64) {}
}

impl Check for EqualOnAnyNumberOfRanks {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let reference = trial.traces(method, &trial.plan(SEED), &mut trial.inline(method, SEED))?;
        if reference.outcome != Outcome::Finished.to_string() {
            return Err(format!("the reference run {}", reference.outcome));
        }
        let uneven = vec![5, 1, 1, 9, 2, 2];
        for (ranks, costs) in [(1, vec![]), (2, vec![]), (3, uneven.clone()), (5, vec![]), (8, vec![1; 6])] {
            // All sums are added up by all ranks, however little that pays.
            let traces = on_ranks(method, trial, (ranks, costs), 0)?;
            if let Some(where_) = reference.parts_from(&traces) {
                return Err(format!("inline against {ranks} ranks: {where_}"));
            }
        }
        let traces = on_ranks(method, trial, (3, uneven), u64::MAX)?;
        reference.parts_from(&traces).map_or(Ok(()), |where_| Err(format!("inline against 3 ranks with all sums at rank 0: {where_}")))
    }
}

fn on_ranks<A: Study>(method: &Arc<A>, trial: &Trial, (ranks, costs): (usize, Vec<u64>), together: u64) -> Result<Traces, String> {
    let mut crew = LocalCrew::ranks(ranks).into_iter();
    let root: Arc<dyn Crew> = Arc::new(crew.next().ok_or("a crew of nobody")?);
    thread::scope(|scope| {
        let served: Vec<_> = crew
            .map(|member| {
                // Every rank has a store of its own: a client whose state is elsewhere would begin anew.
                let host = trial.host::<A>(method, Arc::new(Frozen::<ClientVersions<A::Client>>::default()), SEED);
                scope.spawn(move || serve((&host, trial.model()), &Pool::new(1 + member.rank() % 2), &member, &Unkept))
            })
            .collect();
        let host = trial.host::<A>(method, Arc::new(Memory::default()), SEED);
        let mut fleet = Ranks::new(host, Arc::new(Pool::new(1)), root, Homes::new(ranks, costs)).adding_up_together_from(together);
        let traces = trial.traces(method, &trial.plan(SEED), &mut fleet);
        drop(fleet);
        for rank in served {
            rank.join().map_err(|_| "a rank panicked")?.map_err(|error| error.to_string())?;
        }
        traces
    })
}

/// Bytes of an order of another program, or of a damaged one, end the rank with a message and not with a panic.
#[derive(Clone, Copy, Debug)]
pub struct RanksSurviveNonsense;

impl Check for RanksSurviveNonsense {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let replay = |heard: Vec<Heard>| {
            let host = trial.host::<A>(method, Arc::new(Memory::default()), SEED);
            serve((&host, trial.model()), &Pool::new(1), &Replay(Mutex::new(heard.into())), &Unkept)
        };
        for nonsense in [vec![], vec![200], vec![0; 3], vec![0, 255, 255, 255, 255, 255, 255, 255]] {
            match replay(vec![Heard::Broadcast(nonsense.clone())]) {
                Ok(()) => return Err(format!("{nonsense:?} was taken for an order to leave")),
                Err(error) if error.to_string().contains("an order of rank 0 cannot be read") => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let heard = heard_by_rank_1(method, trial)?;
        for tag in [EXCHANGE, SUM, PROBE] {
            let is_one = |heard: &Heard| matches!(heard, Heard::Broadcast(order) if order.first() == Some(&tag));
            // Some methods never add up.
            let Some(at) = heard.iter().position(is_one) else { continue };
            let Heard::Broadcast(order) = &heard[at] else { continue };
            for damaged in damaged(order, trial.shards.len()) {
                let then = heard[at + 1..].iter().take_while(|heard| !matches!(heard, Heard::Broadcast(_))).cloned();
                // Whatever comes of it; the tape ends, so that no rank serves for ever.
                let _ = replay([Heard::Broadcast(damaged)].into_iter().chain(then).collect());
            }
        }
        Ok(())
    }
}

/// First bytes of orders.
const EXCHANGE: u8 = 0;
const SUM: u8 = 1;
const PROBE: u8 = 2;

/// An order with each byte before the ask changed, and cut off there. An ask may say how many steps are to be done: those would be done.
fn damaged(order: &[u8], clients: usize) -> Vec<Vec<u8>> {
    // The slot, who is asked, what each counts for, the shape of models, how many at once: as in `SumOrder`, with nothing heard yet.
    let longest = 1 + 16 + (4 + 9 * clients) + (4 + 16 * clients) + 9 + 8;
    let until = match order[0] {
        SUM => longest,
        _ => 1 + 16 + 4 + 9 * clients,
    };
    let changed = |at: usize, to: u8| {
        let mut order = order.to_vec();
        order[at] = to;
        order
    };
    let places = || 0..until.min(order.len());
    let bits = places().flat_map(|at| [255, 1, 0, order[at] ^ 1, order[at] ^ 128].map(|to| changed(at, to)));
    bits.chain(places().map(|at| order[..at].to_vec())).collect()
}

/// What rank 1 of two hears in a run in which all sums are added up together.
fn heard_by_rank_1<A: Study>(method: &Arc<A>, trial: &Trial) -> Result<Vec<Heard>, String> {
    let mut crew = LocalCrew::ranks(2).into_iter();
    let (Some(root), Some(member)) = (crew.next(), crew.next()) else { return Err("a crew of two".into()) };
    let tap = Tap { inner: member, heard: Mutex::default() };
    let host = trial.host::<A>(method, Arc::new(Memory::default()), SEED);
    thread::scope(|scope| {
        let served = scope.spawn(|| serve((&host, trial.model()), &Pool::new(1), &tap, &Unkept));
        let own = trial.host::<A>(method, Arc::new(Memory::default()), SEED);
        let mut fleet = Ranks::new(own, Arc::new(Pool::new(1)), Arc::new(root), Homes::new(2, vec![])).adding_up_together_from(0);
        let traces = trial.traces(method, &Plan { rounds: 2, ..trial.plan(SEED) }, &mut fleet);
        drop(fleet);
        served.join().map_err(|_| "a rank panicked")?.map_err(|error| error.to_string())?;
        traces.map(|_| ())
    })?;
    Ok(tap.heard.into_inner().unwrap_or_default())
}

/// Something that came to a rank.
#[derive(Clone, Debug)]
enum Heard {
    Broadcast(Vec<u8>),
    Sent(Vec<u8>),
    /// By rank.
    Swapped(Vec<Vec<u8>>),
}

/// A rank, and all that it hears.
struct Tap {
    inner: LocalCrew,
    heard: Mutex<Vec<Heard>>,
}

impl Tap {
    fn note(&self, heard: Heard) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(heard);
    }
}

impl Crew for Tap {
    fn rank(&self) -> usize {
        self.inner.rank()
    }
    fn size(&self) -> usize {
        self.inner.size()
    }
    fn neighbours(&self) -> Vec<usize> {
        self.inner.neighbours()
    }
    fn broadcast(&self, message: &mut Vec<u8>) -> Result<(), CrewGone> {
        self.inner.broadcast(message)?;
        self.note(Heard::Broadcast(message.clone()));
        Ok(())
    }
    fn send(&self, to: usize, message: &[u8]) -> Result<(), CrewGone> {
        self.inner.send(to, message)
    }
    fn receive(&self, from: usize) -> Result<Vec<u8>, CrewGone> {
        let message = self.inner.receive(from)?;
        self.note(Heard::Sent(message.clone()));
        Ok(message)
    }
    fn look_for(&self, from: usize) -> Result<Option<Vec<u8>>, CrewGone> {
        self.inner.look_for(from)
    }
    fn swap(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone> {
        let inbox = self.inner.swap(messages)?;
        self.note(Heard::Swapped(inbox.clone()));
        Ok(inbox)
    }
}

/// Rank 1 of two, to which these things come, and then rank 0 is gone.
struct Replay(Mutex<VecDeque<Heard>>);

impl Replay {
    fn next(&self) -> Option<Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Crew for Replay {
    fn rank(&self) -> usize {
        1
    }
    fn size(&self) -> usize {
        2
    }
    fn neighbours(&self) -> Vec<usize> {
        vec![0, 1]
    }
    fn broadcast(&self, message: &mut Vec<u8>) -> Result<(), CrewGone> {
        let Some(Heard::Broadcast(heard)) = self.next() else { return Err(CrewGone(0)) };
        *message = heard;
        Ok(())
    }
    fn send(&self, _: usize, _: &[u8]) -> Result<(), CrewGone> {
        Ok(())
    }
    fn receive(&self, _: usize) -> Result<Vec<u8>, CrewGone> {
        let Some(Heard::Sent(heard)) = self.next() else { return Err(CrewGone(0)) };
        Ok(heard)
    }
    fn look_for(&self, _: usize) -> Result<Option<Vec<u8>>, CrewGone> {
        Ok(None)
    }
    fn swap(&self, mut messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone> {
        let Some(Heard::Swapped(mut inbox)) = self.next() else { return Err(CrewGone(0)) };
        // What it says to itself is what it says now.
        inbox[1] = messages.swap_remove(1);
        Ok(inbox)
    }
}
