//! What an agent says to the desk, and what the desk says back.
//!
//! Agents call, the desk answers: nothing listens at a participant. A call may be lost, doubled or delayed, and so may its
//! response; every pair is made so that saying it again is harmless and hearing it late is noticed.

use motet_core::{Slot, Wire, whole, wire};

use crate::digest::{Digest, bytes_of};
use crate::payload::Payload;

/// The version of this protocol. Both sides must speak the same.
pub const PROTOCOL: u32 = 1;

wire! {
    /// A task's number. It grows over all starts of a coordinator: the start is in its upper half.
    #[derive(Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
    pub struct TaskNumber {
        /// How often the coordinator had been started when it made this task, from 1.
        pub start: u32,
        /// Counts from 1 within the start.
        pub count: u32,
    }
}

wire! {
    /// One start of an agent, until it ends. The later one counts where two have the same certificate.
    #[derive(Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
    pub struct Session {
        /// How often the agent was started with this folder.
        pub count: u64,
        /// Drawn at the start: tells copies of a folder apart.
        pub nonce: u64,
    }
}

wire! {
    /// What an agent is to do, without the bytes of the ask.
    #[derive(Copy, PartialEq, Eq)]
    pub struct TaskHead {
        /// Which task.
        pub number: TaskNumber,
        /// Is this a probe, which changes nothing, rather than an exchange?
        pub is_probe: bool,
        /// The place in the run; of a probe, the round alone.
        pub slot: Slot,
        /// The version of its state that the client resumes from.
        pub heard: Option<Slot>,
        /// Versions from this one on are kept with it: an older checkpoint of the coordinator names them.
        pub floor: Option<Slot>,
        /// SHA-256 of the ask.
        pub body: Digest,
        /// How many bytes the ask has.
        pub length: u64,
        /// Longer replies are refused.
        pub longest_reply: u64,
    }
}

wire! {
    /// One call of an agent.
    #[derive(PartialEq)]
    pub struct Call {
        /// [`PROTOCOL`] of the caller.
        pub protocol: u32,
        /// SHA-256 of the run sheet that the agent agreed to.
        pub run: Digest,
        /// Which start of the agent calls.
        pub session: Session,
        /// What it wants.
        pub request: Request,
    }
}

wire! {
    /// What an agent wants.
    #[derive(PartialEq)]
    pub enum Request {
        /// Something to do. `newest` is the newest task this agent has begun.
        Poll { /** The newest task begun. */ newest: TaskNumber },
        /// A piece of an ask.
        Fetch { /** Which task. */ task: TaskNumber, /** From which byte on. */ offset: u64 },
        /// A reply: all of it if it is short, otherwise its length and SHA-256 before the first piece.
        Offer { /** Which task. */ task: TaskNumber, /** In bytes. */ length: u64, /** Its SHA-256. */ hash: Digest, /** All of its bytes, or none. */ whole: Payload },
        /// A piece of a reply.
        Piece { /** Which task. */ task: TaskNumber, /** From which byte on. */ offset: u64, /** The bytes. */ bytes: Payload },
        /// The version that the task names is not there.
        Lost { /** Which task. */ task: TaskNumber },
        /// The agent will not do this task.
        Decline { /** Which task. */ task: TaskNumber, /** In words. */ reason: String },
        /// The agent leaves.
        Bye { /** In words. */ reason: String },
    }
}

wire! {
    /// What the desk says to a call.
    #[derive(PartialEq)]
    pub enum Response {
        /// To be done; the ask itself if it is short.
        Task { /** What to do. */ head: TaskHead, /** All of its bytes, or none. */ whole: Option<Payload> },
        /// Nothing to do yet.
        Nothing {},
        /// A piece of the ask of this task.
        Piece { /** Which task. */ task: TaskNumber, /** From which byte on. */ offset: u64, /** The bytes. */ bytes: Payload },
        /// Send the reply from this byte on.
        SendFrom { /** Which task. */ task: TaskNumber, /** From which byte on. */ offset: u64 },
        /// The reply is here, or what there was to say instead of it.
        HaveIt { /** Which task. */ task: TaskNumber },
        /// Nobody waits for this task.
        Closed { /** Which task. */ task: TaskNumber },
        /// The reply is longer than it may be.
        TooLong { /** Which task. */ task: TaskNumber, /** In bytes. */ most: u64 },
        /// Too many are sending: once more after so many milliseconds.
        Later { /** How long to wait. */ milliseconds: u64 },
        /// There is no room on the coordinator's disk: once more later.
        Full {},
        /// Another run is served now.
        OtherRun { /** Its name. */ run: Digest },
        /// The run is over.
        Over {},
        /// The coordinator speaks another version of the protocol.
        OtherProtocol { /** That version. */ speaks: u32 },
        /// The coordinator has been started less often than the agent knows of: it was restored from an older copy.
        OlderStart { /** Its start. */ start: u32 },
        /// A later life of this agent has called.
        Displaced {},
        /// This caller or this call is refused.
        Refused { /** In words. */ reason: String },
    }
}

