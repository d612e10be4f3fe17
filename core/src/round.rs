//! One round as the server code sees it.

use std::borrow::Cow;
use std::cell::Cell;

use crate::abort::Abort;
use crate::algorithm::{Algorithm, ClientId};
use crate::cohort::Cohort;
use crate::exchange::{Desk, carry};
use crate::fleet::{Asks, Fleet, LastReplies, Wave};
use crate::ledger::Direction;
use crate::notes::Notes;
use crate::record::Excluded;
use crate::run_state::Account;
use crate::sampling::{Draw, Sampling};
use crate::seed::{Rng, Seed, Slot};
use crate::sum::{Adding, Partial, Sum};
use crate::vector::Vector;

/// One attempt at a round: dice, cohorts, and the only door to the clients.
pub struct Round<'a, A: Algorithm> {
    algorithm: &'a A,
    slot: Slot,
    seed: Seed,
    rng: Rng,
    rules: Rules,
    everyone: &'a Cohort,
    fleet: &'a mut dyn Fleet<A>,
    account: &'a mut Account,
    attempt: &'a mut Attempt<A::Server>,
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

/// What belongs to one attempt at a round, and is forgotten if it fails. The lists keep their memory from one to the next.
pub(crate) struct Attempt<S> {
    /// The server's state before this attempt, while it may have to be had again.
    pub(crate) before: Option<S>,
    /// What the method says of the numbers that it changed.
    pub(crate) declared_finite: Option<bool>,
    /// What this attempt noted.
    pub(crate) notes: Notes,
    /// Replies left out since the last row, with those of this attempt.
    pub(crate) excluded: Vec<Excluded>,
    /// What `heard` was, to undo a failed attempt.
    undo: Vec<(ClientId, Option<Slot>)>,
    /// Who answered the exchange under way.
    answered: Vec<ClientId>,
    /// Whose replies of the last exchange were dropped.
    dropped: Vec<ClientId>,
    /// What each client's part in a sum is multiplied by.
    weights: Vec<[f64; 2]>,
    /// Was somebody not drawn or not asked because of not being there?
    missed: Cell<bool>,
}

impl<S> Attempt<S> {
    pub(crate) fn new() -> Self {
        Self {
            before: None,
            declared_finite: None,
            notes: Notes::default(),
            excluded: vec![],
            undo: vec![],
            answered: vec![],
            dropped: vec![],
            weights: vec![],
            missed: Cell::new(false),
        }
    }

    /// Begins another one, from this state of the server.
    pub(crate) fn begin(&mut self, before: S, account: &Account) {
        (self.before, self.declared_finite) = (Some(before), None);
        self.notes.clear();
        self.excluded.clone_from(&account.excluded);
        self.undo.clear();
        self.dropped.clear();
        self.missed.set(false);
    }

    /// Makes a failed attempt not have happened, but for the ledger and the breaches.
    pub(crate) fn roll_back(&mut self, account: &mut Account) {
        for (client, slot) in self.undo.drain(..).rev() {
            account.heard.set(client, slot);
        }
    }

    /// Was nobody heard, though somebody was wanted who was not there?
    pub(crate) fn missed_everyone(&self) -> bool {
        self.missed.get() && self.undo.is_empty()
    }

    /// Where the replies of the next exchange arrive, and what was heard before.
    fn desk<'d, A: Algorithm<Server = S>>(
        &mut self,
        algorithm: &'d A,
        rules: Rules,
        to: &Cohort,
        account: &'d mut Account,
    ) -> (Desk<'d, A>, &'d LastReplies) {
        let mut answered = std::mem::take(&mut self.answered);
        answered.clear();
        let Account { model, heard, ledger, breaches, .. } = account;
        let drop_non_finite = (to.drop_non_finite || rules.not_finite == NotFinite::Exclude) && !to.required;
        (
            Desk {
                algorithm,
                model: *model,
                ledger,
                breaches,
                required: to.required,
                drop_non_finite,
                answered,
                dropped: vec![],
                bad: None,
            },
            heard,
        )
    }

    /// Who was heard in the round; somebody may be named twice.
    pub(crate) fn heard(&self) -> impl Iterator<Item = ClientId> {
        self.undo.iter().map(|(id, _)| *id)
    }
}

