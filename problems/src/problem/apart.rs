//! Problems whose clients keep their data on machines of their own.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use motet_core::{ClientId, Population, Roster, Seed, Shard, StoreError, Vector};

use super::{Problem, Start};
use crate::data_folder::Folders;
use crate::data_summary::{ClientSummary, DataSummary};
use crate::dataset::{Examples, LARGEST};
use crate::dealt::Dealt;
use crate::error::ProblemError;
use crate::holdout::Parts;
use crate::identity::Identity;
use crate::problem_config::ProblemConfig;
use crate::schema::Schema;

impl Problem {
    /// The problem of a study whose data are elsewhere: its clients have these names, and nobody's rows are here.
    pub fn elsewhere(config: &ProblemConfig, clients: &[String], run: u64) -> Result<Self, ProblemError> {
        let schema = agreed(config)?;
        let model = config.model.as_ref().ok_or(ProblemError::Missing { section: "model", kind: config.source.name() })?;
        let seed = Seed(config.seed_of(run));
        let blank = schema.blank();
        let mut census = DataSummary::take(&[Parts::default()], 0, &blank, 0);
        let household = census.clients.remove(0);
        census.clients = clients.iter().map(|name| ClientSummary { name: Some(name.clone()), ..household.clone() }).collect();
        census.heterogeneity = None;
        let start = Start::Drawn(model.fitted(Arc::new(Examples::new(blank)?), seed)?);
        Ok(Self {
            on_demand: (0, 0),
            touched: None,
            about: format!("{} participants with {} features, {}", clients.len(), schema.features(), model.card().name),
            shards: Arc::default(),
            population: Arc::new(Elsewhere { clients: clients.len() as u32 }),
            unseen: 0,
            start,
            inputs: vec![],
            census,
            identity: Identity::default(),
            groups: vec![],
            liars: None,
            devices: None,
            preparation: None,
            memory_bytes: 0,
            shared_bytes: 0,
        })
    }

    /// The problem as a coordinator has it that knows of its clients only how many there are and where they start.
    pub fn of_strangers(about: String, clients: u32, start: Vector) -> Self {
        let mut census = DataSummary::of_functions(&[]);
        census.heterogeneity = None;
        Self {
            on_demand: (0, 0),
            touched: None,
            about,
            shards: Arc::default(),
            population: Arc::new(Elsewhere { clients }),
            unseen: 0,
            start: Start::Here(start),
            inputs: vec![],
            census,
            identity: Identity::default(),
            groups: vec![],
            liars: None,
            devices: None,
            preparation: None,
            memory_bytes: 0,
            shared_bytes: 0,
        }
    }

    /// The problem as one participant of a study has it: its own file, and nothing of the others. It is client `client` of `clients`.
    pub fn participant(config: &ProblemConfig, file: &Path, (client, clients): (u32, u32), run: u64) -> Result<Self, ProblemError> {
        let (dataset, fields, input) = agreed(config)?.material(file)?;
        if let Some((place, value)) = dataset.too_large() {
            let what = format!("{value:e} is too large to compute with (at most {LARGEST:e}): scale the numbers, or correct this one");
            return Err(ProblemError::Odd { file: input.name, place, what });
        }
        let mut dealt = Dealt::alone(dataset, vec![input], client, config, run)?;
        dealt.prepare(fields);
        let folders = Folders::beside(Path::new(""));
        let mut problem = Self::of_examples(config, dealt, &folders, run)?;
        problem.population = Arc::new(Participant { client, clients, shards: Arc::clone(&problem.shards) });
        Ok(problem)
    }
}

/// Clients whose data are on other machines.
struct Elsewhere {
    clients: u32,
}

impl Population for Elsewhere {
    fn roster(&self) -> Roster {
        Roster::Counted(self.clients)
    }
    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        Err(StoreError { client: client.0, reason: "its data are on another machine".into() })
    }
}

/// One client of many: the others' data are elsewhere.
struct Participant {
    client: u32,
    clients: u32,
    shards: Arc<Vec<Shard>>,
}

impl Population for Participant {
    fn roster(&self) -> Roster {
        Roster::Counted(self.clients)
    }
    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        match self.shards.first().filter(|_| client.0 == self.client) {
            Some(shard) => Ok(Cow::Borrowed(shard)),
            None => Err(StoreError { client: client.0, reason: "its data are on another machine".into() }),
        }
    }
}

/// The schema of a study, and that nothing is asked for which needs everybody's data in one place.
fn agreed(config: &ProblemConfig) -> Result<&Schema, ProblemError> {
    let schema = config.schema.as_ref().ok_or(ProblemError::Missing { section: "schema", kind: config.source.name() })?;
    let simulated = [
        ("unseen", config.unseen.is_some()),
        ("weights", config.weights.is_some()),
        ("byzantine", config.byzantine.is_some()),
        ("devices", config.devices.is_some()),
    ];
    if let Some((key, _)) = simulated.into_iter().find(|(_, given)| *given) {
        return Err(ProblemError::Value { key, value: "given".into(), wanted: "for simulations only: leave it out of a study".into() });
    }
    schema.check()?;
    Ok(schema)
}
