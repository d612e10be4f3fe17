//! Data sets, models and splits → problems.

mod card;
mod census;
mod data_folder;
mod dataset;
mod dice;
mod error;
mod holdout;
mod keys;
mod matrix;
pub mod source;
pub mod split;
pub mod synthetic;

pub use card::{Card, Parameter};
pub use census::{Census, Household};
pub use data_folder::{DataFile, Folders, data_files, data_folder};
pub use dataset::{Dataset, Targets};
pub use error::{LineFault, ProblemError};
pub use holdout::{Holdout, Parts};
pub use matrix::{Csr, Dense, Indices, Matrix};
pub use source::{SOURCES, Source};
pub use split::{Partition, SPLITS, Split};
