//! Motet: personalised federated learning, simulated, tuned and explained.
//!
//! This crate is the library that every front stands on, the command line among them: the vocabulary under [`core`], the
//! methods under [`methods`], data and models under [`problems`], ways to run under [`runtime`], records
//! and pages under [`report`].

pub use motet_core as core;
pub use motet_methods as methods;
pub use motet_problems as problems;
pub use motet_report as report;
pub use motet_runtime as runtime;

mod affordable;
pub mod bench;
pub mod bundled;
pub mod check;
pub mod config;
mod digest;
mod error;
mod models;
mod observer;
mod output;
pub mod predict;
mod promised;
mod recorder;
mod resume;
mod simulate;
mod stream;
mod tuning;

pub use digest::digest;
pub use error::Error;
pub use observer::{Event, Observer, Unobserved};
pub use output::{Output, slug};
pub use simulate::{Built, Planned, Simulation, visit};
