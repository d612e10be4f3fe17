//! A client that another system calls upon, for one letter at a time.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use motet_core::{ClientId, Population, Roster, Seed, Shard, StoreError, Vector, Wire, whole};
use motet_link::{Agent, Consent, Limits, Pocket, Response, RunSheet};
use motet_problems::Problem;

use crate::catalogue::Catalogue;
use crate::config::Experiment;
use crate::error::Error;
use crate::session::{ClientGround, ClientHome};

/// What a client brings.
pub enum Brought {
    /// A function of its own.
    Function(Box<Shard>),
    /// The problems of an experiment, which it builds where it is; it takes its own part of the data.
    Experiment(Box<Experiment>),
}

/// One client, wherever it is. It keeps nothing between two letters: what it has goes out as bytes, and comes back with the next.
pub struct CalledUpon {
    client: u32,
    brought: Brought,
    consent: Consent,
    built: Mutex<Option<Built>>,
}

/// The problem that was last built.
struct Built {
    place_in_grid: u32,
    seed: u64,
    problem: Arc<Problem>,
}

impl CalledUpon {
    /// Client number `client`.
    pub fn new(client: u32, brought: Brought, consent: Consent) -> Self {
        Self { client, brought, consent, built: Mutex::default() }
    }

    /// Where training starts on a problem, and how many clients there are as far as this one knows.
    pub fn greet(&self, problem: u32, seed: u64) -> Result<(Vector, Option<u32>), Error> {
        match &self.brought {
            Brought::Function(shard) => Ok((shard.train.start(), None)),
            Brought::Experiment(experiment) => {
                let built = self.problem(experiment, problem, seed)?;
                let clients = match built.population.roster() {
                    Roster::Counted(clients) => clients,
                    Roster::Listed(ids) => ids.len() as u32,
                    Roster::Unbounded => return Err(Error::Unknown("a population without end has no client of a number".into())),
                };
                Ok((built.start().into_owned(), Some(clients)))
            }
        }
    }

    /// Answers a letter. `kept` is what the last answer left, and empty before the first; gives what this one leaves, and what the
    /// client says. `on_model` is given the client's own model whenever a run is measured as a whole.
    pub fn answer(
        &self,
        catalogue: &Catalogue,
        sheet: &str,
        kept: Vec<u8>,
        letter: &[u8],
        on_model: Box<dyn FnMut(Vector) + Send>,
    ) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let odd = |what: &str, error: &dyn std::fmt::Display| Error::Unknown(format!("{what} cannot be read: {error}"));
        let sheet: RunSheet = serde_json::from_str(sheet).map_err(|e| odd("the sheet of the run", &e))?;
        let letter: Response = whole(letter).map_err(|e| odd("a letter", &e))?;
        let method = catalogue.read_method(&sheet.method, &sheet.parameters);
        let method = method.map_err(|e| odd(&format!("the method {} of the run", sheet.method), &format!("{e:?}")))?;
        let pocket = Pocket::with(sheet.digest(), kept);
        let ground = ClientGround {
            client: ClientId(self.client),
            population: self.population(&sheet)?,
            seed: Seed(sheet.seed),
            home: ClientHome::Pocket(pocket.clone()),
            consent: self.consent,
            on_model,
        };
        let failed = |error: std::io::Error| Error::Unknown(format!("client {}: {error}", self.client));
        let (work, mark) = method.at_agent(ground).map_err(failed)?;
        let limits = Limits { whole: u32::MAX as usize, ..Limits::default() };
        let mut agent = Agent::called_upon(work, sheet.digest(), mark, limits);
        agent.hear(letter).map_err(failed)?;
        let call = agent.call();
        let mut said = Vec::with_capacity(call.bytes() as usize);
        call.encode(&mut said);
        Ok((pocket.bytes(), said))
    }

    fn population(&self, sheet: &RunSheet) -> Result<Arc<dyn Population>, Error> {
        match &self.brought {
            Brought::Function(shard) => Ok(Arc::new(Alone { client: self.client, shard: (**shard).clone() })),
            Brought::Experiment(experiment) => Ok(Arc::clone(&self.problem(experiment, sheet.problem, sheet.seed)?.population) as _),
        }
    }

    fn problem(&self, experiment: &Experiment, problem: u32, seed: u64) -> Result<Arc<Problem>, Error> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = built.as_ref().filter(|last| (last.place_in_grid, last.seed) == (problem, seed)) {
            return Ok(Arc::clone(&last.problem));
        }
        let missing = || Error::Unknown(format!("the experiment of client {} has no problem {problem}: is it another one?", self.client));
        let config = &experiment.problems.get(problem as usize).ok_or_else(missing)?.config;
        let made = Problem::build(config, &experiment.document.folder, seed);
        let made = Arc::new(made.map_err(|source| Error::problem(&experiment.document, source))?);
        *built = Some(Built { place_in_grid: problem, seed, problem: Arc::clone(&made) });
        Ok(made)
    }
}

/// A client among strangers.
struct Alone {
    client: u32,
    shard: Shard,
}

impl Population for Alone {
    fn roster(&self) -> Roster {
        // Nobody here knows how many more there are.
        Roster::Counted(self.client + 1)
    }
    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        if client.0 == self.client {
            return Ok(Cow::Borrowed(&self.shard));
        }
        Err(StoreError { client: client.0, reason: "its data are on another machine".into() })
    }
}
