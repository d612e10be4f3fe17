//! Clients on a pool of threads; replies are put back in order.

use std::sync::Arc;

use motet_core::{
    Abort, Adding, Algorithm, Asks, ClientId, Fleet, Host, LastReplies, Participants, Probe, Received, Roster, Score, Slot, Vector, Wave,
    sum_by_exchange,
};

use crate::pool::Pool;

/// Serves several clients at once, one per thread.
pub struct Threads<A: Algorithm> {
    host: Arc<Host<A>>,
    pool: Arc<Pool>,
}

impl<A: Algorithm> Threads<A> {
    /// All clients of the host, on a pool that other runs may use after this one.
    pub fn new(host: Host<A>, pool: Arc<Pool>) -> Self {
        Self { host: Arc::new(host), pool }
    }
}

/// What a wave holds, owned: the pool's threads outlive any borrow. Vectors are shared, not copied.
enum Owned<Q> {
    Same(Q),
    Each(Vec<Q>),
}

impl<A: Algorithm> Fleet<A> for Threads<A> {
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
        self.host.expect(wave.to);
        let asks = match wave.asks {
            Asks::Same(ask) => Owned::Same(ask.clone()),
            Asks::Each(asks) => Owned::Each(asks.to_vec()),
        };
        let mut heard = wave.heard.reader();
        let to: Vec<_> = wave.to.iter().map(|&id| (id, heard.of(id))).collect();
        let host = Arc::clone(&self.host);
        let mut failed = None;
        let answer = move |k: usize| {
            let (id, heard) = to[k];
            let ask = match &asks {
                Owned::Same(ask) => ask,
                Owned::Each(asks) => &asks[k],
            };
            host.answer(id, slot, heard, ask)
        };
        self.pool.scatter(wave.to.len(), answer, |k, result| match result {
            Ok(Ok(answer)) if failed.is_none() => each(wave.to[k], Ok(answer)),
            Ok(_) => {}
            Err(error) => failed = failed.take().or(Some(error)),
        });
        failed.map_or(Ok(()), |error| Err(error.into()))
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
        self.host.expect(probe.to);
        let to: Vec<(ClientId, Option<Slot>, Vector)> =
            probe.to.iter().map(|&id| (id, probe.heard.of(id), (probe.shared)(id).clone())).collect();
        let (host, reference, round, look) = (Arc::clone(&self.host), probe.reference.cloned(), probe.round, probe.look);
        let mut failed = None;
        let score = move |k: usize| {
            let (id, heard, shared) = &to[k];
            host.score(*id, *heard, round, shared, reference.as_ref(), look)
        };
        self.pool.scatter(probe.to.len(), score, |k, result| match result {
            Ok(Some(score)) if failed.is_none() => each(probe.to[k], score),
            Ok(_) => {}
            Err(error) => failed = failed.take().or(Some(error)),
        });
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}
