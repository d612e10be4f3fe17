//! Serves one client at a time, wherever it runs: the only place where client code is called.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use crate::algorithm::{Algorithm, ClientId};
use crate::fleet::{Answer, Probe, ProbeRequest, Roster, Score};
use crate::memo::Memo;
use crate::message::{Reader, Wire, WireError};
use crate::objective::{Batch, Objective};
use crate::pick::pick;
use crate::seed::{Noise, Purpose, Rng, Seed, Slot};
use crate::site::{Meter, Site, Work};
use crate::store::{Store, StoreError};
use crate::vector::Vector;

/// One client's data.
#[derive(Clone)]
pub struct Shard {
    /// fᵢ
    pub train: Arc<dyn Objective>,
    /// The same function on data held out for choosing.
    pub validation: Option<Arc<dyn Objective>>,
    /// Judges models on training data.
    pub train_evaluator: Option<Arc<dyn Evaluator>>,
    /// Judges models on validation data.
    pub validation_evaluator: Option<Arc<dyn Evaluator>>,
    /// Judges models on test data, which client code never sees.
    pub test_evaluator: Option<Arc<dyn Evaluator>>,
}

impl Shard {
    /// A function without any data held out.
    pub fn new(train: Arc<dyn Objective>) -> Self {
        Self { train, validation: None, train_evaluator: None, validation_evaluator: None, test_evaluator: None }
    }
}

/// Judges a model on some data.
pub trait Evaluator: Send + Sync {
    /// How many examples.
    fn examples(&self) -> usize;
    /// Metric → value: `loss`, `accuracy`, …; `buffers` as in [`Batch`].
    fn metrics(&self, x: &Vector, buffers: Option<&Vector>) -> Vec<(&'static str, f64)>;
    /// What the model says of every example, as many numbers of each; none if the model says nothing of single examples.
    fn scores(&self, _x: &Vector) -> Option<Vec<f64>> {
        None
    }
    /// Which examples the model gets right, where `accuracy` is their share; `buffers` as in [`Batch`].
    fn right(&self, _x: &Vector, _buffers: Option<&Vector>) -> Option<Vec<bool>> {
        None
    }
}

/// All clients' data: a list, or made from the number on demand.
pub trait Population: Send + Sync {
    /// The clients there are.
    fn roster(&self) -> Roster;
    /// One client's data; an error if they are read when they are asked for and cannot be had.
    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError>;
}

/// Clients 0..n, all in memory.
impl Population for Vec<Shard> {
    fn roster(&self) -> Roster {
        Roster::Counted(self.len() as u32)
    }
    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        self.get(client.0 as usize).map(Cow::Borrowed).ok_or_else(|| StoreError::unknown(client))
    }
}

/// A client's state after one reply.
#[derive(Clone, Debug, PartialEq)]
struct Version<S> {
    slot: Option<Slot>,
    state: S,
    buffers: Option<Vector>,
}

impl<S: Wire> Wire for Version<S> {
    fn bits(&self) -> u64 {
        8 * self.bytes()
    }
    fn bytes(&self) -> u64 {
        self.slot.bytes() + self.state.bytes() + self.buffers.bytes()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.slot.encode(out);
        self.state.encode(out);
        self.buffers.encode(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { slot: Option::decode(from)?, state: S::decode(from)?, buffers: Option::decode(from)? })
    }
}

/// A client's state after each reply that the server may still ask it to resume from.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientVersions<S> {
    versions: Vec<Version<S>>,
    /// What the client's first moment took; reported until the server has heard of it.
    entry: Work,
}

impl<S> ClientVersions<S> {
    /// The version of the state that the server names; later ones are dropped.
    pub fn named(&self, heard: Option<Slot>) -> Option<&S> {
        self.find(heard).map(|v| &v.state)
    }

    fn find(&self, heard: Option<Slot>) -> Option<&Version<S>> {
        self.versions.iter().rev().find(|v| v.slot == heard)
    }

    /// Forgets every version but the named one and those before it from `floor` on, once a new attempt opens. Forgets nothing if that one is not here, or if
    /// the attempt is older than one that was answered already: an ask that comes late or twice must not cost the client
    /// its state.
    fn open(&mut self, slot: Slot, heard: Option<Slot>, floor: Option<Slot>) -> Result<(), Silence> {
        if self.find(heard).is_none() {
            return Err(Silence::Lost);
        }
        let attempt = |slot: Slot| (slot.round, slot.attempt);
        let newest = self.versions.iter().filter_map(|v| v.slot).map(attempt).max();
        match newest.cmp(&Some(attempt(slot))) {
            Ordering::Greater => Err(Silence::Late),
            Ordering::Equal => Ok(()),
            Ordering::Less => {
                self.versions.retain(|v| v.slot == heard || (floor..heard).contains(&v.slot));
                Ok(())
            }
        }
    }

