//! Clients that see only bytes: the network without the sockets.

use motet_core::{
    Abort, Adding, Algorithm, ClientId, Fleet, Host, LastReplies, Participants, Probe, Received, Roster, Score, Slot, Vector, Wave, Wire,
    sum_by_exchange, whole,
};

/// Encodes every message and score on one side and decodes it on the other.
pub struct Bytes<A: Algorithm> {
    host: Host<A>,
}

impl<A: Algorithm> Bytes<A> {
    /// All clients of the host.
    pub fn new(host: Host<A>) -> Self {
        Self { host }
    }
}

/// Onto the wire. What is sent must be as long as it says, or the accounts would be wrong.
fn sent<T: Wire>(message: &T, client: ClientId) -> Result<Vec<u8>, Abort> {
    let mut bytes = vec![];
    message.encode(&mut bytes);
    if bytes.len() as u64 != message.bytes() {
        let reason = format!("{} bytes announced, {} sent", message.bytes(), bytes.len());
        return Err(Abort::Protocol { client: client.0, reason });
    }
    Ok(bytes)
}

/// Through the wire and back. What we send ourselves must arrive.
fn carry<T: Wire>(message: &T, client: ClientId) -> Result<T, Abort> {
    whole(&sent(message, client)?).map_err(|e| Abort::Protocol { client: client.0, reason: e.to_string() })
}

impl<A: Algorithm> Fleet<A> for Bytes<A> {
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
            let ask = carry(wave.asks.at(k), id)?;
            if let Ok(answer) = self.host.answer(id, slot, wave.heard.of(id), &ask)? {
                each(id, whole(&sent(&answer, id)?));
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

    /// Nobody keeps the clock of a deployment here.
    fn elapsed(&mut self) -> f64 {
        0.0
    }

    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        for &id in probe.to {
            let shared: Vector = carry((probe.shared)(id), id)?;
            if let Some(score) = self.host.score(id, probe.heard.of(id), probe.round, &shared, probe.reference, carry(&probe.look, id)?)? {
                each(id, carry(&score, id)?);
            }
        }
        Ok(())
    }
}
