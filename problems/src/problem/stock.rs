//! What a source gives, dealt among clients: what there is before a model is put on it.

use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{Population, Seed, Shard, Vector};
use motet_records::Input;

use crate::album::Album;
use crate::data_folder::Folders;
use crate::data_summary::DataSummary;
use crate::dataset::{Dataset, LARGEST};
use crate::dealt::Dealt;
use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::on_demand::{ClientExamples, Holding, Roll, affordable_rows, gathered};
use crate::prepare::Field;
use crate::problem_config::ProblemConfig;
use crate::source::{Material, Place, Table, affordable_clients};
use crate::split::{Natural, Split};
use crate::weights::Weights;

/// What there is before a model is put on it.
pub(super) enum Stock {
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
    pub(super) fn of(config: &ProblemConfig, material: Material, run: u64) -> Result<Self, ProblemError> {
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
        if of_examples && config.hold == Some(Holding::Touched) {
            let wanted = match (keeps_its_own(config), &material) {
                (Some(_), Material::Clients { .. }) => None,
                (Some(_), _) => Some(format!("the source `{kind}` reads all its clients at once: leave `hold` out")),
                (None, _) => Some(ONLY_OWN.into()),
            };
            if let Some(wanted) = wanted {
                return Err(ProblemError::Value { key: "hold", value: "touched".into(), wanted });
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
        match (keeps_its_own(config), config.hold) {
            (Some(own), hold) if hold.unwrap_or_else(|| Holding::usual(&*of)) == Holding::Touched => {
                let clients = own.count(of.clients())?;
                let cut = Seed(config.draw_of(run).1);
                Ok(Stock::Clients { roll: Roll::new(of, clients, config.holdout.clone().unwrap_or_default(), cut)?, inputs })
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
            let what = format!("{value:e} is too large to compute with (at most {LARGEST:e}): scale the numbers, or correct this one");
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

/// What a source gives, read as the schema says where there is one.
pub(super) fn loaded(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Material, ProblemError> {
    match (&config.schema, config.source.downcast::<Table>()) {
        // Where a split deals examples anew, everybody's are needed.
        (None, _) => {
            let hold = if keeps_its_own(config).is_some() { config.hold } else { Some(Holding::All) };
            config.source.load(&Place { folders, seed: Seed(config.seed_of(run)), hold })
        }
        (Some(schema), Some(table)) => schema.table(table, folders),
        (Some(_), None) => Err(ProblemError::Superfluous { section: "schema", kind: config.source.name() }),
    }
}

/// The split that leaves every client its own examples, where nobody need be seen beforehand.
fn keeps_its_own(config: &ProblemConfig) -> Option<Natural> {
    let own = match &config.split {
        None => Some(Natural::default()),
        Some(split) => split.downcast::<Natural>().filter(|split| split.min.get() == 1 && split.most.is_none()).cloned(),
    };
    own.filter(|_| config.unseen.is_none())
}

/// Why somebody must be seen beforehand.
const ONLY_OWN: &str = "clients can be made on demand only if each keeps its own examples: with no split, or `natural` \
                        without min and most, and nobody unseen";

/// Who gets what, as it was read: gaps are gaps, and nothing is standardised. The fields of a table, where it is one.
pub(crate) fn raw(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<(Dealt, Option<Vec<Field>>), ProblemError> {
    let folders = &folders.limited(FileLimit::new(config.file_gib));
    let config = &ProblemConfig { hold: Some(Holding::All), ..config.clone() };
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

impl DataSummary {
    /// What each client has, without fitting a model.
    pub fn of(config: &ProblemConfig, folders: &Folders, run: u64) -> Result<Self, ProblemError> {
        Ok(Self::with_albums(config, folders, run)?.0)
    }

    /// What each client has, and a few images of a few clients if examples are images.
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
