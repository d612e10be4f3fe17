//! Data sets, models and splits → problems.
//!
//! A source gives a [`Dataset`]; a split gives each client a range of its rows; a [`ModelConfig`] makes
//! that range an `Objective` to minimise and an `Evaluator` to be judged by; [`Problem::build`] does all of it
//! from the `[problem]` section of an experiment file. [`synthetic`] has functions with known answers,
//! and [`mod@reference`] finds the minimiser that gaps are measured from.

mod album;
mod data_folder;
mod data_summary;
mod dataset;
mod dealt;
mod dice;
mod error;
mod guard;
mod holdout;
mod imports;
mod matrix;
pub mod model;
mod own_data;
mod prepare;
mod problem;
mod problem_config;
pub mod reference;
pub mod source;
pub mod split;
pub mod synthetic;
mod unseen;
mod weights;

pub use album::{Album, SHOWN, Snapshot};
pub use data_folder::{DataFile, Folders, data_files, data_folder};
pub use data_summary::{ClientSummary, DataSummary};
pub use dataset::{Dataset, DatasetError, Examples, Targets, Usage};
pub use error::{LineFault, ProblemError};
pub use guard::FileLimit;
pub use holdout::{Holdout, Parts};
pub use imports::import;
pub use matrix::{Bytes, Csr, Dense, Indices, Matrix, MatrixError, Single};
pub use model::{AnyModel, Fitted, MODELS, Model, ModelConfig, ModelError};
pub use motet_core::Card;
pub use own_data::{Column, DataError, DataFrame, LabelledRows, Names, OwnData};
pub use prepare::{Field, Form, Preparation};
pub use problem::Problem;
pub use problem_config::{ProblemConfig, ProblemSeed};
pub use source::{AnySource, Load, Material, Place, SOURCES, Source};
pub use split::{AnySplit, Deal, Extra, Partition, SPLITS, Split};
pub use unseen::Unseen;
pub use weights::Weights;
