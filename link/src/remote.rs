//! The fleet whose clients are elsewhere.

use std::sync::Arc;
use std::time::Duration;

use motet_core::{
    Abort, Adding, Algorithm, Asks, ClientId, Fleet, LastReplies, ModelShape, Probe, Received, Roster, Score, Slot, Wave, sum_by_exchange,
    whole,
};

use crate::desk::{Ask, Body};
use crate::digest::bytes_of;
use crate::office::Office;
use crate::work::ProbeAsk;

/// Clients behind an [`Office`]: asks become tasks, and replies are handed over in the order asked as they become due.
pub struct Remote {
    office: Arc<Office>,
    clients: u32,
    longest_reply: u64,
    patience: Option<Duration>,
}

impl Remote {
    /// Clients 0..n, with models of this shape. Who has not answered after `patience` is silent; without it the fleet waits.
    pub fn new(office: Arc<Office>, clients: u32, model: ModelShape, patience: Option<Duration>) -> Self {
        let longest_reply = office.desk().limits().longest_reply(model);
        Self { office, clients, longest_reply, patience }
    }

    /// Asks everyone, then waits for one after the other.
    fn carry(
        &self,
        to: &[ClientId],
        ask: impl Fn(usize) -> Ask,
        mut each: impl FnMut(ClientId, &[u8]) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let tasks = to.iter().enumerate().map(|(k, &id)| self.office.ask(id, ask(k), self.patience)).collect::<Result<Vec<_>, _>>()?;
        for (&id, task) in to.iter().zip(tasks) {
            if let Some(reply) = self.office.wait(id, task)? {
                each(id, &reply)?;
            }
        }
        Ok(())
    }

    fn ask(&self, is_probe: bool, slot: Slot, heard: Option<Slot>, body: Arc<Body>) -> Ask {
        Ask { is_probe, slot, heard, floor: heard, body, longest_reply: self.longest_reply, until: None }
    }
}

impl<A: Algorithm> Fleet<A> for Remote {
    fn roster(&self) -> Roster {
        Roster::Counted(self.clients)
    }

    fn is_there(&self, _: Slot, client: ClientId) -> bool {
        self.office.desk().is_there(client.0)
    }

    /// Whoever is away comes back and is asked again: everyone is heard sooner or later.
    fn is_steady(&self) -> bool {
        true
    }

    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        // What is the same for all is encoded and hashed once.
        let same = match wave.asks {
            Asks::Same(ask) => Some(Arc::new(Body::new(bytes_of(ask)))),
            Asks::Each(_) => None,
        };
        let body = |k: usize| same.clone().unwrap_or_else(|| Arc::new(Body::new(bytes_of(wave.asks.at(k)))));
        let ask = |k: usize| {
            let heard = wave.heard.of(wave.to[k]);
            Ask { floor: self.office.floor(wave.to[k], heard), ..self.ask(false, slot, heard, body(k)) }
        };
        self.carry(wave.to, ask, |id, reply| {
            each(id, whole(reply));
            Ok(())
        })
    }

    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        sum_by_exchange(self, slot, wave, adding)
    }

    /// Agents forget versions when they are next asked: to tell them earlier would cost a message.
    fn round_closed(&mut self, _: &mut dyn Iterator<Item = ClientId>, _: &LastReplies) -> Result<(), Abort> {
        Ok(())
    }

    /// The clock of the wall is nobody's deployment: rows do not depend on it.
    fn elapsed(&mut self) -> f64 {
        0.0
    }

    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        let slot = Slot { round: probe.round, attempt: 0, exchange: 0 };
        let ask = |k: usize| {
            let id = probe.to[k];
            let body = ProbeAsk { look: probe.look, shared: (probe.shared)(id).clone(), reference: probe.reference.cloned() };
            self.ask(true, slot, probe.heard.of(id), Arc::new(Body::new(bytes_of(&body))))
        };
        self.carry(probe.to, ask, |id, reply| {
            // A score that cannot be read is none: nothing but the picture depends on it.
            if let Ok(score) = whole(reply) {
                each(id, score);
            }
            Ok(())
        })
    }
}
