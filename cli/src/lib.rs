//! Motet: personalised federated learning, simulated, tuned and explained.
//!
//! This crate is the binary `motet` and the façade of the library: the vocabulary under [`core`], the
//! methods under [`methods`], data and models under [`problems`], ways to run under [`runtime`], records
//! and pages under [`report`].

pub use motet_core as core;
pub use motet_methods as methods;
pub use motet_problems as problems;
pub use motet_report as report;
pub use motet_runtime as runtime;

mod affordable;
pub mod bundled;
pub mod config;
mod digest;
mod error;
mod models;
mod output;
mod progress;
mod promised;
mod recorder;
mod resume;
mod simulate;
mod stream;
mod tuning;
pub mod verb;

pub use digest::digest;
pub use error::Error;
pub use output::Output;
pub use progress::Progress;
pub use simulate::{Built, Planned, Simulation, visit};
