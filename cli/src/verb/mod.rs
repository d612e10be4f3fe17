//! The commands, one file each.

mod bench;
mod check;
mod console;
mod data;
mod demo;
mod list;
mod predict;
mod report;
mod reproduce;
mod results;
mod run;

pub use bench::BenchArgs;
pub use check::CheckArgs;
pub use console::{Console, Format};
pub use data::DataArgs;
pub use demo::DemoArgs;
pub use list::ListArgs;
pub use predict::PredictArgs;
pub use report::ReportArgs;
pub use reproduce::ReproduceArgs;
pub use results::ResultsArgs;
pub use run::RunArgs;
