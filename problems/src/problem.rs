//! Source → split → hold-out → clients.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use motet_core::{Devices, Input, Liars, Population, ProblemCard, Roster, Seed, Shard, Vector};

use crate::census::Census;
use crate::data_folder::Folders;
use crate::dataset::{Dataset, Examples};
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::holdout::Parts;
use crate::matrix::{Indices, Matrix};
use crate::model::Fitted;
use crate::prepare::prepare;
use crate::problem_config::ProblemConfig;
use crate::source::open::open;
use crate::source::{Material, Place};
use crate::split::{Natural, Split};

/// What runs work on: every client's function, held once and shared by all runs.
#[derive(Clone)]
pub struct Problem {
    /// One line: source, split, model.
    pub about: String,
    /// By client; empty if clients are made on demand.
    pub shards: Arc<Vec<Shard>>,
    /// All clients, as hosts take them.
    pub population: Arc<dyn Population>,
    /// Where runs start unless the method says otherwise.
    pub start: Vector,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// Who has what.
    pub census: Census,
    /// Clients in each group, where the source knows groups.
    pub groups: Vec<u64>,
    /// Clients that lie.
    pub liars: Option<Liars>,
    /// What clients run on.
    pub devices: Option<Devices>,
    /// About how much memory the data take.
    pub memory_bytes: u64,
}

impl Problem {
    /// Builds what an experiment file describes. `base` is the folder of that file, and `run` the seed of
    /// the run, which matters only if the problem is drawn anew for each.
    pub fn build(config: &ProblemConfig, base: &Path, run: u64) -> Result<Self, ProblemError> {
        Self::build_from(config, &Folders::beside(base), run)
    }

