//! Data that a program has in memory: rows and labels, or the columns of a data frame, with a client for each row.
//!
//! [`LabelledRows`] and [`DataFrame`] take what there is and check it once; what they give is an [`OwnData`], which makes a
//! [`Problem`] in one call or stands in an experiment as `source = { kind = "given", name = "…" }`.

mod digest;
mod error;
mod frame;
mod names;
mod rows;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use motet_records::Input;

use crate::data_folder::Folders;
use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;
use crate::holdout::Holdout;
use crate::matrix::Matrix;
use crate::model::ModelConfig;
use crate::prepare::Field;
use crate::problem::Problem;
use crate::problem_config::{ProblemConfig, ProblemSeed};
use crate::source::{Given, Material, Source};
pub use error::DataError;
pub use frame::{Column, DataFrame};
pub use names::Names;
pub use rows::LabelledRows;

/// What data are called if nobody names them.
pub(crate) const UNNAMED: &str = "data";

/// Data of one's own that were checked, held once however often they are cloned.
#[derive(Clone)]
pub struct OwnData {
    dataset: Arc<Dataset>,
    /// What each client does with the columns of a data frame; absent where rows are features already.
    fields: Option<Arc<Vec<Field>>>,
    input: Input,
}

impl OwnData {
    /// Checks what rows and data frames have in common. There are rows, and they were counted.
    fn new(name: &str, dataset: Dataset, fields: Option<Vec<Field>>) -> Result<Self, DataError> {
        let rows = dataset.len();
        let short = |what, found: usize| if found == rows { Ok(()) } else { Err(DataError::Count { what, found, rows }) };
        short("clients", dataset.keys.as_ref().map_or(rows, Vec::len))?;
        short("usages", dataset.usages.as_ref().map_or(rows, Vec::len))?;
        if let Targets::Classes { classes: classes @ 0..=1, .. } = dataset.targets {
            return Err(DataError::OneClass { classes });
        }
        if let Targets::Numbers(numbers) = &dataset.targets
            && let Some(row) = numbers.iter().position(|number| !number.is_finite())
        {
            return Err(DataError::Label { row, value: numbers[row] });
        }
        if dataset.usages.as_ref().is_some_and(|usages| !usages.contains(&Usage::Train)) {
            return Err(DataError::NothingToTrain);
        }
        let (bytes, sha256) = digest::of(&dataset, fields.as_deref());
        let input = Input { name: name.to_owned(), bytes, sha256 };
        Ok(Self { dataset: Arc::new(dataset), fields: fields.map(Arc::new), input })
    }

    /// The problem of fitting a model, where each client is who the data say. The hold-out is cut from the rows for training,
    /// with dice of the seed. Who needs the data again clones them first: a clone shares the rows, but then they have to be copied to
    /// bring each client's together.
    ///
    /// ```
    /// use motet_core::Fraction;
    /// use motet_problems::{Holdout, LabelledRows, ModelConfig};
    /// let rows = vec![vec![0.1, 1.0], vec![0.9, 1.0], vec![0.2, 1.0], vec![0.8, 1.0]];
    /// let data = LabelledRows::dense(rows).classes(vec!["low", "high", "low", "high"]).clients(vec!["a", "a", "b", "b"]).check()?;
    /// let model: ModelConfig = serde_json::from_str(r#"{"kind": "logistic", "l2": 0.1}"#)?;
    /// let problem = data.problem(model, Holdout { test: Fraction::new(0.5)?, ..Holdout::default() }, 1)?;
    /// assert_eq!(problem.shards.len(), 2);
    /// assert_eq!(problem.shards[0].train.samples(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn problem(self, model: ModelConfig, holdout: Holdout, seed: u64) -> Result<Problem, ProblemError> {
        if self.dataset.keys.is_none() {
            return Err(DataError::NoClients.into());
        }
        if let Some(client) = self.untrained() {
            return Err(DataError::Untrained { client }.into());
        }
        let config = ProblemConfig {
            holdout: Some(holdout),
            model: Some(model),
            seed: ProblemSeed::Fixed(seed),
            ..ProblemConfig::new(Source::new(Given::described(&self)))
        };
        Problem::of_material(&config, self.into(), &Folders::beside(Path::new("")), seed)
    }

    /// What the data are called.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.dataset.len()
    }

    /// How many numbers a row has for the model.
    pub fn features(&self) -> usize {
        self.dataset.features.cols()
    }

    /// How many classes are to be told apart; none if numbers or tags are predicted.
    pub fn classes(&self) -> Option<u32> {
        if let Targets::Classes { classes, .. } = self.dataset.targets { Some(classes) } else { None }
    }

    /// What the clients are called, in the order of their numbers; empty where rows have no clients.
    pub fn clients(&self) -> &[String] {
        &self.dataset.names
    }

    /// The entry for the manifest: the name, and the SHA-256 of all values, targets, clients and usages.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The first client who has rows, but none to train on.
    fn untrained(&self) -> Option<String> {
        let (keys, usages) = (self.dataset.keys.as_ref()?, self.dataset.usages.as_ref()?);
        let trained: BTreeSet<u32> = keys.iter().zip(usages).filter(|(_, lot)| **lot == Usage::Train).map(|(key, _)| *key).collect();
        let key = keys.iter().find(|key| !trained.contains(key))?;
        Some(self.dataset.names.get(*key as usize).cloned().unwrap_or_else(|| key.to_string()))
    }
}

impl From<OwnData> for Material {
    fn from(data: OwnData) -> Self {
        let fields = data.fields.map(Arc::unwrap_or_clone);
        Material::Shared { dataset: data.dataset, fields, inputs: vec![data.input] }
    }
}

/// The same name and the same values.
impl PartialEq for OwnData {
    fn eq(&self, other: &Self) -> bool {
        self.input == other.input
    }
}

impl std::fmt::Debug for OwnData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnData").field("rows", &self.rows()).field("features", &self.features()).field("input", &self.input).finish()
    }
}

/// Some rows, and no more than have a number.
fn countable(rows: usize) -> Result<(), DataError> {
    match u32::try_from(rows) {
        Ok(0) => Err(DataError::Empty),
        Ok(_) => Ok(()),
        Err(_) => Err(DataError::TooMany { rows }),
    }
}

/// The first number of a matrix that is none or infinite.
fn not_finite(features: &Matrix) -> Option<DataError> {
    let dense = |cols: usize, at: Option<usize>, value: f64| at.map(|at| DataError::Feature { row: at / cols, column: at % cols, value });
    match features {
        Matrix::Dense(a) => {
            let at = a.values.iter().position(|value| !value.is_finite());
            dense(a.cols, at, at.map_or(0.0, |at| a.values[at]))
        }
        Matrix::Single(a) => {
            let at = a.values.iter().position(|value| !value.is_finite());
            dense(a.cols, at, at.map_or(0.0, |at| f64::from(a.values[at])))
        }
        Matrix::Bytes(a) => {
            (!a.scale.is_finite() || !a.shift.is_finite()).then(|| DataError::Feature { row: 0, column: 0, value: f64::from(a.worth(1)) })
        }
        Matrix::Sparse(a) => {
            let values = a.values.as_ref()?;
            let at = values.iter().position(|value| !value.is_finite())?;
            let row = a.starts.partition_point(|&start| start <= at) - 1;
            Some(DataError::Feature { row, column: a.indices.at(at), value: values[at] })
        }
    }
}
