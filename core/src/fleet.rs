//! How the server reaches the clients: the one place where algorithms meet threads, files and networks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::abort::Abort;
use crate::algorithm::{Algorithm, ClientId};
use crate::fit::{Misfit, ModelShape, ReplyError};
use crate::message::{Reader, Wire, WireError, wire};
use crate::participants::Participants;
use crate::scattered::Scattered;
use crate::seed::Slot;
use crate::site::Work;
use crate::sum::Adding;
use crate::vector::Vector;

/// Carries asks to clients and brings replies back. A runtime is one implementation, and so is a decorator around
/// another fleet: nothing here has a default, so that none of them forgets to forward something.
pub trait Fleet<A: Algorithm> {
    /// The clients there are.
    fn roster(&self) -> Roster;

    /// Is a client there in this attempt at a round? A cohort of a given size is drawn from those who are.
    fn is_there(&self, slot: Slot, client: ClientId) -> bool;

    /// Is everyone there in every round, and heard sooner or later?
    fn is_steady(&self) -> bool;

    /// The clients, where they come and go in their own time; none where who is there depends on the round alone.
    fn participants(&self) -> Option<&dyn Participants>;

    /// Carries a wave of asks; hands the answers to `each` in the order asked, skipping the silent. What a client sent
    /// and nobody can read is handed over as the error that it is.
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort>;

    /// Carries a wave of asks whose replies are only added up: to `adding`, in the order asked, each reply as the method's
    /// [`addend`](Algorithm::addend) times what `adding` says its client counts for. [`sum_by_exchange`](crate::sum_by_exchange)
    /// does so with single replies; a fleet that adds up elsewhere need not see them.
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort>;

    /// The round is over and these clients were heard: they will never be asked to go back behind what `heard` names.
    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort>;

    /// Seconds of the deployment that have passed since this was last asked; 0 where nobody keeps that clock.
    fn elapsed(&mut self) -> f64;

    /// Scores personal models; in the order asked, never in the ledger of training.
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort>;
}

/// What came back from a client: an answer, or the reason why there is none.
pub type Received<R> = Result<Answer<R>, ReplyError>;

/// The clients that may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Roster {
    /// These.
    Listed(Arc<[ClientId]>),
    /// 0..n, each made when first asked.
    Counted(u32),
    /// Any number is a client: a distribution, not a list.
    Unbounded,
}

/// The asks of one exchange: to whom, and what.
#[derive(Debug)]
pub struct Wave<'a, Q> {
    /// To whom, in order.
    pub to: &'a [ClientId],
    /// What each of them is asked.
    pub asks: Asks<'a, Q>,
    /// The version each client is to resume from.
    pub heard: &'a LastReplies,
}

/// The same ask for all, or one each.
#[derive(Debug)]
pub enum Asks<'a, Q> {
    /// All alike.
    Same(&'a Q),
    /// By position in the wave.
    Each(&'a [Q]),
}

// Derived, these would need asks that can be copied: what is copied are references.
impl<Q> Clone for Wave<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<Q> Copy for Wave<'_, Q> {}
impl<Q> Clone for Asks<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<Q> Copy for Asks<'_, Q> {}

impl<'a, Q> Asks<'a, Q> {
    /// The ask at a position of the wave.
    pub fn at(&self, position: usize) -> &'a Q {
        match self {
            Asks::Same(ask) => ask,
            Asks::Each(asks) => &asks[position],
        }
    }
}

/// A reply and what it took.
#[derive(Clone, Debug)]
pub struct Answer<R> {
    /// The reply.
    pub reply: R,
    /// What the client computed for it.
    pub work: Work,
    /// Is every number of the reply finite? Looked at where the reply is made or received, in parallel,
    /// and never taken from the wire.
    pub finite: bool,
}

impl<R: Wire> Answer<R> {
    /// A reply, looked at.
    pub fn new(mut reply: R, work: Work) -> Self {
        let mut finite = true;
        reply.vectors(&mut |v| finite &= v.is_finite());
        Self { reply, work, finite }
    }
}

