//! Motet: personalised federated learning, simulated, tuned and explained.
//!
//! This crate is the library that every front stands on, the command line among them. A method and its clients are a [`Run`]:
//!
//! ```
//! use motet::methods::flix::Flix;
//! use motet::{Run, problems::synthetic::formula::lrs};
//!
//! let clients = lrs(10, 20, 12); // ten clients with twenty examples each, in dimension 12
//! let run = Run::new(Flix::mixing(0.5)?, clients).rounds(50).seed(1).train()?;
//! assert!(run.rows[50].metrics["loss"] < run.rows[0].metrics["loss"]);
//! assert_eq!(run.personal.len(), 10); // what each client deploys
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An experiment file is a [`Simulation`], whose records go to memory or to a folder:
//!
//! ```
//! use motet::{Experiment, InMemory, Simulation};
//!
//! let text = r#"
//!     name = "mixtures"
//!     [problem]
//!     source = { kind = "synthetic", clients = 6, features = 5, examples = 30, heterogeneity = 1.0 }
//!     model  = { kind = "logistic", l2 = 0.1 }
//!     [run]
//!     rounds = 20
//!     [[method]]
//!     kind  = "flix"
//!     alpha = { grid = [1.0, 0.5] }
//! "#;
//! let result = Simulation::new(Experiment::parse(text)?)?.run(&mut InMemory::new())?;
//! assert_eq!(result.manifest.runs.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Progress, rows as they come, and the wish to stop go through an [`Observer`]; [`Catalogue`] is everything that files can name,
//! and takes what is one's own. The vocabulary is under [`core`], the methods under [`methods`], data and models under
//! [`problems`], ways to run under [`runtime`], what is left of a run under [`records`], pages under [`report`].
//!
//! # Features
//!
//! `sqlite` (SQLite files of TensorFlow Federated and FedJAX), `images` (JPEG and PNG) and `text` (plays and posts in XML) are on
//! by default, `parquet` (tables) is not. A source that was left out is refused by the name of the feature it needs.

pub use motet_core as core;
pub use motet_files as files;
pub use motet_link as link;
pub use motet_methods as methods;
pub use motet_problems as problems;
pub use motet_records as records;
pub use motet_report as report;
pub use motet_runtime as runtime;

pub mod advise;
mod affordable;
pub mod bench;
pub mod bundle;
pub mod bundled;
mod catalogue;
pub mod check;
mod client_states;
mod clients;
pub mod cluster;
pub mod config;

mod error;
mod estimates;
mod method;
mod network;
mod observer;
mod passport;
pub mod predict;
mod promised;
mod recorders;
mod resume;
mod run;
mod session;
mod simulate;
pub mod study;
mod timed;
mod tuning;
mod whereabouts;

pub use catalogue::{Catalogue, Entered, Misread};
pub use clients::{Clients, Function};
pub use config::{Document, Experiment};
pub use error::Error;
pub use method::AnyMethod;
pub use network::{Network, Timed};
pub use observer::{Event, Observer, Unobserved};
pub use recorders::{Folder, InMemory, Journal, Recorder};
pub use resume::Workplace;
pub use run::{Run, RunError, Trained};
pub use session::{AnyCheckpointer, AnyRunState, ClientGround, Ended, Ground, Session, TrainedSession};
pub use simulate::{Built, Planned, Simulation};
