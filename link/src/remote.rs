//! The fleet whose clients are on other machines.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use motet_core::{
    Abort, Adding, Algorithm, Asks, ClientId, Fleet, LastReplies, ModelShape, Probe, Received, Roster, Score, Slot, Vector, Wave,
    sum_by_exchange,
};

use crate::desk::Ask;
use crate::office::{Office, spool_failed};
use crate::payload::Body;
use crate::spool::Reply;
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
        mut each: impl FnMut(ClientId, Reply) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let tasks = to.iter().enumerate().map(|(k, &id)| self.office.ask(id, ask(k), self.patience)).collect::<Result<Vec<_>, _>>()?;
        for (&id, task) in to.iter().zip(tasks) {
            if let Some(reply) = self.office.wait(id, task)? {
                each(id, reply)?;
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
            Asks::Same(ask) => Some(Arc::new(Body::of(ask))),
            Asks::Each(_) => None,
        };
        let body = |k: usize| same.clone().unwrap_or_else(|| Arc::new(Body::of(wave.asks.at(k))));
        let ask = |k: usize| {
            let heard = wave.heard.of(wave.to[k]);
            Ask { floor: self.office.floor(wave.to[k], heard), ..self.ask(false, slot, heard, body(k)) }
        };
        self.carry(wave.to, ask, |id, reply| {
            each(id, reply.read().map_err(|e| spool_failed(id, &e))?);
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
        // Most methods hand everyone the same model: it is encoded once, as asks are.
        let last: RefCell<Option<(&Vector, Arc<Body>)>> = RefCell::new(None);
        let body = |shared| match &*last.borrow() {
            Some((before, body)) if std::ptr::eq(*before, shared) => Some(Arc::clone(body)),
            _ => None,
        };
        let ask = |k: usize| {
            let (id, shared) = (probe.to[k], (probe.shared)(probe.to[k]));
            let body = body(shared).unwrap_or_else(|| {
                let ask = ProbeAsk { look: probe.look, shared: shared.clone(), reference: probe.reference.cloned() };
                let body = Arc::new(Body::of(&ask));
                *last.borrow_mut() = Some((shared, Arc::clone(&body)));
                body
            });
            self.ask(true, slot, probe.heard.of(id), body)
        };
        self.carry(probe.to, ask, |id, reply| {
            // A score that cannot be read is none: nothing but the picture depends on it.
            if let Ok(score) = reply.read().map_err(|e| spool_failed(id, &e))? {
                each(id, score);
            }
            Ok(())
        })
    }
}
