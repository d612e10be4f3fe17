//! What a source gives: examples with their targets, before any split.

use crate::matrix::Matrix;

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
