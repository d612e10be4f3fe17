//! A fleet some of whose clients lie.

use crate::byzantine_clients::ByzantineClients;
use motet_core::{
    Abort, Adding, Algorithm, Answer, ClientId, Fleet, LastReplies, Participants, Probe, Purpose, Received, Roster, Score, Seed, Slot,
    Vector, Wave, Wire, sum_by_exchange,
};

/// Any fleet, with the replies of some clients rewritten on the way back. Some attacks look at what the others send: a
/// wave with liars in it is held back until all have answered. Probes are honest: what is measured is the model.
pub struct Byzantine<F> {
    inner: F,
    liars: Option<ByzantineClients>,
    seed: Seed,
}

impl<F> Byzantine<F> {
    /// Without liars, the fleet itself.
    pub fn new(inner: F, liars: Option<ByzantineClients>, seed: Seed) -> Self {
        Self { inner, liars, seed }
    }
}

impl<A: Algorithm, F: Fleet<A>> Fleet<A> for Byzantine<F> {
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

    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        let Some(liars) = self.liars.filter(|liars| wave.to.iter().any(|&id| liars.lies(id))) else {
            return self.inner.exchange(slot, wave, each);
        };
        let mut all = vec![];
        self.inner.exchange(slot, wave, &mut |id, received| all.push((id, received)))?;
        let mut honest: Vec<Vec<Vector>> = vec![];
        for (_, received) in all.iter_mut().filter(|(id, _)| !liars.lies(*id)) {
            if let Ok(answer) = received {
                honest.push(vectors(&mut answer.reply));
            }
        }
        for (id, received) in all {
            let answer = match received {
                Ok(answer) if liars.lies(id) => answer,
                other => {
                    each(id, other);
                    continue;
                }
            };
            let (mut reply, mut place) = (answer.reply, 0);
            let mut rng = self.seed.dice(slot, id.0, Purpose::Fault);
            reply.vectors(&mut |v| {
                let seen: Vec<&Vector> = honest.iter().filter_map(|sent| sent.get(place)).filter(|other| other.len() == v.len()).collect();
                liars.corrupt(v, &seen, &mut rng);
                place += 1;
            });
            each(id, Ok(Answer::new(reply, answer.work)));
        }
        Ok(())
    }

    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        // Lies are told before anything is added.
        if self.liars.is_some() {
            return sum_by_exchange(self, slot, wave, adding);
        }
        self.inner.sum(slot, wave, adding)
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

/// The vectors of a reply, in order; they share their memory with it.
fn vectors(reply: &mut impl Wire) -> Vec<Vector> {
    let mut found = vec![];
    reply.vectors(&mut |v| found.push(v.clone()));
    found
}
