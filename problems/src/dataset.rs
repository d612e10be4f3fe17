//! What a source gives: examples with their targets, before any split.

use std::ops::Range;
use std::sync::Arc;

use crate::matrix::{Dense, Matrix, MatrixError, Single};

/// Examples, their targets, and whom they came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// One row per example.
    pub features: Matrix,
    /// One target per example.
    pub targets: Targets,
    /// The natural client of each example (a writer, a hospital), where the source knows it.
    pub keys: Option<Vec<u32>>,
    /// What each natural client is called, by key; empty if the source knows no names.
    pub names: Vec<String>,
    /// What each class is called, by its number; empty if the source knows no names.
    pub class_names: Vec<String>,
    /// Has a class another number than the file has for it, or none in the file? Then no class is a quantity.
    pub recoded: bool,
    /// The columns of a table that say whose a row is and what is predicted, where it is one.
    pub columns: Option<TableColumns>,
    /// What the source means each example for; all for training where it does not say.
    pub usages: Option<Vec<Usage>>,
    /// What people should know of how it was read, such as a comma that was taken for a point.
    pub notes: Vec<String>,
}

/// The columns of a table that are no features.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TableColumns {
    /// Says whose a row is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Is to be predicted.
    pub target: String,
}

/// The largest number that can be counted with: sums of products of two of them stay far from the end of the numbers.
pub(crate) const LARGEST: f64 = 1e100;

/// What a source means an example for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Usage {
    /// To be dealt to clients, who train on it.
    Train,
    /// To choose on.
    Validation,
    /// To be judged on.
    Test,
}

/// What is to be predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Class of each example, 0..classes. Binary labels become 0 and 1.
    Classes {
        /// By example.
        labels: Vec<u32>,
        /// How many classes there are.
        classes: u32,
    },
    /// A number for each example.
    Numbers(Vec<f64>),
    /// Some of the tags 0..classes for each example: those of example j are `starts[j]..starts[j + 1]` of the list.
    Tags {
        /// Where each example's tags begin, and the end.
        starts: Vec<usize>,
        /// Of one example after another.
        tags: Vec<u32>,
        /// How many tags there are.
        classes: u32,
    },
}

impl Targets {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Targets::Classes { labels, .. } => labels.len(),
            Targets::Numbers(numbers) => numbers.len(),
            Targets::Tags { starts, .. } => starts.len().saturating_sub(1),
        }
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Are labels and tags below their counts, and stretches of tags whole?
    pub(crate) fn check(&self) -> Result<(), DatasetError> {
        match self {
            Targets::Numbers(_) => Ok(()),
            Targets::Tags { starts, tags, classes } => {
                let whole = starts.first() == Some(&0) && starts.last() == Some(&tags.len()) && starts.is_sorted();
                if !whole {
                    return Err(DatasetError::Tags { tags: tags.len() });
                }
                match tags.iter().position(|tag| tag >= classes) {
                    Some(at) => {
                        let example = starts.partition_point(|&start| start <= at) - 1;
                        Err(DatasetError::Label { example, label: tags[at], classes: *classes })
                    }
                    None => Ok(()),
                }
            }
            Targets::Classes { labels, classes } => match labels.iter().position(|label| label >= classes) {
                Some(example) => Err(DatasetError::Label { example, label: labels[example], classes: *classes }),
                None => Ok(()),
            },
        }
    }

    /// Of example `order[0]`, then of `order[1]`, …
    pub fn permuted(&self, order: &[u32]) -> Self {
        match self {
            Targets::Classes { labels, classes } => {
                Targets::Classes { labels: order.iter().map(|&r| labels[r as usize]).collect(), classes: *classes }
            }
            Targets::Numbers(numbers) => Targets::Numbers(order.iter().map(|&r| numbers[r as usize]).collect()),
            Targets::Tags { starts, tags, classes } => {
                let (mut cuts, mut moved) = (vec![0], Vec::with_capacity(tags.len()));
                for &row in order {
                    moved.extend_from_slice(&tags[starts[row as usize]..starts[row as usize + 1]]);
                    cuts.push(moved.len());
                }
                Targets::Tags { starts: cuts, tags: moved, classes: *classes }
            }
        }
    }
}

impl Dataset {
    /// Examples for training, from nobody in particular.
    pub fn new(features: Matrix, targets: Targets) -> Self {
        Self {
            features,
            targets,
            keys: None,
            names: Vec::new(),
            class_names: Vec::new(),
            recoded: false,
            columns: None,
            usages: None,
            notes: Vec::new(),
        }
    }

