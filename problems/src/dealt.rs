//! Examples and who gets which: train, validation and test rows of every client, seen and unseen.

use std::ops::Range;
use std::sync::Arc;

use motet_core::{Seed, Shard};
use motet_records::Input;
use serde::{Deserialize, Serialize};

use crate::album::{Album, albums};
use crate::data_summary::DataSummary;
use crate::dataset::Dataset;
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::holdout::Parts;
use crate::matrix::{Indices, Matrix};
use crate::model::{Fitted, ModelConfig, axes};
use crate::prepare::{Field, Preparation};
use crate::problem_config::ProblemConfig;
use crate::split::{Split, in_proportion};

/// Examples and who gets which.
pub(crate) struct Dealt {
    parts: Vec<Parts>,
    /// So many of the clients, the last ones, never train.
    pub(crate) unseen: usize,
    pub(crate) split: &'static str,
    pub(crate) inputs: Vec<Input>,
    /// What clients did to the fields of a table.
    pub(crate) preparation: Option<Preparation>,
    /// Whoever gave it may hold it, too.
    dataset: Arc<Dataset>,
    left_out: usize,
}

impl Dealt {
    /// Deals training rows by the split, cuts the hold-out from them, adds the rows that the source gives for validation
    /// and test, and sets the unseen apart.
    pub(crate) fn new(
        dataset: Arc<Dataset>,
        inputs: Vec<Input>,
        split: &Split,
        config: &ProblemConfig,
        run: u64,
    ) -> Result<Self, ProblemError> {
        let (seed, cut) = config.draw_of(run);
        let (seed, cut) = (Seed(seed), Seed(cut));
        let mut partition = split.deal(&dataset, &mut dice::shared(seed, Step::Split))?;
        if dataset.usages.is_some() && partition.extras.is_empty() {
            partition.extras = in_proportion(&dataset, &partition, &mut dice::shared(seed, Step::Given));
        }
        let mut parts = config.holdout.clone().unwrap_or_default().cut(partition.clients, cut)?;
        for (parts, extra) in parts.iter_mut().zip(partition.extras) {
            parts.validation.extend(extra.validation);
            parts.test.extend(extra.test);
        }
        let unseen = match &config.unseen {
            Some(unseen) => unseen.part(&mut parts, partition.strangers, seed)?,
            None => Vec::new(),
        };
        let count = unseen.len();
        parts.extend(unseen);
        let dealt: usize = parts.iter().map(|p| p.train.len() + p.validation.len() + p.test.len()).sum();
        Ok(Self { left_out: dataset.len() - dealt, dataset, parts, unseen: count, split: split.name(), inputs, preparation: None })
    }

    /// All rows to one client of a study, of this number: cut as in a simulation of the whole study.
    pub(crate) fn alone(dataset: Dataset, inputs: Vec<Input>, client: u32, config: &ProblemConfig, run: u64) -> Result<Self, ProblemError> {
        let rows = (0..dataset.len() as u32).collect();
        let parts = config.holdout.clone().unwrap_or_default().cut_one(client as usize, rows, Seed(config.draw_of(run).1))?;
        Ok(Self {
            left_out: 0,
            dataset: Arc::new(dataset),
            parts: vec![parts],
            unseen: 0,
            split: "one participant",
            inputs,
            preparation: None,
        })
    }

    /// Each client fills gaps and standardises with what its own training rows say.
    pub(crate) fn prepare(&mut self, fields: Vec<Field>) {
        self.preparation = Some(Preparation::make(fields, Arc::make_mut(&mut self.dataset), &self.parts));
    }

    /// A few images of the first clients, if examples are images as far as the model or the pixels tell; or why they cannot be shown.
    pub(crate) fn albums(&self, model: Option<&ModelConfig>) -> Result<Vec<Album>, String> {
        let columns = self.dataset.features.cols();
        let pixels = matches!(&self.dataset.features, Matrix::Bytes(bytes) if bytes.scale == 1.0 / 255.0);
        let axes = match model.and_then(ModelConfig::image) {
            Some(given) => axes(given, columns),
            None if pixels => axes(None, columns),
            None => None,
        };
        axes.map_or_else(|| Ok(vec![]), |axes| albums(&self.parts[..self.parts.len() - self.unseen], &self.dataset, axes))
    }

    /// The examples themselves.
    pub(crate) fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    pub(crate) fn census(&self) -> DataSummary {
        DataSummary::take(&self.parts, self.unseen, &self.dataset, self.left_out)
    }

    /// About how much memory the examples take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        bytes(&self.dataset.features) + (self.dataset.len() * size_of::<f64>()) as u64
    }

    /// Every client's rows, whatever they are for, in rising order.
    pub(crate) fn owned(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        self.parts.iter().map(|part| {
            let mut rows: Vec<u32> = part.train.iter().chain(&part.validation).chain(&part.test).copied().collect();
            rows.sort_unstable();
            rows
        })
    }

    /// Each client's rows together, training, then validation, then test.
    pub(crate) fn in_order(self) -> Dataset {
        let order: Vec<u32> = self.parts.iter().flat_map(|p| p.train.iter().chain(&p.validation).chain(&p.test)).copied().collect();
        let in_order = order.len() == self.dataset.len() && order.iter().enumerate().all(|(k, &row)| k == row as usize);
        let recoded = self.dataset.recoded;
        // Whose an example is and what it is for has been dealt with.
        let dataset = if in_order {
            let Dataset { features, targets, .. } = Arc::unwrap_or_clone(self.dataset);
            Dataset::new(features, targets)
        } else {
            Dataset::new(self.dataset.features.permuted(&order), self.dataset.targets.permuted(&order))
        };
        dataset.recoded(recoded)
    }

    /// How many rows each client has of each kind.
    pub(crate) fn sizes(&self) -> Vec<Sizes> {
        self.parts.iter().map(Sizes::of).collect()
    }
}

/// How many rows a client has to train on, to choose on and to be judged on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sizes([usize; 3]);

impl Sizes {
    pub(crate) fn of(parts: &Parts) -> Self {
        Self([parts.train.len(), parts.validation.len(), parts.test.len()])
    }
}

/// One shard per client, each a range of the rows.
pub(crate) fn clients(model: &dyn Fitted, sizes: &[Sizes]) -> Vec<Shard> {
    let mut taken = 0;
    let mut next = |rows: usize| -> Range<usize> {
        let start = taken;
        taken += rows;
        start..taken
    };
    let evaluator = |rows: &Range<usize>| (!rows.is_empty()).then(|| model.evaluator(rows.clone()));
    let shard = |Sizes(each): &Sizes| {
        let [train, validation, test] = each.map(&mut next);
        Shard {
            train_evaluator: evaluator(&train),
            validation_evaluator: evaluator(&validation),
            test_evaluator: evaluator(&test),
            train: model.objective(train),
            validation: (!validation.is_empty()).then(|| model.objective(validation)),
        }
    };
    sizes.iter().map(shard).collect()
}

fn bytes(features: &Matrix) -> u64 {
    let numbers = match features {
        Matrix::Dense(dense) => dense.values.len() * size_of::<f64>(),
        Matrix::Single(single) => single.values.len() * size_of::<f32>(),
        Matrix::Bytes(bytes) => bytes.values.len(),
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
