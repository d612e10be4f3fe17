//! What an agent says to the desk, and what the desk says back.
//!
//! Agents call, the desk answers: nothing listens at a participant. A call may be lost, doubled or delayed, and so may its
//! response; every pair is made so that saying it again is harmless and hearing it late is noticed.

use motet_core::{Slot, wire};

use crate::digest::{Digest, Payload};

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
    /// One life of an agent. The later one counts where two have the same certificate.
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
        /// Milliseconds until nobody waits for the reply any more; none if there is no deadline.
        pub milliseconds_left: Option<u64>,
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
        /// Which life of the agent calls.
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
