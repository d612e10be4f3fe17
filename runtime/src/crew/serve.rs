//! What a rank does that is not the server's: serve its clients until it is told to leave.

use std::sync::Arc;

use motet_core::{Abort, Algorithm, Host, Reader, StoreError, Vector, Wire, WireError};

use super::Crew;
use super::orders::{Call, Order, Outbox, entry};
use crate::pool::Pool;

/// Makes the client states of one rank durable.
pub trait Keeps {
    /// The number of this version, and what finds the states again.
    fn commit(&self) -> Result<(u64, Vec<u8>), StoreError>;
    /// Versions before this one are needed no more.
    fn release(&self, oldest: u64);
}

/// Serves the clients of this rank, on the pool's threads, until rank 0 says that the run is over.
pub fn serve<A: Algorithm>(host: &Host<A>, pool: &Pool, crew: &dyn Crew, states: &dyn Keeps) -> Result<(), Abort> {
    let rank = Rank { host: Arc::new(host.clone()), pool, crew };
    let mut message = vec![];
    loop {
        message.clear();
        crew.broadcast(&mut message)?;
        let mut then = Reader::new(&message);
        match Order::decode(&mut then).map_err(unreadable)? {
            Order::Exchange { slot, calls, same } => {
                let calls = rank.own(&calls);
                if calls.is_empty() {
                    continue;
                }
                let asks: Vec<A::Ask> = rank.each(same, &mut then, calls.len())?;
                rank.host.expect(&calls.iter().map(Call::id).collect::<Vec<_>>());
                let host = Arc::clone(&rank.host);
                rank.report(calls.len(), move |k| {
                    let ask = if same { &asks[0] } else { &asks[k] };
                    let answer = host.answer(calls[k].id(), slot, calls[k].heard, ask);
                    entry(answer.map(|answer| answer.ok().map(|answer| move |out: &mut Vec<u8>| answer.encode(out))))
                })?;
            }
            Order::Probe { round, calls, look, reference, same } => {
                let calls = rank.own(&calls);
                if calls.is_empty() {
                    continue;
                }
                let models: Vec<Vector> = rank.each(same, &mut then, calls.len())?;
                rank.host.expect(&calls.iter().map(Call::id).collect::<Vec<_>>());
                let host = Arc::clone(&rank.host);
                rank.report(calls.len(), move |k| {
                    let model = if same { &models[0] } else { &models[k] };
                    let score = host.score(calls[k].id(), calls[k].heard, round, model, reference.as_ref(), look);
                    entry(score.map(|score| score.map(|score| move |out: &mut Vec<u8>| score.encode(out))))
                })?;
            }
            Order::Anchors { calls } => {
                let calls = rank.own(&calls);
                if calls.is_empty() {
                    continue;
                }
                let host = Arc::clone(&rank.host);
                rank.report(calls.len(), move |k| {
                    entry(host.anchor(calls[k].id()).map(|anchor| Some(move |out: &mut Vec<u8>| anchor.encode(out))))
                })?;
            }
            Order::RoundClosed { calls } => {
                // A state that cannot be read now cannot be read when it is next asked for: that is told then.
                let _ = rank.own(&calls).iter().try_for_each(|call| host.settle(call.id(), call.heard));
            }
            Order::Commit {} => {
                let kept = states.commit().map(|(generation, index)| {
                    Some(move |out: &mut Vec<u8>| {
                        generation.encode(out);
                        out.extend(index);
                    })
                });
                let mut out = Outbox::new(crew);
                out.push(entry(kept))?;
                out.end(host.keeps_large_states())?;
            }
            Order::Release { oldest } => states.release(oldest),
            Order::Leave {} => return Ok(()),
        }
    }
}

struct Rank<'a, A: Algorithm> {
    host: Arc<Host<A>>,
    pool: &'a Pool,
    crew: &'a dyn Crew,
}

impl<A: Algorithm> Rank<'_, A> {
    /// The calls that are for this rank.
    fn own(&self, calls: &[Call]) -> Vec<Call> {
        calls.iter().filter(|call| call.rank as usize == self.crew.rank()).copied().collect()
    }

    /// What clients are asked: one thing that follows the order, or one each in a message.
    fn each<T: Wire>(&self, same: bool, then: &mut Reader<'_>, count: usize) -> Result<Vec<T>, Abort> {
        if same {
            return Ok(vec![T::decode(then).map_err(unreadable)?]);
        }
        let message = self.crew.receive(0)?;
        let mut from = Reader::new(&message);
        (0..count).map(|_| T::decode(&mut from).map_err(unreadable)).collect()
    }

    /// Makes an entry for each client and sends them in order.
    fn report(&self, count: usize, make: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> Result<(), Abort> {
        let (mut out, mut gone) = (Outbox::new(self.crew), None);
        self.pool.scatter(count, make, |_, entry| {
            if gone.is_none() {
                gone = out.push(entry).err();
            }
        });
        gone.map_or(Ok(()), Err)?;
        Ok(out.end(self.host.keeps_large_states())?)
    }
}

fn unreadable(error: WireError) -> Abort {
    Abort::Closed(format!("an order of rank 0 cannot be read: {error}"))
}
