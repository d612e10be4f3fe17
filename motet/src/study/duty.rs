//! What an agent does for one run, and the log of what it sends.

use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use motet_core::{ClientId, Population, Seed, Vector, Wire};
use motet_files::replace;
use motet_link::{Agent, Consent, Ended, Limits, Line, Mark, Next, Outcome, RunSheet, TaskHead, TaskNumber, Work, random};
use motet_problems::Problem;
use motet_records::Utc;

use super::home::{Home, MODEL, SHEET};
use super::participant::JoinWatch;
use crate::catalogue::Catalogue;
use crate::error::Error;
use crate::session::{ClientGround, ClientHome};

/// How often an agent at work looks whether its certificate ends soon.
const BETWEEN_LOOKS: Duration = Duration::from_secs(12 * 3600);

/// What a run at an agent stands on.
pub(super) struct Duty<'a> {
    /// One of those that were agreed to.
    pub(super) sheet: &'a RunSheet,
    /// What the coordinator calls it.
    pub(super) label: &'a str,
    /// So many at most.
    pub(super) rounds: u64,
    pub(super) problem: &'a Problem,
    pub(super) client: u32,
    pub(super) consent: Consent,
}

impl Home {
    /// Works for one run until it is over.
    pub(super) fn work(&self, catalogue: &Catalogue, duty: &Duty<'_>, line: &mut Line, watch: &dyn JoinWatch) -> Result<(), Error> {
        let &Duty { sheet, label, rounds, problem, client, consent } = duty;
        let method = catalogue.read_method(&sheet.method, &sheet.parameters);
        let method =
            method.map_err(|e| self.odd(format!("the method {} of the study is not known here as it is written: {e:?}", sheet.method)))?;
        let folder = self.run_folder(sheet.digest());
        let unkept = |source| Error::Write { path: folder.clone(), source };
        fs::create_dir_all(&folder).and_then(|()| replace(&folder.join(SHEET), sheet.text().as_bytes())).map_err(unkept)?;
        let (model_file, failed) = (folder.join(MODEL), Arc::new(Mutex::new(None)));
        let noted = Arc::clone(&failed);
        let on_model = Box::new(move |model: Vector| {
            let mut bytes = Vec::with_capacity(model.bytes() as usize);
            model.encode(&mut bytes);
            if let Err(error) = replace(&model_file, &bytes) {
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        let population = Arc::clone(&problem.population) as Arc<dyn Population>;
        let home = ClientHome::Folder(&folder);
        let ground = ClientGround { client: ClientId(client), population, seed: Seed(sheet.seed), home, consent, on_model };
        let (work, mut mark) = method.at_agent(ground).map_err(unkept)?;
        if mark.newest.start > self.card.start {
            // A coordinator from an older copy was accepted: its tasks begin before those that were done.
            mark.newest = TaskNumber::default();
        }
        let about = format!("run {} ({label}, seed {})", sheet.run, sheet.seed);
        let logged = Logged { work, log: self.sent()?, about, rounds };
        let nonce = u64::from_le_bytes(random().map_err(unkept)?);
        let mut agent = Agent::start(logged, sheet.digest(), mark, nonce, Limits::default()).map_err(unkept)?;
        watch.say(&format!("run {}: {label}, seed {}", sheet.run, sheet.seed));
        let mut looked: Option<Instant> = None;
        let ended = loop {
            if watch.stop() {
                // Nobody need hear it: without a word the coordinator notices after a minute.
                let _ = line.call(agent.farewell("left, and may come back"));
                return Err(self.left());
            }
            // A run may last longer than a certificate.
            if looked.is_none_or(|looked| looked.elapsed() > BETWEEN_LOOKS) {
                looked = Some(Instant::now());
                if let Some(renewed) = self.renew(watch)? {
                    *line = renewed;
                }
            }
            let response = self.reach(watch, None, || line.call(agent.call()))?;
            let next = agent.hear(response).map_err(unkept)?;
            if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(unkept(error));
            }
            match next {
                Next::Now | Next::Poll => {}
                Next::After(pause) => thread::sleep(pause),
                Next::Ended(ended) => break ended,
            }
        };
        match ended {
            Ended::Over | Ended::OtherRun(_) => Ok(()),
            Ended::OlderStart { start, known } => Err(self.older(start, known)),
            other => Err(Error::Unknown(other.to_string())),
        }
    }
}

/// Writes down what leaves before it does.
struct Logged {
    work: Box<dyn Work>,
    log: File,
    about: String,
    /// So many were agreed to.
    rounds: u64,
}

impl Work for Logged {
    fn answer(&mut self, head: &TaskHead, begins_again: bool, ask: &[u8]) -> io::Result<Outcome> {
        let outcome = match head.is_probe || head.slot.round <= self.rounds {
            true => self.work.answer(head, begins_again, ask)?,
            false => Outcome::Declined(format!("round {} was not agreed to: a run has {} rounds", head.slot.round, self.rounds)),
        };
        let what = match (&outcome, head.is_probe) {
            (Outcome::Reply(reply), false) => format!("reply of {} bytes, SHA-256 {}", reply.bytes().len(), reply.hash()),
            (Outcome::Reply(reply), true) => format!("losses and metrics, {} bytes, SHA-256 {}", reply.bytes().len(), reply.hash()),
            (Outcome::Lost, _) => "a message that the requested state is not here".to_owned(),
            (Outcome::Declined(reason), _) => format!("a message that this agent refuses: {reason}"),
        };
        writeln!(self.log, "{} {}, round {}: {what}", Utc::now(), self.about, head.slot.round)?;
        Ok(outcome)
    }

    fn commit(&mut self, mark: Mark) -> io::Result<()> {
        self.work.commit(mark)
    }
}
