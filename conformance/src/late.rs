//! Asks that a network delays, doubles and reorders.

use std::collections::BTreeMap;
use std::sync::Arc;

use motet_core::{
    Abort, Adding, Algorithm, ClientId, Fleet, Host, LastReplies, Participants, Plan, Probe, Received, Roster, Score, Seed, Slot, Study,
    Wave, sum_by_exchange,
};
use motet_runtime::{Lossy, Memory};

use crate::{Check, Trial};

/// With 30 % of the replies lost, so that rounds are tried again, every client gets its last asks once more after each new
/// one, in any order: rows, ledger and final state are those of clients that got each ask once.
#[derive(Clone, Copy, Debug)]
pub struct LateAsksChangeNothing;

const SEED: Seed = Seed(7);

impl Check for LateAsksChangeNothing {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let plan = Plan { quorum: 0.8, ..trial.plan(SEED) };
        let faults = Seed(3);
        let calm = trial.traces(method, &plan, &mut Lossy::new(trial.inline(method, SEED), 0.3, faults))?;
        let echoing = Echoing { host: trial.host(method, Arc::new(Memory::default()), SEED), past: BTreeMap::new() };
        let disturbed = trial.traces(method, &plan, &mut Lossy::new(echoing, 0.3, faults))?;
        calm.parts_from(&disturbed).map_or(Ok(()), Err)
    }
}

/// How many asks of a client are still under way.
const UNDER_WAY: usize = 4;

/// Delivers every ask, and then those before it once more: the newest of them first, then the oldest.
struct Echoing<A: Algorithm> {
    host: Host<A>,
    past: BTreeMap<u32, Vec<Delayed<A::Ask>>>,
}

/// An ask with the place it was made for.
struct Delayed<Q> {
    slot: Slot,
    heard: Option<Slot>,
    ask: Q,
}

impl<A: Study> Fleet<A> for Echoing<A> {
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
        for (k, &id) in wave.to.iter().enumerate() {
            let (heard, ask) = (wave.heard.of(id), wave.asks.at(k));
            let answer = self.host.answer(id, slot, heard, ask)?;
            let past = self.past.entry(id.0).or_default();
            for late in past.iter().rev().chain(past.iter()) {
                // Whatever it says to that, nobody hears it any more.
                let _ = self.host.answer(id, late.slot, late.heard, &late.ask)?;
            }
            past.push(Delayed { slot, heard, ask: ask.clone() });
            let gone = past.len().saturating_sub(UNDER_WAY);
            past.drain(..gone);
            if let Ok(answer) = answer {
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
