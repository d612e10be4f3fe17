//! Data sets, models and splits → problems.
//!
//! A source gives a [`Dataset`]; a split gives each client a range of its rows; a [`ModelConfig`] makes
//! that range an `Objective` to minimise and an `Evaluator` to be judged by; [`Problem::build`] does all of it
//! from the `[problem]` section of an experiment file. [`synthetic`] has functions with known answers,
//! and [`mod@reference`] finds the minimiser that gaps are measured from.
//!
//! ```
//! use std::path::Path;
//! use motet_core::{Batch, Vector};
//! use motet_problems::{Problem, ProblemConfig};
//!
//! // As in the `[problem]` section of an experiment file.
//! let config: ProblemConfig = serde_json::from_str(
//!     r#"{"source": {"kind": "synthetic", "clients": 6, "features": 5, "examples": 30, "heterogeneity": 1.0},
//!         "holdout": {"test": 0.2},
//!         "model": {"kind": "logistic", "l2": 0.1}}"#,
//! )?;
//! let problem = Problem::build(&config, Path::new("."), 1)?;
//! assert_eq!(problem.shards.len(), 6);
//! // At zero, logistic regression knows nothing: ln 2.
//! let first = &problem.shards[0].train;
//! let loss = first.value(&Vector::from(vec![0.0; first.dim()]), Batch::all());
//! assert!((loss - 2f64.ln()).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | brings | default |
//! | --- | --- | --- |
//! | `sqlite` | the source `tff` (SQLite files of TensorFlow Federated and FedJAX); brings `text` too | yes |
//! | `images` | JPEG and PNG: the source `omniglot`, pictures in `cifar`, [albums](Album) | yes |
//! | `text` | the sources `shakespeare` and `stackexchange` (XML) | yes |
//! | `parquet` | Parquet files as tables | no |
//!
//! A source that was left out is refused by the name of the feature it needs.

mod album;
mod arranged;
mod data_folder;
mod data_summary;
mod dataset;
mod dealt;
mod dice;
mod error;
mod exported;
mod guard;
mod holdout;
mod identity;
mod imports;
mod matrix;
pub mod model;
mod on_demand;
mod own_data;
mod prepare;
mod problem;
mod problem_config;
pub mod reference;
mod room;
mod schema;
pub mod source;
pub mod split;
pub mod synthetic;
mod unseen;
mod values;
mod weights;

pub use album::{Album, SHOWN, Snapshot};
pub use data_folder::{DataFile, Folders, data_files, data_folder};
pub use data_summary::{ClientSummary, DataSummary};
pub use dataset::{Dataset, DatasetError, Examples, TableColumns, Targets, Usage};
pub use error::{LineFault, ProblemError};
pub use exported::Exported;
pub use guard::FileLimit;
pub use holdout::{Holdout, Parts};
pub use identity::Identity;
pub use imports::import;
pub use matrix::{Bytes, Csr, Dense, Indices, Matrix, MatrixError, Single};
pub use model::{AnyModel, Fitted, MODELS, Model, ModelConfig, ModelError};
pub use motet_core::Card;
pub use on_demand::{ClientExamples, Holding};
pub use own_data::{Column, DataError, DataFrame, LabelledRows, Names, OwnData};
pub use prepare::{Field, Form, Preparation};
pub use problem::Problem;
pub use problem_config::{ProblemConfig, ProblemSeed};
pub use room::Shortage;
pub use schema::{Schema, SchemaColumn};
pub use source::natural_order;
pub use source::{AnySource, Load, Material, NewRows, Place, Redraws, SOURCES, Source};
pub use split::{AnySplit, Deal, Extra, Partition, SPLITS, Split};
pub use unseen::Unseen;
pub use values::Values;
pub use weights::Weights;
