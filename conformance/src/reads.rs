//! A method sees of the clients' vectors what its card says.

use std::sync::Arc;

use motet_core::{
    Abort, Adding, ClientId, Fleet, LastReplies, Outcome, Participants, Probe, Received, Roster, Score, Seed, Slot, Study, Wave, Wire,
};
use motet_methods::Method;

use crate::trial::Traces;
use crate::trials;

const REFUSED: &str = "a single vector was read";

/// On a fleet that hands out sums and no single vector, a method that reads sums alone gives the bits that it gives everywhere,
/// and any other fails.
pub fn reads_as_its_card_says<M: Method>(method: M) -> Result<(), String> {
    let method = Arc::new(method);
    for trial in trials() {
        let plan = trial.plan(Seed(7));
        let (rows, blind) = trial.run(&method, &plan, &mut SumsOnly { inner: trial.inline(&method, Seed(7)) })?;
        let refused = matches!(&blind.outcome, Outcome::Failed { reason, .. } if reason.contains(REFUSED));
        if !method.reads_sums() {
            if !refused {
                return Err(format!("on {}: it is said to read single vectors, and did not", trial.name));
            }
            continue;
        }
        let open = trial.traces(&method, &plan, &mut trial.inline(&method, Seed(7)))?;
        if let Some(where_) = open.parts_from(&Traces::of(&rows, &blind)) {
            return Err(format!("on {}: it is said to read sums alone, and without single vectors {where_}", trial.name));
        }
    }
    Ok(())
}

/// Any fleet, but of single replies only those without a vector inside.
pub(crate) struct SumsOnly<F> {
    pub(crate) inner: F,
}

impl<A: Study, F: Fleet<A>> Fleet<A> for SumsOnly<F> {
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
        let mut seen = None;
        self.inner.exchange(slot, wave, &mut |id, mut received| {
            if let Ok(answer) = &mut received {
                answer.vectors(&mut |_| seen = seen.or(Some(id)));
            }
            if seen.is_none() {
                each(id, received);
            }
        })?;
        seen.map_or(Ok(()), |client| Err(Abort::Unsuited(format!("{REFUSED}, of client {}", client.0))))
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_of_sums_forwards_everything_else() {
        crate::forwards_everything(|inner| SumsOnly { inner }).unwrap();
    }
}
