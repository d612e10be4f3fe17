//! Ranks in a program that is built without them: all clients are here.
//!
//! What spreads clients over ranks is compiled for every method. A program that no MPI will start has no use for it, so it has this
//! instead (see the feature `ranks`), with the same names.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::AnyBitPattern;
use motet_core::{
    Abort, Adding, Algorithm, ClientId, Fleet, Host, LastReplies, ModelShape, Participants, Probe, Received, Roster, Score, Slot, Vector,
    Wave, sum_by_exchange,
};

use super::{Crew, CrewGone, Homes, Keeps};
use crate::pool::Pool;
use crate::threads::Threads;

/// Serves all clients on threads.
pub struct Ranks<A: Algorithm>(Threads<A>);

impl<A: Algorithm> Ranks<A> {
    /// All clients of the host, on the pool's threads.
    pub fn alone(host: Host<A>, pool: Arc<Pool>) -> Self {
        Self(Threads::new(host, pool))
    }

    /// The same: whoever has ranks to spread clients over builds with the feature `ranks`.
    ///
    /// # Panics
    /// If the crew has more than one rank.
    pub fn new(host: Host<A>, pool: Arc<Pool>, crew: Arc<dyn Crew>, _: Homes) -> Self {
        assert_eq!(crew.size(), 1, "a program without the feature `ranks` has one rank");
        Self::alone(host, pool)
    }

    /// There are no other ranks.
    pub fn team(&self) -> Option<Arc<Team<A>>> {
        None
    }
}

/// Other ranks, which a program without the feature `ranks` never has.
pub struct Team<A> {
    never: Infallible,
    method: PhantomData<A>,
}

impl<A: Algorithm> Team<A> {
    /// Local optima.
    pub fn anchors(&self, _: &[ClientId]) -> Result<Vec<Vector>, Abort> {
        match self.never {}
    }
    /// Makes states durable.
    pub fn commit(&self) -> Result<Vec<(u64, Vec<u8>)>, Abort> {
        match self.never {}
    }
    /// Forgets old versions.
    pub fn release(&self, _: u64) -> Result<(), Abort> {
        match self.never {}
    }
    /// Scores clients.
    pub fn probe(&self, _: &Probe<'_>, _: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        match self.never {}
    }
}

/// Data that several ranks of one machine hold once, which a program without the feature `ranks` never has.
#[derive(Debug, PartialEq, Eq)]
pub struct Shelf(Infallible);

impl Shelf {
    /// There are no other ranks.
    pub fn between(_: &Arc<dyn Crew>) -> Option<Self> {
        None
    }
    /// What the first rank of this machine has laid down.
    pub fn taken(&self) -> Option<Frame> {
        match self.0 {}
    }
    /// Lays it down.
    pub fn lay(&self, _: &[&[u8]]) -> Option<Frame> {
        match self.0 {}
    }
    /// Lays nothing down.
    pub fn pass(&self) {
        match self.0 {}
    }
    /// Nothing more comes.
    pub fn close(&self) {
        match self.0 {}
    }
}

/// What lies on a shelf.
#[derive(Debug)]
pub struct Frame(Infallible);

impl Frame {
    /// How many parts it has.
    pub fn parts(&self) -> usize {
        match self.0 {}
    }
    /// The bytes of a part.
    pub fn part(&self, _: usize) -> &[u8] {
        match self.0 {}
    }
    /// A part as numbers.
    pub fn lent<T: AnyBitPattern + Send + Sync>(&self, _: usize) -> Option<Arc<dyn AsRef<[T]> + Send + Sync>> {
        match self.0 {}
    }
}

/// Nothing is served here but by rank 0.
pub fn serve<A: Algorithm>(_: (&Host<A>, ModelShape), _: &Pool, crew: &dyn Crew, _: &dyn Keeps) -> Result<(), Abort> {
    Err(Abort::Closed(format!("rank {} runs a program without the feature `ranks`", crew.rank())))
}

/// Nobody serves anything.
pub fn leave(_: &dyn Crew) -> Result<(), CrewGone> {
    Ok(())
}

impl<A: Algorithm> Fleet<A> for Ranks<A> {
    fn roster(&self) -> Roster {
        self.0.roster()
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        self.0.is_there(slot, client)
    }
    fn is_steady(&self) -> bool {
        self.0.is_steady()
    }
    fn participants(&self) -> Option<&dyn Participants> {
        None
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        self.0.exchange(slot, wave, each)
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        sum_by_exchange(self, slot, wave, adding)
    }
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        self.0.round_closed(clients, heard)
    }
    fn elapsed(&mut self) -> f64 {
        self.0.elapsed()
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.0.probe(probe, each)
    }
}
