//! Replies that are only added up.
//!
//! Whoever asks for a sum sees no single reply: a fleet may then add up where the clients are, or under masks that only the
//! whole sum takes off. What a reply adds is known on both sides ([`Algorithm::addend`]), and what each client's part is
//! multiplied by is known before it answers.

use std::borrow::Cow;

use crate::abort::Abort;
use crate::algorithm::{Algorithm, ClientId};
use crate::cohort::Cohort;
use crate::exchange::{Desk, carry};
use crate::fit::{ModelShape, ReplyError};
use crate::fleet::{Fleet, Wave};
use crate::ledger::{Direction, Traffic};
use crate::message::wire;
use crate::seed::Slot;
use crate::site::Work;
use crate::vector::Mean;
use crate::vector::SparseMean;
use crate::vector::Update;
use crate::vector::Vector;

/// What a reply adds: everything in a sum that depends on the reply.
///
/// ```
/// use motet_core::{Addend, Vector};
/// let (model, examples, loss) = (Vector::from(vec![1.0, 2.0]), 30, 0.7);
/// let addend = Addend::counting(f64::from(examples)).vector(&model).number(loss);
/// # let _ = addend;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Addend<'r> {
    count: f64,
    vectors: [Option<Term<'r>>; 2],
    numbers: [Option<Number>; 2],
}

