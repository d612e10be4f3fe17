//! Where the clients of a run are: on threads here, or on other machines.

use motet_core::{Abort, Adding, ClientId, Fleet, LastReplies, Participants, Probe, Received, Roster, Score, Slot, Wave};
use motet_link::Remote;
use motet_methods::Method;
use motet_runtime::Ranks;

/// Whoever answers.
pub(crate) enum Whereabouts<M: Method> {
    /// Ranks of this program.
    Here(Ranks<M>),
    /// Agents of a study.
    Away(Remote),
}

/// Makes the same call, wherever the clients are.
macro_rules! either {
    ($crew:expr, $fleet:ident => $call:expr) => {
        match $crew {
            Whereabouts::Here($fleet) => $call,
            Whereabouts::Away($fleet) => $call,
        }
    };
}

impl<M: Method> Fleet<M> for Whereabouts<M> {
    fn roster(&self) -> Roster {
        either!(self, fleet => Fleet::<M>::roster(fleet))
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        either!(self, fleet => Fleet::<M>::is_there(fleet, slot, client))
    }
    fn is_steady(&self) -> bool {
        either!(self, fleet => Fleet::<M>::is_steady(fleet))
    }
    fn participants(&self) -> Option<&dyn Participants> {
        either!(self, fleet => Fleet::<M>::participants(fleet))
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, M::Ask>, each: &mut dyn FnMut(ClientId, Received<M::Reply>)) -> Result<(), Abort> {
        either!(self, fleet => Fleet::<M>::exchange(fleet, slot, wave, each))
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, M::Ask>, adding: &mut Adding<'_, M>) -> Result<(), Abort> {
        either!(self, fleet => Fleet::<M>::sum(fleet, slot, wave, adding))
    }
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        either!(self, fleet => Fleet::<M>::round_closed(fleet, clients, heard))
    }
    fn elapsed(&mut self) -> f64 {
        either!(self, fleet => Fleet::<M>::elapsed(fleet))
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        either!(self, fleet => Fleet::<M>::probe(fleet, probe, each))
    }
}
