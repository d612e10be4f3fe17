//! The clients of a study, as the experiment's runs reach them.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use motet_core::{LastReplies, ModelShape};
use motet_link::{Desk, Event as LinkEvent, FolderSpool, Limits, Office, Remote, RunSheet, Server, Service};
use motet_records::{Event, EventKind, RunCard};
use serde_json::Value;

use super::coordinator::StudyWatch;
use crate::simulate::Elsewhere;

/// A study that is under way.
pub(super) struct Served {
    /// `DIR/serve`
    pub(super) folder: PathBuf,
    pub(super) service: Arc<Service>,
    pub(super) server: Rc<Server>,
    /// SHA-256 of the study's sheet.
    pub(super) study: String,
    pub(super) start: u32,
    pub(super) limits: Limits,
    pub(super) patience: Option<Duration>,
    pub(super) clients: u32,
    pub(super) office: RefCell<Option<Arc<Office>>>,
    pub(super) watch: Rc<dyn StudyWatch>,
    pub(super) stop: Arc<AtomicBool>,
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
            if self.stop.load(Ordering::Relaxed) || self.watch.stop() {
                let why = format!("stopped while {there} of {expected} participants were there; go on with motet serve --resume");
                return Err(io::Error::new(io::ErrorKind::Interrupted, why));
            }
        }
    }
}

impl Elsewhere for Served {
    fn begin(&self, card: &RunCard, model: ModelShape) -> io::Result<Remote> {
        let sheet = RunSheet {
            study: self.study.clone(),
            run: card.run as u32,
            method: card.method.clone(),
            parameters: Value::Object(card.params.clone()),
            problem: card.problem as u32,
            seed: card.seed,
        };
        // Replies of another run are nobody's.
        let (spool, marker, name) = (self.folder.join("spool"), self.folder.join("run"), sheet.digest().to_string());
        if motet_files::read_text(&marker, 1 << 10).ok().as_deref() != Some(name.as_str()) {
            match fs::remove_dir_all(&spool) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => motet_files::replace(&marker, name.as_bytes())?,
            }
        }
        let spool = Box::new(FolderSpool::open(&spool)?);
        let desk = Desk::new(sheet.digest(), self.start, 0..self.clients, spool, self.limits, Duration::ZERO);
        let office = self.service.begin(&sheet, desk);
        *self.office.borrow_mut() = Some(Arc::clone(&office));
        self.gather(&office)?;
        Ok(Remote::new(office, self.clients, model, self.patience))
    }

    fn settled(&self, next_round: u64, heard: LastReplies) -> io::Result<()> {
        let Some(office) = &*self.office.borrow() else { return Ok(()) };
        office.keep(heard);
        office.desk().settled(next_round)
    }

    fn events(&self) -> Vec<Event> {
        let events = self.office.borrow().as_ref().map(|office| office.desk().events()).unwrap_or_default();
        events.into_iter().map(|(client, event)| told(&event).about(client)).collect()
    }

    fn end(&self) {
        self.service.pause();
        let traffic = self.server.traffic();
        let [down, up] = [&traffic.down, &traffic.up].map(|bytes| bytes.load(Ordering::Relaxed));
        self.watch.notice(crate::observer::Event::Note(&format!("on the wire since the start: {up} bytes up, {down} bytes down")));
    }
}

fn told(event: &LinkEvent) -> Event {
    let (kind, text) = match event {
        LinkEvent::Joined => (EventKind::Joined, "is there".to_owned()),
        LinkEvent::Left { reason } => (EventKind::Left, reason.clone()),
        LinkEvent::Deadline { .. } => (EventKind::Late, "did not answer in time".to_owned()),
        LinkEvent::Late { .. } => (EventKind::Late, "answered when nobody waited any more".to_owned()),
        LinkEvent::Lost { .. } => (EventKind::Lost, "no longer has the state that the run needs".to_owned()),
        LinkEvent::Declined { reason } => (EventKind::Refused, format!("will not: {reason}")),
        LinkEvent::Struck { reason } => (EventKind::Breach, reason.clone()),
        LinkEvent::KnowsLaterStart { start } => {
            (EventKind::Note, format!("knows of start {start} of this coordinator, which must be an older copy"))
        }
        LinkEvent::Revoked => (EventKind::Refused, "was revoked".to_owned()),
    };
    Event::now(kind, text)
}
