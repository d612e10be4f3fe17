//! The experiment file: what was written → what it means, every value checked.

mod budget;
mod document;
mod durability;
mod experiment;
mod grid;
mod sections;
mod size;

pub use budget::BudgetRule;
pub(crate) use document::closest;
pub use document::{ConfigError, Document};
pub use durability::{CheckpointSection, StoreSection, free_memory};
pub use experiment::{Experiment, MethodEntry, Variant};
pub use sections::{ProbeSection, ReferenceSection, ReportSection, RunSection};
pub use size::Size;
