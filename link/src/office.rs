//! A desk that threads share: transports call it, the fleet waits at it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use motet_core::{Abort, ClientId, LastReplies, ReplyError, Slot, StoreError, whole};
use motet_runtime::KEPT;

use crate::call::{Call, Response, TaskNumber};
use crate::desk::{Ask, Desk, Progress};
use crate::digest::bytes_of;
use crate::event::Noted;
use crate::spool::Reply;
use crate::vigil::{NAP, Vigil};

/// A desk that several threads share, with a clock and a signal.
pub struct Office {
    desk: Mutex<Desk>,
    bell: Condvar,
    began: Instant,
    /// The same moment by the clock on the wall.
    began_at: SystemTime,
    /// What was heard of everyone when each of the checkpoints was made that are kept, oldest first.
    kept: Mutex<VecDeque<LastReplies>>,
    /// Told whenever a client has a new task, or everyone has when the run is over.
    on_task: Box<dyn Fn(Option<u32>) + Send + Sync>,
    /// Where nobody calls: carries letters to and fro while the fleet waits.
    courier: Option<Box<Courier>>,
}

/// How long a round that too few are there for waits before it is tried again.
const MOMENT: Duration = Duration::from_millis(200);

/// What became of a task that was waited for.
pub(crate) enum Waited {
    Answered(Reply),
    /// The client stays silent.
    Silent,
    /// The client no longer has the version that was named.
    Lost,
}

/// Takes letters of clients with open tasks, and brings what was answered; comes back after a while also with nothing.
pub type Courier = dyn Fn(&Arc<Office>) -> Result<(), Abort> + Send + Sync;

impl Office {
    /// Shares a desk that was made at `Duration::ZERO` of its clock.
    pub fn new(desk: Desk, on_task: Box<dyn Fn(Option<u32>) + Send + Sync>) -> Arc<Self> {
        Arc::new(Self { on_task, ..Self::of(desk) })
    }

    /// The same for clients that cannot call: whoever waits sends the courier, who takes [`letter`](Self::letter)s and
    /// [brings](Self::bring) answers.
    pub fn with_courier(desk: Desk, courier: Box<Courier>) -> Arc<Self> {
        Arc::new(Self { courier: Some(courier), ..Self::of(desk) })
    }

    fn of(desk: Desk) -> Self {
        Self {
            desk: Mutex::new(desk),
            bell: Condvar::new(),
            began: Instant::now(),
            began_at: SystemTime::now(),
            kept: Mutex::default(),
            on_task: Box::new(|_| {}),
            courier: None,
        }
    }

    /// A client's open task as bytes, for an agent that is [called upon](crate::Agent::called_upon); nothing if there is none.
    pub fn letter(&self, client: u32) -> Option<Vec<u8>> {
        let response = self.desk().poll(client);
        matches!(response, Response::Task { .. }).then(|| bytes_of(&response))
    }

    /// What such an agent said to a letter, perhaps to one that nobody waits for any more. Bytes that say nothing are an error.
    pub fn bring(&self, client: u32, said: &[u8]) -> Result<Response, ReplyError> {
        Ok(self.handle(client, whole(said)?))
    }

    /// Answers one call, at once.
    pub fn handle(&self, client: u32, call: Call) -> Response {
        let response = self.desk().handle(client, call, self.began.elapsed());
        if !matches!(response, Response::Nothing {} | Response::Task { .. } | Response::Piece { .. }) {
            self.bell.notify_all();
        }
        response
    }

