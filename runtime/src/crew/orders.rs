//! What rank 0 tells the others, and how they answer.

use motet_core::{ClientId, ModelShape, ProbeRequest, Reader, Slot, StoreError, Vector, Wire, WireError, wire};

use super::sums::SumOrder;
use super::{Crew, CrewGone};

wire! {
    /// A client that is asked for something, and the rank that sees to it.
    #[derive(Copy, PartialEq)]
    pub(super) struct Call {
        pub(super) client: u32,
        pub(super) heard: Option<Slot>,
        pub(super) rank: u32,
    }
}

wire! {
    /// Goes to everyone.
    pub(super) enum Order {
        /// Ask these clients. What all are asked follows the order; if each is asked something else, it comes in a message of its own.
        Exchange { slot: Slot, calls: Vec<Call>, same: bool },
        /// Ask these, and add up what they send, everyone a range of the coordinates. The ask follows the order.
        Sum { of: SumOrder },
        /// Score these. The model follows, or comes in messages as above.
        Probe { round: u64, calls: Vec<Call>, look: ProbeRequest, reference: Option<Vector>, same: bool },
        /// Solve for the local optimum of these.
        Anchors { calls: Vec<Call> },
        /// The round is over for these.
        RoundClosed { calls: Vec<Call> },
        /// Make states durable.
        Commit {},
        /// Versions before this one are needed no more.
        Release { oldest: u64 },
        /// The run is over.
        Leave {},
    }
}

/// Sends an order, and what follows it.
pub(super) fn tell(crew: &dyn Crew, order: &Order, then: impl FnOnce(&mut Vec<u8>)) -> Result<(), CrewGone> {
    let mut message = Vec::with_capacity(order.bytes() as usize);
    order.encode(&mut message);
    then(&mut message);
    crew.broadcast(&mut message)
}

/// What a rank has for one client.
#[derive(Debug)]
pub(super) enum Entry<'a> {
    /// Nothing: the client is silent.
    Nothing,
    /// These bytes.
    Bytes(&'a [u8]),
    /// A failure of the machine.
    Failed(StoreError),
    /// Nothing more is to come; has the rank seen a large state?
    End { large: bool },
}

/// Bytes of the length before an entry, which may be a reply of any size.
const LENGTH: usize = size_of::<u64>();

/// A client's entry, framed.
pub(super) fn entry(of: Result<Option<impl FnOnce(&mut Vec<u8>)>, StoreError>) -> Vec<u8> {
    let mut framed = vec![0; LENGTH];
    match of {
        Ok(None) => framed.push(0),
        Ok(Some(write)) => {
            framed.push(1);
            write(&mut framed);
        }
        Err(StoreError { client, reason }) => {
            framed.push(2);
            client.encode(&mut framed);
            reason.encode(&mut framed);
        }
    }
    let length = (framed.len() - LENGTH) as u64;
    framed[..LENGTH].copy_from_slice(&length.to_le_bytes());
    framed
}

/// Entries of one message are at most so long together, unless one alone is longer.
const MESSAGE: usize = 1 << 20;
/// So much waits for rank 0 before any of it is sent.
const WAITING: usize = 256 << 20;

/// Entries on their way to rank 0.
pub(super) struct Outbox<'a> {
    crew: &'a dyn Crew,
    messages: Vec<Vec<u8>>,
    waiting: usize,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(crew: &'a dyn Crew) -> Self {
        Self { crew, messages: vec![], waiting: 0 }
    }

    pub(super) fn push(&mut self, entry: Vec<u8>) -> Result<(), CrewGone> {
        self.waiting += entry.len();
        match self.messages.last_mut() {
            Some(last) if last.len() + entry.len() <= MESSAGE => last.extend(entry),
            _ => self.messages.push(entry),
        }
        if self.waiting > WAITING { self.flush() } else { Ok(()) }
    }

    pub(super) fn end(mut self, large: bool) -> Result<(), CrewGone> {
        self.push([&2u64.to_le_bytes()[..], &[3, u8::from(large)]].concat())?;
        self.flush()
    }

    fn flush(&mut self) -> Result<(), CrewGone> {
        self.waiting = 0;
        self.messages.drain(..).try_for_each(|message| self.crew.send(0, &message))
    }
}

/// Entries of one rank as they arrive.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    message: Vec<u8>,
    at: usize,
}

impl Inbox {
    /// The next entry; a message that is none of ours is the end of that rank.
    pub(super) fn next<'a>(&'a mut self, crew: &dyn Crew, rank: usize) -> Result<Entry<'a>, CrewGone> {
        if self.at >= self.message.len() {
            (self.message, self.at) = (crew.receive(rank)?, 0);
        }
        self.parse().ok_or(CrewGone(rank))
    }

    /// The same, if anything has arrived.
    pub(super) fn next_if_there<'a>(&'a mut self, crew: &dyn Crew, rank: usize) -> Result<Option<Entry<'a>>, CrewGone> {
        if self.at >= self.message.len() {
            let Some(message) = crew.look_for(rank)? else { return Ok(None) };
            (self.message, self.at) = (message, 0);
        }
        self.parse().map(Some).ok_or(CrewGone(rank))
    }

    fn parse(&mut self) -> Option<Entry<'_>> {
        let mut left = &self.message[self.at..];
        let before = left.len();
        let found = cut(&mut left)?;
        self.at += before - left.len();
        Some(found)
    }
}

/// The first of several entries, which is cut off; none if they are none of ours.
pub(super) fn cut<'a>(entries: &mut &'a [u8]) -> Option<Entry<'a>> {
    let (length, rest) = entries.split_first_chunk::<LENGTH>()?;
    let (body, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *entries = rest;
    let (kind, bytes) = body.split_first()?;
    let mut body = Reader::new(bytes);
    Some(match kind {
        0 => Entry::Nothing,
        1 => Entry::Bytes(bytes),
        2 => Entry::Failed(StoreError { client: u32::decode(&mut body).ok()?, reason: String::decode(&mut body).ok()? }),
        3 => Entry::End { large: bool::decode(&mut body).ok()? },
        _ => return None,
    })
}

/// Can a crew of so many ranks, whose clients have models of this shape, do what an order says? It comes from another process: nothing that
/// indexes or is given room by it may be beyond what is here.
pub(super) fn sound(order: &Order, ranks: usize, model: ModelShape) -> Result<(), WireError> {
    let (calls, vectors) = match order {
        Order::Exchange { calls, .. } | Order::Anchors { calls } | Order::RoundClosed { calls } => (calls, None),
        Order::Probe { calls, reference, .. } => (calls, reference.as_ref().map(ModelShape::of)),
        Order::Sum { of } if of.weights.len() == of.calls.len() => (&of.calls, Some(of.model)),
        Order::Sum { .. } => return Err(WireError::Unsound("a sum with other weights than calls")),
        Order::Commit {} | Order::Release { .. } | Order::Leave {} => return Ok(()),
    };
    if calls.iter().any(|call| call.rank as usize >= ranks) {
        return Err(WireError::Unsound("a call for a rank that is not there"));
    }
    if vectors.is_some_and(|shape| shape != model) { Err(WireError::Unsound("a model of another shape")) } else { Ok(()) }
}

impl Call {
    pub(super) fn id(&self) -> ClientId {
        ClientId(self.client)
    }
}
