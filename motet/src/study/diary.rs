//! What happens to participants while a run goes on: said and written down as it happens, also while the run waits for them.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use motet_link::{Event as LinkEvent, Noted, Office};
use motet_records::{Event, EventKind, Utc};

use super::coordinator::StudyWatch;
use super::log::Log;
use crate::recorders::Journal;

/// Of one run.
pub(super) struct Diary {
    pub(super) run: usize,
    pub(super) office: Arc<Office>,
    pub(super) names: Vec<String>,
    pub(super) watch: Rc<dyn StudyWatch>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) log: Log,
    pub(super) journal: Option<Journal>,
    pub(super) pages: RefCell<Pages>,
}

/// What was said.
#[derive(Default)]
pub(super) struct Pages {
    /// And written down.
    written: Vec<Event>,
    /// And not yet: there is no journal, or its disk is full.
    unwritten: Vec<Event>,
}

impl Diary {
    /// Says what has happened and writes it down, as far as that is possible now.
    pub(super) fn keep(&self) {
        let happened = self.office.events().into_iter().map(|(time, noted)| told(time, noted).in_run(self.run));
        self.say(happened.collect());
    }

    /// The same for events that nobody else knows of.
    pub(super) fn say(&self, events: Vec<Event>) {
        events.iter().for_each(|event| self.log.event(&self.names, event));
        self.log.tell(&*self.watch);
        let Pages { written, unwritten } = &mut *self.pages.borrow_mut();
        unwritten.extend(events);
        let Some(journal) = &self.journal else { return };
        let kept = unwritten.iter().take_while(|event| journal.event(event).is_ok()).count();
        written.extend(unwritten.drain(..kept));
    }

    /// What was said since this was last asked. What was not written down meanwhile is given to `record`.
    pub(super) fn taken(&self, record: &mut dyn FnMut(&Event) -> io::Result<()>) -> io::Result<Vec<Event>> {
        self.keep();
        let Pages { written, unwritten } = self.pages.take();
        unwritten.iter().try_for_each(record)?;
        Ok([written, unwritten].concat())
    }

    /// Should the study stop?
    pub(super) fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.watch.stop()
    }
}

/// What happened at a desk, as an event of the records.
pub(super) fn told(time: SystemTime, noted: Noted) -> Event {
    let (kind, text) = match noted.event {
        LinkEvent::Joined => (EventKind::Joined, "is there".to_owned()),
        LinkEvent::Left { reason } => (EventKind::Left, reason),
        LinkEvent::Deadline { .. } => (EventKind::Late, "did not answer in time".to_owned()),
        LinkEvent::Slow { since } => (
            EventKind::Note,
            format!("was asked {} s ago and has not answered yet: it is at work, or gone without a word", since.as_secs()),
        ),
        LinkEvent::Late { .. } => (EventKind::Late, "answered when nobody waited any more".to_owned()),
        LinkEvent::Lost { .. } => (EventKind::Lost, "no longer has the state that the run needs".to_owned()),
        LinkEvent::Declined { reason } => (EventKind::Refused, format!("refuses: {reason}")),
        LinkEvent::Struck { reason } => (EventKind::Breach, reason),
        LinkEvent::KnowsLaterStart { start } => {
            (EventKind::Note, format!("knows of start {start} of this coordinator, which must be an older copy"))
        }
        LinkEvent::Unkept { reason } => (EventKind::Note, format!("its reply cannot be kept here, and is sent again: {reason}")),
        LinkEvent::Revoked => (EventKind::Refused, "was revoked".to_owned()),
        LinkEvent::More { count } => (EventKind::Note, format!("{count} more events came at once than are written down")),
    };
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Event { time: Utc::from_seconds(seconds), round: noted.round, client: noted.client, ..Event::now(kind, text) }
}