    /// Adds notes on how the data were read, for people.
    #[must_use]
    pub fn noted(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Sets the natural client of each example.
    #[must_use]
    pub fn from_clients(self, keys: Vec<u32>) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Sets the names of the classes, by number.
    #[must_use]
    pub fn of_classes(self, class_names: Vec<String>) -> Self {
        let recoded = self.recoded || class_names.iter().enumerate().any(|(class, name)| *name != class.to_string());
        Self { class_names, recoded, ..self }
    }

    /// The same; `recoded` says whether a class has another number than the file has for it.
    #[must_use]
    pub(crate) fn recoded(self, recoded: bool) -> Self {
        Self { recoded, ..self }
    }

    /// Sets the columns of a table that are not features.
    #[must_use]
    pub fn from_columns(self, columns: TableColumns) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// Sets the names of the natural clients, by key.
    #[must_use]
    pub fn named(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Sets what each example is meant for.
    #[must_use]
    pub fn with_usages(self, usages: Vec<Usage>) -> Self {
        Self { usages: Some(usages), ..self }
    }

    /// The same, with what each example is meant for, if some are for something else than training.
    pub(crate) fn with_some_usages(self, usages: Vec<Usage>) -> Self {
        if usages.iter().all(|&lot| lot == Usage::Train) { self } else { self.with_usages(usages) }
    }

    /// Makes room for so many more examples.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.features.reserve(rows);
        match &mut self.targets {
            Targets::Classes { labels, .. } => labels.reserve_exact(rows),
            Targets::Numbers(numbers) => numbers.reserve_exact(rows),
            Targets::Tags { starts, .. } => starts.reserve_exact(rows),
        }
    }

    /// Another client's examples after one's own: of the same columns and the same kind of targets, and all for training.
    ///
    /// # Panics
    /// If they are not.
    pub(crate) fn append(&mut self, other: Dataset) {
        self.features.append(other.features);
        match (&mut self.targets, other.targets) {
            (Targets::Classes { labels, .. }, Targets::Classes { labels: more, .. }) => labels.extend(more),
            (Targets::Numbers(numbers), Targets::Numbers(more)) => numbers.extend(more),
            (Targets::Tags { starts, tags, .. }, Targets::Tags { starts: more, tags: further, .. }) => {
                let before = tags.len();
                starts.extend(more.iter().skip(1).map(|start| before + start));
                tags.extend(further);
            }
            _ => panic!("all clients of a source have targets of one kind"),
        }
    }

    /// What an example is meant for.
    pub fn usage(&self, row: u32) -> Usage {
        self.usages.as_ref().map_or(Usage::Train, |usages| usages[row as usize])
    }

    /// The examples meant for something, in the source's order.
    pub fn rows_for(&self, lot: Usage) -> Vec<u32> {
        (0..self.len() as u32).filter(|&row| self.usage(row) == lot).collect()
    }

    /// How many examples.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first number that is too large to count with, and where it is: "example 3, feature 2". A number that is missing is
    /// no matter here.
    pub(crate) fn too_large(&self) -> Option<(String, f64)> {
        if let Some((row, column, value)) = self.features.first_beyond(LARGEST) {
            return Some((format!("example {}, feature {}", row + 1, column + 1), value));
        }
        let Targets::Numbers(numbers) = &self.targets else { return None };
        let at = numbers.iter().position(|number| number.abs() > LARGEST)?;
        Some((format!("example {}, target", at + 1), numbers[at]))
    }

    /// Example `order[0]`, then `order[1]`, …: brings each client's examples together.
    pub fn permuted(&self, order: &[u32]) -> Self {
        Self {
            features: self.features.permuted(order),
            targets: self.targets.permuted(order),
            keys: self.keys.as_ref().map(|keys| order.iter().map(|&r| keys[r as usize]).collect()),
            names: self.names.clone(),
            class_names: self.class_names.clone(),
            recoded: self.recoded,
            columns: self.columns.clone(),
            usages: self.usages.as_ref().map(|usages| order.iter().map(|&r| usages[r as usize]).collect()),
            notes: self.notes.clone(),
        }
    }
}

/// Features and targets that were checked: held once, behind an `Arc`; a client is a range of rows.
///
/// The fields are private so that the checks hold for as long as the value lives; the kernels rest on them.
#[derive(Debug)]
pub struct Examples {
    features: Matrix,
    targets: Vec<f64>,
    classes: Option<u32>,
    recoded: bool,
    tags: Option<Tags>,
}

/// Checked: starts ascend from 0 to the number of tags, which are below the count.
#[derive(Clone, Debug)]
struct Tags {
    starts: Vec<usize>,
    tags: Vec<u32>,
    count: u32,
}

/// Why features, targets and clients do not make a data set.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DatasetError {
    /// The features are no matrix.
    #[error(transparent)]
    Features(#[from] MatrixError),
    /// Each example has one target.
    #[error("{rows} rows of features but {targets} targets")]
    Unpaired {
        /// Rows of features.
        rows: usize,
        /// Targets.
        targets: usize,
    },
    /// Labels count from 0.
    #[error("example {example} has label {label}, but there are {classes} classes (0 to {})", classes.saturating_sub(1))]
    Label {
        /// The example concerned.
        example: usize,
        /// Its label.
        label: u32,
        /// How many there are.
        classes: u32,
    },
    /// Each example has a stretch of the list of tags.
    #[error("the examples' stretches do not add up to the {tags} tags")]
    Tags {
        /// How many there are.
        tags: usize,
    },
}

impl Examples {
    /// Checks a data set once and for all.
    pub fn new(dataset: Dataset) -> Result<Self, DatasetError> {
        let Dataset { features, targets, recoded, .. } = dataset;
        features.check()?;
        // Without columns a dense matrix cannot tell how many rows it has.
        if features.rows() != targets.len() && features.cols() > 0 {
            return Err(DatasetError::Unpaired { rows: features.rows(), targets: targets.len() });
        }
        targets.check()?;
        let (targets, classes, tags) = match targets {
            Targets::Numbers(numbers) => (numbers, None, None),
            Targets::Tags { starts, tags, classes: count } => (vec![0.0; starts.len() - 1], None, Some(Tags { starts, tags, count })),
            Targets::Classes { labels, classes } => (labels.into_iter().map(f64::from).collect(), Some(classes), None),
        };
        Ok(Self { features, targets, recoded: recoded && classes.is_some(), classes, tags })
    }

