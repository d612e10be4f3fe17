//! Sums that are added up elsewhere, as on the machines of a cluster.

use std::sync::Arc;

use motet_core::{
    Abort, Adding, ClientId, Fleet, LastReplies, Message, Misfit, Outcome, Partial, Participants, Probe, Received, ReplyError, Roster,
    Score, Seed, Sent, Slot, Study, Traffic, Wave, Wire,
};

use crate::{Check, Trial};

/// A fleet may add up in its own way: on two machines, each over its own clients, runs spend the same and come to the same models
/// but for rounding. Nothing but [`Fleet::sum`] is needed for it.
#[derive(Clone, Copy, Debug)]
pub struct SumsElsewhere;

/// Sums in another order differ in the last digits, which a few rounds of any method magnify little.
const ROUNDING: f64 = 1e-6;

impl Check for SumsElsewhere {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let plan = trial.plan(Seed(7));
        let (ours, here) = trial.run(method, &plan, &mut trial.inline(method, Seed(7)))?;
        let (theirs, elsewhere) = trial.run(method, &plan, &mut Reduced { inner: trial.inline(method, Seed(7)) })?;
        if elsewhere.outcome != Outcome::Finished || here.ledger != elsewhere.ledger {
            return Err(format!("{} with {:?} spent, not {:?}", elsewhere.outcome, elsewhere.ledger, here.ledger));
        }
        for (a, b) in ours.iter().zip(&theirs) {
            let (a, b) = (a.metrics["loss"], b.metrics["loss"]);
            if (a - b).abs() > ROUNDING * (1.0 + a.abs()) {
                return Err(format!("losses {a} and {b}"));
            }
        }
        Ok(())
    }
}

/// Any fleet, with two machines that add up: one over every second client, the other over the rest.
struct Reduced<F> {
    inner: F,
}

impl<A: Study, F: Fleet<A>> Fleet<A> for Reduced<F> {
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
        self.inner.exchange(slot, wave, each)
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        let (method, model, weights) = (adding.algorithm(), adding.model(), adding.weights());
        let mut machines = [Partial::empty(model), Partial::empty(model)];
        let (mut over, mut wrong) = (vec![], vec![]);
        self.inner.exchange(slot, wave, &mut |id, received| {
            let Some(k) = wave.to.iter().position(|&asked| asked == id) else { return };
            let added = received.and_then(|answer| {
                let (reply, kind) = (&answer.reply, answer.reply.kind());
                let misfit = |misfit| ReplyError::Misfit { kind, misfit };
                method.fits(wave.asks.at(k), reply, id, model).map_err(misfit)?;
                let addend = method.addend(reply).ok_or_else(|| misfit(Misfit::Variant))?;
                machines[k % 2].add(weights[k], &addend);
                Ok(Sent { client: id, work: answer.work, kind: kind.into(), traffic: Traffic { bits: reply.bits(), bytes: reply.bytes() } })
            });
            match added {
                Ok(sent) => over.push(sent),
                Err(error) => wrong.push((id, error)),
            }
        })?;
        let [mut total, other] = machines;
        total.merge(other);
        adding.absorb(total, over);
        wrong.iter().for_each(|(id, error)| adding.breach(slot, *id, error));
        Ok(())
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