impl<R: Wire> Wire for Answer<R> {
    fn bits(&self) -> u64 {
        self.reply.bits()
    }
    fn bytes(&self) -> u64 {
        self.reply.bytes() + 16
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.reply.encode(out);
        self.work.gradients.encode(out);
        self.work.values.encode(out);
    }
    fn scatter(&self, out: &mut Scattered) {
        self.reply.scatter(out);
        out.write(|out| {
            self.work.gradients.encode(out);
            self.work.values.encode(out);
        });
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let reply = R::decode(from)?;
        Ok(Self::new(reply, Work { gradients: u64::decode(from)?, values: u64::decode(from)? }))
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        self.reply.vectors(each);
    }
}

/// For each client, the slot of its last reply that the server folded. Part of a checkpoint.
///
/// Kept in pages: clients are mostly asked in order, and copying all of it for every attempt would
/// cost more than the round. A page costs what it holds, so that the few clients heard of a large or endless
/// population cost little too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastReplies {
    pages: BTreeMap<u32, Vec<(u8, Slot)>>,
}

/// Clients per page.
const PAGE: u32 = 256;

impl LastReplies {
    /// The last reply heard from a client.
    pub fn of(&self, client: ClientId) -> Option<Slot> {
        let page = self.pages.get(&(client.0 / PAGE))?;
        find(page, client).ok().map(|at| page[at].1)
    }

    /// Looks up one client after another, each with one look at its page for all of its neighbours.
    pub fn reader(&self) -> LastRepliesReader<'_> {
        LastRepliesReader { of: self, page: None, slots: &[] }
    }

    /// Sets it and returns what it was.
    pub(crate) fn set(&mut self, client: ClientId, slot: Option<Slot>) -> Option<Slot> {
        let page = self.pages.entry(client.0 / PAGE).or_default();
        match (find(page, client), slot) {
            (Ok(at), Some(slot)) => Some(std::mem::replace(&mut page[at].1, slot)),
            (Ok(at), None) => Some(page.remove(at).1),
            (Err(at), Some(slot)) => {
                page.insert(at, ((client.0 % PAGE) as u8, slot));
                None
            }
            (Err(_), None) => None,
        }
    }

    fn entries(&self) -> impl Iterator<Item = (u32, Slot)> {
        self.pages.iter().flat_map(|(page, slots)| slots.iter().map(move |(k, slot)| (page * PAGE + u32::from(*k), *slot)))
    }
}

/// The last replies of clients that are looked up in about their order.
#[derive(Clone, Debug)]
pub struct LastRepliesReader<'a> {
    of: &'a LastReplies,
    page: Option<u32>,
    slots: &'a [(u8, Slot)],
}

impl LastRepliesReader<'_> {
    /// The last reply heard from a client.
    #[inline]
    pub fn of(&mut self, client: ClientId) -> Option<Slot> {
        let page = client.0 / PAGE;
        if self.page != Some(page) {
            (self.page, self.slots) = (Some(page), self.of.pages.get(&page).map_or(&[][..], Vec::as_slice));
        }
        find(self.slots, client).ok().map(|at| self.slots[at].1)
    }
}

/// Where a client is in its page, or would be.
fn find(page: &[(u8, Slot)], client: ClientId) -> Result<usize, usize> {
    let k = (client.0 % PAGE) as u8;
    // In a page without gaps everyone is at his own number.
    match page.get(usize::from(k)) {
        Some((found, _)) if *found == k => Ok(usize::from(k)),
        _ => page.binary_search_by_key(&k, |(k, _)| *k),
    }
}

