//! One round as the server code sees it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algorithm::{Algorithm, ClientId};
use crate::fleet::{Answer, Asks, Fleet, Heard, Roster, Wave};
use crate::ledger::{Direction, Ledger};
use crate::record::Excluded;
use crate::sampling::{Draw, Sampling};
use crate::seed::{Rng, Seed, Slot};
use crate::store::StoreError;

/// Why a round, or the run, cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Abort {
    /// Too few answered; the round is tried again.
    #[error("{answered} of {asked} clients answered")]
    Quorum {
        /// How many were asked.
        asked: usize,
        /// How many answered.
        answered: usize,
    },
    /// A reply holds NaN or infinity.
    #[error("client {client} sent a number that is not finite")]
    NotFinite {
        /// Whose.
        client: u32,
    },
    /// A peer does not speak our language.
    #[error("client {client} broke the protocol: {reason}")]
    Protocol {
        /// Who.
        client: u32,
        /// How.
        reason: String,
    },
    /// Client state is lost.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Everyone was asked, of a population without end.
    #[error("this method asks every client, but the population has no end: sample clients instead")]
    Unbounded,
    /// The problem lacks what the method needs.
    #[error("{0}")]
    Unsuited(String),
    /// The fleet is gone.
    #[error("the clients are gone: {0}")]
    Closed(String),
}

/// Some clients, in the order they are asked and folded.
#[derive(Clone, Debug, PartialEq)]
pub struct Cohort {
    ids: Arc<[ClientId]>,
    weights: Weights,
    required: bool,
    wary: bool,
    unbounded: bool,
}

/// What each client of a cohort stands for.
#[derive(Clone, Debug, PartialEq)]
enum Weights {
    Same(f64),
    Each(Arc<BTreeMap<ClientId, f64>>),
}

impl Cohort {
    /// These clients, all of one weight.
    pub fn new(ids: impl Into<Arc<[ClientId]>>) -> Self {
        let ids = ids.into();
        let weights = Weights::Same(1.0 / ids.len().max(1) as f64);
        Self { ids, weights, required: false, wary: false, unbounded: false }
    }

    /// These clients, each with a weight of its own.
    pub fn weighted(weights: BTreeMap<ClientId, f64>) -> Self {
        let ids = weights.keys().copied().collect();
        Self { ids, weights: Weights::Each(Arc::new(weights)), required: false, wary: false, unbounded: false }
    }

    /// The same clients, all of this weight.
    pub(crate) fn weighing(self, weight: f64) -> Self {
        Self { weights: Weights::Same(weight), ..self }
    }

    /// wᵢ: what this client's vector counts for in Σ wᵢ vᵢ, the estimate of the mean over all clients that is
    /// right on average over the draw. One over the number of clients where all are alike; kept by
    /// [`filter`](Self::filter) and by those who answer.
    pub fn weight(&self, client: ClientId) -> f64 {
        match &self.weights {
            Weights::Same(weight) => *weight,
            Weights::Each(weights) => weights.get(&client).copied().unwrap_or(0.0),
        }
    }

    /// The same clients, none of whom may stay silent: those who do are asked again in the same
    /// slot, with the same dice, before the round is given up.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The same clients, some of whom may lie: a reply with NaN or infinity in it is as good as none, where else it
    /// ends the run. Whoever is required, too, must still answer in numbers.
    pub fn wary(mut self) -> Self {
        self.wary = true;
        self
    }

    /// Only those for whom `keep` holds.
    pub fn filter(&self, keep: impl Fn(ClientId) -> bool) -> Self {
        if self.ids.iter().all(|&id| keep(id)) {
            return self.clone();
        }
        Self { ids: self.ids.iter().copied().filter(|&id| keep(id)).collect(), ..self.clone() }
    }

    /// Who.
    pub fn ids(&self) -> &[ClientId] {
        &self.ids
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Nobody?
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// How often the silent of a required cohort are asked again before the round is given up.
const PATIENCE: u32 = 50;

/// One attempt at a round: dice, cohorts, and the only door to the clients.
pub struct Round<'a, A: Algorithm> {
    slot: Slot,
    seed: Seed,
    rng: Rng,
    fleet: &'a mut dyn Fleet<A>,
    ledger: &'a mut Ledger,
    heard: &'a mut Heard,
    lists: &'a mut Lists,
    everyone: &'a Cohort,
    rules: Rules,
    /// Whose replies of the last exchange were dropped.
    lied: Vec<ClientId>,
    notes: &'a mut BTreeMap<Cow<'static, str>, f64>,
    excluded: &'a mut Vec<Excluded>,
    /// The server's state before this attempt, while it may have to be had again.
    before: &'a mut Option<A::Server>,
    /// What the method says of the numbers that it changed.
    vouched: &'a mut Option<bool>,
}

/// What becomes of a reply with NaN or infinity in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotFinite {
    /// The run has diverged.
    #[default]
    Fatal,
    /// It is left out and recorded, as if the client had been silent. Cohorts that need everyone have nobody to leave out.
    Exclude,
}

