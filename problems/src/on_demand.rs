//! Clients whose examples are made, or read, when they are needed: a large population costs only what is used of it.

use std::borrow::Cow;
use std::sync::Arc;

use motet_core::{ClientId, Population, Roster, Seed, Shard, StoreError};

use crate::data_summary::DataSummary;
use crate::dataset::{Dataset, Examples, LARGEST, Usage};
use crate::dealt::{Sizes, clients};
use crate::error::ProblemError;
use crate::holdout::{Holdout, Parts};
use crate::model::Fitted;
use crate::prepare::{Field, Preparation};
use crate::room::afford;

/// A source that can give the examples of one client at a time.
///
/// Where there are few, and wherever a split deals examples anew, they are all made at once; see [`Holding`].
pub trait ClientExamples: Send + Sync {
    /// How many clients there are.
    fn clients(&self) -> u32;
    /// How many examples a client has to train on; at least one.
    fn rows(&self, client: u32) -> u32;
    /// How many examples a client has that the source means for test. Generators leave that to the hold-out.
    fn judged(&self, _client: u32) -> u32 {
        0
    }
    /// The fields of a table, whose gaps and scales each client sees to by itself.
    fn fields(&self) -> Option<&[Field]> {
        None
    }
    /// What the examples of all clients have in common, without a single example: columns, classes, notes.
    fn outline(&self) -> Dataset;
    /// A client's examples. The same number always gives the same.
    fn examples(&self, client: u32) -> Result<Dataset, ProblemError>;
}

/// Are all clients held in memory, or is each made when it is asked for?
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holding {
    /// All are held: every round finds them there, and minima, constants and local solves of everybody are known.
    All,
    /// Each is made when it is asked for: memory and the time to begin do not grow with how many there are.
    Touched,
}

/// Up to so many clients are held where nothing is said: it is as many as are scored one by one when a run ends.
pub(crate) const HELD_CLIENTS: u32 = 10_000;
/// Up to so many examples are held where nothing is said.
const HELD_ROWS: u64 = 20_000_000;

impl Holding {
    /// What is done where nothing is said.
    pub(crate) fn usual(of: &dyn ClientExamples) -> Self {
        if of.clients() > HELD_CLIENTS || total(of) > HELD_ROWS { Holding::Touched } else { Holding::All }
    }
}

/// How many examples all clients have.
fn total(of: &dyn ClientExamples) -> u64 {
    (0..of.clients()).map(|client| u64::from(of.rows(client))).sum()
}

/// Refuses examples that memory does not hold together.
pub(crate) fn affordable_rows(of: &dyn ClientExamples) -> Result<(), ProblemError> {
    let (rows, columns) = (total(of), of.outline().features.cols() as u64);
    Ok(afford(|| format!("{rows} examples of {} clients, all held", of.clients()), &[rows, columns], 8)?)
}

/// Everybody's examples, one client after another.
pub(crate) fn gathered(of: &dyn ClientExamples) -> Result<Dataset, ProblemError> {
    let (mut all, rows) = (of.outline(), total(of) as usize);
    all.reserve(rows);
    let mut keys = Vec::with_capacity(rows);
    for client in 0..of.clients() {
        let own = of.examples(client)?;
        keys.resize(keys.len() + own.len(), client);
        all.append(own);
    }
    Ok(all.from_clients(keys))
}

/// The first so many of some clients, and what each keeps away from training.
pub(crate) struct Roll {
    of: Arc<dyn ClientExamples>,
    pub(crate) clients: u32,
    holdout: Holdout,
    cut: Seed,
}

impl Roll {
    /// Refuses hold-outs that leave a client nothing to train on, before anybody is made.
    pub(crate) fn new(of: Arc<dyn ClientExamples>, clients: u32, holdout: Holdout, cut: Seed) -> Result<Self, ProblemError> {
        holdout.check()?;
        (0..clients).try_for_each(|client| holdout.sizes(client as usize, of.rows(client) as usize).map(|_| ()))?;
        Ok(Self { of, clients, holdout, cut })
    }

    pub(crate) fn outline(&self) -> Dataset {
        self.of.outline()
    }

