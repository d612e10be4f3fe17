//! Sums that all ranks add up together: each has a range of the coordinates and adds up that part of everybody's reply, in cohort
//! order. The bits are those of one machine, and no rank sees more than its share of the replies.
//!
//! A sum in which anything is out of the ordinary (a reply that does not fit, holds NaN or is some rows of the model only) is given
//! up: rank 0 asks again, one by one. Asking twice in a slot is asking once.

use std::ops::Range;

use motet_core::{
    Abort, Algorithm, Answer, Host, Mean, Message, ModelShape, Reader, Silence, Slot, StoreError, Tally, Vector, Wire, WireError, whole,
    wire,
};
use std::sync::Arc;
use std::time::Instant;

use super::orders::{Call, Entry, cut, entry};
use super::times::nanoseconds;
use super::{Crew, CrewGone};
use crate::pool::Pool;

/// So many bytes of replies are on their way from one rank at a time.
const ON_THE_WAY: usize = 256 << 20;

wire! {
    /// A sum, as everyone is told of it.
    pub(super) struct SumOrder {
        pub(super) slot: Slot,
        pub(super) calls: Vec<Call>,
        /// By call, what the first vectors are multiplied by, and what the second ones are.
        pub(super) weights: Vec<(f64, f64)>,
        pub(super) model: ModelShape,
        /// A rank works on at most so many calls before what it has is added up.
        pub(super) at_once: u64,
    }
}

wire! {
    /// What rank 0 hears of a reply whose vectors go elsewhere.
    pub(super) struct Head {
        pub(super) kind: String,
        /// Nanoseconds that the client worked.
        pub(super) took: u64,
        pub(super) bits: u64,
        pub(super) bytes: u64,
        pub(super) gradients: u64,
        pub(super) values: u64,
        /// What it adds besides its vectors; none if the sum has to be given up.
        pub(super) tally: Option<Tally>,
        /// Are its vectors some rows only? Those of the next round will be, too.
        pub(super) sparse: bool,
    }
}

/// What one client adds to a sum: what rank 0 hears of it, and its vectors with what each is multiplied by.
type Contribution = (Head, [Option<(f64, Vector)>; 2]);

/// What one client has for a sum, if it answers.
type Part = Result<Option<Contribution>, StoreError>;

/// How many calls a rank works on before they are added up.
pub(super) fn at_once(model: ModelShape, threads: usize) -> u64 {
    let each = 2 * model.dim * (model.precision.bits() / 8) as usize;
    (ON_THE_WAY / each.max(1)).max(threads) as u64
}

/// The coordinates that a rank adds up.
fn range(rank: usize, ranks: usize, dim: usize) -> Range<usize> {
    let at = |rank: usize| (rank as u128 * dim as u128 / ranks as u128) as usize;
    at(rank)..at(rank + 1)
}

