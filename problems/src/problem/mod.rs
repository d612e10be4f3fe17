//! Source → split → hold-out → clients.

mod apart;
mod stock;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::arranged::{Arranged, Facts, shared_bytes};
use motet_core::{ClientId, ModelShape, Population, Roster, Seed, Shard, StoreError, Vector};
use motet_records::{Input, ProblemCard};
use motet_runtime::{ByzantineClients, Devices};

use crate::data_folder::Folders;
use crate::data_summary::DataSummary;
use crate::dataset::Examples;
use crate::dealt::{Dealt, clients};
use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::identity::Identity;
use crate::model::Fitted;
use crate::on_demand::{OnDemand, Roll};
use crate::prepare::Preparation;
use crate::problem_config::ProblemConfig;
use crate::source::Material;
use crate::source::open::open;
use crate::weights::Weights;

pub(crate) use stock::raw;
use stock::{Stock, loaded};

/// Where runs start.
#[derive(Clone)]
enum Start {
    /// At these numbers.
    Here(Vector),
    /// At those that this model draws. They are drawn anew for whoever asks, so that they take no memory while a run goes on.
    Drawn(Arc<dyn Fitted>),
}

/// What runs work on: every client's function, held once and shared by all runs.
#[derive(Clone)]
pub struct Problem {
    /// One line: source, split, model.
    pub about: String,
    /// By client; empty if clients are made on demand.
    pub shards: Arc<Vec<Shard>>,
    /// All clients, as hosts take them.
    pub population: Arc<dyn Population>,
    /// How many further clients never train: the population has their data, but its roster does not name them.
    pub unseen: u32,
    start: Start,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// What each client has, in numbers.
    pub census: DataSummary,
    /// Which data, and whose.
    pub identity: Identity,
    /// Clients in each group, where the source knows groups.
    pub groups: Vec<u64>,
    /// The clients that lie.
    pub liars: Option<ByzantineClients>,
    /// What clients run on.
    pub devices: Option<Devices>,
    /// How fields of a table became features, where clients did that by themselves.
    pub preparation: Option<Arc<Preparation>>,
    /// About how much memory the data take.
    pub memory_bytes: u64,
    /// How much of that ranks of one machine hold once for all of them.
    pub shared_bytes: u64,
    /// Examples to train on, and to be judged on, of clients that are made when they are asked for.
    on_demand: (u64, u64),
    /// Those clients, where they have examples.
    touched: Option<Arc<OnDemand>>,
}

impl Problem {
    /// Builds what an experiment file describes. `base` is the folder of that file, and `run` the seed of
    /// the run, which matters only if the problem is drawn anew for each.
    pub fn build(config: &ProblemConfig, base: &Path, run: u64) -> Result<Self, ProblemError> {
        Self::build_from(config, &Folders::beside(base), run)
    }

    /// How many examples each client has, where that is known: empty for clients without examples and without end.
    pub fn sizes(&self) -> Vec<u64> {
        match &self.touched {
            Some(clients) => clients.rows().collect(),
            None => self.shards.iter().map(|shard| shard.train.samples() as u64).collect(),
        }
    }

    /// As [`Problem::build`], with the data folder given.
    pub fn build_from(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let folders = &folders.limited(FileLimit::new(config.file_gib));
        // What another rank of this machine has read and dealt is not read again.
        let shared = folders.shelf.as_ref().and_then(|shelf| Arranged::on(&shelf.taken()?));
        match shared {
            Some(arranged) => Self::of_arranged(config, arranged, folders, run)?.finished(config),
            None => Self::of_material(config, loaded(config, folders, run)?, folders, run),
        }
    }

    /// The same with what the source gave.
    pub(crate) fn of_material(config: &ProblemConfig, material: Material, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let stock = Stock::of(config, material, run)?;
        if let (Some(shelf), false) = (&folders.shelf, matches!(stock, Stock::Examples(_))) {
            shelf.pass();
        }
        let problem = match stock {
            Stock::Functions { shards, start } => Self::of_functions(config, shards, start),
            Stock::Population { population, start } => Self::of_population(config, population, start),
            Stock::Clients { roll, inputs } => Self::of_clients(config, roll, inputs, folders, Seed(config.seed_of(run))),
            Stock::Examples(dealt) => Self::of_examples(config, *dealt, folders, run),
        }?;
        problem.finished(config)
    }