impl<'a, A: Algorithm> Round<'a, A> {
    pub(crate) fn new(
        algorithm: &'a A,
        (slot, seed, rules): (Slot, Seed, Rules),
        everyone: &'a Cohort,
        fleet: &'a mut dyn Fleet<A>,
        (account, attempt): (&'a mut Account, &'a mut Attempt<A::Server>),
    ) -> Self {
        let rng = seed.server(slot.round, slot.attempt);
        Self { algorithm, slot, seed, rng, rules, everyone, fleet, account, attempt }
    }

    /// Everything was asked, and nothing can fail any more: the state of the round before is let go, and what the server changes
    /// now is changed in place. Worth saying where models are large; should the new state be NaN, it is the one that is left.
    pub fn accept(&mut self) {
        self.attempt.before = None;
    }

    /// The method has looked at every number of the server's state that it changed, and this is whether all are finite. Worth saying
    /// where it changes a few rows of a large state, or looks at numbers as it writes them: otherwise all of it is looked through.
    pub fn state_is_finite(&mut self, finite: bool) {
        self.attempt.declared_finite = Some(finite);
    }

    /// Which round; 0 while opening.
    pub fn index(&self) -> u64 {
        self.slot.round
    }

    /// Dice of (run, round, attempt).
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Every client of the roster that is not excluded for breaches, and has not gone for good.
    pub fn everyone(&self) -> Cohort {
        self.everyone.clone()
    }

    /// Some clients, by the round's dice.
    pub fn sample(&mut self, how: &Sampling) -> Cohort {
        self.sample_from(self.everyone, how)
    }

    /// Some of these clients, by the round's dice; of a population without end, some of its clients.
    pub fn sample_from(&mut self, everyone: &Cohort, how: &Sampling) -> Cohort {
        let (seed, slot, fleet, breaches) = (self.seed, self.slot, &*self.fleet, &self.account.breaches);
        let missed = &self.attempt.missed;
        let there = |id: ClientId| noting(missed, fleet.is_there(slot, id));
        let may = |id: ClientId| breaches.excluded(id).is_none();
        let (roster, rng) = (&fleet.roster(), &mut self.rng);
        how.draw(Draw { roster, everyone, seed, round: slot.round, there: &there, may: &may, rng })
    }

    /// The share of all clients for whom `keep` holds; 1 of a population without end.
    pub fn share_of(&self, keep: impl Fn(ClientId) -> bool) -> f64 {
        let n = self.everyone.len();
        if n == 0 { 1.0 } else { self.everyone.ids().iter().filter(|&&id| keep(id)).count() as f64 / n as f64 }
    }

    /// Those of a cohort who are there in this attempt at the round.
    pub fn present(&self, cohort: &Cohort) -> Cohort {
        cohort.filter(|id| noting(&self.attempt.missed, self.fleet.is_there(self.slot, id)))
    }

    /// Is every client there in every round? Otherwise what a client must hear it hears while it is there: the next round may be
    /// without it.
    pub fn is_steady(&self) -> bool {
        self.fleet.is_steady()
    }

    /// One ask to a cohort; `fold` sees the replies in cohort order. Returns who answered.
    pub fn ask(&mut self, to: &Cohort, ask: A::Ask, fold: impl FnMut(ClientId, A::Reply)) -> Result<Cohort, Abort> {
        let to = &*self.admitted(to)?;
        self.account.ledger.book(Direction::Down, &ask, to.len() as u64);
        self.exchange(to, Asks::Same(&ask), fold)
    }