    /// How many examples each client has, whatever they are for.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.clients).map(|client| self.of.rows(client) + self.of.judged(client))
    }

    /// What clients are called, where the source knows it.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = self.of.outline().names;
        names.truncate(self.clients as usize);
        names
    }

    /// What every client does with the fields of a table, everybody being read for it.
    pub(crate) fn preparation(&self) -> Result<Option<Preparation>, ProblemError> {
        let Some(fields) = self.of.fields() else { return Ok(None) };
        let each = (0..self.clients).map(|client| Ok(self.dealt(client)?.2.into_iter().flat_map(|own| own.clients).collect::<Vec<_>>()));
        let clients = each.collect::<Result<Vec<_>, ProblemError>>()?.into_iter().flatten().collect();
        Ok(Some(Preparation { fields: fields.to_vec(), clients }))
    }

    /// Examples of all clients to train on, and to be judged on.
    pub(crate) fn counts(&self) -> Result<(u64, u64), ProblemError> {
        let mut sum = (0, 0);
        for client in 0..self.clients {
            let rows = self.of.rows(client) as usize;
            let (validation, test) = self.holdout.sizes(client as usize, rows)?;
            let judged = test as u64 + u64::from(self.of.judged(client));
            sum = (sum.0 + (rows - validation - test) as u64, sum.1 + judged);
        }
        Ok(sum)
    }

    /// A client's examples, what each is for, and what was done with the fields of a table.
    fn dealt(&self, client: u32) -> Result<(Dataset, Parts, Option<Preparation>), ProblemError> {
        let mut own = self.of.examples(client)?;
        if let Some((place, value)) = own.too_large() {
            let what = format!("{value:e} is too large to compute with (at most {LARGEST:e})");
            return Err(ProblemError::Odd { file: format!("client {client}"), place, what });
        }
        let mut parts = self.holdout.cut_one(client as usize, own.rows_for(Usage::Train), self.cut)?;
        parts.validation.extend(own.rows_for(Usage::Validation));
        parts.test.extend(own.rows_for(Usage::Test));
        let prepared = self.of.fields().map(|fields| Preparation::make(fields.to_vec(), &mut own, std::slice::from_ref(&parts)));
        Ok((own, parts, prepared))
    }

    /// Who has what, counted client by client.
    pub(crate) fn summary(&self) -> Result<DataSummary, ProblemError> {
        DataSummary::counted(&self.outline(), (0..self.clients).map(|client| self.dealt(client).map(|(own, parts, _)| (own, parts))))
    }
}

/// Clients 0..n with a model, each made when it is asked for.
pub(crate) struct OnDemand {
    roll: Roll,
    model: Arc<dyn Fitted>,
    /// How many examples stand before each client's, were all laid end to end: what tells clients' starts apart.
    before: Vec<u64>,
}

impl OnDemand {
    pub(crate) fn new(roll: Roll, model: Arc<dyn Fitted>) -> Self {
        let before = roll.rows().scan(0, |sum, rows| Some(std::mem::replace(sum, *sum + u64::from(rows)))).collect();
        Self { roll, model, before }
    }

    /// How many examples each client has, whatever they are for.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        self.roll.rows().map(u64::from)
    }

    /// What clients are called, where the source knows it.
    pub(crate) fn names(&self) -> Vec<String> {
        self.roll.names()
    }

    /// What every client does with the fields of a table; none if it is none.
    pub(crate) fn preparation(&self) -> Result<Option<Preparation>, ProblemError> {
        self.roll.preparation()
    }

    fn make(&self, client: u32) -> Result<Shard, ProblemError> {
        let (own, parts, _) = self.roll.dealt(client)?;
        let order: Vec<u32> = parts.train.iter().chain(&parts.validation).chain(&parts.test).copied().collect();
        let arranged = if order.is_sorted() { own } else { own.permuted(&order) };
        let model = self.model.on(Arc::new(Examples::new(arranged)?), self.before[client as usize])?;
        Ok(clients(&*model, &[Sizes::of(&parts)]).remove(0))
    }
}

impl Population for OnDemand {
    fn roster(&self) -> Roster {
        Roster::Counted(self.roll.clients)
    }

    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        let unread = |error: ProblemError| StoreError { client: client.0, reason: format!("its data cannot be read: {error}") };
        if client.0 >= self.roll.clients {
            return Err(StoreError::unknown(client));
        }
        self.make(client.0).map(Cow::Owned).map_err(unread)
    }
}