#[derive(Clone, Copy, Debug)]
enum Term<'r> {
    Vector(&'r Vector),
    Update(&'r Update),
}

impl Term<'_> {
    #[inline]
    fn add_to(&self, weight: f64, sum: &mut Mean) {
        match self {
            Term::Vector(v) => sum.add(weight, v),
            Term::Update(u) => sum.add_update(weight, u),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Weighted(f64),
    Plain(f64),
}

impl<'r> Addend<'r> {
    /// cᵢ: what the reply counts for by itself, such as a number of examples; 1 where all count alike.
    #[inline]
    pub fn counting(count: f64) -> Self {
        Self { count, vectors: [None; 2], numbers: [None; 2] }
    }

    /// One more vector, at most the second.
    #[inline]
    pub fn vector(self, v: &'r Vector) -> Self {
        self.term(Term::Vector(v))
    }

    /// One more vector that may be some rows only, at most the second.
    #[inline]
    pub fn update(self, u: &'r Update) -> Self {
        self.term(Term::Update(u))
    }

    /// One more number, at most the second, that is multiplied by what the client and its reply count for.
    #[inline]
    pub fn number(self, value: f64) -> Self {
        self.also(Number::Weighted(value))
    }

    /// One more number, at most the second, that is added as it is.
    #[inline]
    pub fn plain(self, value: f64) -> Self {
        self.also(Number::Plain(value))
    }

    /// What the reply counts for, given the weights of its client: everything but the vectors themselves.
    pub fn tally(&self, weights: [f64; 2]) -> Tally {
        let counts = weights[0] * self.count;
        let number = |k: usize| match self.numbers[k]? {
            Number::Weighted(value) => Some(counts * value),
            Number::Plain(value) => Some(value),
        };
        let share = |k: usize| self.vectors[k].map(|_| weights[k] * self.count);
        Tally { weight: counts, shares: (share(0), share(1)), numbers: (number(0), number(1)) }
    }

    /// The vectors, where all of them have a number for every coordinate.
    pub fn dense(&self) -> Option<[Option<&'r Vector>; 2]> {
        let dense = |term: Option<Term<'r>>| match term {
            None => Some(None),
            Some(Term::Vector(v) | Term::Update(Update::Dense(v))) => Some(Some(v)),
            Some(Term::Update(Update::Rows(_))) => None,
        };
        Some([dense(self.vectors[0])?, dense(self.vectors[1])?])
    }

    #[inline]
    fn term(mut self, term: Term<'r>) -> Self {
        *self.vectors.iter_mut().find(|place| place.is_none()).expect("a reply adds at most two vectors") = Some(term);
        self
    }

    #[inline]
    fn also(mut self, number: Number) -> Self {
        *self.numbers.iter_mut().find(|place| place.is_none()).expect("a reply adds at most two numbers") = Some(number);
        self
    }
}

wire! {
    /// What a reply adds to a sum besides its vectors, which are added up somewhere else.
    #[derive(Copy, PartialEq)]
    pub struct Tally {
        /// wᵢ cᵢ
        pub weight: f64,
        /// What the first vector is multiplied by, and the second, where there are any.
        pub shares: (Option<f64>, Option<f64>),
        /// The numbers, multiplied by what they count for.
        pub numbers: (Option<f64>, Option<f64>),
    }
}

/// What the replies of a cohort add up to, in cohort order.
#[derive(Clone, Debug)]
pub struct Sum {
    /// Σ wᵢ cᵢ vᵢ of the first vectors, and of the second.
    pub vectors: [Mean; 2],
    /// Σ wᵢ cᵢ
    pub weight: f64,
    /// Of the first numbers, and of the second.
    pub numbers: [f64; 2],
    /// Who is in it.
    pub answered: Cohort,
    /// How many were asked.
    pub asked: usize,
}

impl Sum {
    /// What Σ wᵢ cᵢ vᵢ is divided by, so that on average over the draws it is Σ cᵢ vᵢ / Σ cᵢ over all clients. `whole` is
    /// 1/n Σ cᵢ over all clients that could have been asked: what Σ wᵢ cᵢ is on average.
    ///
    /// Where the weights of every draw sum to one, it is Σ wᵢ cᵢ of those who answered. Elsewhere (inverse chances, as Horvitz
    /// and Thompson have them) that sum must not be divided by: with one draw a round it would cancel the weight. Those who
    /// answered then stand for all who were asked, whoever stayed silent.
    pub fn divisor(&self, whole: f64) -> f64 {
        if self.answered.is_normalised() { self.weight } else { whole * self.answered.len() as f64 / self.asked.max(1) as f64 }
    }

    /// The estimate of Σ cᵢ vᵢ / Σ cᵢ over all clients that is right on average, of the first vectors; see [`divisor`](Self::divisor).
    pub fn estimate(self, whole: f64) -> SparseMean {
        let divisor = self.divisor(whole);
        let [first, _] = self.vectors;
        first.divided(divisor)
    }

    /// Σ wᵢ cᵢ vᵢ / Σ wᵢ cᵢ of the first vectors; zero if nobody answered.
    pub fn mean(self) -> Vector {
        let [first, _] = self.vectors;
        first.finish()
    }

    /// The mean without a copy of the sum, by rows if only rows were added.
    pub fn average(self) -> SparseMean {
        let [first, _] = self.vectors;
        first.average()
    }

    /// Σ wᵢ cᵢ vᵢ of the first vectors.
    pub fn total(self) -> Vector {
        let [first, _] = self.vectors;
        first.total()
    }
}

/// Part of a sum, such as that over the clients of one machine.
#[derive(Clone, Debug)]
pub struct Partial {
    pub(crate) vectors: [Mean; 2],
    pub(crate) weight: f64,
    pub(crate) numbers: [f64; 2],
}

impl Partial {
    /// Nothing yet, of models of this shape.
    pub fn empty(model: ModelShape) -> Self {
        Self { vectors: [Mean::of(model), Mean::of(model)], weight: 0.0, numbers: [0.0; 2] }
    }

    /// One more reply, whose first and second vectors have these weights.
    pub fn add(&mut self, weights: [f64; 2], addend: &Addend<'_>) {
        let counts = weights[0] * addend.count;
        self.weight += counts;
        // Most replies add one vector and no number: the others are looked for only where there is a first.
        let Some(first) = &addend.vectors[0] else { return self.add_numbers(counts, addend) };
        first.add_to(counts, &mut self.vectors[0]);
        if let Some(second) = &addend.vectors[1] {
            second.add_to(weights[1] * addend.count, &mut self.vectors[1]);
        }
        if addend.numbers[0].is_some() {
            self.add_numbers(counts, addend);
        }
    }

    fn add_numbers(&mut self, counts: f64, addend: &Addend<'_>) {
        for (sum, number) in self.numbers.iter_mut().zip(addend.numbers) {
            match number {
                Some(Number::Weighted(value)) => *sum += counts * value,
                Some(Number::Plain(value)) => *sum += value,
                None => {}
            }
        }
    }

    /// One more reply, whose vectors are added up somewhere else.
    fn count(&mut self, tally: &Tally) {
        self.weight += tally.weight;
        let (first, second) = tally.shares;
        self.vectors.iter_mut().zip([first, second]).for_each(|(sum, share)| sum.count(share));
        let (first, second) = tally.numbers;
        self.numbers.iter_mut().zip([first, second]).for_each(|(sum, number)| *sum += number.unwrap_or(0.0));
    }

    /// Adds another part of the sum to this one.
    pub fn merge(&mut self, other: Partial) {
        self.vectors.iter_mut().zip(other.vectors).for_each(|(sum, part)| sum.merge(part));
        self.weight += other.weight;
        self.numbers.iter_mut().zip(other.numbers).for_each(|(sum, part)| *sum += part);
    }
}

/// What one client sent for a sum that the fleet added up by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The client concerned.
    pub client: ClientId,
    /// What it computed.
    pub work: Work,
    /// Name of the message, the ledger's key.
    pub kind: Cow<'static, str>,
    /// What it cost to send.
    pub traffic: Traffic,
}

