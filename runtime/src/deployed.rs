//! A fleet on devices that are slow, away or unreliable, and the clock of their deployment.

use crate::devices::Devices;
use motet_core::{
    Abort, Adding, Algorithm, Asks, ClientId, Fleet, LastReplies, Participants, Probe, Received, Roster, Score, Seed, Slot, Wave, Wire,
    Work, sum_by_exchange,
};

/// Any fleet, as it would be on some devices. Time passes by what is sent and computed, not by this machine's clock: an
/// exchange lasts until the slowest client that is waited for has answered. Measuring takes no time.
pub struct Deployed<F> {
    inner: F,
    devices: Option<Devices>,
    seed: Seed,
    /// Since it was last asked for.
    seconds: f64,
    /// The slot of the last exchange, and how often it was asked before.
    asked: Option<(Slot, u32)>,
}

impl<F> Deployed<F> {
    /// Without devices, the fleet itself.
    pub fn new(inner: F, devices: Option<Devices>, seed: Seed) -> Self {
        Self { inner, devices, seed, seconds: 0.0, asked: None }
    }
}

impl<A: Algorithm, F: Fleet<A>> Fleet<A> for Deployed<F> {
    fn roster(&self) -> Roster {
        self.inner.roster()
    }

    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        self.devices.is_none_or(|devices| devices.is_there(self.seed, slot, client)) && self.inner.is_there(slot, client)
    }

    fn is_steady(&self) -> bool {
        self.devices.is_none_or(|devices| devices.is_steady()) && self.inner.is_steady()
    }

    fn participants(&self) -> Option<&dyn Participants> {
        self.inner.participants()
    }

    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        let Some(devices) = self.devices else { return self.inner.exchange(slot, wave, each) };
        let again = self.asked.filter(|(last, _)| *last == slot).map_or(0, |(_, again)| again + 1);
        self.asked = Some((slot, again));
        let there: Vec<usize> = (0..wave.to.len()).filter(|&k| devices.is_there(self.seed, slot, wave.to[k])).collect();
        let to: Vec<ClientId> = there.iter().map(|&k| wave.to[k]).collect();
        let own: Vec<A::Ask>;
        let asks = match wave.asks {
            Asks::Same(ask) => Asks::Same(ask),
            Asks::Each(all) if there.len() == all.len() => Asks::Each(all),
            Asks::Each(all) => {
                own = there.iter().map(|&k| all[k].clone()).collect();
                Asks::Each(&own)
            }
        };
        let down: Vec<u64> = match &asks {
            Asks::Same(ask) => vec![ask.bytes(); to.len()],
            Asks::Each(asks) => asks.iter().map(Wire::bytes).collect(),
        };
        let patience = devices.deadline.filter(|_| slot.round > 0).map_or(f64::INFINITY, |deadline| *deadline);
        let (mut slowest, mut position, seed) = (0.0f64, 0, self.seed);
        let silent = to.len() < wave.to.len();
        self.inner.exchange(slot, Wave { to: &to, asks, heard: wave.heard }, &mut |id, received| {
            while to[position] != id {
                position += 1;
            }
            // Of what nobody can read it is not known how long it took to send.
            let (work, up) = received.as_ref().map_or((Work::default(), 0), |answer| (answer.work, answer.reply.bytes()));
            let seconds = devices.seconds(id, down[position], work, up);
            let lost = seconds > patience || devices.is_lost(seed, slot, id, again);
            // The server cannot tell who is lost from who is slow: it waits until it gives up, if it ever does.
            slowest = slowest.max(if lost && patience.is_finite() { patience } else { seconds });
            if !lost {
                each(id, received);
            }
        })?;
        if silent && patience.is_finite() {
            slowest = patience;
        }
        self.seconds += slowest;
        Ok(())
    }

    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        // Each reply takes its own time, and some are lost before they are added.
        if self.devices.is_some() {
            return sum_by_exchange(self, slot, wave, adding);
        }
        self.inner.sum(slot, wave, adding)
    }

    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        self.inner.round_closed(clients, heard)
    }

    fn elapsed(&mut self) -> f64 {
        std::mem::take(&mut self.seconds) + self.inner.elapsed()
    }

    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.inner.probe(probe, each)
    }
}
