//! Data sets, models and splits → problems.
//!
//! A source gives a [`Dataset`]; a split gives each client a range of its rows; a [`ModelConfig`] makes
//! that range an `Objective` to minimise and an `Exam` to be judged by. [`synthetic`] has functions with
//! known answers, and [`reference`] finds the minimiser that gaps are measured from.

mod dataset;
mod elementary;
mod matrix;
pub mod model;
pub mod reference;
pub mod synthetic;

pub use dataset::{Dataset, DatasetError, Examples, Targets};
pub use matrix::{Csr, Dense, Indices, Matrix, MatrixError};
pub use model::{MODELS, ModelCard, ModelConfig, ModelError};