    /// Forgets every version after the named one, if that one is here.
    fn rewind(&mut self, heard: Option<Slot>) {
        if self.find(heard).is_some() {
            self.versions.retain(|v| v.slot <= heard);
        }
    }

    fn keep(&mut self, version: Version<S>) {
        match self.versions.iter_mut().find(|v| v.slot == version.slot) {
            Some(same) => *same = version,
            None => self.versions.push(version),
        }
    }
}

impl<S: Wire> Wire for ClientVersions<S> {
    fn bits(&self) -> u64 {
        8 * self.bytes()
    }
    fn bytes(&self) -> u64 {
        self.versions.bytes() + 16
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.versions.encode(out);
        self.entry.gradients.encode(out);
        self.entry.values.encode(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let versions = Vec::decode(from)?;
        Ok(Self { versions, entry: Work { gradients: u64::decode(from)?, values: u64::decode(from)? } })
    }
}

/// Why a client that was asked has no answer. Its state is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// It no longer has the version that the server names, and says so rather than guess.
    #[error("the client no longer has the version of its state that the server names")]
    Lost,
    /// It has answered in a newer attempt already.
    #[error("a newer ask has been answered")]
    Late,
}

/// Serves clients: takes their state, runs their half of an exchange, puts the state back.
pub struct Host<A: Algorithm> {
    algorithm: Arc<A>,
    population: Arc<dyn Population>,
    store: Arc<dyn Store<ClientVersions<A::Client>>>,
    memo: Arc<Memo>,
    seed: Seed,
    /// Was a large state seen?
    large: Arc<AtomicBool>,
}

/// States of so many bytes are not kept longer than needed.
const LARGE: u64 = 64 << 10;

impl<A: Algorithm> Clone for Host<A> {
    fn clone(&self) -> Self {
        Self {
            algorithm: Arc::clone(&self.algorithm),
            population: Arc::clone(&self.population),
            store: Arc::clone(&self.store),
            memo: Arc::clone(&self.memo),
            seed: self.seed,
            large: Arc::clone(&self.large),
        }
    }
}

impl<A: Algorithm> Host<A> {
    /// A host of all clients of a population. `memo` is shared by all runs on the same problem.
    pub fn new(
        algorithm: Arc<A>,
        population: Arc<dyn Population>,
        store: Arc<dyn Store<ClientVersions<A::Client>>>,
        memo: Arc<Memo>,
        seed: Seed,
    ) -> Self {
        Self { algorithm, population, store, memo, seed, large: Arc::default() }
    }

    /// The clients there are.
    pub fn roster(&self) -> Roster {
        self.population.roster()
    }

    /// Both halves of the method.
    pub fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// The client's half of an exchange, or why the client says nothing and stays as it is.
    pub fn answer(
        &self,
        id: ClientId,
        slot: Slot,
        heard: Option<Slot>,
        ask: &A::Ask,
    ) -> Result<Result<Answer<A::Reply>, Silence>, StoreError> {
        self.answer_keeping(id, slot, (heard, heard), ask)
    }

    /// Like [`answer`](Self::answer), but versions from the second slot on are kept with the named one, which is the first: a server whose newest
    /// checkpoint is damaged goes back to an older one, which names an older version.
    pub fn answer_keeping(
        &self,
        id: ClientId,
        slot: Slot,
        (heard, floor): (Option<Slot>, Option<Slot>),
        ask: &A::Ask,
    ) -> Result<Result<Answer<A::Reply>, Silence>, StoreError> {
        let shard = self.population.shard(id)?;
        if Self::stateless(&shard) {
            return Ok(Ok(self.answer_afresh(id, &shard, slot, heard, ask)));
        }
        let mut kept = match self.store.take(id)? {
            Some(kept) => kept,
            None => self.enter(id, &shard),
        };
        let opened = kept.open(slot, heard, floor);
        let named = opened.and_then(|()| kept.find(heard).ok_or(Silence::Lost));
        let Version { state, buffers, .. } = match named {
            Ok(version) => version,
            Err(silence) => {
                self.store.put(id, kept)?;
                return Ok(Err(silence));
            }
        };
        let (mut state, mut buffers) = (state.clone(), buffers.clone());
        let mut site = self.site(id, &shard, self.seed.client(slot, id), &mut buffers, Some(self.seed.noise(slot, id)));
        let reply = self.algorithm.answer(&mut state, ask, &mut site);
        let mut work = site.work();
        if heard.is_none() {
            work += kept.entry;
        }
        if state.bytes() >= LARGE {
            self.large.store(true, Memory::Relaxed);
        }
        kept.keep(Version { slot: Some(slot), state, buffers });
        self.store.put(id, kept)?;
        Ok(Ok(Answer::new(reply, work)))
    }