    /// One row per example.
    pub fn features(&self) -> &Matrix {
        &self.features
    }

    /// Number or class of each example.
    pub fn targets(&self) -> &[f64] {
        &self.targets
    }

    /// How many classes there are, if targets are classes.
    pub fn classes(&self) -> Option<u32> {
        self.classes
    }

    /// Are targets classes whose numbers are not those of the file?
    pub(crate) fn recoded(&self) -> bool {
        self.recoded
    }

    /// How many tags there are, if targets are tags.
    pub fn tag_count(&self) -> Option<u32> {
        self.tags.as_ref().map(|tags| tags.count)
    }

    /// The tags of an example; none if targets are something else.
    pub fn tags(&self, example: usize) -> &[u32] {
        self.tags.as_ref().map_or(&[], |tags| &tags.tags[tags.starts[example]..tags.starts[example + 1]])
    }

    /// How many examples.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same with features in single precision, for models that use no more: half the memory, and half the way to it.
    pub(crate) fn in_single_precision(self: Arc<Self>) -> Arc<Self> {
        let Matrix::Dense(Dense { cols, values }) = &self.features else { return self };
        let single = Matrix::Single(Single { cols: *cols, values: values.iter().map(|&v| v as f32).collect() });
        Arc::new(match Arc::try_unwrap(self) {
            Ok(own) => Self { features: single, ..own },
            Err(shared) => Self {
                features: single,
                targets: shared.targets.clone(),
                tags: shared.tags.clone(),
                classes: shared.classes,
                recoded: shared.recoded,
            },
        })
    }

    /// The same with bytes as numbers in double precision, for models whose kernels read no bytes.
    pub(crate) fn in_double_precision(self: Arc<Self>) -> Arc<Self> {
        let Matrix::Bytes(_) = &self.features else { return self };
        let double = Matrix::Dense(self.features.to_dense());
        Arc::new(match Arc::try_unwrap(self) {
            Ok(own) => Self { features: double, ..own },
            Err(shared) => Self {
                features: double,
                targets: shared.targets.clone(),
                tags: shared.tags.clone(),
                classes: shared.classes,
                recoded: shared.recoded,
            },
        })
    }

    pub(crate) fn contains(&self, rows: &Range<usize>) -> bool {
        rows.start <= rows.end && rows.end <= self.len()
    }
}
