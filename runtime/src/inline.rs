//! Everyone on this thread: the reference the others are compared with.

use motet_core::{
    Abort, Adding, Algorithm, ClientId, Fleet, Host, LastReplies, Participants, Probe, Received, Roster, Score, Slot, Wave, sum_by_exchange,
};

/// Serves one client after the other.
pub struct Inline<A: Algorithm> {
    host: Host<A>,
}

impl<A: Algorithm> Inline<A> {
    /// All clients of the host.
    pub fn new(host: Host<A>) -> Self {
        Self { host }
    }
}

impl<A: Algorithm> Fleet<A> for Inline<A> {
    fn roster(&self) -> Roster {
        self.host.roster()
    }

    fn is_there(&self, _: Slot, _: ClientId) -> bool {
        true
    }

    fn is_steady(&self) -> bool {
        true
    }

    fn participants(&self) -> Option<&dyn Participants> {
        None
    }

    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        let mut heard = wave.heard.reader();
        for (k, &id) in wave.to.iter().enumerate() {
            if let Ok(answer) = self.host.answer(id, slot, heard.of(id), wave.asks.at(k))? {
                each(id, Ok(answer));
            }
        }
        Ok(())
    }

    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        sum_by_exchange(self, slot, wave, adding)
    }

    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        for id in clients {
            self.host.settle(id, heard.of(id))?;
        }
        Ok(())
    }

    /// Nobody keeps the clock of a deployment here.
    fn elapsed(&mut self) -> f64 {
        0.0
    }

    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        for &id in probe.to {
            if let Some(score) = self.host.probe(id, probe)? {
                each(id, score);
            }
        }
        Ok(())
    }
}