    /// The server has gone back to a checkpoint and will repeat some rounds: forgets what this client answered after the named version. Without this, the asks that are repeated would come too late.
    pub fn rewind(&self, id: ClientId, heard: Option<Slot>) -> Result<(), StoreError> {
        if let Some(mut kept) = self.store.take(id)? {
            kept.rewind(heard);
            self.store.put(id, kept)?;
        }
        Ok(())
    }

    /// A client that keeps nothing needs no store and no versions: every state it ever had is equal.
    fn stateless(shard: &Shard) -> bool {
        size_of::<A::Client>() == 0 && shard.train.buffers().is_none()
    }

    fn answer_afresh(&self, id: ClientId, shard: &Shard, slot: Slot, heard: Option<Slot>, ask: &A::Ask) -> Answer<A::Reply> {
        let mut buffers = None;
        let mut work = Work::default();
        // All states are equal, so that of a client already heard need not be made: no bytes hold it.
        let known = heard.and_then(|_| A::Client::decode(&mut Reader::new(&[])).ok());
        let mut state = known.unwrap_or_else(|| {
            let mut entry = self.site(id, shard, self.seed.fixed(id, Purpose::Entry), &mut buffers, None);
            let state = self.algorithm.client(&mut entry);
            work += entry.work();
            work += entry.memo_work;
            state
        });
        let mut site = self.site(id, shard, self.seed.client(slot, id), &mut buffers, Some(self.seed.noise(slot, id)));
        let reply = self.algorithm.answer(&mut state, ask, &mut site);
        work += site.work();
        Answer::new(reply, work)
    }

    /// Forgets every version of a client's state but the one named, if states are large: small ones are forgotten when
    /// the client is next asked, which costs nothing extra.
    pub fn settle(&self, id: ClientId, heard: Option<Slot>) -> Result<(), StoreError> {
        if !self.large.load(Memory::Relaxed) {
            return Ok(());
        }
        if let Some(mut kept) = self.store.take(id)? {
            if kept.versions.len() > 1 && kept.find(heard).is_some() {
                kept.versions.retain(|version| version.slot == heard);
            }
            self.store.put(id, kept)?;
        }
        Ok(())
    }

    /// Was a large state seen, of which only one version is kept between rounds?
    pub fn keeps_large_states(&self) -> bool {
        self.large.load(Memory::Relaxed)
    }

    /// Can any copy of this host serve a client, since it keeps neither states nor local solves?
    pub fn serves_anywhere(&self, id: ClientId) -> Result<bool, StoreError> {
        let shard = self.population.shard(id)?;
        Ok(Self::stateless(&shard) && self.algorithm.deploys(id).share() == 1.0)
    }

    /// These clients are about to be asked or scored, in this order.
    pub fn expect(&self, clients: &[ClientId]) {
        if size_of::<A::Client>() > 0 {
            self.store.expect(clients);
        }
    }

    /// Scores what the client would deploy. Uses no dice of the run and changes no state.
    pub fn probe(&self, id: ClientId, probe: &Probe<'_>) -> Result<Option<Score>, StoreError> {
        let (heard, shared) = (probe.heard.of(id), (probe.shared)(id));
        self.score(id, heard, probe.round, shared, probe.reference, probe.look)
    }

