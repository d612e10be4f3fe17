//! The fleet whose clients are on other machines.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use motet_core::{
    Abort, Adding, Algorithm, Asks, ClientId, Fleet, LastReplies, ModelShape, Participants, Probe, Received, Roster, Score, Slot,
    StoreError, Vector, Wave, sum_by_exchange,
};

use crate::call::TaskNumber;
use crate::desk::Ask;
use crate::office::{Office, Waited, spool_failed};
use crate::payload::Body;
use crate::spool::Reply;
use crate::vigil::Vigil;
use crate::work::ProbeAsk;

/// Clients behind an [`Office`]: asks become tasks, and replies are handed over in the order asked as they become due.
pub struct Remote {
    office: Arc<Office>,
    clients: u32,
    longest_reply: u64,
    patience: Option<Duration>,
    /// What clients are called, where they have names.
    names: Vec<String>,
    vigil: Vigil,
}

impl Remote {
    /// Clients 0..n, with models of this shape. Who has not answered after `patience` is silent, and so is at once who is not there;
    /// without it the fleet waits.
    pub fn new(office: Arc<Office>, clients: u32, model: ModelShape, patience: Option<Duration>) -> Self {
        let longest_reply = office.desk().limits().longest_reply(model);
        Self { office, clients, longest_reply, patience, names: vec![], vigil: Vigil::new(Box::new(|| false)) }
    }

    /// The same, with names for clients, and with somebody who looks up every 50 ms or so while the fleet waits and says whether to stop.
    #[must_use]
    pub fn watched(self, names: Vec<String>, look: Box<dyn Fn() -> bool>) -> Self {
        Self { names, vigil: Vigil::new(look), ..self }
    }

    /// Asks everyone, then waits for one after the other. Where that ends early, nobody waits for the rest.
    fn carry(
        &self,
        to: &[ClientId],
        ask: impl Fn(usize) -> Ask,
        each: impl FnMut(ClientId, Reply) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let asked = to.iter().enumerate().filter(|(_, id)| !self.is_away(**id));
        let tasks = asked.map(|(k, &id)| Ok((id, self.office.ask(id, ask(k), self.patience)?))).collect::<Result<Vec<_>, Abort>>()?;
        let done = self.collect(&tasks, each);
        if done.is_err() {
            let mut desk = self.office.desk();
            tasks.iter().for_each(|(id, task)| desk.close(id.0, *task));
        }
        done
    }

    fn collect(&self, tasks: &[(ClientId, TaskNumber)], mut each: impl FnMut(ClientId, Reply) -> Result<(), Abort>) -> Result<(), Abort> {
        for &(id, task) in tasks {
            match self.office.wait(id, task, &self.vigil)? {
                Waited::Answered(reply) => each(id, reply)?,
                Waited::Silent => {}
                Waited::Lost => return Err(self.lost(id)),
            }
        }
        Ok(())
    }

    /// What there is to do when a client has no longer what the run needs.
    fn lost(&self, ClientId(client): ClientId) -> Abort {
        let what = "no longer has the version of its state that the run needs";
        let reason = match self.names.get(client as usize) {
            None => format!("the client {what}; was its folder, or the context of its node, lost?"),
            Some(name) => format!(
                "{name} {what}: restore the agent's folder from a copy, or let the others go on without it, with `motet study revoke DIR \"{name}\"`; \
                 then go on with `motet serve --resume`"
            ),
        };
        StoreError { client, reason }.into()
    }

    fn ask(&self, is_probe: bool, slot: Slot, heard: Option<Slot>, body: Arc<Body>) -> Ask {
        Ask { is_probe, slot, heard, floor: heard, body, longest_reply: self.longest_reply, until: None }
    }
}

impl Participants for Remote {
    fn gone(&self) -> Vec<(ClientId, String)> {
        // Asked before every attempt: who is there is known from here on.
        self.office.desk_now().gone().map(|(client, why)| (ClientId(client), why)).collect()
    }

    fn is_away(&self, client: ClientId) -> bool {
        self.patience.is_some() && !self.office.desk().is_there(client.0)
    }

    fn changes(&self) -> u64 {
        self.office.desk().changes()
    }

    fn wait(&self, changes: u64) -> Result<(), Abort> {
        self.office.wait_for_change(changes, &self.vigil)
    }
}

impl<A: Algorithm> Fleet<A> for Remote {
    fn roster(&self) -> Roster {
        Roster::Counted(self.clients)
    }

    fn is_there(&self, _: Slot, client: ClientId) -> bool {
        self.office.desk().is_there(client.0)
    }

    /// Where the fleet waits for everyone, whoever is away comes back and is heard sooner or later.
    fn is_steady(&self) -> bool {
        self.patience.is_none()
    }

    fn participants(&self) -> Option<&dyn Participants> {
        Some(self)
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