impl Call {
    /// The call as bytes, but for those of a reply in it, which come after them.
    pub(crate) fn split(mut self) -> (Vec<u8>, Payload) {
        let last = match &mut self.request {
            Request::Offer { whole: last, .. } | Request::Piece { bytes: last, .. } => std::mem::take(last),
            _ => Payload::default(),
        };
        (before(bytes_of(&self), &last), last)
    }

    /// How many bytes of a call with a piece come before the piece.
    pub(crate) fn bytes_before_piece() -> usize {
        let (task, bytes) = (TaskNumber::default(), Payload::default());
        let request = Request::Piece { task, offset: 0, bytes };
        Self { protocol: PROTOCOL, run: Digest::of(b""), session: Session::default(), request }.bytes() as usize
    }

    /// A call with a piece from the bytes before the piece: the call without it, and the length of the piece.
    pub(crate) fn before_piece(head: &[u8]) -> Option<(Self, u32)> {
        let (rest, length) = head.split_last_chunk::<4>()?;
        let call = whole::<Self>(&[rest, &[0; 4]].concat()).ok()?;
        matches!(call.request, Request::Piece { .. }).then_some((call, u32::from_le_bytes(*length)))
    }
}

impl Response {
    /// The response as bytes, but for those of an ask in it, which come after them.
    pub(crate) fn split(mut self) -> (Vec<u8>, Payload) {
        let last = match &mut self {
            Self::Task { whole: Some(last), .. } | Self::Piece { bytes: last, .. } => std::mem::take(last),
            _ => Payload::default(),
        };
        (before(bytes_of(&self), &last), last)
    }
}

/// A message that was encoded with nothing where its last field is: the length of that field is put in its place.
fn before(mut head: Vec<u8>, last: &Payload) -> Vec<u8> {
    if let (false, Some(length)) = (last.is_empty(), head.last_chunk_mut::<4>()) {
        *length = (last.len() as u32).to_le_bytes();
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_in_two_parts_is_the_message() {
        let (task, last) = (TaskNumber { start: 1, count: 2 }, Payload::from(vec![1, 2, 3]));
        let head = TaskHead {
            number: task,
            is_probe: false,
            slot: Slot { round: 1, attempt: 0, exchange: 0 },
            heard: None,
            floor: None,
            body: Digest::of(b""),
            length: 3,
            longest_reply: 9,
        };
        let joined = |(head, last): (Vec<u8>, Payload)| [&head[..], &last.as_bytes()].concat();
        for whole in [None, Some(Payload::default()), Some(last.clone())] {
            let response = Response::Task { head, whole };
            assert_eq!(joined(response.clone().split()), bytes_of(&response));
        }
        let response = Response::Piece { task, offset: 4, bytes: last.clone() };
        assert_eq!(joined(response.clone().split()), bytes_of(&response));
        let call = |request| Call { protocol: PROTOCOL, run: Digest::of(b"run"), session: Session { count: 1, nonce: 2 }, request };
        let piece = call(Request::Piece { task, offset: 5, bytes: last.clone() });
        let offer = call(Request::Offer { task, length: 3, hash: Digest::of(b"r"), whole: last.clone() });
        for call in [piece.clone(), offer, call(Request::Poll { newest: task })] {
            assert_eq!(joined(call.clone().split()), bytes_of(&call));
        }
        let (before, after) = piece.clone().split();
        assert_eq!((before.len(), &after), (Call::bytes_before_piece(), &last));
        let without = call(Request::Piece { task, offset: 5, bytes: Payload::default() });
        assert_eq!(Call::before_piece(&before), Some((without, 3)));
        for cut in 0..before.len() {
            assert_eq!(Call::before_piece(&before[..cut]), None);
        }
    }
}
