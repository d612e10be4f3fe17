//! The experiment file: what was written → what it means, every value checked.

mod budget;
mod document;
mod durability;
mod estimate;
mod experiment;
mod given;
mod grid;
mod names;
mod outline;
mod pick;
mod sections;
mod size;
mod tune;
mod words;

pub use budget::BudgetRule;
pub(crate) use document::closest;
pub use document::{ConfigError, Document};
pub use durability::{CheckpointSection, StoreSection, free_memory};
pub use estimate::{EstimateRules, RateRule, ShareRule};
pub use experiment::{Experiment, MethodEntry, Tune, Variant};
pub use names::is_measured;
pub use pick::PickRule;
pub use sections::{ProbeSection, ReferenceSection, ReportSection, RunSection};
pub use size::Size;
pub use tune::TuneRule;