    /// An ask of its own for each client.
    pub fn ask_each(
        &mut self,
        to: &Cohort,
        ask: impl Fn(ClientId) -> A::Ask,
        fold: impl FnMut(ClientId, A::Reply),
    ) -> Result<Cohort, Abort> {
        let to = &*self.admitted(to)?;
        let asks: Vec<A::Ask> = to.ids().iter().map(|&id| ask(id)).collect();
        asks.iter().for_each(|ask| self.account.ledger.book(Direction::Down, ask, 1));
        self.exchange(to, Asks::Each(&asks), fold)
    }

    /// One ask to a cohort whose replies are only added up: Σ wᵢ cᵢ vᵢ, where wᵢ is the client's weight and the method's
    /// [`addend`](Algorithm::addend) says what a reply counts for and adds. No single reply is seen.
    pub fn sum(&mut self, to: &Cohort, ask: A::Ask, weight: impl Fn(ClientId) -> f64) -> Result<Sum, Abort> {
        self.sum_up(to, &ask, None, |id| [weight(id); 2])
    }

    /// Like [`sum`](Self::sum), but the second vectors have weights of their own and are added to `onto`.
    pub fn sum_onto(&mut self, to: &Cohort, ask: A::Ask, onto: Vector, weights: impl Fn(ClientId) -> [f64; 2]) -> Result<Sum, Abort> {
        self.sum_up(to, &ask, Some(onto), weights)
    }

    /// An ask to one client, who must answer.
    pub fn ask_one(&mut self, to: ClientId, ask: A::Ask) -> Result<A::Reply, Abort> {
        let mut got = None;
        self.ask(&Cohort::new([to]).required(), ask, |_, reply| got = Some(reply))?;
        got.ok_or(Abort::Quorum { asked: 1, answered: 0 })
    }

    /// Whose replies to the last exchange held NaN or infinity and were dropped: see [`Cohort::drop_non_finite`].
    pub fn dropped(&self) -> &[ClientId] {
        &self.attempt.dropped
    }

    /// Why the round cannot go on if it needs this client, should it be excluded for breaches.
    pub fn excluded(&self, client: ClientId) -> Option<Abort> {
        let reason = self.account.breaches.excluded(client)?;
        Some(Abort::Excluded { client: client.0, reason: reason.to_owned() })
    }

    /// A diagnostic for the row: summed over this round, and over all rounds since the start.
    pub fn note(&mut self, name: &'static str, value: f64) {
        self.attempt.notes.add(name, value);
    }

