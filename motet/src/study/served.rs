//! The clients of a study, as the experiment's runs reach them.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use motet_core::{LastReplies, ModelShape};
use motet_link::{Desk, Event as LinkEvent, FolderSpool, Limits, Office, Remote, RunSheet, Server, Service, StudySheet, Tally};
use motet_records::{Attendance, Event, EventKind, RunCard};
use serde_json::Value;

use super::coordinator::StudyWatch;
use super::log::Log;
use crate::simulate::Elsewhere;

/// Replies under way, in `DIR/serve`.
pub(super) const SPOOL: &str = "spool";

/// A study that is under way.
pub(super) struct Served {
    /// `DIR/serve`
    pub(super) folder: PathBuf,
    pub(super) service: Arc<Service>,
    pub(super) server: Rc<Server>,
    /// What everyone agrees to.
    pub(super) sheet: StudySheet,
    pub(super) start: u32,
    pub(super) limits: Limits,
    pub(super) patience: Option<Duration>,
    /// Of the participants, by number.
    pub(super) names: Vec<String>,
    pub(super) office: RefCell<Option<Arc<Office>>>,
    pub(super) watch: Rc<dyn StudyWatch>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) log: Log,
    /// What was counted of the run that has just ended, and what had gone over the wire before it.
    pub(super) counted: RefCell<Vec<Event>>,
    pub(super) before: Cell<[u64; 2]>,
}

impl Served {
    /// Waits until everyone who is invited is there.
    fn gather(&self, office: &Office) -> io::Result<()> {
        loop {
            let expected = self.service.everyone().iter().filter(|member| !member.revoked).count();
            let there = office.wait_for(expected, Duration::from_millis(500));
            if there >= expected {
                return Ok(());
            }
            self.watch.waiting(there, expected);
            self.log.tell(&*self.watch);
            if self.stop.load(Ordering::Relaxed) || self.watch.stop() {
                let why = format!("stopped while {there} of {expected} participants were there");
                return Err(io::Error::new(io::ErrorKind::Interrupted, why));
            }
        }
    }
}

impl Elsewhere for Served {
    fn begin(&self, card: &RunCard, model: ModelShape) -> io::Result<Remote> {
        let is = |sheet: &RunSheet| {
            (&sheet.method, &sheet.parameters, sheet.seed) == (&card.method, &Value::Object(card.params.clone()), card.seed)
        };
        let agreed = RunSheet::of(&self.sheet, card.run as u32).filter(is);
        let sheet = agreed.ok_or_else(|| io::Error::other(format!("run {} is not what participants agreed to", card.run)))?;
        // Replies of another run are nobody's.
        let (spool, marker, name) = (self.folder.join(SPOOL), self.folder.join("run"), sheet.digest().to_string());
        if motet_files::read_text(&marker, 1 << 10).ok().as_deref() != Some(name.as_str()) {
            match fs::remove_dir_all(&spool) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => motet_files::replace(&marker, name.as_bytes())?,
            }
        }
        let spool = Box::new(FolderSpool::open(&spool)?);
        let desk = Desk::new(sheet.digest(), self.start, 0..self.names.len() as u32, spool, self.limits, Duration::ZERO);
        let office = self.service.begin(&sheet, desk);
        *self.office.borrow_mut() = Some(Arc::clone(&office));
        self.gather(&office)?;
        Ok(Remote::new(office, self.names.len() as u32, model, self.patience))
    }

    fn settled(&self, next_round: u64, heard: LastReplies) -> io::Result<()> {
        let Some(office) = &*self.office.borrow() else { return Ok(()) };
        office.keep(heard);
        office.desk().settled(next_round)
    }

    fn events(&self) -> Vec<Event> {
        let events = self.office.borrow().as_ref().map(|office| office.desk().events()).unwrap_or_default();
        let events = events.into_iter().map(|(client, event)| told(&event).about(client));
        let events: Vec<Event> = events.chain(self.counted.take()).collect();
        for event in &events {
            self.log.event(&self.names, event);
        }
        self.log.tell(&*self.watch);
        events
    }

    fn end(&self) {
        self.service.pause();
        let traffic = self.server.traffic();
        let now = [&traffic.down, &traffic.up].map(|bytes| bytes.load(Ordering::Relaxed));
        let before = self.before.replace(now);
        let Some(office) = &*self.office.borrow() else { return };
        let tallies: Vec<(u32, Tally)> = office.desk().tallies().collect();
        let [down, up] = [0, 1].map(|way| now[way] - before[way]);
        let measuring = tallies.iter().map(|(_, tally)| tally.measuring).sum();
        let wire = Attendance { down, up, measuring, ..Attendance::default() };
        let text = format!("on the wire: {up} bytes up, {down} bytes down; {measuring} of both were measurements");
        let mut counted = vec![Event::now(EventKind::Attended, text).with(wire)];
        counted.extend(tallies.into_iter().map(|(client, tally)| attended(&tally).about(client)));
        self.counted.borrow_mut().extend(counted);
    }
}

/// What a participant was asked and sent, as an event.
fn attended(tally: &Tally) -> Event {
    let &Tally { tasks, answered, waited, longest, down, up, measuring } = tally;
    let mean = waited.as_secs_f64() / answered.max(1) as f64;
    let text = format!(
        "answered {answered} of {tasks} asks, after {mean:.3} s on average and {:.3} s at most; {up} bytes of replies, {down} of asks",
        longest.as_secs_f64()
    );
    let [waited_us, longest_us] = [waited, longest].map(|time| time.as_micros() as u64);
    Event::now(EventKind::Attended, text).with(Attendance { tasks, answered, waited_us, longest_us, down, up, measuring })
}

pub(super) fn told(event: &LinkEvent) -> Event {
    let (kind, text) = match event {
        LinkEvent::Joined => (EventKind::Joined, "is there".to_owned()),
        LinkEvent::Left { reason } => (EventKind::Left, reason.clone()),
        LinkEvent::Deadline { .. } => (EventKind::Late, "did not answer in time".to_owned()),
        LinkEvent::Late { .. } => (EventKind::Late, "answered when nobody waited any more".to_owned()),
        LinkEvent::Lost { .. } => (EventKind::Lost, "no longer has the state that the run needs".to_owned()),
        LinkEvent::Declined { reason } => (EventKind::Refused, format!("refuses: {reason}")),
        LinkEvent::Struck { reason } => (EventKind::Breach, reason.clone()),
        LinkEvent::KnowsLaterStart { start } => {
            (EventKind::Note, format!("knows of start {start} of this coordinator, which must be an older copy"))
        }
        LinkEvent::Unkept { reason } => (EventKind::Note, format!("its reply cannot be kept here, and is sent again: {reason}")),
        LinkEvent::Revoked => (EventKind::Refused, "was revoked".to_owned()),
    };
    Event::now(kind, text)
}
