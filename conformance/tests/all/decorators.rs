//! Fleets around fleets.

use motet_conformance::{Knock, Knocked, Knocking, Witness, forwards_everything};
use motet_core::{
    Abort, Adding, ClientId, Fleet, LastReplies, Participants, Probe, Received, Roster, Score, Seed, Slot, Wave, sum_by_exchange,
};
use motet_runtime::{Byzantine, Deployed, Lossy};

#[test]
fn decorators_that_change_nothing_forward_everything() {
    forwards_everything(|inner| inner).unwrap();
    forwards_everything(|inner| Lossy::new(inner, 0.0, Seed(1))).unwrap();
    forwards_everything(|inner| Byzantine::new(inner, None, Seed(1))).unwrap();
    forwards_everything(|inner| Deployed::new(inner, None, Seed(1))).unwrap();
}

/// Forwards all but one.
struct Forgetful {
    inner: Witness,
    forgets: &'static str,
}

impl Fleet<Knocking> for Forgetful {
    fn roster(&self) -> Roster {
        if self.forgets == "roster" { Roster::Counted(3) } else { self.inner.roster() }
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        self.forgets == "is_there" || self.inner.is_there(slot, client)
    }
    fn is_steady(&self) -> bool {
        self.forgets == "is_steady" || self.inner.is_steady()
    }
    fn participants(&self) -> Option<&dyn Participants> {
        if self.forgets == "participants" { None } else { self.inner.participants() }
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, Knock>, each: &mut dyn FnMut(ClientId, Received<Knocked>)) -> Result<(), Abort> {
        let forgets = self.forgets == "exchange";
        self.inner.exchange(slot, wave, &mut |id, received| {
            if !forgets || received.is_ok() {
                each(id, received);
            }
        })
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, Knock>, adding: &mut Adding<'_, Knocking>) -> Result<(), Abort> {
        if self.forgets == "sum" { sum_by_exchange(self, slot, wave, adding) } else { self.inner.sum(slot, wave, adding) }
    }
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        if self.forgets == "round_closed" { Ok(()) } else { self.inner.round_closed(clients, heard) }
    }
    fn elapsed(&mut self) -> f64 {
        if self.forgets == "elapsed" { 0.0 } else { self.inner.elapsed() }
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        if self.forgets == "probe" { Ok(()) } else { self.inner.probe(probe, each) }
    }
}

#[test]
fn a_decorator_that_forgets_one_thing_is_caught() {
    assert_eq!(forwards_everything(|inner| Forgetful { inner, forgets: "nothing" }), Ok(()));
    for forgets in ["roster", "is_there", "is_steady", "participants", "exchange", "sum", "round_closed", "elapsed", "probe"] {
        let said = forwards_everything(|inner| Forgetful { inner, forgets }).unwrap_err();
        assert!(said.starts_with(forgets), "{forgets}: {said}");
    }
}