/// What an exchange must satisfy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Least share of a cohort that must answer.
    pub(crate) quorum: f64,
    pub(crate) not_finite: NotFinite,
}

impl<'a, A: Algorithm> Round<'a, A> {
    pub(crate) fn new(
        slot: Slot,
        seed: Seed,
        rules: Rules,
        everyone: &'a Cohort,
        fleet: &'a mut dyn Fleet<A>,
        books: Books<'a, A::Server>,
    ) -> Self {
        let Books { ledger, heard, notes, excluded, lists, before, vouched } = books;
        lists.undo.clear();
        let rng = seed.server(slot.round, slot.attempt);
        Self { slot, seed, rng, fleet, ledger, heard, lists, everyone, rules, lied: vec![], notes, excluded, before, vouched }
    }

    /// Makes a failed attempt not have happened, but for the ledger.
    pub(crate) fn roll_back(self) {
        for (client, slot) in self.lists.undo.drain(..).rev() {
            self.heard.set(client, slot);
        }
    }

    /// Everything was asked, and nothing can fail any more: the state of the round before is let go, and what the server changes
    /// now is changed in place. Worth saying where models are large; should the new state be NaN, it is the one that is left.
    pub fn decide(&mut self) {
        *self.before = None;
    }

    /// The method has looked at every number of the server's state that it changed, and this is whether all are finite. Worth saying
    /// where it changes a few rows of a large state, or looks at numbers as it writes them: otherwise all of it is looked through.
    pub fn vouch(&mut self, finite: bool) {
        *self.vouched = Some(finite);
    }

    /// Which round; 0 while opening.
    pub fn index(&self) -> u64 {
        self.slot.round
    }

    /// Dice of (run, round, attempt).
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Every client of the roster.
    pub fn everyone(&self) -> Cohort {
        self.everyone.clone()
    }

    /// Some clients, by the round's dice.
    pub fn sample(&mut self, how: &Sampling) -> Cohort {
        let (seed, slot, fleet) = (self.seed, self.slot, &*self.fleet);
        let there = |id: ClientId| fleet.is_there(slot, id);
        how.draw(Draw { roster: &fleet.roster(), everyone: self.everyone, seed, round: slot.round, there: &there, rng: &mut self.rng })
    }

    /// One ask to a cohort; `fold` sees the replies in cohort order. Returns who answered.
    pub fn ask(&mut self, to: &Cohort, ask: A::Ask, fold: impl FnMut(ClientId, A::Reply)) -> Result<Cohort, Abort> {
        self.ledger.book(Direction::Down, &ask, to.len() as u64);
        self.exchange(to, Asks::Same(&ask), fold)
    }

    /// An ask of its own for each client.
    pub fn ask_each(
        &mut self,
        to: &Cohort,
        ask: impl Fn(ClientId) -> A::Ask,
        fold: impl FnMut(ClientId, A::Reply),
    ) -> Result<Cohort, Abort> {
        let asks: Vec<A::Ask> = to.ids().iter().map(|&id| ask(id)).collect();
        asks.iter().for_each(|ask| self.ledger.book(Direction::Down, ask, 1));
        self.exchange(to, Asks::Each(&asks), fold)
    }

    /// An ask to one client, who must answer.
    pub fn ask_one(&mut self, to: ClientId, ask: A::Ask) -> Result<A::Reply, Abort> {
        let mut got = None;
        self.ask(&Cohort::new([to]).required(), ask, |_, reply| got = Some(reply))?;
        got.ok_or(Abort::Quorum { asked: 1, answered: 0 })
    }

    /// Whose replies to the last exchange held NaN or infinity and were dropped: see [`Cohort::wary`].
    pub fn lied(&self) -> &[ClientId] {
        &self.lied
    }

    /// A diagnostic for the row, summed over the rounds since the last row.
    pub fn note(&mut self, name: &'static str, value: f64) {
        *self.notes.entry(Cow::Borrowed(name)).or_insert(0.0) += value;
    }

