//! What a client was asked and sent, and how long it was waited for.

use std::time::Duration;

use super::Ask;

/// Sums over the tasks of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tasks of rounds, but for those whose replies an earlier life of the coordinator had received.
    pub tasks: u64,
    /// Those that were answered.
    pub answered: u64,
    /// From the ask to the last byte of the reply, over all answers.
    pub waited: Duration,
    /// The longest of these.
    pub longest: Duration,
    /// Bytes of asks.
    pub down: u64,
    /// Bytes of replies.
    pub up: u64,
    /// Bytes of measurements, which no method books, in either direction.
    pub measuring: u64,
}

impl Tally {
    pub(super) fn asked(&mut self, ask: &Ask, anew: bool) {
        let bytes = if anew { ask.body.bytes().len() as u64 } else { 0 };
        if ask.is_probe {
            self.measuring += bytes;
        } else {
            self.down += bytes;
            self.tasks += u64::from(anew);
        }
    }

    pub(super) fn answered(&mut self, is_probe: bool, bytes: u64, waited: Duration) {
        if is_probe {
            self.measuring += bytes;
        } else {
            self.up += bytes;
            self.answered += 1;
            self.waited += waited;
            self.longest = self.longest.max(waited);
        }
    }
}