/// Does this rank's part in a sum: asks its clients, hands everyone their ranges, adds up its own. Rank 0, which alone has what second
/// vectors are added to, hears the heads of all replies in cohort order.
pub(super) fn together<A: Algorithm>(
    (host, pool, crew): (&Arc<Host<A>>, &Pool, &dyn Crew),
    order: &SumOrder,
    ask: &Arc<A::Ask>,
    mut onto: Option<&Vector>,
    heads: &mut dyn FnMut(usize, Entry<'_>),
) -> Result<[Option<Vector>; 2], Abort> {
    let (ranks, own) = (crew.size(), range(crew.rank(), crew.size(), order.model.dim));
    let zero = Vector::zeros(own.len(), order.model.precision);
    let (mut sums, mut added) = ([Mean::like(&zero), Mean::like(&zero)], [false; 2]);
    for stretch in stretches(order, ranks) {
        let mut out = vec![vec![]; ranks];
        // What is added to goes before everything else.
        let first = onto.take();
        if crew.rank() == 0 && stretch.start == 0 {
            for (to, message) in out.iter_mut().enumerate() {
                first.map(|onto| part(onto, range(to, ranks, order.model.dim))).encode(message);
            }
        }
        let mine: Vec<usize> = stretch.clone().filter(|&k| order.calls[k].rank as usize == crew.rank()).collect();
        let (mut heads_out, mut parts_out) = (vec![], vec![vec![]; ranks]);
        ask_own((host, pool), order, ask, mine, |made| {
            let (head, vectors) = match made {
                Ok(Some((head, vectors))) => (Ok(Some(head)), vectors),
                Ok(None) => (Ok(None), [None, None]),
                Err(error) => (Err(error), [None, None]),
            };
            heads_out.extend(entry(head.map(|head| head.map(|head| move |out: &mut Vec<u8>| head.encode(out)))));
            for (to, message) in parts_out.iter_mut().enumerate() {
                let at = range(to, ranks, order.model.dim);
                for vector in &vectors {
                    vector.as_ref().map(|(share, v)| (*share, part(v, at.clone()))).encode(message);
                }
            }
        });
        for (to, (message, parts)) in out.iter_mut().zip(parts_out).enumerate() {
            if to == 0 {
                (heads_out.len() as u64).encode(message);
                message.append(&mut heads_out);
            }
            message.extend(parts);
        }
        let inbox = crew.swap(out)?;
        let mut from: Vec<Reader<'_>> = inbox.iter().map(|message| Reader::new(message)).collect();
        if stretch.start == 0
            && let Some(onto) = read::<Option<Vector>>(&mut from[0], 0)?
        {
            (sums[1], added[1]) = (Mean::onto(onto), true);
        }
        if crew.rank() == 0 {
            let mut said = vec![];
            for (rank, message) in from.iter_mut().enumerate() {
                let length = read::<u64>(message, rank)? as usize;
                said.push(message.take(length).map_err(|error| unreadable(rank, error))?);
            }
            let mut said: Vec<&[u8]> = said.iter().map(|said| &**said).collect();
            for k in stretch.clone() {
                let rank = order.calls[k].rank as usize;
                heads(k, cut(&mut said[rank]).ok_or(CrewGone(rank))?);
            }
        }
        for k in stretch {
            let rank = order.calls[k].rank as usize;
            for (sum, added) in sums.iter_mut().zip(&mut added) {
                if let Some((share, vector)) = read::<Option<(f64, Vector)>>(&mut from[rank], rank)? {
                    if ModelShape::of(&vector) != ModelShape::of(&zero) {
                        return Err(unreadable(rank, WireError::Unsound("a part of another length")));
                    }
                    sum.add(share, &vector);
                    *added = true;
                }
            }
        }
    }
    let mut sums = sums.into_iter().zip(added).map(|(sum, added)| added.then(|| sum.total()));
    Ok([sums.next().flatten(), sums.next().flatten()])
}

/// What every other rank sends rank 0 in the end.
pub(super) type Reached = ((Option<Vector>, Option<Vector>), bool);

/// The parts of all ranks as one, in the order of the ranks; has any of them seen a large state?
pub(super) fn joined(own: [Option<Vector>; 2], crew: &dyn Crew) -> Result<([Option<Vector>; 2], bool), Abort> {
    let (mut parts, mut large) = (vec![own], false);
    for rank in 1..crew.size() {
        let ((first, second), seen): Reached = whole(&crew.receive(rank)?).map_err(|error| unreadable(rank, error))?;
        parts.push([first, second]);
        large |= seen;
    }
    let join = |k: usize| {
        let found: Option<Vec<Vector>> = parts.iter().map(|part| part[k].clone()).collect();
        found.and_then(|parts| Vector::joined(&parts))
    };
    Ok(([join(0), join(1)], large))
}

/// Cohort positions, cut where a rank has as many calls as it works on at once.
fn stretches(order: &SumOrder, ranks: usize) -> Vec<Range<usize>> {
    let (mut cuts, mut begun, mut loads) = (vec![], 0, vec![0; ranks]);
    for (k, call) in order.calls.iter().enumerate() {
        let load = &mut loads[call.rank as usize % ranks];
        if *load == order.at_once.max(1) {
            cuts.push(begun..k);
            begun = k;
            loads.fill(0);
        }
        loads[call.rank as usize % ranks] += 1;
    }
    cuts.push(begun..order.calls.len());
    cuts
}

/// Asks clients of this rank, and hands over what each has, in order.
fn ask_own<A: Algorithm>(
    (host, pool): (&Arc<Host<A>>, &Pool),
    order: &SumOrder,
    ask: &Arc<A::Ask>,
    mine: Vec<usize>,
    mut each: impl FnMut(Part),
) {
    let calls: Vec<(Call, (f64, f64))> = mine.into_iter().map(|k| (order.calls[k], order.weights[k])).collect();
    let (host, ask, slot, model) = (Arc::clone(host), Arc::clone(ask), order.slot, order.model);
    pool.scatter(
        calls.len(),
        move |k| {
            let (call, (first, second)) = calls[k];
            let began = Instant::now();
            let answer = host.answer(call.id(), slot, call.heard, &ask)?;
            let took = nanoseconds(began.elapsed());
            let mut part = heard(host.algorithm(), call, &ask, answer, (model, [first, second]));
            part.iter_mut().for_each(|(head, _)| head.took = took);
            Ok(part)
        },
        |_, made| each(made),
    );
}

/// What a client's answer adds.
fn heard<A: Algorithm>(
    algorithm: &A,
    call: Call,
    ask: &A::Ask,
    answer: Result<Answer<A::Reply>, Silence>,
    (model, weights): (ModelShape, [f64; 2]),
) -> Option<Contribution> {
    let Answer { reply, work, finite } = answer.ok()?;
    let mut head = Head {
        kind: reply.kind().to_owned(),
        took: 0,
        bits: reply.bits(),
        bytes: reply.bytes(),
        gradients: work.gradients,
        values: work.values,
        tally: None,
        sparse: false,
    };
    if !finite || algorithm.fits(ask, &reply, call.id(), model).is_err() {
        return Some((head, [None, None]));
    }
    let Some(addend) = algorithm.addend(&reply) else { return Some((head, [None, None])) };
    let Some([first, second]) = addend.dense() else {
        head.sparse = true;
        return Some((head, [None, None]));
    };
    let tally = addend.tally(weights);
    let with = |share: Option<f64>, v: Option<&Vector>| share.zip(v.cloned());
    let vectors = [with(tally.shares.0, first), with(tally.shares.1, second)];
    head.tally = Some(tally);
    Some((head, vectors))
}

fn part(v: &Vector, at: Range<usize>) -> Vector {
    v.view().part(at).into()
}

fn read<T: Wire>(from: &mut Reader<'_>, rank: usize) -> Result<T, Abort> {
    T::decode(from).map_err(|error| unreadable(rank, error))
}

fn unreadable(rank: usize, error: impl std::fmt::Display) -> Abort {
    Abort::Closed(format!("what rank {rank} adds to a sum cannot be read: {error}"))
}

/// Do all ranks add up so many replies that are not rank 0's? Where little comes to rank 0, two messages are faster than four.
pub(super) fn pays(model: ModelShape, replies: usize, from: u64) -> bool {
    let each = model.dim as u64 * model.precision.bits() / 8;
    replies > 0 && each.saturating_mul(replies as u64) >= from
}
