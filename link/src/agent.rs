//! The client's side of the network, as a state machine: what to say next, and what to make of what is heard.
//!
//! One rule keeps both sides agreed: what an ask left at the client is durable *before* the first byte of the reply is
//! offered. The coordinator then never names a version that a crash took.

use std::io;
use std::time::Duration;

use motet_core::wire;

use crate::call::{Call, PROTOCOL, Request, Response, Session, TaskHead, TaskNumber};
use crate::digest::Digest;
use crate::limits::Limits;
use crate::payload::{Body, Payload};

wire! {
    /// What an agent remembers beside the client's state, and as durably.
    #[derive(Copy, PartialEq, Eq, Default)]
    pub struct Mark {
        /// The session: this start of the agent.
        pub session: Session,
        /// The newest task it has begun.
        pub newest: TaskNumber,
    }
}

/// What an agent does with a task, and how it remembers.
pub trait Work {
    /// Does a task. `begins_again`: the coordinator was started anew since the last task, and what the client answered after the
    /// version named never happened. An error is the agent's own trouble and ends it.
    fn answer(&mut self, head: &TaskHead, begins_again: bool, ask: &[u8]) -> io::Result<Outcome>;
    /// Makes the client's state and the mark durable, both or neither.
    fn commit(&mut self, mark: Mark) -> io::Result<()>;
}

impl<W: Work + ?Sized> Work for Box<W> {
    fn answer(&mut self, head: &TaskHead, begins_again: bool, ask: &[u8]) -> io::Result<Outcome> {
        (**self).answer(head, begins_again, ask)
    }
    fn commit(&mut self, mark: Mark) -> io::Result<()> {
        (**self).commit(mark)
    }
}

/// What comes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A reply.
    Reply(Body),
    /// The version named is not there.
    Lost,
    /// The agent will not; the reason.
    Declined(String),
}

/// Why an agent has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// Another run is served under this invitation.
    #[error("the coordinator serves another run now: {0}")]
    OtherRun(Digest),
    /// The other side speaks another version.
    #[error("the coordinator speaks version {speaks} of the protocol, this agent version {PROTOCOL}: update the {}", older(*speaks))]
    OtherProtocol {
        /// The coordinator's version.
        speaks: u32,
    },
    /// The coordinator was restored from an older copy of its folder.
    #[error(
        "the coordinator was started {start} times by its own count, but this agent has already worked for its start number {known}: the coordinator was restored from an older copy"
    )]
    OlderStart {
        /// Where it is.
        start: u32,
        /// Where it was.
        known: u32,
    },
    /// A later agent with the same certificate has called: another one is at work, or this one's folder is an older copy.
    #[error("another agent with this certificate is at work, or this folder is an older copy of that agent's")]
    Displaced,
    /// The coordinator will not have this client.
    #[error("the coordinator refuses this client: {0}")]
    Refused(String),
}

fn older(speaks: u32) -> &'static str {
    if speaks < PROTOCOL { "coordinator" } else { "agent" }
}

/// When an agent speaks next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once.
    Now,
    /// When there is something to do, or after a while.
    Poll,
    /// After so long.
    After(Duration),
    /// Never again.
    Ended(Ended),
}

/// An agent for one run.
pub struct Agent<W> {
    work: W,
    run: Digest,
    mark: Mark,
    limits: Limits,
    state: State,
    late: u64,
}

enum State {
    Idle,
    Fetching {
        head: TaskHead,
        ask: Vec<u8>,
    },
    /// Says how a task ended: with a reply at hand, or without one.
    Offering {
        task: TaskNumber,
        reply: Body,
    },
    Sending {
        task: TaskNumber,
        reply: Body,
        from: usize,
    },
    Telling {
        task: TaskNumber,
        outcome: Outcome,
    },
}

impl<W: Work> Agent<W> {
    /// An agent that remembers `mark`, or nothing yet. Its new life is durable before it says a word.
    pub fn start(mut work: W, run: Digest, mark: Mark, nonce: u64, limits: Limits) -> io::Result<Self> {
        let session = Session { count: mark.session.count.saturating_add(1), nonce };
        let mark = Mark { session, ..mark };
        work.commit(mark)?;
        Ok(Self { work, run, mark, limits, state: State::Idle, late: 0 })
    }

    /// An agent that somebody else calls upon, for one task at a time: whoever carries its words also keeps its memory, and does not
    /// tell its lives apart.
    pub fn called_upon(work: W, run: Digest, mark: Mark, limits: Limits) -> Self {
        Self { work, run, mark: Mark { session: Session::default(), ..mark }, limits, state: State::Idle, late: 0 }
    }

    /// The next call; the same one until a response was heard.
    pub fn call(&self) -> Call {
        let request = match &self.state {
            State::Idle => Request::Poll { newest: self.mark.newest },
            State::Fetching { head, ask } => Request::Fetch { task: head.number, offset: ask.len() as u64 },
            State::Offering { task, reply } => {
                let (hash, reply) = (reply.hash(), reply.bytes());
                let whole = if reply.len() <= self.limits.whole { reply.clone() } else { Payload::default() };
                Request::Offer { task: *task, length: reply.len() as u64, hash, whole }
            }
            State::Sending { task, reply, from } => {
                Request::Piece { task: *task, offset: *from as u64, bytes: reply.bytes().piece(*from, self.limits.piece) }
            }
            State::Telling { task, outcome: Outcome::Declined(reason) } => Request::Decline { task: *task, reason: reason.clone() },
            State::Telling { task, .. } => Request::Lost { task: *task },
        };
        Call { protocol: PROTOCOL, run: self.run, session: self.mark.session, request }
    }

