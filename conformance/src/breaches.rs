//! A client that breaks the protocol costs the run its replies, never more.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use motet_core::{
    Abort, Adding, Answer, ClientId, Fleet, Host, LastReplies, Memo, Message, Outcome, Participants, Plan, Population, Precision, Probe,
    Received, Roster, Row, Score, Seed, Slot, Study, Vector, Wave, Wire, sum_by_exchange, whole,
};
use motet_runtime::{Inline, Memory};

use crate::{Check, Trial};

/// Every vector of every reply that a client sends is made one number shorter, empty, one number longer or of the other
/// precision; every reply is replaced by one of another kind, cut short and made longer: once, or whenever it is sent. Nobody
/// panics. The run goes on without what was sent, or fails and says because of whom; each breach is on record; and after the
/// third the client is asked no more.
#[derive(Clone, Copy, Debug)]
pub struct SurvivesBreaches;

const SEED: Seed = Seed(7);

/// A way to spoil a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoil {
    /// The vector at this place of the reply: its length less one, none, its length plus one.
    Shorter(usize),
    Empty(usize),
    Longer(usize),
    /// The vector at this place in the other precision.
    OtherPrecision(usize),
    /// Another reply instead.
    OtherKind,
    /// A byte behind the reply.
    LeftOver,
    /// A byte less.
    CutShort,
}

/// What is spoilt, and when.
#[derive(Clone, Copy, Debug)]
struct Plot {
    victim: ClientId,
    kind: &'static str,
    how: Spoil,
    once: bool,
}

/// The replies of one client of an honest run, one of each kind, with the number of vectors inside.
type Kinds<R> = BTreeMap<&'static str, (R, usize)>;

impl Check for SurvivesBreaches {
    fn holds<A: Study>(&self, method: &Arc<A>, trial: &Trial) -> Result<(), String> {
        let last = ClientId(trial.shards.len() as u32 - 1);
        let memo = Arc::new(Memo::default());
        for victim in [ClientId(0), last] {
            let seen: Rc<RefCell<Kinds<A::Reply>>> = Rc::default();
            let mut listening = Tampered { seen: Some((victim, Rc::clone(&seen))), ..Tampered::new(inline(method, trial, &memo)) };
            trial.run(method, &plan(trial), &mut listening)?;
            let kinds = seen.take();
            for (&kind, (reply, vectors)) in &kinds {
                let inside = (0..*vectors).flat_map(Spoil::vector);
                let instead = other(reply, &kinds);
                for how in inside.chain([Spoil::LeftOver, Spoil::CutShort]).chain(instead.is_some().then_some(Spoil::OtherKind)) {
                    for once in [true, false] {
                        let plot = Plot { victim, kind, how, once };
                        foil(method, trial, &memo, plot, instead.clone()).map_err(|e| format!("{plot:?}: {e}"))?;
                    }
                }
            }
            if trial.shards.len() == 1 {
                break;
            }
        }
        Ok(())
    }
}

fn plan(trial: &Trial) -> Plan {
    Plan { rounds: trial.rounds.min(4), ..trial.plan(SEED) }
}

fn inline<A: Study>(method: &Arc<A>, trial: &Trial, memo: &Arc<Memo>) -> Inline<A> {
    let population = Arc::clone(&trial.shards) as Arc<dyn Population>;
    Inline::new(Host::new(Arc::clone(method), population, Arc::new(Memory::default()), Arc::clone(memo), SEED))
}

/// A reply of another kind: one that was sent in the run, or what the bytes of this one are under another tag. That a client
/// cannot do what it is asked is no breach.
fn other<R: Message>(reply: &R, kinds: &Kinds<R>) -> Option<R> {
    let differs = |other: &R| other.kind() != reply.kind() && !["Unable", "Unknown"].contains(&other.kind());
    let sent = kinds.values().map(|(other, _)| other.clone()).find(differs);
    let mut bytes = vec![];
    reply.encode(&mut bytes);
    let mut retagged = |tag: u8| {
        *bytes.first_mut()? = tag;
        whole::<R>(&bytes).ok().filter(differs)
    };
    sent.or_else(|| (0..8).find_map(&mut retagged))
}

/// One run with a spoilt reply in it.
fn foil<A: Study>(method: &Arc<A>, trial: &Trial, memo: &Arc<Memo>, plot: Plot, instead: Option<A::Reply>) -> Result<(), String> {
    let spoilt = Rc::new(Cell::new(0));
    let mut fleet = Tampered { plot: Some((plot, instead)), spoilt: Rc::clone(&spoilt), ..Tampered::new(inline(method, trial, memo)) };
    let (rows, trained) = trial.run(method, &plan(trial), &mut fleet)?;
    let (spoilt, named) = (spoilt.get(), format!("client {} ", plot.victim.0));
    match &trained.outcome {
        Outcome::Finished => {}
        Outcome::Failed { reason, .. } if !plot.once && reason.contains(&named) => return Ok(()),
        outcome => return Err(format!("the run {outcome}")),
    }
    let events: Vec<_> = rows.iter().flat_map(|row: &Row| &row.breaches).collect();
    if events.len() != spoilt || events.iter().any(|event| event.client != plot.victim.0 || event.reason.is_empty()) {
        return Err(format!("{spoilt} replies were spoilt, on record are {events:?}"));
    }
    if spoilt == 0 || spoilt > 3 || (plot.once && spoilt != 1) { Err(format!("asked {spoilt} times")) } else { Ok(()) }
}

