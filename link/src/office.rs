//! A desk that threads share: transports call it, the fleet waits at it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use motet_core::{Abort, ClientId, LastReplies, Slot, StoreError};
use motet_runtime::KEPT;

use crate::call::{Call, Response, TaskNumber};
use crate::desk::{Ask, Desk, Progress};

/// A desk with a clock and a bell.
pub struct Office {
    desk: Mutex<Desk>,
    bell: Condvar,
    began: Instant,
    /// What was heard of everyone when each of the checkpoints was made that are kept, oldest first.
    kept: Mutex<VecDeque<LastReplies>>,
    /// Told whenever a client has a new task, or everyone has when the run is over.
    on_task: Box<dyn Fn(Option<u32>) + Send + Sync>,
}

impl Office {
    /// Shares a desk that was made at `Duration::ZERO` of its clock.
    pub fn new(desk: Desk, on_task: Box<dyn Fn(Option<u32>) + Send + Sync>) -> Arc<Self> {
        Arc::new(Self { desk: Mutex::new(desk), bell: Condvar::new(), began: Instant::now(), kept: Mutex::default(), on_task })
    }

    /// Answers one call, at once.
    pub fn handle(&self, client: u32, call: Call) -> Response {
        let response = self.desk().handle(client, call, self.began.elapsed());
        if !matches!(response, Response::Nothing {} | Response::Task { .. } | Response::Piece { .. }) {
            self.bell.notify_all();
        }
        response
    }

    /// Waits until so many clients have called, at most so long. Tells how many did.
    pub fn wait_for(&self, clients: usize, patience: Duration) -> usize {
        let until = Instant::now() + patience;
        let mut desk = self.desk();
        loop {
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
        let number = self.desk().ask(client, ask)?;
        (self.on_task)(Some(client));
        Ok(number)
    }

    /// Opens a task that is answered within `patience`, if that is said.
    pub(crate) fn ask(&self, client: ClientId, mut ask: Ask, patience: Option<Duration>) -> Result<TaskNumber, Abort> {
        ask.until = patience.map(|patience| self.began.elapsed() + patience);
        self.post(client.0, ask).map_err(|e| spool_failed(client, &e))
    }

    /// Waits for the reply to a task. None if the client stays silent.
    pub(crate) fn wait(&self, client: ClientId, task: TaskNumber) -> Result<Option<Vec<u8>>, Abort> {
        let mut desk = self.desk();
        loop {
            desk.expire(self.began.elapsed());
            match desk.progress(client.0, task) {
                Progress::Answered => return desk.take(client.0, task).map_err(|e| spool_failed(client, &e)),
                Progress::Closed => return Ok(None),
                Progress::Declined(_) => {
                    desk.close(client.0, task);
                    return Ok(None);
                }
                Progress::Lost => {
                    let reason =
                        "the client no longer has the version of its state that the run needs; is its folder another one?".to_owned();
                    return Err(StoreError { client: client.0, reason }.into());
                }
                Progress::Waiting => {}
            }
            // Deadlines are looked at even if nobody calls.
            desk = self.bell.wait_timeout(desk, Duration::from_millis(50)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn spool_failed(client: ClientId, error: &io::Error) -> Abort {
    StoreError { client: client.0, reason: format!("its reply cannot be kept: {error}") }.into()
}
