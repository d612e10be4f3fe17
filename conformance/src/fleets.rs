//! Results must not depend on where clients run, where their state is kept, or what the network loses.

use std::sync::Arc;

use motet_core::{
    Abort, Adding, Answer, ClientId, Fleet, Host, LastReplies, Outcome, Participants, Plan, Probe, Received, Roster, Score, Seed, Silence,
    Slot, Study, Wave, Wire, sum_by_exchange,
};
use motet_runtime::{Bytes, Frozen, Inline, Lossy, Memory, Pool, Threads};

use crate::{Check, Trial};

const SEED: Seed = Seed(7);

/// Rows, ledger and final state are equal to the last bit inline, on one, two and three threads and through bytes, with
/// client state kept as values or as bytes. The fleet of bytes also checks that every message survives the wire and has
/// the length it announces.
#[derive(Clone, Copy, Debug)]
pub struct EqualOnAllFleets;

impl Check for EqualOnAllFleets {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let plan = trial.plan(SEED);
        let reference = trial.traces(method, &plan, &mut trial.inline(method, SEED))?;
        if reference.outcome != Outcome::Finished.to_string() {
            return Err(format!("the reference run {}", reference.outcome));
        }
        for frozen in [false, true] {
            for (name, mut fleet) in fleets(method, trial, frozen) {
                let traces = trial.traces(method, &plan, &mut *fleet)?;
                if let Some(where_) = reference.parts_from(&traces) {
                    return Err(format!("inline against {name}, state as {}: {where_}", if frozen { "bytes" } else { "values" }));
                }
            }
        }
        Ok(())
    }
}

type Named<A> = (String, Box<dyn Fleet<A>>);

fn fleets<A: Study>(method: &Arc<A>, trial: &Trial, frozen: bool) -> Vec<Named<A>> {
    let host = || -> Host<A> {
        if frozen { trial.host(method, Arc::new(Frozen::default()), SEED) } else { trial.host(method, Arc::new(Memory::default()), SEED) }
    };
    let mut fleets: Vec<Named<A>> = vec![("inline".into(), Box::new(Inline::new(host()))), ("bytes".into(), Box::new(Bytes::new(host())))];
    for threads in 1..=3 {
        fleets.push((format!("{threads} threads"), Box::new(Threads::new(host(), Arc::new(Pool::new(threads))))));
    }
    fleets
}

/// A client asked again in the same slot throws the same dice, sends the same reply and ends in the same state.
#[derive(Clone, Copy, Debug)]
pub struct AskingTwiceIsAskingOnce;

impl Check for AskingTwiceIsAskingOnce {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let plan = trial.plan(SEED);
        let once = trial.traces(method, &plan, &mut trial.inline(method, SEED))?;
        let mut stutter = Stutter { host: trial.host(method, Arc::new(Memory::default()), SEED) };
        let twice = trial.traces(method, &plan, &mut stutter)?;
        once.parts_from(&twice).map_or(Ok(()), Err)
    }
}

/// Asks everyone twice and compares.
struct Stutter<A: Study> {
    host: Host<A>,
}

impl<A: Study> Fleet<A> for Stutter<A> {
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
            let ask = || self.host.answer(id, slot, wave.heard.of(id), wave.asks.at(k));
            let (first, again) = (ask()?, ask()?);
            let bytes = |answer: &Result<Answer<A::Reply>, Silence>| {
                let mut bytes = vec![];
                answer.as_ref().ok().cloned().encode(&mut bytes);
                bytes
            };
            if bytes(&first) != bytes(&again) {
                return Err(Abort::Protocol { client: id.0, reason: "two replies in one slot differ".into() });
            }
            if let Ok(answer) = again {
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

/// With 30 % of the replies lost after the work and half of a cohort enough, a run finishes with finite numbers and a
/// loss that has not blown up, whatever is lost.
#[derive(Clone, Copy, Debug)]
pub struct SurvivesLoss;

/// A method that does what it should descends; one that goes astray grows by this factor in a few rounds.
const BLOWN_UP: f64 = 2.0;

impl Check for SurvivesLoss {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        for faults in 0..5 {
            let plan = Plan { quorum: 0.5, rounds: 4 * trial.rounds, ..trial.plan(SEED) };
            let mut fleet = Lossy::new(trial.inline(method, SEED), 0.3, Seed(faults));
            let (rows, mut trained) = trial.run(method, &plan, &mut fleet)?;
            if !matches!(trained.outcome, Outcome::Finished) {
                return Err(format!("with faults {faults} the run {}", trained.outcome));
            }
            let mut finite = true;
            trained.server.vectors(&mut |v| finite &= v.is_finite());
            if !finite {
                return Err(format!("with faults {faults} the server ends with numbers that are not finite"));
            }
            let loss = |at: Option<&motet_core::Row>| at.and_then(|row| row.metrics.get("loss").copied()).unwrap_or(f64::NAN);
            let (first, last) = (loss(rows.first()), loss(rows.last()));
            if !last.is_finite() || last > BLOWN_UP * first + 1e-9 {
                return Err(format!("with faults {faults} the loss goes from {first} to {last}"));
            }
        }
        Ok(())
    }
}
