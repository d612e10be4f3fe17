//! The coordinator's side of the network, as a state machine: calls in, responses out, and no sockets, threads or clocks.
//!
//! Each client has a seat with at most one open task. A task stays open until its reply is here, its deadline has passed or
//! the fleet closes it; whoever comes back is given the same task again.

mod replies;
mod tally;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use motet_core::Slot;

use crate::call::{Call, PROTOCOL, Request, Response, Session, TaskHead, TaskNumber};
use crate::digest::{Digest, bytes_of};
use crate::event::{Event, Events, Noted};
use crate::limits::Limits;
use crate::payload::Body;
use crate::spool::{Forgets, Reply, ReplyKey, Spool};

pub use tally::Tally;

/// What a client is asked, as the fleet says it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Is this a probe, which changes nothing?
    pub is_probe: bool,
    /// The place in the run.
    pub slot: Slot,
    /// The version of its state that the client resumes from.
    pub heard: Option<Slot>,
    /// Versions from this one on are kept with it.
    pub floor: Option<Slot>,
    /// The bytes, shared by all who are asked the same.
    pub body: Arc<Body>,
    /// Longer replies are refused.
    pub longest_reply: u64,
    /// When nobody waits any more.
    pub until: Option<Duration>,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing final was heard.
    Waiting,
    /// The reply is here.
    Answered,
    /// The client no longer has the version that was named.
    Lost,
    /// The client will not do it, or is no longer listened to; the reason.
    Declined(String),
    /// There is no such task: its deadline has passed, or it was closed.
    Closed,
}

/// Tasks, leases and replies of one run.
pub struct Desk {
    run: Digest,
    start: u32,
    tasks: u32,
    limits: Limits,
    seats: BTreeMap<u32, Seat>,
    spool: Box<dyn Spool>,
    events: Events,
    over: bool,
    /// How often somebody has come, or has gone for good.
    changes: u64,
}

#[derive(Default)]
struct Seat {
    session: Session,
    /// Until when the client counts as there.
    lease: Option<Duration>,
    /// Did it call since the coordinator was started?
    seen: bool,
    strikes: u32,
    revoked: bool,
    task: Option<Open>,
    tally: Tally,
    /// Why its reply could not be kept when it last came.
    unkept: Option<String>,
    /// Why it would not do a task when it last would not.
    declined: Option<String>,
}

impl Seat {
    /// Is it no longer listened to?
    fn is_refused(&self, limits: &Limits) -> bool {
        self.revoked || self.strikes >= limits.strikes
    }
}

struct Open {
    head: TaskHead,
    ask: Ask,
    key: ReplyKey,
    stage: Stage,
    /// When it was asked.
    since: Duration,
    /// Was the last byte of the ask sent? Then the client is at work, and silent.
    fetched: bool,
    /// Was it told that this takes long?
    told: bool,
}

impl Open {
    fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done(_))
    }

    fn is_at_work(&self) -> bool {
        self.fetched && !self.is_done()
    }
}

enum Stage {
    Asked,
    Uploading(Upload),
    Done(Progress),
}

#[derive(Clone, Copy)]
struct Upload {
    length: u64,
    hash: Digest,
    /// How many bytes are here.
    received: u64,
    /// Did all of them come in this life of the coordinator? What it found may have been damaged meanwhile.
    from_the_first: bool,
    /// When the last piece came.
    grew: Duration,
}

impl Desk {
    /// A desk for these clients. `start` is how often this coordinator has been started for the run, this time included: a number
    /// that must be durable before the first call is answered. Everyone counts as there for one lease: after a restart they
    /// are still at work.
    pub fn new(
        run: Digest,
        start: u32,
        clients: impl IntoIterator<Item = u32>,
        spool: Box<dyn Spool>,
        limits: Limits,
        now: Duration,
    ) -> Self {
        let seat = || Seat { lease: Some(now + limits.lease), ..Seat::default() };
        let seats = clients.into_iter().map(|client| (client, seat())).collect();
        let mut events = Events::default();
        events.are_at(now);
        Self { run, start, tasks: 0, limits, seats, spool, events, over: false, changes: 0 }
    }