    fn exchange(&mut self, to: &Cohort, asks: Asks<'_, A::Ask>, mut fold: impl FnMut(ClientId, A::Reply)) -> Result<Cohort, Abort> {
        assert!(self.before.is_some(), "who has decided asks nobody any more");
        if to.unbounded {
            return Err(Abort::Unbounded);
        }
        let slot = self.slot;
        self.slot.exchange += 1;
        let mut answered = std::mem::take(&mut self.lists.answered);
        answered.clear();
        let (mut bad, mut lies) = (None, vec![]);
        let wary = (to.wary || self.rules.not_finite == NotFinite::Exclude) && !to.required;
        let mut hear = |ledger: &mut Ledger, id: ClientId, answer: Answer<A::Reply>| {
            ledger.book(Direction::Up, &answer.reply, 1);
            ledger.book_work(answer.work);
            if !answer.finite {
                if wary {
                    return lies.push(id);
                }
                bad.get_or_insert(id);
            }
            if bad.is_none() {
                answered.push(id);
                fold(id, answer.reply);
            }
        };
        if to.required {
            self.insist(slot, to, asks, &mut hear)?;
        } else {
            let ledger = &mut *self.ledger;
            self.fleet.exchange(slot, Wave { to: to.ids(), asks, heard: self.heard }, &mut |id, answer| hear(ledger, id, answer))?;
        }
        self.ledger.book_seconds(self.fleet.elapsed());
        // If nobody sent numbers, it is not the clients that lie but the run that diverges.
        if let Some(ClientId(client)) = bad.or(lies.first().copied().filter(|_| answered.is_empty())) {
            return Err(Abort::NotFinite { client });
        }
        self.excluded.extend(lies.iter().map(|id| Excluded { round: slot.round, client: id.0 }));
        self.lied = lies;
        for &id in &answered {
            let was = self.heard.set(id, Some(slot));
            self.lists.undo.push((id, was));
        }
        if answered.is_empty() && !to.is_empty() || ((answered.len() + self.lied.len()) as f64) < self.rules.quorum * to.len() as f64 {
            return Err(Abort::Quorum { asked: to.len(), answered: answered.len() });
        }
        let whole = answered.len() == to.len();
        let cohort = if whole { to.clone() } else { Cohort { ids: answered.as_slice().into(), ..to.clone() } };
        self.lists.answered = answered;
        Ok(cohort)
    }

    /// Asks the silent again in the same slot until everyone has answered; folds in cohort order.
    fn insist(&mut self, slot: Slot, to: &Cohort, asks: Asks<'_, A::Ask>, hear: &mut Hear<'_, A::Reply>) -> Result<(), Abort> {
        // Replies wait here from the first gap on; without loss nothing ever does.
        let mut waiting: BTreeMap<usize, Answer<A::Reply>> = BTreeMap::new();
        let mut due = 0;
        let mut missing: Vec<usize> = (0..to.len()).collect();
        for again in 0..=PATIENCE {
            let ids: Vec<ClientId> = missing.iter().map(|&k| to.ids[k]).collect();
            let own: Vec<A::Ask>;
            let asks = match asks {
                Asks::Same(ask) => Asks::Same(ask),
                Asks::Each(all) if again == 0 => Asks::Each(all),
                Asks::Each(all) => {
                    own = missing.iter().map(|&k| all[k].clone()).collect();
                    Asks::Each(&own)
                }
            };
            if again > 0 {
                (0..ids.len()).for_each(|k| self.ledger.book(Direction::Down, asks.at(k), 1));
            }
            let mut still = missing.iter().copied();
            let mut silent = vec![];
            let ledger = &mut *self.ledger;
            self.fleet.exchange(slot, Wave { to: &ids, asks, heard: self.heard }, &mut |id, answer| {
                for k in still.by_ref() {
                    if to.ids[k] != id {
                        silent.push(k);
                        continue;
                    }
                    if k == due {
                        hear(ledger, id, answer);
                        due += 1;
                    } else {
                        waiting.insert(k, answer);
                    }
                    break;
                }
                while let Some(answer) = waiting.remove(&due) {
                    hear(ledger, to.ids[due], answer);
                    due += 1;
                }
            })?;
            silent.extend(still);
            missing = silent;
            if missing.is_empty() {
                return Ok(());
            }
        }
        Err(Abort::Quorum { asked: to.len(), answered: to.len() - missing.len() })
    }
}

/// Books an answer and folds it.
type Hear<'a, R> = dyn FnMut(&mut Ledger, ClientId, Answer<R>) + 'a;

/// What a round writes into.
pub(crate) struct Books<'a, S> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) heard: &'a mut Heard,
    pub(crate) notes: &'a mut BTreeMap<Cow<'static, str>, f64>,
    pub(crate) excluded: &'a mut Vec<Excluded>,
    pub(crate) lists: &'a mut Lists,
    pub(crate) before: &'a mut Option<S>,
    pub(crate) vouched: &'a mut Option<bool>,
}

/// Lists that every round fills anew, in the memory of the last.
#[derive(Default)]
pub(crate) struct Lists {
    /// What `heard` was, to undo a failed attempt.
    undo: Vec<(ClientId, Option<Slot>)>,
    /// Who answered the exchange under way.
    answered: Vec<ClientId>,
}

impl Lists {
    /// Who was heard in the round; somebody may be named twice.
    pub(crate) fn heard(&self) -> impl Iterator<Item = ClientId> {
        self.undo.iter().map(|(id, _)| *id)
    }
}

/// The cohort of a whole roster.
pub(crate) fn everyone(roster: &Roster) -> Cohort {
    match roster {
        Roster::Listed(ids) => Cohort::new(Arc::clone(ids)),
        Roster::Counted(n) => Cohort::new((0..*n).map(ClientId).collect::<Arc<[_]>>()),
        Roster::Unbounded => Cohort { unbounded: true, ..Cohort::new([]) },
    }
}
