//! Clients that see only bytes: the network without the sockets.

use motet_core::{Abort, Algorithm, Answer, ClientId, Fleet, Host, Probe, Reader, Roster, Score, Slot, Vector, Wave, Wire};

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

/// Through the wire and back; every byte must be used.
fn carry<T: Wire>(message: &T, client: ClientId) -> Result<T, Abort> {
    let mut bytes = vec![];
    message.encode(&mut bytes);
    let broken = |reason: String| Abort::Protocol { client: client.0, reason };
    if bytes.len() as u64 != message.bytes() {
        return Err(broken(format!("{} bytes announced, {} sent", message.bytes(), bytes.len())));
    }
    let mut from = Reader::new(&bytes);
    let received = T::decode(&mut from).map_err(|e| broken(e.to_string()))?;
    match from.left() {
        0 => Ok(received),
        left => Err(broken(format!("{left} bytes left over"))),
    }
}

impl<A: Algorithm> Fleet<A> for Bytes<A> {
    fn roster(&self) -> Roster {
        self.host.roster()
    }

    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Answer<A::Reply>)) -> Result<(), Abort> {
        for (k, &id) in wave.to.iter().enumerate() {
            let ask = carry(wave.asks.at(k), id)?;
            if let Some(answer) = self.host.answer(id, slot, wave.heard.of(id), &ask)? {
                each(id, carry(&answer, id)?);
            }
        }
        Ok(())
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
