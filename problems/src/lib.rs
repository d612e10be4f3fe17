//! Data sets, models and splits → problems.

mod dataset;
mod matrix;

pub use dataset::{Dataset, Targets};
pub use matrix::{Csr, Dense, Indices, Matrix};