    /// Answers one call. Who the client is was seen to by the transport, and nothing in the call can change it.
    pub fn handle(&mut self, client: u32, call: Call, now: Duration) -> Response {
        if call.protocol != PROTOCOL {
            return Response::OtherProtocol { speaks: PROTOCOL };
        }
        self.expire(now);
        let Some(seat) = self.seats.get_mut(&client).filter(|seat| !seat.revoked) else {
            return Response::Refused { reason: "this client is not on the roster".into() };
        };
        if seat.is_refused(&self.limits) {
            return Response::Refused { reason: format!("this client broke the protocol {} times", seat.strikes) };
        }
        if call.session < seat.session {
            return Response::Displaced {};
        }
        seat.session = call.session;
        if call.run != self.run {
            return Response::OtherRun { run: self.run };
        }
        if !seat.seen || seat.lease.is_none() {
            self.events.push(client, Event::Joined);
            self.changes += 1;
        }
        (seat.seen, seat.lease) = (true, Some(now + self.limits.lease));
        if self.over {
            return Response::Over {};
        }
        match call.request {
            Request::Poll { newest } if newest.start > self.start => {
                self.events.push(client, Event::KnowsLaterStart { start: newest.start });
                Response::OlderStart { start: self.start }
            }
            Request::Poll { .. } => self.poll(client),
            Request::Fetch { task, offset } => self.fetch(client, task, offset),
            Request::Offer { task, length, hash, whole } => self.offer(client, task, (length, hash), &whole.as_bytes(), now),
            Request::Piece { task, offset, bytes } => self.piece(client, task, offset, &bytes.as_bytes(), now),
            Request::Lost { task } => self.conclude(client, task, Progress::Lost),
            Request::Decline { task, reason } => self.conclude(client, task, Progress::Declined(shortened(reason))),
            Request::Bye { reason } => {
                seat.lease = None;
                self.events.push(client, Event::Left { reason: shortened(reason) });
                Response::Over {}
            }
        }
    }

    /// What a client that asks for something to do is told.
    pub(crate) fn poll(&mut self, client: u32) -> Response {
        let open = self.seats.get_mut(&client).and_then(|seat| seat.task.as_mut());
        match open.filter(|open| !open.is_done()) {
            None => Response::Nothing {},
            Some(Open { head, ask, fetched, .. }) => {
                let whole = (ask.body.bytes().len() <= self.limits.whole).then(|| ask.body.bytes().clone());
                *fetched |= whole.is_some();
                Response::Task { head: *head, whole }
            }
        }
    }

    fn fetch(&mut self, client: u32, task: TaskNumber, offset: u64) -> Response {
        let piece = self.limits.piece;
        let Some(open) = self.open(client, task) else { return Response::Closed { task } };
        let length = open.ask.body.bytes().len();
        let Some(from) = usize::try_from(offset).ok().filter(|from| *from <= length) else {
            return self.strike(client, "a piece of an ask was requested that lies beyond its end");
        };
        let bytes = open.ask.body.bytes().piece(from, piece);
        open.fetched |= from + bytes.len() == length;
        Response::Piece { task, offset, bytes }
    }

    /// The open task of this number, unless it is done.
    fn open(&mut self, client: u32, task: TaskNumber) -> Option<&mut Open> {
        let open = self.seats.get_mut(&client)?.task.as_mut()?;
        (open.head.number == task && !open.is_done()).then_some(open)
    }

    /// Ends leases and tasks whose time is over. Whoever is at work on what it has fetched is silent, and keeps its lease.
    pub fn expire(&mut self, now: Duration) {
        self.events.are_at(now);
        for (&client, seat) in &mut self.seats {
            if let Some(open) = &seat.task
                && open.ask.until.is_some_and(|until| until <= now)
                && !open.is_done()
            {
                self.events.push(client, Event::Deadline { task: open.head.number });
                seat.task = None;
            }
            let at_work = seat.task.as_mut().filter(|open| open.is_at_work());
            if let Some(open) = at_work {
                let (since, usual) = (now.saturating_sub(open.since), self.limits.lease.max(2 * seat.tally.longest));
                if since > usual && !std::mem::replace(&mut open.told, true) {
                    self.events.push(client, Event::Slow { since });
                }
            } else if seat.lease.is_some_and(|until| until <= now) {
                seat.lease = None;
                self.events.push(client, Event::Left { reason: "nothing was heard from it for too long".into() });
            }
        }
    }

    /// Opens a task. A reply that an earlier life of the coordinator received is an answer at once; those of other attempts
    /// at a round go before the client can hear of this one, since it then forgets the versions they left.
    pub fn ask(&mut self, client: u32, ask: Ask) -> io::Result<TaskNumber> {
        self.tasks = self.tasks.checked_add(1).ok_or_else(|| io::Error::other("a coordinator makes 2^32 tasks at most: start it again"))?;
        let number = TaskNumber { start: self.start, count: self.tasks };
        self.events.are_in(ask.slot.round);
        let mut parts = bytes_of(&ask.heard);
        parts.push(u8::from(ask.is_probe));
        parts.extend_from_slice(&bytes_of(&ask.body.hash()));
        let key = ReplyKey { client, slot: ask.slot, ask: Digest::of(&parts) };
        let attempt = (ask.slot.round, ask.slot.attempt);
        self.spool.forget(&|other| other.client == client && (other.slot.round, other.slot.attempt) != attempt, Forgets::ForGood)?;
        let stage = if self.spool.reply(&key)?.is_some() { Stage::Done(Progress::Answered) } else { Stage::Asked };
        let head = TaskHead {
            number,
            is_probe: ask.is_probe,
            slot: ask.slot,
            heard: ask.heard,
            floor: ask.floor,
            body: ask.body.hash(),
            length: ask.body.bytes().len() as u64,
            longest_reply: ask.longest_reply,
        };
        if let Some(seat) = self.seats.get_mut(&client) {
            let stage =
                if seat.is_refused(&self.limits) { Stage::Done(Progress::Declined("this client is excluded".into())) } else { stage };
            seat.tally.asked(&ask, matches!(stage, Stage::Asked));
            seat.task = Some(Open { head, ask, key, stage, since: self.events.now(), fetched: false, told: false });
        }
        Ok(number)
    }