    /// What to call with before it leaves, so that nobody waits for it in vain. Its task is there when it comes back.
    pub fn farewell(&self, reason: &str) -> Call {
        Call { protocol: PROTOCOL, run: self.run, session: self.mark.session, request: Request::Bye { reason: reason.into() } }
    }

    /// Takes in a response, and works on a task if it brings one. One that does not belong to what it said last is left alone.
    pub fn hear(&mut self, response: Response) -> io::Result<Next> {
        match response {
            Response::Task { head, whole } => return self.begin(head, whole),
            Response::Piece { task, offset, bytes } => return self.grow(task, offset, &bytes.as_bytes()),
            Response::Nothing {} => return Ok(Next::Poll),
            Response::SendFrom { task, offset } => self.send_from(task, offset),
            Response::HaveIt { task } | Response::Closed { task } | Response::TooLong { task, .. } => {
                if self.task() == Some(task) {
                    self.state = State::Idle;
                }
            }
            Response::Later { milliseconds } => return Ok(Next::After(Duration::from_millis(milliseconds.min(60_000)))),
            Response::Full {} => return Ok(Next::After(Duration::from_secs(1))),
            Response::OtherRun { run } => return Ok(Next::Ended(Ended::OtherRun(run))),
            Response::Over {} => return Ok(Next::Ended(Ended::Over)),
            Response::OtherProtocol { speaks } => return Ok(Next::Ended(Ended::OtherProtocol { speaks })),
            Response::OlderStart { start } if start < self.mark.newest.start => {
                return Ok(Next::Ended(Ended::OlderStart { start, known: self.mark.newest.start }));
            }
            Response::OlderStart { .. } => {}
            Response::Displaced {} => return Ok(Next::Ended(Ended::Displaced)),
            Response::Refused { reason } => return Ok(Next::Ended(Ended::Refused(reason))),
        }
        Ok(Next::Now)
    }

    /// The task it is at.
    fn task(&self) -> Option<TaskNumber> {
        match &self.state {
            State::Idle => None,
            State::Fetching { head, .. } => Some(head.number),
            State::Offering { task, .. } | State::Sending { task, .. } | State::Telling { task, .. } => Some(*task),
        }
    }

    fn begin(&mut self, head: TaskHead, whole: Option<Payload>) -> io::Result<Next> {
        if !matches!(self.state, State::Idle) {
            return Ok(Next::Now);
        }
        if head.number < self.mark.newest {
            // An ask from before the newest one: whatever it says, it is over.
            self.late += 1;
            return Ok(Next::Now);
        }
        if head.length > self.limits.longest_ask {
            let reason = format!("an ask of {} bytes, where at most {} are taken", head.length, self.limits.longest_ask);
            self.state = State::Telling { task: head.number, outcome: Outcome::Declined(reason) };
            return Ok(Next::Now);
        }
        self.advance(head, whole.map_or_else(Vec::new, |whole| whole.as_bytes().into_owned()))
    }

    fn grow(&mut self, task: TaskNumber, offset: u64, bytes: &[u8]) -> io::Result<Next> {
        if let State::Fetching { head, ask } = &mut self.state
            && head.number == task
            && ask.len() as u64 == offset
        {
            ask.extend_from_slice(bytes);
            let (head, ask) = (*head, std::mem::take(ask));
            // A piece without bytes would be asked for again for ever.
            return if bytes.is_empty() { self.drop_ask() } else { self.advance(head, ask) };
        }
        Ok(Next::Now)
    }

    fn drop_ask(&mut self) -> io::Result<Next> {
        self.state = State::Idle;
        Ok(Next::After(Duration::from_secs(1)))
    }

    /// Goes on with as much of an ask as is here.
    fn advance(&mut self, head: TaskHead, ask: Vec<u8>) -> io::Result<Next> {
        if (ask.len() as u64) < head.length {
            self.state = State::Fetching { head, ask };
            return Ok(Next::Now);
        }
        if ask.len() as u64 != head.length || Digest::of(&ask) != head.body {
            return self.drop_ask();
        }
        let begins_again = head.number.start != self.mark.newest.start;
        let outcome = self.work.answer(&head, begins_again, &ask)?;
        self.mark.newest = head.number;
        if !head.is_probe || begins_again {
            self.work.commit(self.mark)?;
        }
        let task = head.number;
        self.state = match outcome {
            Outcome::Reply(reply) => State::Offering { task, reply },
            outcome => State::Telling { task, outcome },
        };
        Ok(Next::Now)
    }

    fn send_from(&mut self, task: TaskNumber, offset: u64) {
        if self.task() != Some(task) {
            return;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Offering { reply, .. } | State::Sending { reply, .. } => {
                // From its end on there is nothing to send: it is offered again, and the desk says what it lacks.
                self.state = match usize::try_from(offset).ok().filter(|from| *from < reply.bytes().len()) {
                    Some(from) => State::Sending { task, reply, from },
                    None => State::Offering { task, reply },
                };
            }
            other => self.state = other,
        }
    }

    /// How many asks came too late and were left alone.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// What it does with tasks.
    pub fn work(&self) -> &W {
        &self.work
    }
}
