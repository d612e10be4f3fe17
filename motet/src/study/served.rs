//! The clients of a study, as the experiment's runs reach them.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use motet_core::LastReplies;
use motet_link::{Desk, FolderSpool, Limits, Office, Remote, RunSheet, Server, Service, StudySheet, Tally};
use motet_records::{Attendance, Event, EventKind, RunCard};
use serde_json::Value;

use super::coordinator::StudyWatch;
use super::diary::Diary;
use super::log::{Log, LogLevel};
use crate::simulate::{Elsewhere, Outset};

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
    /// Of the run under way.
    pub(super) diary: RefCell<Option<Rc<Diary>>>,
    pub(super) watch: Rc<dyn StudyWatch>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) log: Log,
    /// What had gone over the wire before the run under way.
    pub(super) before: Cell<[u64; 2]>,
}

impl Served {
    /// Waits until everyone who is invited is there. Where a deadline says that the study can do without some, only its first run
    /// waits for them.
    fn gather(&self, diary: &Diary, quorum: f64, first: bool) -> io::Result<()> {
        let (office, mut named) = (&diary.office, vec![]);
        loop {
            let expected = self.service.everyone().iter().filter(|member| !member.revoked).count();
            let enough = if first || self.patience.is_none() { expected } else { ((quorum * expected as f64).ceil() as usize).max(1) };
            let there = office.wait_for(enough, Duration::from_millis(500));
            let missing = self.missing(office);
            diary.keep();
            if there >= enough {
                if !missing.is_empty() {
                    self.say(&format!("the run begins without {}", listed(&missing)));
                }
                return Ok(());
            }
            self.watch.waiting(there, expected);
            if named != missing {
                self.say(&format!("waiting for {}", listed(&missing)));
                named = missing;
            }
            if diary.stop() {
                let why = format!("stopped while {there} of {expected} participants were there");
                return Err(io::Error::new(io::ErrorKind::Interrupted, why));
            }
        }
    }

    /// The names of those who take part and are not there.
    fn missing(&self, office: &Office) -> Vec<String> {
        let there: Vec<u32> = office.desk().seen().collect();
        let members = self.service.everyone().into_iter().zip(0..);
        members.filter(|(member, client)| !member.revoked && !there.contains(client)).map(|(member, _)| member.name).collect()
    }

    fn say(&self, what: &str) {
        self.log.line(LogLevel::Events, || what.to_owned());
        self.log.tell(&*self.watch);
    }
}

/// Names, as many as can be read.
fn listed(names: &[String]) -> String {
    const MOST: usize = 10;
    match names.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}

impl Elsewhere for Served {
    fn begin(&self, card: &RunCard, Outset { model, quorum, journal }: Outset) -> io::Result<Remote> {
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
        let diary = Rc::new(Diary {
            run: card.run,
            office: Arc::clone(&office),
            names: self.names.clone(),
            watch: Rc::clone(&self.watch),
            stop: Arc::clone(&self.stop),
            log: self.log.clone(),
            journal,
            pages: RefCell::default(),
        });
        let first_here = self.diary.replace(Some(Rc::clone(&diary))).is_none();
        self.gather(&diary, quorum, first_here && self.start == 1)?;
        if !first_here {
            office.desk().expect_nobody_else();
        }
        let look = move || {
            diary.keep();
            diary.stop()
        };
        Ok(Remote::new(office, self.names.len() as u32, model, self.patience).watched(self.names.clone(), Box::new(look)))
    }

    fn settled(&self, next_round: u64, heard: LastReplies) -> io::Result<()> {
        let Some(diary) = &*self.diary.borrow() else { return Ok(()) };
        diary.keep();
        diary.office.keep(heard);
        diary.office.desk().settled(next_round)
    }

    fn events(&self, record: &mut dyn FnMut(&Event) -> io::Result<()>) -> io::Result<Vec<Event>> {
        let Some(diary) = &*self.diary.borrow() else { return Ok(vec![]) };
        diary.taken(record)
    }

    fn end(&self) {
        self.service.pause();
        let traffic = self.server.traffic();
        let now = [&traffic.down, &traffic.up].map(|bytes| bytes.load(Ordering::Relaxed));
        let before = self.before.replace(now);
        let Some(diary) = &*self.diary.borrow() else { return };
        let tallies: Vec<(u32, Tally)> = diary.office.desk().tallies().collect();
        let [down, up] = [0, 1].map(|way| now[way] - before[way]);
        let measuring = tallies.iter().map(|(_, tally)| tally.measuring).sum();
        let wire = Attendance { down, up, measuring, ..Attendance::default() };
        let text = format!("on the wire: {up} bytes up, {down} bytes down; {measuring} of both were measurements");
        let mut counted = vec![Event::now(EventKind::Attended, text).with(wire)];
        counted.extend(tallies.into_iter().map(|(client, tally)| attended(&tally).about(client)));
        diary.say(counted.into_iter().map(|event| event.in_run(diary.run)).collect());
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
