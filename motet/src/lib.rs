//! Motet: personalised federated learning, simulated, tuned and explained.
//!
//! This crate is the library that every front stands on, the command line among them: the vocabulary under [`core`], the
//! methods under [`methods`], data and models under [`problems`], ways to run under [`runtime`], records
//! and pages under [`report`].

pub use motet_core as core;
pub use motet_methods as methods;
pub use motet_problems as problems;
pub use motet_records as records;
pub use motet_report as report;
pub use motet_runtime as runtime;

mod affordable;
mod asleep;
pub mod bench;
pub mod bundled;
mod catalogue;
pub mod check;
mod clients;
pub mod config;
mod error;
mod method;
mod observer;
mod passport;
pub mod predict;
mod promised;
mod recorders;
mod resume;
mod run;
mod session;
mod simulate;
mod timed;
mod tuning;

pub use catalogue::{Catalogue, Entered, Misread};
pub use clients::{Clients, Function};
pub use error::Error;
pub use method::AnyMethod;
pub use observer::{Event, Observer, Unobserved};
pub use recorders::{Folder, InMemory, Recorder};
pub use resume::Workplace;
pub use run::{Run, RunError, Trained};
pub use session::{Checkpointer, Ended, Ground, RunMoment, Session};
pub use simulate::{Built, Planned, Simulation};
