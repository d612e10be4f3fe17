//! Experiments whose clients another system reaches: it carries letters to and fro, and knows nothing of what is in them.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use motet_core::{Abort, LastReplies, Vector};
use motet_link::{Desk, Digest, Limits, MemorySpool, Office, Remote, RunSheet, random};
use motet_problems::{Problem, ProblemConfig, ProblemError};
use motet_records::{Event, RunCard};
use serde_json::Value;

use super::decided_by_nobody;
use super::diary::told;
use crate::config::Experiment;
use crate::error::Error;
use crate::simulate::{Elsewhere, Outset, Simulation};

/// What carries letters between a run and its clients. A letter may be lost, doubled or late.
pub trait Post: Send + Sync {
    /// Where everybody starts on a problem of the experiment, by its place in a grid, as a run with this seed draws it. In words, why
    /// not.
    fn start(&self, problem: u32, seed: u64) -> Result<Vector, String>;
    /// Takes the letters of open tasks and brings what was said, together with the sheet of the run; comes back after a while
    /// also with nothing.
    fn carry(&self, office: &Arc<Office>, sheet: &str) -> Result<(), Abort>;
}

/// An experiment with so many clients, each of which a [`CalledUpon`](super::CalledUpon) answers for.
pub fn carried(experiment: Experiment, clients: u32, post: Arc<dyn Post>) -> Result<Simulation, Error> {
    decided_by_nobody(&experiment)?;
    not_simulated(&experiment)?;
    let draws = draws(&experiment);
    let built = Cell::new(0);
    // Problems are built in the order of their numbers.
    let build = |config: &ProblemConfig, _: u64| -> Result<Problem, ProblemError> {
        let (problem, seed) = draws[built.replace(built.get() + 1)];
        let unknown = |wanted| ProblemError::Value { key: "source", value: config.source.name().into(), wanted };
        let start = post.start(problem, seed).map_err(unknown)?;
        Ok(Problem::of_strangers(format!("{clients} clients elsewhere"), clients, start))
    };
    Simulation::between_machines(experiment, build, |_| {
        // Clients forget what they had in an earlier study of the same experiment.
        let study: [u8; 16] = random().map_err(|source| Error::Write { path: "the study's name".into(), source })?;
        let study = Digest::of(&study).to_string();
        Ok(Carried { post: Arc::clone(&post), clients, study, draws: draws.clone(), office: RefCell::default() })
    })
}

/// (place in the grid of problems, seed) of every problem that an experiment builds, in the order of its manifest.
pub(super) fn draws(experiment: &Experiment) -> Vec<(u32, u64)> {
    let mut found = vec![];
    for (place, variant) in experiment.problems.iter().enumerate() {
        let mut drawn = vec![];
        for &seed in &experiment.seeds {
            let draw = variant.config.draw_of(seed);
            if !drawn.contains(&draw) {
                drawn.push(draw);
                found.push((place as u32, seed));
            }
        }
    }
    found
}

/// Refuses what only a simulation has.
fn not_simulated(experiment: &Experiment) -> Result<(), Error> {
    for config in experiment.problems.iter().map(|variant| &variant.config) {
        let simulated =
            [("byzantine", config.byzantine.is_some()), ("devices", config.devices.is_some()), ("unseen", config.unseen.is_some())];
        if let Some((key, _)) = simulated.into_iter().find(|(_, given)| *given) {
            let reason = "is for simulations only: leave it out where clients are elsewhere".to_owned();
            return Err(Error::Unsuited { file: experiment.document.file.clone(), key: format!("problem.{key}"), reason });
        }
    }
    Ok(())
}

struct Carried {
    post: Arc<dyn Post>,
    clients: u32,
    study: String,
    draws: Vec<(u32, u64)>,
    /// Of the run under way, with its number.
    office: RefCell<Option<(usize, Arc<Office>)>>,
}

impl Elsewhere for Carried {
    fn begin(&self, card: &RunCard, Outset { model, .. }: Outset) -> io::Result<Remote> {
        let sheet = RunSheet {
            study: self.study.clone(),
            run: card.run as u32,
            method: card.method.clone(),
            parameters: Value::Object(card.params.clone()),
            problem: self.draws[card.problem].0,
            seed: card.seed,
        };
        // Letters are whole. Who is there is the other system's matter: whoever was asked is waited for.
        let limits = Limits { whole: u32::MAX as usize, lease: Duration::from_secs(u64::from(u32::MAX)), ..Limits::default() };
        let desk = Desk::new(sheet.digest(), 1, 0..self.clients, Box::new(MemorySpool::default()), limits, Duration::ZERO);
        let (post, text) = (Arc::clone(&self.post), sheet.text());
        let office = Office::with_courier(desk, Box::new(move |office| post.carry(office, &text)));
        *self.office.borrow_mut() = Some((card.run, Arc::clone(&office)));
        Ok(Remote::new(office, self.clients, model, None))
    }

    fn settled(&self, next_round: u64, heard: LastReplies) -> io::Result<()> {
        let Some((_, office)) = &*self.office.borrow() else { return Ok(()) };
        office.keep(heard);
        office.desk().settled(next_round)
    }

    fn events(&self, record: &mut dyn FnMut(&Event) -> io::Result<()>) -> io::Result<Vec<Event>> {
        let Some((run, office)) = &*self.office.borrow() else { return Ok(vec![]) };
        let events: Vec<Event> = office.events().into_iter().map(|(time, noted)| told(time, noted).in_run(*run)).collect();
        events.iter().try_for_each(record)?;
        Ok(events)
    }

    fn end(&self) {}
}