    /// Waits until the given number of clients have called, for at most the given time. Tells how many did.
    pub fn wait_for(&self, clients: usize, patience: Duration) -> usize {
        let until = Instant::now() + patience;
        let mut desk = self.desk();
        loop {
            desk.expire(self.began.elapsed());
            let seen = desk.seen().count();
            let left = until.saturating_duration_since(Instant::now());
            if seen >= clients || left.is_zero() {
                return seen;
            }
            // Polls do not ring.
            desk = self.bell.wait_timeout(desk, left.min(Duration::from_millis(20))).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The run is over: whoever calls is told so.
    pub fn end(&self) {
        self.desk().end();
        self.bell.notify_all();
        (self.on_task)(None);
    }

    /// Refuses a client from now on.
    pub fn revoke(&self, client: u32) {
        self.desk().revoke(client);
        self.bell.notify_all();
    }

    /// The desk as it is now: leases whose time is over have ended.
    pub(crate) fn desk_now(&self) -> MutexGuard<'_, Desk> {
        let mut desk = self.desk();
        desk.expire(self.began.elapsed());
        desk
    }

    /// What happened since this was last asked, and when.
    pub fn events(&self) -> Vec<(SystemTime, Noted)> {
        self.desk_now().events().into_iter().map(|noted| (self.began_at + noted.at, noted)).collect()
    }

    /// The desk itself, for as long as the guard lives.
    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A checkpoint was made when so much was heard; as many are kept as [`KEPT`] says.
    pub fn keep(&self, heard: LastReplies) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(heard);
        while kept.len() > KEPT {
            kept.pop_front();
        }
    }

    /// The oldest version of a client that a checkpoint names, if the newest is this one.
    pub(crate) fn floor(&self, client: ClientId, heard: Option<Slot>) -> Option<Slot> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|kept| kept.of(client)).fold(heard, Option::min)
    }

    /// Opens a task and tells its client.
    pub fn post(&self, client: u32, ask: Ask) -> io::Result<TaskNumber> {
        let number = self.desk_now().ask(client, ask)?;
        (self.on_task)(Some(client));
        Ok(number)
    }

    /// Opens a task that is answered within `patience`, if that is said.
    pub(crate) fn ask(&self, client: ClientId, mut ask: Ask, patience: Option<Duration>) -> Result<TaskNumber, Abort> {
        ask.until = patience.map(|patience| self.began.elapsed() + patience);
        self.post(client.0, ask).map_err(|e| spool_failed(client, &e))
    }

    /// Waits for the reply to a task. Who is away stays silent, where there is a deadline.
    pub(crate) fn wait(self: &Arc<Self>, client: ClientId, task: TaskNumber, vigil: &Vigil) -> Result<Waited, Abort> {
        let mut desk = self.desk();
        loop {
            desk.expire(self.began.elapsed());
            match desk.progress(client.0, task) {
                Progress::Answered => {
                    let reply = desk.take(client.0, task).map_err(|e| spool_failed(client, &e))?;
                    return Ok(reply.map_or(Waited::Silent, Waited::Answered));
                }
                Progress::Lost => return Ok(Waited::Lost),
                Progress::Closed | Progress::Declined(_) => {
                    desk.close(client.0, task);
                    return Ok(Waited::Silent);
                }
                Progress::Waiting if desk.has_deadline(client.0) && !desk.is_there(client.0) => {
                    desk.close(client.0, task);
                    return Ok(Waited::Silent);
                }
                Progress::Waiting => {}
            }
            if vigil.is_due() {
                drop(desk);
                vigil.keep()?;
                desk = self.desk();
                continue;
            }
            if let Some(courier) = &self.courier {
                drop(desk);
                courier(self)?;
                desk = self.desk();
                continue;
            }
            // Deadlines are looked at even if nobody calls.
            desk = self.bell.wait_timeout(desk, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits a moment, or until somebody has come or has gone for good since there were so many changes.
    pub(crate) fn wait_for_change(&self, changes: u64, vigil: &Vigil) -> Result<(), Abort> {
        let until = Instant::now() + MOMENT;
        let mut desk = self.desk();
        while desk.changes() == changes && Instant::now() < until {
            drop(desk);
            vigil.keep()?;
            desk = self.bell.wait_timeout(self.desk(), NAP).unwrap_or_else(PoisonError::into_inner).0;
            desk.expire(self.began.elapsed());
        }
        Ok(())
    }
}

pub(crate) fn spool_failed(client: ClientId, error: &io::Error) -> Abort {
    StoreError { client: client.0, reason: format!("its reply cannot be kept or read: {error}") }.into()
}