    /// With the start that was given and the liars that were asked for.
    fn finished(mut self, config: &ProblemConfig) -> Result<Self, ProblemError> {
        if let Some(Weights::Vector(start)) = &config.weights {
            self = self.starting_at(start.clone())?;
        }
        let clients = if let Roster::Counted(clients) = self.population.roster() { clients as usize } else { 0 };
        match config.byzantine {
            Some(liars) if liars.first as usize + liars.count as usize > clients => {
                let value = format!("{{ first = {}, count = {} }}", liars.first, liars.count);
                Err(ProblemError::Value {
                    key: "byzantine",
                    value,
                    wanted: format!("there are clients 0 to {}", clients.saturating_sub(1)),
                })
            }
            Some(liars) => {
                self.about.push_str(&format!(", {} liars ({})", liars.count, liars.attack.name()));
                Ok(self)
            }
            None => Ok(self),
        }
    }

    /// Where runs start unless the method says otherwise.
    pub fn start(&self) -> Cow<'_, Vector> {
        match &self.start {
            Start::Here(start) => Cow::Borrowed(start),
            Start::Drawn(model) => Cow::Owned(model.start()),
        }
    }

    /// Lets runs start at this vector. Local solves still begin where the model says.
    ///
    /// ```
    /// use motet_core::Vector;
    /// use motet_problems::{Holdout, LabelledRows};
    /// let data = LabelledRows::flat(1, vec![1.0, 2.0]).numbers(vec![2.0, 4.0]).clients(vec!["a", "b"]).check()?;
    /// let problem = data.problem(serde_json::from_str(r#"{"kind": "ridge"}"#)?, Holdout::default(), 1)?;
    /// assert_eq!(problem.clone().starting_at(Vector::from(vec![2.0]))?.start().at(0), 2.0);
    /// assert!(problem.starting_at(Vector::from(vec![2.0, 3.0])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn starting_at(self, start: Vector) -> Result<Self, ProblemError> {
        let (found, wanted) = (ModelShape::of(&start), ModelShape::of(&self.start()));
        if found != wanted {
            let [found_bits, wanted_bits] = [found, wanted].map(|shape| shape.precision.bits());
            return Err(ProblemError::Start { found: found.dim, found_bits, wanted: wanted.dim, wanted_bits });
        }
        if let Some(at) = (0..start.len()).find(|&at| !start.at(at).is_finite()) {
            return Err(ProblemError::StartNotFinite { at, value: start.at(at) });
        }
        let inputs = [self.inputs, Weights::from(start.clone()).input().into_iter().collect()].concat();
        Ok(Self { start: Start::Here(start), inputs, ..self })
    }

    /// What clients are called, by number; empty where the source does not know it.
    pub fn client_names(&self) -> Vec<String> {
        match &self.touched {
            Some(clients) => clients.names(),
            None => self.census.clients.iter().map(|client| client.name.clone()).collect::<Option<_>>().unwrap_or_default(),
        }
    }

    /// How fields of a table became features. Where clients are read when they are asked for, everybody is read for it.
    pub fn prepared(&self) -> Result<Option<Arc<Preparation>>, ProblemError> {
        match &self.touched {
            Some(clients) => Ok(clients.preparation()?.map(Arc::new)),
            None => Ok(self.preparation.clone()),
        }
    }

    /// The clients who never train.
    pub fn unseen_ids(&self) -> Vec<ClientId> {
        let first = self.shards.len() as u32;
        (first..first + self.unseen).map(ClientId).collect()
    }

    /// The problem in numbers. The constants are computed when first asked for.
    pub fn card(&self) -> ProblemCard {
        let constants: Vec<_> = self.shards.iter().map(|shard| shard.train.constants()).collect();
        ProblemCard {
            about: self.about.clone(),
            clients: match self.population.roster() {
                Roster::Listed(ids) => ids.len() as u64,
                Roster::Counted(n) => n.into(),
                Roster::Unbounded => 0,
            },
            dim: self.start().len() as u64,
            examples: self.on_demand.0 + self.shards.iter().map(|shard| shard.train.samples() as u64).sum::<u64>(),
            tested: self.on_demand.1
                + self.shards.iter().filter_map(|shard| shard.test_evaluator.as_ref()).map(|test| test.examples() as u64).sum::<u64>(),
            data: self.identity.data.clone(),
            people: self.identity.people.clone(),
            smoothness: range(constants.iter().map(|c| c.smoothness)),
            convexity: range(constants.iter().map(|c| c.convexity)),
            groups: self.groups.clone(),
        }
    }

    fn of_functions(config: &ProblemConfig, shards: Vec<Shard>, start: Vector) -> Result<Self, ProblemError> {
        if config.model.is_some() {
            return Err(ProblemError::Superfluous { section: "model", kind: config.source.name() });
        }
        let samples: usize = shards.iter().map(|shard| shard.train.samples()).sum();
        let census = DataSummary::of_functions(&shards);
        let memory_bytes = (samples * start.len() * size_of::<f64>()) as u64;
        let shards = Arc::new(shards);
        Ok(Self {
            about: config.source.name().into(),
            unseen: 0,
            population: Arc::<Vec<Shard>>::clone(&shards),
            shards,
            start: Start::Here(start),
            inputs: Vec::new(),
            census,
            identity: Identity::default(),
            groups: config.source.groups(),
            liars: config.byzantine,
            devices: config.devices,
            preparation: None,
            memory_bytes,
            shared_bytes: 0,
            on_demand: (0, 0),
            touched: None,
        })
    }

    fn of_population(config: &ProblemConfig, population: Arc<dyn Population>, start: Vector) -> Result<Self, ProblemError> {
        let kind = config.source.name();
        if config.model.is_some() {
            return Err(ProblemError::Superfluous { section: "model", kind });
        }
        let about = match population.roster() {
            Roster::Unbounded => format!("{kind}, clients without end"),
            _ => format!("{kind}, clients made on demand"),
        };
        let census = DataSummary { features: start.len() as u64, ..DataSummary::of_functions(&[]) };
        Ok(Self {
            about,
            shards: Arc::default(),
            unseen: 0,
            population,
            start: Start::Here(start),
            inputs: Vec::new(),
            census,
            identity: Identity::default(),
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            preparation: None,
            memory_bytes: 0,
            shared_bytes: 0,
            on_demand: (0, 0),
            touched: None,
        })
    }

    fn of_clients(config: &ProblemConfig, roll: Roll, mut inputs: Vec<Input>, folders: &Folders, seed: Seed) -> Result<Self, ProblemError> {
        let kind = config.source.name();
        let model = config.model.as_ref().ok_or(ProblemError::Missing { section: "model", kind })?;
        let file = inputs.first().map_or_else(|| kind.to_string(), |input| format!("{} ({kind})", input.name));
        let way = if inputs.is_empty() { "made" } else { "read" };
        let mut about = format!("{file}, clients {way} on demand, {}", model.card().name);
        let (outline, on_demand) = (roll.outline(), roll.counts()?);
        let census = DataSummary::uncounted(&outline);
        census.notes.iter().for_each(|note| about.push_str(&format!("; {note}")));
        // Everyone keeps its own: who has how many tells them apart.
        let identity = Identity::of(&config.source, &inputs, seed, std::iter::once(roll.rows().collect()));
        let mut fitted = model.fitted(Arc::new(Examples::new(outline)?), seed)?;
        inputs.extend(begin(&mut fitted, config.weights.as_ref(), folders)?);
        let start = fitted.start();
        let memory_bytes = index_bytes(&roll);
        let clients = Arc::new(OnDemand::new(roll, fitted));
        Ok(Self {
            about,
            shards: Arc::default(),
            unseen: 0,
            touched: Some(Arc::clone(&clients)),
            population: clients,
            start: Start::Here(start),
            inputs,
            census,
            identity,
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            preparation: None,
            memory_bytes,
            shared_bytes: 0,
            on_demand,
        })
    }

    fn of_examples(config: &ProblemConfig, dealt: Dealt, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let arranged = Arranged::of(dealt, config, Seed(config.seed_of(run)));
        let arranged = match &folders.shelf {
            Some(shelf) => arranged.laid_on(shelf),
            None => arranged,
        };
        Self::of_arranged(config, arranged, folders, run)
    }

    fn of_arranged(config: &ProblemConfig, arranged: Arranged, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let kind = config.source.name();
        let model = config.model.as_ref().ok_or(ProblemError::Missing { section: "model", kind })?;
        let Arranged { facts, dataset } = arranged;
        let Facts { split, census, identity, mut inputs, preparation, unseen: count, sizes, memory_bytes } = facts;
        let file = inputs.first().map_or_else(|| kind.to_string(), |input| format!("{} ({kind})", input.name));
        let mut about = format!("{file}, {split} split, {}", model.card().name);
        census.notes.iter().for_each(|note| about.push_str(&format!("; {note}")));
        let shared_bytes = shared_bytes(&dataset.features);
        let mut fitted = model.fitted(Arc::new(Examples::new(dataset)?), Seed(config.seed_of(run)))?;
        inputs.extend(begin(&mut fitted, config.weights.as_ref(), folders)?);
        let start = fitted.start();
        let mut shards = clients(&*fitted, &sizes);
        let unseen = shards.split_off(shards.len() - count);
        let shards = Arc::new(shards);
        Ok(Self {
            about,
            unseen: unseen.len() as u32,
            population: Arc::new(Known { shards: Arc::clone(&shards), unseen }),
            shards,
            start: Start::Here(start),
            inputs,
            census,
            identity,
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            preparation: preparation.map(Arc::new),
            memory_bytes,
            shared_bytes,
            on_demand: (0, 0),
            touched: None,
        })
    }
}

