//! Loses replies after the clients did their work.

use motet_core::{
    Abort, Adding, Algorithm, ClientId, Fleet, LastReplies, Participants, Probe, Purpose, Received, Roster, Score, Seed, Slot, Wave,
    sum_by_exchange,
};

/// Any fleet, with a share of its replies lost on the way back.
///
/// Which are lost depends on the seed and on how often the client was asked, so that asking again
/// may succeed and a test can be repeated.
pub struct Lossy<F> {
    inner: F,
    share: f64,
    seed: Seed,
    waves: u64,
}

impl<F> Lossy<F> {
    /// Loses each reply with probability `share`.
    pub fn new(inner: F, share: f64, seed: Seed) -> Self {
        Self { inner, share, seed, waves: 0 }
    }
}

impl<A: Algorithm, F: Fleet<A>> Fleet<A> for Lossy<F> {
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
        self.waves += 1;
        let mut dice = self.seed.dice(Slot { round: self.waves, attempt: 0, exchange: 0 }, 0, Purpose::Fault);
        let share = self.share;
        self.inner.exchange(slot, wave, &mut |id, received| {
            if !dice.coin(share) {
                each(id, received);
            }
        })
    }

    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        // What is lost is lost before it is added.
        if self.share > 0.0 {
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
