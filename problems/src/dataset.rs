//! What a source gives: examples with their targets, before any split.

use std::ops::Range;

use crate::matrix::{Matrix, MatrixError};

/// Examples, their targets, and whom they came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// One row per example.
    pub features: Matrix,
    /// One target per example.
    pub targets: Targets,
    /// The natural client of each example (a writer, a hospital), where the source knows it.
    pub keys: Option<Vec<u32>>,
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
}

impl Targets {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Targets::Classes { labels, .. } => labels.len(),
            Targets::Numbers(numbers) => numbers.len(),
        }
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of example `order[0]`, then of `order[1]`, …
    pub fn permuted(&self, order: &[u32]) -> Self {
        match self {
            Targets::Classes { labels, classes } => {
                Targets::Classes { labels: order.iter().map(|&r| labels[r as usize]).collect(), classes: *classes }
            }
            Targets::Numbers(numbers) => Targets::Numbers(order.iter().map(|&r| numbers[r as usize]).collect()),
        }
    }
}

impl Dataset {
    /// How many examples.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Example `order[0]`, then `order[1]`, …: brings each client's examples together.
    pub fn permuted(&self, order: &[u32]) -> Self {
        Self {
            features: self.features.permuted(order),
            targets: self.targets.permuted(order),
            keys: self.keys.as_ref().map(|keys| order.iter().map(|&r| keys[r as usize]).collect()),
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
}

/// A data set that is none.
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
        /// Which.
        example: usize,
        /// Its label.
        label: u32,
        /// How many there are.
        classes: u32,
    },
}

impl Examples {
    /// Checks a data set once and for all.
    pub fn new(dataset: Dataset) -> Result<Self, DatasetError> {
        let Dataset { features, targets, .. } = dataset;
        features.check()?;
        // Without columns a dense matrix cannot tell how many rows it has.
        if features.rows() != targets.len() && features.cols() > 0 {
            return Err(DatasetError::Unpaired { rows: features.rows(), targets: targets.len() });
        }
        let (targets, classes) = match targets {
            Targets::Numbers(numbers) => (numbers, None),
            Targets::Classes { labels, classes } => {
                if let Some(example) = labels.iter().position(|&l| l >= classes) {
                    return Err(DatasetError::Label { example, label: labels[example], classes });
                }
                (labels.into_iter().map(f64::from).collect(), Some(classes))
            }
        };
        Ok(Self { features, targets, classes })
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

    /// How many examples.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn contains(&self, rows: &Range<usize>) -> bool {
        rows.start <= rows.end && rows.end <= self.len()
    }
}