/// About what is held of clients before any is asked for: where each one's examples begin, and of those in files a name and a place.
fn index_bytes(roll: &Roll) -> u64 {
    const PLACE: u64 = 120;
    let named: u64 = roll.names().iter().map(|name| PLACE + name.len() as u64).sum();
    named + 8 * u64::from(roll.clients)
}

/// Lets a model that was just made start at these weights; what was read for it.
fn begin(fitted: &mut Arc<dyn Fitted>, weights: Option<&Weights>, folders: &Folders) -> Result<Option<Input>, ProblemError> {
    let fitted = Arc::get_mut(fitted).expect("the model was just made");
    match weights {
        Some(Weights::File(path)) if !path.as_os_str().is_empty() => {
            let file = open(&folders.find(path)?, folders.limit)?;
            fitted.start_at(&file.text)?;
            Ok(Some(file.input))
        }
        Some(weights @ Weights::Bytes(bytes)) => {
            fitted.start_at(bytes)?;
            Ok(weights.input().ok())
        }
        // A vector is no matter of the model: `starting_at` sees to it.
        Some(Weights::File(_) | Weights::Vector(_)) | None => Ok(None),
    }
}

/// Clients 0..n, and after them those who never train.
struct Known {
    shards: Arc<Vec<Shard>>,
    unseen: Vec<Shard>,
}

impl Population for Known {
    fn roster(&self) -> Roster {
        Roster::Counted(self.shards.len() as u32)
    }
    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        let number = client.0 as usize;
        let found = self.shards.get(number).or_else(|| self.unseen.get(number - self.shards.len()));
        found.map(Cow::Borrowed).ok_or_else(|| StoreError::unknown(client))
    }
}

/// Least, mean and most, if all are known.
fn range(values: impl Iterator<Item = Option<f64>>) -> Option<[f64; 3]> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &v| (least.min(v), most.max(v)));
    (!values.is_empty()).then(|| [least, values.iter().sum::<f64>() / values.len() as f64, most])
}