    /// Like [`Host::probe`], for one client.
    pub fn score(
        &self,
        id: ClientId,
        heard: Option<Slot>,
        round: u64,
        shared: &Vector,
        reference: Option<&Vector>,
        look: ProbeRequest,
    ) -> Result<Option<Score>, StoreError> {
        let shard = self.population.shard(id)?;
        let kept = match self.store.read(id)? {
            Some(kept) => kept,
            None => self.enter(id, &shard),
        };
        let heard = if Self::stateless(&shard) { None } else { heard };
        let Some(Version { state, buffers, .. }) = kept.find(heard) else { return Ok(None) };
        let mut buffers = buffers.clone();
        let dice = || self.seed.dice(Slot { round, attempt: 0, exchange: 0 }, id.0, Purpose::Probe);
        let deployed = self.algorithm.deploys(id);
        let mut personal = |x: &Vector| {
            let mut site = Site { rate: look.rate, ..self.site(id, &shard, dice(), &mut buffers, None) };
            deployed.model(&self.algorithm, state, x, &mut site)
        };
        let (mut model, best) = (personal(shared), reference.map(&mut personal));
        let picked = if look.pick { self.picked(id, &shard, shared, buffers.as_ref())? } else { None };
        if let Some((_, mixture)) = &picked {
            model = mixture.clone();
        }
        let mut score = Score {
            examples: shard.train.samples() as u64,
            loss: shard.train.value(&model, Batch { buffers: buffers.as_mut(), ..Batch::all() }),
            distance: best.map(|best| model.distance2(&best)),
            ..Score::default()
        };
        if look.gradient {
            let mut g = model.zeros_like();
            shard.train.gradient(&model, Batch::all(), &mut g);
            g.scale(deployed.share());
            score.gradient = Some(g);
        }
        let evaluators = [
            (look.train, &shard.train_evaluator, ""),
            (look.validation, &shard.validation_evaluator, "validation."),
            (look.test, &shard.test_evaluator, "test."),
        ];
        for (_, evaluator, prefix) in evaluators.into_iter().filter(|(wanted, ..)| *wanted) {
            let Some(evaluator) = evaluator.as_deref().filter(|e| e.examples() > 0) else { continue };
            for (name, value) in evaluator.metrics(&model, buffers.as_ref()) {
                if prefix.is_empty() && name == "loss" {
                    continue; // the training loss is the objective's, regulariser included
                }
                let name = if prefix.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(format!("{prefix}{name}")) };
                score.metrics.push((name, value, evaluator.examples() as u64));
            }
        }
        if let (Some((alpha, _)), Some(evaluator)) = (picked, &shard.validation_evaluator) {
            score.metrics.push((Cow::Borrowed("alpha"), alpha, evaluator.examples() as u64));
        }
        if look.right {
            score.right = shard.test_evaluator.as_deref().and_then(|evaluator| evaluator.right(&model, buffers.as_ref()));
        }
        score.model = look.model.then_some(model);
        Ok(Some(score))
    }

    /// αᵢ that is best on the client's validation data, and αᵢ x + (1 − αᵢ) xᵢ*. Without such data the client keeps its own.
    fn picked(&self, id: ClientId, shard: &Shard, shared: &Vector, buffers: Option<&Vector>) -> Result<Option<(f64, Vector)>, StoreError> {
        let Some(evaluator) = shard.validation_evaluator.as_deref().filter(|evaluator| evaluator.examples() > 0) else { return Ok(None) };
        let anchor = self.anchor(id)?;
        let loss = |alpha: f64| {
            let metrics = evaluator.metrics(&Vector::mix(alpha, shared, &anchor), buffers);
            metrics.iter().find(|(name, _)| *name == "loss").map_or(f64::NAN, |(_, value)| *value)
        };
        let alpha = pick(loss);
        Ok(Some((alpha, Vector::mix(alpha, shared, &anchor))))
    }

    /// xᵢ* as the method sees it, for the reference optimum.
    pub fn anchor(&self, id: ClientId) -> Result<Vector, StoreError> {
        let shard = self.population.shard(id)?;
        let mut buffers = None;
        let mut site = self.site(id, &shard, self.seed.fixed(id, Purpose::Entry), &mut buffers, None);
        Ok(self.algorithm.deploys(id).anchor(&self.algorithm, &mut site))
    }

    fn enter(&self, id: ClientId, shard: &Shard) -> ClientVersions<A::Client> {
        let mut buffers = shard.train.buffers();
        let mut site = self.site(id, shard, self.seed.fixed(id, Purpose::Entry), &mut buffers, None);
        let state = self.algorithm.client(&mut site);
        let mut entry = site.work();
        entry += site.memo_work;
        ClientVersions { versions: vec![Version { slot: None, state, buffers }], entry }
    }

    fn site<'a>(&'a self, id: ClientId, shard: &'a Shard, rng: Rng, buffers: &'a mut Option<Vector>, noise: Option<Noise>) -> Site<'a> {
        let train = match noise {
            Some(key) => Meter::noisy(&*shard.train, key),
            None => Meter::new(&*shard.train),
        };
        Site {
            id,
            train,
            validation: shard.validation.as_deref().map(Meter::new),
            rng,
            seed: self.seed,
            rate: None,
            buffers,
            memo: &self.memo,
            memo_work: Work::default(),
        }
    }
}