impl Wire for LastReplies {
    fn bits(&self) -> u64 {
        8 * self.bytes()
    }
    fn bytes(&self) -> u64 {
        4 + self.entries().count() as u64 * 20
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (self.entries().count() as u32).encode(out);
        for (client, slot) in self.entries() {
            client.encode(out);
            slot.encode(out);
        }
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let (mut heard, count) = (LastReplies::default(), u32::decode(from)?);
        if count as usize > from.left() / 20 {
            return Err(WireError::Short);
        }
        for _ in 0..count {
            let client = ClientId(u32::decode(from)?);
            heard.set(client, Some(Slot::decode(from)?));
        }
        Ok(heard)
    }
}

/// A request to measure.
pub struct Probe<'a> {
    /// After this round; gives the probe dice of its own.
    pub round: u64,
    /// The clients to ask, in order.
    pub to: &'a [ClientId],
    /// The model the server would hand each client.
    pub shared: &'a (dyn Fn(ClientId) -> &'a Vector + Sync),
    /// The version of each client's state.
    pub heard: &'a LastReplies,
    /// What to look at.
    pub look: ProbeRequest,
    /// The best shared model, to measure the distance from.
    pub reference: Option<&'a Vector>,
}

wire! {
    /// What a probe looks at besides the training loss.
    #[derive(Copy, PartialEq, Default)]
    pub struct ProbeRequest {
        /// ∇ of the client's part of F, for its norm.
        pub gradient: bool,
        /// Metrics of the personal model on training data.
        pub train: bool,
        /// Metrics on validation data.
        pub validation: bool,
        /// Metrics on test data.
        pub test: bool,
        /// The personal model itself.
        pub model: bool,
        /// αᵢ as the client would pick it on its validation data, and everything else of the model with that αᵢ.
        pub pick: bool,
        /// The rate of local steps as a client asked now would be told it, where the method says so.
        pub rate: Option<f64>,
        /// Which test examples the personal model gets right.
        pub right: bool,
    }
}

/// What a probe saw at one client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Training examples.
    pub examples: u64,
    /// fᵢ of the personal model.
    pub loss: f64,
    /// |Tᵢ(x) − Tᵢ(x^α)|²
    pub distance: Option<f64>,
    /// αᵢ ∇fᵢ(Tᵢ(x))
    pub gradient: Option<Vector>,
    /// Tᵢ(x)
    pub model: Option<Vector>,
    /// By name, `test.accuracy` and so on, with the number of examples behind each.
    pub metrics: Vec<(Cow<'static, str>, f64, u64)>,
    /// Which test examples the model gets right, in their order.
    pub right: Option<Vec<bool>>,
}

impl Score {
    /// Are the vectors inside models? Looked at before they are added to others.
    pub(crate) fn fits(&self, model: ModelShape) -> Result<(), Misfit> {
        self.gradient.iter().chain(&self.model).try_for_each(|v| v.fits(model))
    }
}

impl Wire for Score {
    fn bits(&self) -> u64 {
        8 * self.bytes()
    }
    fn bytes(&self) -> u64 {
        let metrics: u64 = self.metrics.iter().map(|(name, ..)| 20 + name.len() as u64).sum();
        16 + self.distance.bytes() + self.gradient.bytes() + self.model.bytes() + 4 + metrics + self.right.bytes()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.examples.encode(out);
        self.loss.encode(out);
        self.distance.encode(out);
        self.gradient.encode(out);
        self.model.encode(out);
        (self.metrics.len() as u32).encode(out);
        for (name, value, examples) in &self.metrics {
            name.to_string().encode(out);
            value.encode(out);
            examples.encode(out);
        }
        self.right.encode(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut score = Score {
            examples: u64::decode(from)?,
            loss: f64::decode(from)?,
            distance: Option::decode(from)?,
            gradient: Option::decode(from)?,
            model: Option::decode(from)?,
            ..Score::default()
        };
        for _ in 0..u32::decode(from)? {
            score.metrics.push((String::decode(from)?.into(), f64::decode(from)?, u64::decode(from)?));
        }
        score.right = Option::decode(from)?;
        Ok(score)
    }
}
