//! Source → split → hold-out → clients.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use motet_core::{ClientId, Population, Roster, Seed, Shard, StoreError, Vector};
use motet_records::{Input, ProblemCard};
use motet_runtime::{ByzantineClients, Devices};

use crate::album::Album;
use crate::data_folder::Folders;
use crate::data_summary::{ClientSummary, DataSummary};
use crate::dataset::{Dataset, Examples, LARGEST};
use crate::dealt::{Dealt, clients};
use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::holdout::Parts;
use crate::identity::Identity;
use crate::model::Fitted;
use crate::on_demand::{ClientExamples, Holding, OnDemand, Roll, affordable_rows, gathered};
use crate::prepare::{Field, Preparation};
use crate::problem_config::ProblemConfig;
use crate::schema::Schema;
use crate::source::open::open;
use crate::source::{Material, Place, Table, affordable_clients};
use crate::split::{Natural, Split};
use crate::weights::Weights;

/// What runs work on: every client's function, held once and shared by all runs.
#[derive(Clone)]
pub struct Problem {
    /// One line: source, split, model.
    pub about: String,
    /// By client; empty if clients are made on demand.
    pub shards: Arc<Vec<Shard>>,
    /// All clients, as hosts take them.
    pub population: Arc<dyn Population>,
    /// So many clients after those never train: the population has their data, its roster does not name them.
    pub unseen: u32,
    /// Where runs start unless the method says otherwise.
    pub start: Vector,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// Who has what.
    pub census: DataSummary,
    /// Which data, and whose.
    pub identity: Identity,
    /// Clients in each group, where the source knows groups.
    pub groups: Vec<u64>,
    /// Clients that lie.
    pub liars: Option<ByzantineClients>,
    /// What clients run on.
    pub devices: Option<Devices>,
    /// How fields of a table became features, where clients did that by themselves.
    pub preparation: Option<Arc<Preparation>>,
    /// About how much memory the data take.
    pub memory_bytes: u64,
    /// Examples to train on, and to be judged on, of clients that are made when they are asked for.
    on_demand: (u64, u64),
}

impl Problem {
    /// Builds what an experiment file describes. `base` is the folder of that file, and `run` the seed of
    /// the run, which matters only if the problem is drawn anew for each.
    pub fn build(config: &ProblemConfig, base: &Path, run: u64) -> Result<Self, ProblemError> {
        Self::build_from(config, &Folders::beside(base), run)
    }