    /// As [`Problem::build`], with the data folder given.
    pub fn build_from(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let mut problem = match Stock::gather(config, folders, run)? {
            Stock::Functions { shards, start } => Self::of_functions(config, shards, start),
            Stock::Population { population, start } => Self::of_population(config, population, start),
            Stock::Examples(dealt) => Self::of_examples(config, dealt, folders, Seed(config.seed_of(run))),
        }?;
        let clients = problem.shards.len();
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
            examples: self.shards.iter().map(|shard| shard.train.samples() as u64).sum(),
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
        let census = Census::of_functions(&shards);
        let memory_bytes = (samples * start.len() * size_of::<f64>()) as u64;
        let shards = Arc::new(shards);
        Ok(Self {
            about: config.source.name().into(),
            population: Arc::<Vec<Shard>>::clone(&shards),
            shards,
            start,
            inputs: Vec::new(),
            census,
            groups: config.source.groups(),
            liars: config.byzantine,
            devices: config.devices,
            memory_bytes,
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
        let census = Census { features: start.len() as u64, ..Census::of_functions(&[]) };
        Ok(Self {
            about,
            shards: Arc::default(),
            population,
            start,
            inputs: Vec::new(),
            census,
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            memory_bytes: 0,
        })
    }

    fn of_examples(config: &ProblemConfig, mut dealt: Dealt, folders: &Folders, seed: Seed) -> Result<Self, ProblemError> {
        let kind = config.source.name();
        let model = config.model.as_ref().ok_or(ProblemError::Missing { section: "model", kind })?;
        let file = dealt.inputs.first().map_or_else(|| kind.to_string(), |input| format!("{} ({kind})", input.name));
        let about = format!("{file}, {} split, {}", dealt.split, model.card().name);
        let census = dealt.census();
        let memory_bytes = bytes(&dealt.dataset.features) + (dealt.dataset.len() * size_of::<f64>()) as u64;
        let examples = Arc::new(Examples::new(arranged(dealt.dataset, &dealt.parts))?);
        let mut fitted = model.fitted(&examples, seed)?;
        if let Some(path) = &config.weights {
            let file = open(&folders.find(path)?)?;
            Arc::get_mut(&mut fitted).expect("the model was just made").start_at(&file.text)?;
            dealt.inputs.push(file.input);
        }
        let start = fitted.start();
        let shards = Arc::new(clients(&*fitted, &dealt.parts));
        Ok(Self {
            about,
            population: Arc::<Vec<Shard>>::clone(&shards),
            shards,
            start,
            inputs: dealt.inputs,
            census,
            groups: vec![],
            liars: config.byzantine,
            devices: config.devices,
            memory_bytes,
        })
    }
}

impl Census {
    /// Who has what, without a model.
    pub fn of(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        Ok(match Stock::gather(config, folders, run)? {
            Stock::Functions { shards, .. } => Census::of_functions(&shards),
            Stock::Population { start, .. } => Census { features: start.len() as u64, ..Census::of_functions(&[]) },
            Stock::Examples(dealt) => dealt.census(),
        })
    }
}

/// What there is before a model is put on it.
enum Stock {
    Functions { shards: Vec<Shard>, start: Vector },
    Population { population: Arc<dyn Population>, start: Vector },
    Examples(Dealt),
}

/// Examples and who gets which.
struct Dealt {
    dataset: Dataset,
    parts: Vec<Parts>,
    left_out: usize,
    split: &'static str,
    inputs: Vec<Input>,
}

impl Stock {
    fn gather(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        let (kind, seed) = (config.source.name(), Seed(config.seed_of(run)));
        let material = config.source.load(&Place { folders, seed })?;
        if !matches!(material, Material::Examples { .. } | Material::Table { .. }) {
            let sections =
                [("split", config.split.is_some()), ("holdout", config.holdout.is_some()), ("weights", config.weights.is_some())];
            for (section, given) in sections {
                if given {
                    return Err(ProblemError::Superfluous { section, kind });
                }
            }
        }
        match material {
            Material::Functions { shards, start } => Ok(Stock::Functions { shards, start }),
            Material::Population { population, start } => Ok(Stock::Population { population, start }),
            Material::Examples { dataset, inputs } => Self::dealt(config, dataset, inputs, seed).map(Stock::Examples),
            Material::Table { dataset, columns, inputs } => {
                let mut dealt = Self::dealt(config, dataset, inputs, seed)?;
                prepare(&mut dealt.dataset, &columns, &dealt.parts);
                Ok(Stock::Examples(dealt))
            }
        }
    }

    /// Who gets what.
    fn dealt(config: &ProblemConfig, dataset: Dataset, inputs: Vec<Input>, seed: Seed) -> Result<Dealt, ProblemError> {
        let split = match &config.split {
            Some(split) => split.clone(),
            None if dataset.keys.is_some() => Split::Natural(Natural::default()),
            None => return Err(ProblemError::Missing { section: "split", kind: config.source.name() }),
        };
        let partition = split.deal(&dataset, &mut dice::shared(seed, Step::Split))?;
        let parts = config.holdout.clone().unwrap_or_default().cut(partition.clients, seed)?;
        Ok(Dealt { dataset, parts, left_out: partition.left_out, split: split.name(), inputs })
    }
}

impl Dealt {
    fn census(&self) -> Census {
        Census::take(&self.parts, &self.dataset, self.left_out)
    }
}

/// Brings each client's rows together: training, then validation, then test.
fn arranged(mut dataset: Dataset, parts: &[Parts]) -> Dataset {
    dataset.keys = None;
    let order: Vec<u32> = parts.iter().flat_map(|p| p.train.iter().chain(&p.validation).chain(&p.test)).copied().collect();
    let in_order = order.len() == dataset.len() && order.iter().enumerate().all(|(k, &row)| k == row as usize);
    if in_order { dataset } else { dataset.permuted(&order) }
}

/// One shard per client, each a range of the rows.
fn clients(model: &dyn Fitted, parts: &[Parts]) -> Vec<Shard> {
    let mut taken = 0;
    let mut next = |rows: &[u32]| -> Range<usize> {
        let start = taken;
        taken += rows.len();
        start..taken
    };
    let exam = |rows: &Range<usize>| (!rows.is_empty()).then(|| model.exam(rows.clone()));
    let shard = |part: &Parts| {
        let [train, validation, test] = [next(&part.train), next(&part.validation), next(&part.test)];
        Shard {
            train_exam: exam(&train),
            validation_exam: exam(&validation),
            test_exam: exam(&test),
            train: model.objective(train),
            validation: (!validation.is_empty()).then(|| model.objective(validation)),
        }
    };
    parts.iter().map(shard).collect()
}

fn bytes(features: &Matrix) -> u64 {
    let numbers = match features {
        Matrix::Dense(dense) => dense.values.len() * size_of::<f64>(),
        Matrix::Single(single) => single.values.len() * size_of::<f32>(),
        Matrix::Sparse(csr) => {
            let indices = match &csr.indices {
                Indices::U16(indices) => indices.len() * size_of::<u16>(),
                Indices::U32(indices) => indices.len() * size_of::<u32>(),
            };
            csr.starts.len() * size_of::<usize>() + indices + csr.values.as_ref().map_or(0, |values| values.len() * size_of::<f64>())
        }
    };
    numbers as u64
}

/// Least, mean and most, if all are known.
fn range(values: impl Iterator<Item = Option<f64>>) -> Option<[f64; 3]> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &v| (least.min(v), most.max(v)));
    (!values.is_empty()).then(|| [least, values.iter().sum::<f64>() / values.len() as f64, most])
}