/// Any fleet, with somebody at the wire who listens to a client or spoils its replies.
struct Tampered<F, R> {
    inner: F,
    seen: Option<(ClientId, Rc<RefCell<Kinds<R>>>)>,
    plot: Option<(Plot, Option<R>)>,
    /// How many replies were spoilt.
    spoilt: Rc<Cell<usize>>,
}

impl<F, R: Message> Tampered<F, R> {
    fn new(inner: F) -> Self {
        Self { inner, seen: None, plot: None, spoilt: Rc::default() }
    }

    fn pass(&self, id: ClientId, mut answer: Answer<R>) -> Received<R> {
        if let Some((_, seen)) = self.seen.as_ref().filter(|(whose, _)| *whose == id) {
            let mut vectors = 0;
            answer.reply.vectors(&mut |_| vectors += 1);
            seen.borrow_mut().entry(answer.reply.kind()).or_insert_with(|| (answer.reply.clone(), vectors));
        }
        let Some((plot, instead)) = &self.plot else { return Ok(answer) };
        if id != plot.victim || answer.reply.kind() != plot.kind || (plot.once && self.spoilt.get() > 0) {
            return Ok(answer);
        }
        self.spoilt.set(self.spoilt.get() + 1);
        if let (Spoil::OtherKind, Some(other)) = (plot.how, instead) {
            answer = Answer::new(other.clone(), answer.work);
        }
        let mut place = 0;
        answer.reply.vectors(&mut |v| {
            if let Some(changed) = changed(v, plot.how, place) {
                *v = changed;
            }
            place += 1;
        });
        // Through the wire or not, what does not fit is found out.
        if plot.once && !matches!(plot.how, Spoil::LeftOver | Spoil::CutShort) {
            return Ok(answer);
        }
        let mut bytes = vec![];
        answer.encode(&mut bytes);
        match plot.how {
            Spoil::LeftOver => bytes.push(0),
            Spoil::CutShort => bytes.truncate(bytes.len() - 1),
            _ => {}
        }
        whole(&bytes)
    }
}

impl Spoil {
    /// The ways to spoil the vector at a place.
    pub(crate) fn vector(place: usize) -> [Self; 4] {
        [Self::Shorter, Self::Empty, Self::Longer, Self::OtherPrecision].map(|how| how(place))
    }
}

/// What becomes of the vector at this place.
pub(crate) fn changed(v: &Vector, how: Spoil, place: usize) -> Option<Vector> {
    let numbers = v.to_f64();
    let (at, changed) = match how {
        Spoil::Shorter(at) => (at, numbers[..numbers.len().saturating_sub(1)].to_vec()),
        Spoil::Empty(at) => (at, vec![]),
        Spoil::Longer(at) => (at, numbers.iter().copied().chain([0.5]).collect()),
        Spoil::OtherPrecision(at) => (at, numbers),
        _ => return None,
    };
    let single = matches!(how, Spoil::OtherPrecision(_)) == (v.precision() == Precision::F64);
    let made = || if single { changed.iter().map(|x| *x as f32).collect::<Vec<f32>>().into() } else { Vector::from(changed) };
    (at == place).then(made)
}

impl<A: Study, F: Fleet<A>> Fleet<A> for Tampered<F, A::Reply> {
    fn roster(&self) -> Roster {
        self.inner.roster()
    }
    fn is_there(&self, slot: Slot, client: ClientId) -> bool {
        self.inner.is_there(slot, client)
    }
    fn is_steady(&self) -> bool {
        self.inner.is_steady()
    }
    fn participants(&self) -> Option<&dyn Participants> {
        self.inner.participants()
    }
    fn exchange(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, each: &mut dyn FnMut(ClientId, Received<A::Reply>)) -> Result<(), Abort> {
        let mut all = vec![];
        self.inner.exchange(slot, wave, &mut |id, received| all.push((id, received)))?;
        all.into_iter().for_each(|(id, received)| each(id, received.and_then(|answer| self.pass(id, answer))));
        Ok(())
    }
    fn sum(&mut self, slot: Slot, wave: Wave<'_, A::Ask>, adding: &mut Adding<'_, A>) -> Result<(), Abort> {
        // What is spoilt is spoilt before it is added.
        if self.seen.is_some() || self.plot.is_some() {
            return sum_by_exchange(self, slot, wave, adding);
        }
        self.inner.sum(slot, wave, adding)
    }

    fn round_closed(&mut self, clients: &mut dyn Iterator<Item = ClientId>, heard: &LastReplies) -> Result<(), Abort> {
        self.inner.round_closed(clients, heard)
    }
    fn elapsed(&mut self) -> f64 {
        self.inner.elapsed()
    }
    fn probe(&mut self, probe: &Probe<'_>, each: &mut dyn FnMut(ClientId, Score)) -> Result<(), Abort> {
        self.inner.probe(probe, each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_listens_forwards_everything() {
        crate::forwards_everything(Tampered::new).unwrap();
    }
}