    /// As [`Problem::build`], with the data folder given.
    pub fn build_from(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let folders = &folders.limited(FileLimit::new(config.file_gib));
        Self::of_material(config, loaded(config, folders, run)?, folders, run)
    }

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
        let start = model.fitted(Arc::new(Examples::new(blank)?), seed)?.start();
        Ok(Self {
            on_demand: (0, 0),
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
        })
    }

    /// The problem as one participant of a study has it: its own file, and nothing of the others. It is client `client` of `clients`.
    pub fn participant(config: &ProblemConfig, file: &Path, (client, clients): (u32, u32), run: u64) -> Result<Self, ProblemError> {
        let (dataset, fields, input) = agreed(config)?.material(file)?;
        if let Some((place, value)) = dataset.too_large() {
            let what = format!("{value:e} is too large to count with, {LARGEST:e} being the most: scale the numbers, or mend this one");
            return Err(ProblemError::Odd { file: input.name, place, what });
        }
        let mut dealt = Dealt::alone(dataset, vec![input], client, config, run)?;
        dealt.prepare(fields);
        let folders = Folders::beside(Path::new(""));
        let mut problem = Self::of_examples(config, dealt, &folders, Seed(config.seed_of(run)))?;
        problem.population = Arc::new(Participant { client, clients, shards: Arc::clone(&problem.shards) });
        Ok(problem)
    }

    /// The same with what the source gave.
    pub(crate) fn of_material(config: &ProblemConfig, material: Material, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let mut problem = match Stock::of(config, material, run)? {
            Stock::Functions { shards, start } => Self::of_functions(config, shards, start),
            Stock::Population { population, start } => Self::of_population(config, population, start),
            Stock::Clients { roll, inputs } => Self::of_clients(config, roll, inputs, folders, Seed(config.seed_of(run))),
            Stock::Examples(dealt) => Self::of_examples(config, *dealt, folders, Seed(config.seed_of(run))),
        }?;
        if let Some(Weights::Vector(start)) = &config.weights {
            problem = problem.starting_at(start.clone())?;
        }
        let clients = if let Roster::Counted(clients) = problem.population.roster() { clients as usize } else { 0 };
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
                problem.about.push_str(&format!(", {} liars ({})", liars.count, liars.attack.name()));
                Ok(problem)
            }
            None => Ok(problem),
        }
    }

    /// The same, with runs that start at this vector. Local solves still begin where the model says.
    ///
    /// ```
    /// use motet_core::Vector;
    /// use motet_problems::{Holdout, LabelledRows};
    /// let data = LabelledRows::flat(1, vec![1.0, 2.0]).numbers(vec![2.0, 4.0]).clients(vec!["a", "b"]).check()?;
    /// let problem = data.problem(serde_json::from_str(r#"{"kind": "ridge"}"#)?, Holdout::default(), 1)?;
    /// assert_eq!(problem.clone().starting_at(Vector::from(vec![2.0]))?.start.at(0), 2.0);
    /// assert!(problem.starting_at(Vector::from(vec![2.0, 3.0])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn starting_at(self, start: Vector) -> Result<Self, ProblemError> {
        let (found, wanted) = ((start.len(), start.precision()), (self.start.len(), self.start.precision()));
        if found != wanted {
            let ((found, found_bits), (wanted, wanted_bits)) = ((found.0, found.1.bits()), (wanted.0, wanted.1.bits()));
            return Err(ProblemError::Start { found, found_bits, wanted, wanted_bits });
        }
        if let Some(at) = (0..start.len()).find(|&at| !start.at(at).is_finite()) {
            return Err(ProblemError::StartNotFinite { at, value: start.at(at) });
        }
        let inputs = [self.inputs, Weights::from(start.clone()).input().into_iter().collect()].concat();
        Ok(Self { start, inputs, ..self })
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
            dim: self.start.len() as u64,
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
            start,
            inputs: Vec::new(),
            census,
            identity: Identity::default(),
            groups: config.source.groups(),
            liars: config.byzantine,
            devices: config.devices,
            preparation: None,
            memory_bytes,
            on_demand: (0, 0),
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
            start,
            inputs: Vec::new(),
            census,
            identity: Identity::default(),
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            preparation: None,
            memory_bytes: 0,
            on_demand: (0, 0),
        })
    }

    fn of_clients(config: &ProblemConfig, roll: Roll, mut inputs: Vec<Input>, folders: &Folders, seed: Seed) -> Result<Self, ProblemError> {
        let kind = config.source.name();
        let model = config.model.as_ref().ok_or(ProblemError::Missing { section: "model", kind })?;
        let file = inputs.first().map_or_else(|| kind.to_string(), |input| format!("{} ({kind})", input.name));
        let about = format!("{file}, clients made on demand, {}", model.card().name);
        let (outline, on_demand) = (roll.outline(), roll.counts()?);
        let census = DataSummary::uncounted(&outline);
        // Everyone keeps its own: who has how many tells them apart.
        let identity = Identity::of(&config.source, &inputs, seed, std::iter::once(roll.rows().collect()));
        let mut fitted = model.fitted(Arc::new(Examples::new(outline)?), seed)?;
        inputs.extend(begin(&mut fitted, config.weights.as_ref(), folders)?);
        let start = fitted.start();
        Ok(Self {
            about,
            shards: Arc::default(),
            unseen: 0,
            population: Arc::new(OnDemand::new(roll, fitted)),
            start,
            inputs,
            census,
            identity,
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            preparation: None,
            memory_bytes: 0,
            on_demand,
        })
    }

    fn of_examples(config: &ProblemConfig, mut dealt: Dealt, folders: &Folders, seed: Seed) -> Result<Self, ProblemError> {
        let kind = config.source.name();
        let model = config.model.as_ref().ok_or(ProblemError::Missing { section: "model", kind })?;
        let file = dealt.inputs.first().map_or_else(|| kind.to_string(), |input| format!("{} ({kind})", input.name));
        let mut about = format!("{file}, {} split, {}", dealt.split, model.card().name);
        let census = dealt.census();
        census.notes.iter().for_each(|note| about.push_str(&format!("; {note}")));
        let memory_bytes = dealt.memory_bytes();
        let (count, mut inputs) = (dealt.unseen, std::mem::take(&mut dealt.inputs));
        let preparation = dealt.preparation.take().map(Arc::new);
        let identity = Identity::of(&config.source, &inputs, seed, dealt.owned());
        let (dataset, parts) = dealt.arranged();
        let mut fitted = model.fitted(Arc::new(Examples::new(dataset)?), seed)?;
        inputs.extend(begin(&mut fitted, config.weights.as_ref(), folders)?);
        let start = fitted.start();
        let mut shards = clients(&*fitted, &parts);
        let unseen = shards.split_off(shards.len() - count);
        let shards = Arc::new(shards);
        Ok(Self {
            about,
            unseen: unseen.len() as u32,
            population: Arc::new(Known { shards: Arc::clone(&shards), unseen }),
            shards,
            start,
            inputs,
            census,
            identity,
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            preparation,
            memory_bytes,
            on_demand: (0, 0),
        })
    }
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

