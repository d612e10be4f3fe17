//! A run between two rounds: what is needed to go on as if nothing had happened.

use std::io;

use crate::algorithm::Algorithm;
use crate::breach::Breaches;
use crate::fit::ModelShape;
use crate::fleet::LastReplies;
use crate::ledger::Ledger;
use crate::merit::Tally;
use crate::message::{Reader, Wire, WireError};
use crate::notes::Notes;
use crate::record::{Excluded, Metrics};
use crate::scattered::Scattered;
use crate::vector::Vector;

/// A run between two rounds. Together with the clients' states, it goes on from here to the same bits.
#[derive(Clone, Debug)]
pub struct RunState<A: Algorithm> {
    /// The server's state.
    pub server: A::Server,
    /// The round to come; 0 before anything was asked.
    pub next: u64,
    /// What the loop knows besides.
    pub account: Account,
}

/// What the loop keeps about a run besides the server's state: what was heard, spent, noted and left out.
#[derive(Clone, Debug)]
pub struct Account {
    /// Of the model that the run began with.
    pub model: ModelShape,
    /// What was heard of each client.
    pub heard: LastReplies,
    /// What was spent.
    pub ledger: Ledger,
    /// Attempts since the start.
    pub(crate) attempts: u64,
    /// What the method noted in the last round.
    pub(crate) notes: Notes,
    /// What it noted since the start, summed.
    pub(crate) totals: Metrics,
    /// Replies left out since the last row.
    pub(crate) excluded: Vec<Excluded>,
    /// Who counted how much since the last row, by measured target.
    pub(crate) merits: Vec<Tally>,
    /// Who broke the protocol.
    pub(crate) breaches: Breaches,
}

impl<A: Algorithm> RunState<A> {
    /// Before the first round of a method that begins with this model.
    pub fn before(algorithm: &A, start: Vector) -> Self {
        let account = Account {
            model: ModelShape::of(&start),
            heard: LastReplies::default(),
            ledger: Ledger::default(),
            attempts: 0,
            notes: Notes::default(),
            totals: Metrics::new(),
            excluded: vec![],
            merits: vec![],
            breaches: Breaches::default(),
        };
        Self { server: algorithm.server(start), next: 0, account }
    }
}

impl<A: Algorithm> Wire for RunState<A> {
    fn bits(&self) -> u64 {
        8 * self.bytes()
    }
    fn bytes(&self) -> u64 {
        self.server.bytes() + 8 + self.account.bytes()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.server.encode(out);
        self.next.encode(out);
        self.account.encode(out);
    }
    fn scatter(&self, out: &mut Scattered) {
        self.server.scatter(out);
        out.write(|out| {
            self.next.encode(out);
            self.account.encode(out);
        });
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { server: A::Server::decode(from)?, next: u64::decode(from)?, account: Account::decode(from)? })
    }
}

impl Wire for Account {
    fn bits(&self) -> u64 {
        8 * self.bytes()
    }
    fn bytes(&self) -> u64 {
        let named = |names: &mut dyn Iterator<Item = usize>| 4 + names.map(|length| 12 + length as u64).sum::<u64>();
        let totals = named(&mut self.totals.keys().map(String::len));
        let lists = self.excluded.bytes() + self.merits.bytes() + self.breaches.bytes();
        self.model.bytes() + self.heard.bytes() + self.ledger.bytes() + 8 + totals + lists
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.model.encode(out);
        self.heard.encode(out);
        self.ledger.encode(out);
        self.attempts.encode(out);
        let totals: Vec<(String, f64)> = self.totals.iter().map(|(k, v)| (k.clone(), *v)).collect();
        totals.encode(out);
        self.excluded.encode(out);
        self.merits.encode(out);
        self.breaches.encode(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            model: ModelShape::decode(from)?,
            heard: LastReplies::decode(from)?,
            ledger: Ledger::decode(from)?,
            attempts: u64::decode(from)?,
            notes: Notes::default(),
            totals: Vec::<(String, f64)>::decode(from)?.into_iter().collect(),
            excluded: Vec::decode(from)?,
            merits: Vec::decode(from)?,
            breaches: Breaches::decode(from)?,
        })
    }
}

/// Is given the state of the run after every round: to write it to disk, or to end the run there.
pub trait Checkpointer<A: Algorithm> {
    /// After a round that is not the last.
    fn after(&mut self, moment: &RunState<A>) -> io::Result<AfterRound>;

    /// After the last round: a longer run goes on from here as if it had not ended.
    fn end(&mut self, _moment: &RunState<A>) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the run goes on after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRound {
    /// The next round.
    GoOn,
    /// Nothing.
    Stop,
}

/// Keeps nothing.
pub(crate) struct NoCheckpoints;

impl<A: Algorithm> Checkpointer<A> for NoCheckpoints {
    fn after(&mut self, _: &RunState<A>) -> io::Result<AfterRound> {
        Ok(AfterRound::GoOn)
    }
}