    /// Those of a cohort who are asked. Nobody is while too few of them are there who come and go in their own time.
    fn admitted<'c>(&self, to: &'c Cohort) -> Result<Cow<'c, Cohort>, Abort> {
        let to = self.still_asked(to)?;
        let Some(participants) = self.fleet.participants() else { return Ok(to) };
        let there = to.ids().iter().filter(|&&id| !participants.is_away(id)).count();
        let nobody = to.is_empty() && self.attempt.missed.get();
        if nobody || there < to.len() && !self.is_enough(&to, there, there) {
            return Err(Abort::Away { asked: to.len().max(1), there });
        }
        Ok(to)
    }

    /// Would so many answers be enough, of which so many are numbers?
    fn is_enough(&self, to: &Cohort, answered: usize, numbers: usize) -> bool {
        let lacking = to.required && answered < to.len();
        !(lacking || answered == 0 && !to.is_empty() || (numbers as f64) < self.rules.quorum * to.len() as f64)
    }

    /// Those of a cohort who are still asked at all. A cohort that needs all of its clients, or has no others, cannot do without
    /// the excluded.
    fn still_asked<'c>(&self, to: &'c Cohort) -> Result<Cow<'c, Cohort>, Abort> {
        if self.account.breaches.count_excluded() == 0 {
            return Ok(Cow::Borrowed(to));
        }
        let Some(lack) = to.ids().iter().find_map(|&id| self.excluded(id)) else { return Ok(Cow::Borrowed(to)) };
        let others = to.filter(|id| self.account.breaches.excluded(id).is_none());
        if to.required || others.is_empty() { Err(lack) } else { Ok(Cow::Owned(others)) }
    }

    fn exchange(&mut self, to: &Cohort, asks: Asks<'_, A::Ask>, mut fold: impl FnMut(ClientId, A::Reply)) -> Result<Cohort, Abort> {
        let slot = self.open(to)?;
        let (mut desk, heard) = self.attempt.desk(self.algorithm, self.rules, to, self.account);
        let wave = Wave { to: to.ids(), asks, heard };
        carry(self.fleet, slot, wave, &mut desk, &mut |position, reply| fold(to.ids()[position], reply))?;
        let Desk { answered, dropped, bad, .. } = desk;
        self.close(slot, to, answered, dropped, bad)
    }

    fn sum_up(&mut self, to: &Cohort, ask: &A::Ask, onto: Option<Vector>, weights: impl Fn(ClientId) -> [f64; 2]) -> Result<Sum, Abort> {
        let to = &*self.admitted(to)?;
        self.account.ledger.book(Direction::Down, ask, to.len() as u64);
        let slot = self.open(to)?;
        let mut list = std::mem::take(&mut self.attempt.weights);
        list.clear();
        list.extend(to.ids().iter().map(|&id| weights(id)));
        let (desk, heard) = self.attempt.desk(self.algorithm, self.rules, to, self.account);
        let mut adding = Adding::new(desk, &list, onto);
        self.fleet.sum(slot, Wave { to: to.ids(), asks: Asks::Same(ask), heard }, &mut adding)?;
        let Adding { desk: Desk { answered, dropped, bad, .. }, so_far: Partial { vectors, weight, numbers }, .. } = adding;
        self.attempt.weights = list;
        let answered = self.close(slot, to, answered, dropped, bad)?;
        Ok(Sum { vectors, weight, numbers, answered, asked: to.len() })
    }

    /// Opens an exchange.
    fn open(&mut self, to: &Cohort) -> Result<Slot, Abort> {
        assert!(self.attempt.before.is_some(), "who has decided asks nobody any more");
        if to.unbounded {
            return Err(Abort::Unbounded);
        }
        let slot = self.slot;
        self.slot.exchange += 1;
        Ok(slot)
    }

    /// Closes an exchange: who was heard is on record, and there were enough.
    fn close(
        &mut self,
        slot: Slot,
        to: &Cohort,
        answered: Vec<ClientId>,
        dropped: Vec<ClientId>,
        bad: Option<ClientId>,
    ) -> Result<Cohort, Abort> {
        self.account.ledger.book_seconds(self.fleet.elapsed());
        // If nobody sent numbers, it is not the clients that lie but the run that diverges.
        if let Some(ClientId(client)) = bad.or(dropped.first().copied().filter(|_| answered.is_empty())) {
            return Err(Abort::NotFinite { client });
        }
        self.attempt.excluded.extend(dropped.iter().map(|id| Excluded { round: slot.round, client: id.0 }));
        for &id in &answered {
            let was = self.account.heard.set(id, Some(slot));
            self.attempt.undo.push((id, was));
        }
        let numbers = answered.len() + dropped.len();
        self.attempt.dropped = dropped;
        if !self.is_enough(to, answered.len(), numbers) {
            let (asked, answered) = (to.len(), answered.len());
            let somebody_is_away = self.fleet.participants().is_some_and(|all| to.ids().iter().any(|&id| all.is_away(id)));
            return Err(if somebody_is_away { Abort::Away { asked, there: answered } } else { Abort::Quorum { asked, answered } });
        }
        let cohort = to.only(&answered);
        self.attempt.answered = answered;
        Ok(cohort)
    }
}

/// Passes on whether somebody is there, and notes who is not.
fn noting(missed: &Cell<bool>, there: bool) -> bool {
    if !there {
        missed.set(true);
    }
    there
}