impl DataSummary {
    /// Who has what, without a model.
    pub fn of(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        Ok(Self::with_albums(config, folders, run)?.0)
    }

    /// Who has what, and a few images of a few clients where examples are images.
    pub fn with_albums(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<(Self, Vec<Album>), ProblemError> {
        Ok(match Stock::gather(config, folders, run)? {
            Stock::Functions { shards, .. } => (DataSummary::of_functions(&shards), Vec::new()),
            Stock::Clients { roll, .. } => (roll.summary()?, Vec::new()),
            Stock::Population { start, .. } => (DataSummary { features: start.len() as u64, ..DataSummary::of_functions(&[]) }, Vec::new()),
            Stock::Examples(dealt) => {
                let mut census = dealt.census();
                let albums = dealt.albums(config.model.as_ref()).unwrap_or_else(|reason| {
                    census.notes.push(format!("images are not shown: {reason}"));
                    vec![]
                });
                (census, albums)
            }
        })
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
        Ok(Cow::Borrowed(self.shards.get(number).unwrap_or_else(|| &self.unseen[number - self.shards.len()])))
    }
}

/// What a source gives, read as the schema says where there is one.
fn loaded(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Material, ProblemError> {
    match (&config.schema, config.source.downcast::<Table>()) {
        (None, _) => config.source.load(&Place { folders, seed: Seed(config.seed_of(run)) }),
        (Some(schema), Some(table)) => schema.table(table, folders),
        (Some(_), None) => Err(ProblemError::Superfluous { section: "schema", kind: config.source.name() }),
    }
}

/// Who gets what, as it was read: gaps are gaps, and nothing is standardised. The fields of a table, where it is one.
pub(crate) fn raw(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<(Dealt, Option<Vec<Field>>), ProblemError> {
    let folders = &folders.limited(FileLimit::new(config.file_gib));
    let (dataset, fields, inputs) = match loaded(config, folders, run)? {
        Material::Examples { dataset, inputs } => (Arc::new(dataset), None, inputs),
        Material::Table { dataset, fields, inputs } => (Arc::new(dataset), Some(fields), inputs),
        Material::Shared { dataset, fields, inputs } => (dataset, fields, inputs),
        Material::Clients { clients, inputs } => {
            affordable_rows(&*clients)?;
            (Arc::new(gathered(&*clients)?), None, inputs)
        }
        Material::Functions { .. } | Material::Population { .. } => {
            let wanted = "clients with functions of their own have no tables".to_owned();
            return Err(ProblemError::Value { key: "source", value: format!("{:?}", config.source.name()), wanted });
        }
    };
    match Stock::dealt(config, dataset, None, inputs, run)? {
        Stock::Examples(dealt) => Ok((*dealt, fields)),
        Stock::Functions { .. } | Stock::Population { .. } | Stock::Clients { .. } => unreachable!("examples are dealt"),
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

/// What there is before a model is put on it.
enum Stock {
    Functions { shards: Vec<Shard>, start: Vector },
    Population { population: Arc<dyn Population>, start: Vector },
    Clients { roll: Roll, inputs: Vec<Input> },
    Examples(Box<Dealt>),
}

impl Stock {
    fn gather(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let folders = &folders.limited(FileLimit::new(config.file_gib));
        Self::of(config, loaded(config, folders, run)?, run)
    }

    /// What a source gave, dealt.
    fn of(config: &ProblemConfig, material: Material, run: u64) -> Result<Self, ProblemError> {
        let kind = config.source.name();
        let of_examples =
            matches!(material, Material::Examples { .. } | Material::Table { .. } | Material::Shared { .. } | Material::Clients { .. });
        if !of_examples {
            let sections = [
                ("split", config.split.is_some()),
                ("holdout", config.holdout.is_some()),
                ("unseen", config.unseen.is_some()),
                ("hold", config.hold.is_some()),
                ("weights", config.weights.as_ref().is_some_and(|weights| !matches!(weights, Weights::Vector(_)))),
            ];
            for (section, given) in sections {
                if given {
                    return Err(ProblemError::Superfluous { section, kind });
                }
            }
        }
        match material {
            Material::Functions { shards, start } => Ok(Stock::Functions { shards, start }),
            Material::Population { population, start } => Ok(Stock::Population { population, start }),
            Material::Clients { clients, inputs } => Self::of_clients(config, clients, inputs, run),
            Material::Examples { dataset, inputs } => Self::dealt(config, dataset.into(), None, inputs, run),
            Material::Table { dataset, fields, inputs } => Self::dealt(config, dataset.into(), Some(fields), inputs, run),
            Material::Shared { dataset, fields, inputs } => Self::dealt(config, dataset, fields, inputs, run),
        }
    }

    /// Clients who can be had one by one: held in memory, or made when they are asked for.
    fn of_clients(config: &ProblemConfig, of: Arc<dyn ClientExamples>, inputs: Vec<Input>, run: u64) -> Result<Self, ProblemError> {
        // Only where everyone has its own examples, and keeps them, need nobody be seen beforehand.
        let own = match &config.split {
            None => Some(Natural::default()),
            Some(split) => split.downcast::<Natural>().filter(|split| split.min.get() == 1 && split.most.is_none()).cloned(),
        };
        let own = own.filter(|_| config.unseen.is_none());
        match (own, config.hold) {
            (Some(own), hold) if hold.unwrap_or_else(|| Holding::usual(&*of)) == Holding::Touched => {
                let clients = own.count(of.clients())?;
                let cut = Seed(config.draw_of(run).1);
                Ok(Stock::Clients { roll: Roll::new(of, clients, config.holdout.clone().unwrap_or_default(), cut)?, inputs })
            }
            (None, Some(Holding::Touched)) => {
                let wanted = "clients are made when they are asked for only where everyone keeps its own examples: with no split, or `natural` \
                              without min and most, and nobody unseen";
                Err(ProblemError::Value { key: "hold", value: "touched".into(), wanted: wanted.into() })
            }
            _ => {
                affordable_clients(NonZeroU32::new(of.clients()).unwrap_or(NonZeroU32::MIN))?;
                affordable_rows(&*of)?;
                Self::dealt(config, gathered(&*of)?.into(), None, inputs, run)
            }
        }
    }

    /// Who gets what.
    fn dealt(
        config: &ProblemConfig,
        dataset: Arc<Dataset>,
        fields: Option<Vec<Field>>,
        inputs: Vec<Input>,
        run: u64,
    ) -> Result<Self, ProblemError> {
        if let Some((place, value)) = dataset.too_large() {
            let file = inputs.first().map_or_else(|| config.source.name().into(), |input| input.name.clone());
            let what = format!("{value:e} is too large to count with, {LARGEST:e} being the most: scale the numbers, or mend this one");
            return Err(ProblemError::Odd { file, place, what });
        }
        let split = match &config.split {
            Some(split) => split.clone(),
            None if dataset.keys.is_some() => Split::new(Natural::default()),
            None => return Err(ProblemError::Missing { section: "split", kind: config.source.name() }),
        };
        let mut dealt = Dealt::new(dataset, inputs, &split, config, run)?;
        if let Some(fields) = fields {
            dealt.prepare(fields);
        }
        Ok(Stock::Examples(Box::new(dealt)))
    }
}

/// Least, mean and most, if all are known.
fn range(values: impl Iterator<Item = Option<f64>>) -> Option<[f64; 3]> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &v| (least.min(v), most.max(v)));
    (!values.is_empty()).then(|| [least, values.iter().sum::<f64>() / values.len() as f64, most])
}
