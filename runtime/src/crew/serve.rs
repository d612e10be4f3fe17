//! What a rank does that is not the server's: serve its clients until it is told to leave.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

use motet_core::{Abort, Algorithm, Answer, Host, ModelShape, Reader, Vector, Wire, all_fit};

use super::orders::{Call, Order, Outbox, entry, sound, tell};
use super::sums::{Reached, together};
use super::times::nanoseconds;
use super::{Crew, CrewGone, Keeps};
use crate::pool::Pool;

/// Serves the clients of this rank, whose models have this shape, on the pool's threads, until rank 0 says that the run is over.
pub fn serve<A: Algorithm>((host, model): (&Host<A>, ModelShape), pool: &Pool, crew: &dyn Crew, states: &dyn Keeps) -> Result<(), Abort> {
    let rank = Rank { host: Arc::new(host.clone()), model, pool, crew };
    let mut message = vec![];
    loop {
        message.clear();
        crew.broadcast(&mut message)?;
        let mut then = Reader::new(&message);
        let order = Order::decode(&mut then).map_err(unreadable)?;
        sound(&order, crew.size(), model).map_err(unreadable)?;
        match order {
            Order::Exchange { slot, calls, same } => {
                let calls = rank.own(&calls);
                if calls.is_empty() {
                    continue;
                }
                let asks: Vec<A::Ask> = rank.each(same, &mut then, calls.len())?;
                rank.host.expect(&calls.iter().map(Call::id).collect::<Vec<_>>());
                let host = Arc::clone(&rank.host);
                rank.report(calls.len(), move |k| {
                    let (ask, began) = (if same { &asks[0] } else { &asks[k] }, Instant::now());
                    let answer = host.answer(calls[k].id(), slot, calls[k].heard, ask);
                    let took = nanoseconds(began.elapsed());
                    let timed = move |out: &mut Vec<u8>, answer: Answer<A::Reply>| {
                        took.encode(out);
                        answer.encode(out);
                    };
                    entry(answer.map(|answer| answer.ok().map(|answer| move |out: &mut Vec<u8>| timed(out, answer))))
                })?;
            }
            Order::Sum { of } => {
                let ask = Arc::new(rank.read::<A::Ask>(&mut then)?);
                rank.host.expect(&rank.own(&of.calls).iter().map(Call::id).collect::<Vec<_>>());
                let [first, second] = together((&rank.host, pool, crew), &of, &ask, None, &mut |_, _| {})?;
                let (reached, mut message): (Reached, _) = (((first, second), host.keeps_large_states()), vec![]);
                reached.encode(&mut message);
                crew.send(0, &message)?;
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
    model: ModelShape,
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
            return Ok(vec![self.read(then)?]);
        }
        let message = self.crew.receive(0)?;
        let mut from = Reader::new(&message);
        (0..count).map(|_| self.read(&mut from)).collect()
    }

    /// What clients are asked or scored by: all its vectors are models.
    fn read<T: Wire>(&self, from: &mut Reader<'_>) -> Result<T, Abort> {
        let mut read = T::decode(from).map_err(unreadable)?;
        all_fit(&mut read, self.model).map_err(unreadable)?;
        Ok(read)
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

/// Ends what the other ranks [`serve`], where rank 0 itself cannot do its part. [`Ranks`](super::Ranks) sees to it once it is there.
pub fn leave(crew: &dyn Crew) -> Result<(), CrewGone> {
    tell(crew, &Order::Leave {}, |_| ())
}

fn unreadable(error: impl Display) -> Abort {
    Abort::Closed(format!("an order of rank 0 cannot be read: {error}"))
}