    /// Who has something to do, and which task it is.
    pub fn open_tasks(&self) -> Vec<(u32, TaskNumber)> {
        let open = |seat: &Seat| seat.task.as_ref().filter(|open| !open.is_done()).map(|open| open.head.number);
        self.seats.iter().filter_map(|(client, seat)| Some((*client, open(seat)?))).collect()
    }

    /// Does somebody wait for a limited time only for the open task of a client?
    pub(crate) fn has_deadline(&self, client: u32) -> bool {
        self.seats.get(&client).and_then(|seat| seat.task.as_ref()).is_some_and(|open| open.ask.until.is_some())
    }

    /// How far a task is.
    pub fn progress(&self, client: u32, task: TaskNumber) -> Progress {
        match self.seats.get(&client).and_then(|seat| seat.task.as_ref()).filter(|open| open.head.number == task) {
            None => Progress::Closed,
            Some(Open { stage: Stage::Done(progress), .. }) => progress.clone(),
            Some(_) => Progress::Waiting,
        }
    }

    /// The reply to a task, if it is answered; closes the task.
    pub fn take(&mut self, client: u32, task: TaskNumber) -> io::Result<Option<Reply>> {
        if self.progress(client, task) != Progress::Answered {
            return Ok(None);
        }
        let open = self.seats.get_mut(&client).and_then(|seat| seat.task.take());
        open.map_or(Ok(None), |open| self.spool.reply(&open.key))
    }

    /// Nobody waits for this task any more.
    pub fn close(&mut self, client: u32, task: TaskNumber) {
        if let Some(seat) = self.seats.get_mut(&client)
            && seat.task.as_ref().is_some_and(|open| open.head.number == task)
        {
            seat.task = None;
        }
    }

    /// Everything before this round is durable elsewhere: its replies go.
    pub fn settled(&mut self, next_round: u64) -> io::Result<()> {
        self.spool.forget(&|key| key.slot.round < next_round, Forgets::InTime)
    }

    /// Has the client a lease?
    pub fn is_there(&self, client: u32) -> bool {
        self.seats.get(&client).is_some_and(|seat| seat.lease.is_some() && !seat.is_refused(&self.limits))
    }

    /// Those who are refused for good, and why.
    pub fn gone(&self) -> impl Iterator<Item = (u32, String)> {
        let why = |seat: &Seat| match seat.revoked {
            true => "it was revoked".to_owned(),
            false => format!("it broke the protocol {} times", seat.strikes),
        };
        self.seats.iter().filter(|(_, seat)| seat.is_refused(&self.limits)).map(move |(client, seat)| (*client, why(seat)))
    }

    /// How often somebody has come, or has gone for good, so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Who has called since the coordinator was started, and is there.
    pub fn seen(&self) -> impl Iterator<Item = u32> {
        self.seats.iter().filter(|(_, seat)| seat.seen && seat.lease.is_some()).map(|(client, _)| *client)
    }

    /// Whoever has not called yet does not count as there any more: nobody can be at work for a run that has just begun.
    pub fn expect_nobody_else(&mut self) {
        self.seats.values_mut().filter(|seat| !seat.seen).for_each(|seat| seat.lease = None);
    }

    /// Refuses a client from now on.
    pub fn revoke(&mut self, client: u32) {
        if let Some(seat) = self.seats.get_mut(&client) {
            (seat.revoked, seat.lease) = (true, None);
            self.changes += 1;
            if let Some(open) = &mut seat.task {
                open.stage = Stage::Done(Progress::Declined("this client was revoked".into()));
            }
            self.events.push(client, Event::Revoked);
        }
    }

    /// A client was invited anew: what was heard of its earlier agent counts no more.
    pub fn begin_anew(&mut self, client: u32) {
        if let Some(seat) = self.seats.get_mut(&client) {
            (seat.session, seat.strikes) = (Session::default(), 0);
        }
    }

    /// The run is over: whoever calls is told so.
    pub fn end(&mut self) {
        self.over = true;
    }

    /// What each client was asked and sent since the coordinator was started.
    pub fn tallies(&self) -> impl Iterator<Item = (u32, Tally)> {
        self.seats.iter().map(|(client, seat)| (*client, seat.tally))
    }

    /// What happened since this was last asked.
    pub fn events(&mut self) -> Vec<Noted> {
        self.events.take()
    }

    /// The limits it keeps.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// Words of others, of a length that a log can bear.
fn shortened(mut words: String) -> String {
    const MOST: usize = 200;
    if words.len() > MOST {
        let end = (0..=MOST.min(words.len())).rev().find(|&at| words.is_char_boundary(at)).unwrap_or(0);
        words.truncate(end);
        words.push('…');
    }
    words
}