/// A sum that is being added up: what a [`Fleet`] is given to add replies to.
pub struct Adding<'a, A: Algorithm> {
    pub(crate) desk: Desk<'a, A>,
    weights: &'a [[f64; 2]],
    pub(crate) so_far: Partial,
}

impl<'a, A: Algorithm> Adding<'a, A> {
    pub(crate) fn new(desk: Desk<'a, A>, weights: &'a [[f64; 2]], onto: Option<Vector>) -> Self {
        let mut so_far = Partial::empty(desk.model);
        if let Some(onto) = onto {
            so_far.vectors[1] = Mean::onto(onto);
        }
        Self { desk, weights, so_far }
    }

    /// wᵢ by position in the wave, for the first and the second vectors: known before anybody answers.
    pub fn weights(&self) -> &'a [[f64; 2]] {
        self.weights
    }

    /// The shape of the vectors.
    pub fn model(&self) -> ModelShape {
        self.desk.model
    }

    /// Must everyone of the wave be in the sum?
    pub fn is_required(&self) -> bool {
        self.desk.required
    }

    /// Both halves of the method: what fits, and what a reply adds.
    pub fn algorithm(&self) -> &'a A {
        self.desk.algorithm
    }

    /// What the second vectors are added to, if not to nothing.
    pub fn onto(&self) -> Option<&Vector> {
        self.so_far.vectors[1].begun()
    }

    /// Takes in a sum that was added up elsewhere in the order of the wave, each coordinate as it would have been here, the second vectors onto what
    /// they are to be added to: the vectors, and by client what else its reply added. Whatever was added before is replaced.
    pub fn complete(&mut self, sums: [Option<Vector>; 2], over: impl IntoIterator<Item = (Sent, Tally)>) {
        for (Sent { client, work, kind, traffic }, tally) in over {
            self.so_far.count(&tally);
            self.desk.ledger.book_traffic(Direction::Up, &kind, traffic, 1);
            self.desk.ledger.book_work(work);
            self.desk.answered.push(client);
        }
        for (mean, sum) in self.so_far.vectors.iter_mut().zip(sums) {
            sum.into_iter().for_each(|sum| mean.replace(sum));
        }
    }

    /// Takes in what the fleet added up by itself, over these clients, in the order of the wave. That numbers are finite is seen to
    /// when the server has used them: a sum tells nobody's lie.
    pub fn absorb(&mut self, part: Partial, over: impl IntoIterator<Item = Sent>) {
        self.so_far.merge(part);
        for Sent { client, work, kind, traffic } in over {
            self.desk.ledger.book_traffic(Direction::Up, &kind, traffic, 1);
            self.desk.ledger.book_work(work);
            self.desk.answered.push(client);
        }
    }

    /// A client sent what cannot be added: its part is not in the sum.
    pub fn breach(&mut self, slot: Slot, client: ClientId, error: &ReplyError) {
        self.desk.breaches.add(slot.round, client, error.to_string());
    }
}

/// Adds up what an exchange brings back, one reply after the other in cohort order: what a fleet does that has no way of its own.
pub fn sum_by_exchange<A: Algorithm>(
    fleet: &mut dyn Fleet<A>,
    slot: Slot,
    wave: Wave<'_, A::Ask>,
    adding: &mut Adding<'_, A>,
) -> Result<(), Abort> {
    let Adding { desk, weights, so_far } = adding;
    let algorithm = desk.algorithm;
    carry(fleet, slot, wave, desk, &mut |position, reply| {
        let addend = algorithm.addend(&reply).expect("a method sums only what it can add");
        so_far.add(weights[position], &addend);
    })
}
