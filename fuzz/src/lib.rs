//! Hostile inputs for everything that Motet reads: data files, experiments, claims, messages, checkpoints, records, models.
//!
//! A [`Target`] is one reader, with small sound inputs to begin with, which are made here and are nobody's data. [`targets`] is
//! the one list of them. Two drivers share it: [`drive`] damages the inputs by fixed dice, which ordinary tests do for a few seconds and
//! `motet-fuzz` for as long as wanted; libFuzzer looks for inputs that reach new code (`tools/fuzz`).
//!
//! ```
//! use motet_fuzz::{Met, Reach, targets};
//! let claims = targets().into_iter().find(|target| target.name() == "claims").unwrap();
//! assert_eq!(claims.run(b"final(flix, loss) <= 1", Reach::Quick), Met::Taken);
//! assert!(matches!(claims.run(b"final(flix, loss", Reach::Quick), Met::Refused(_)));
//! let report = motet_fuzz::drive(&*claims, 1, 0..200, Reach::Quick);
//! assert!(report.failures.is_empty() && report.taken + report.refused == 200);
//! ```

mod drive;
#[allow(clippy::unwrap_used, dead_code)]
mod forms;
mod mutate;
mod plain;
mod target;
mod targets;
mod usage;

pub use drive::{Failure, Report, case, drive, silence};
pub use mutate::mutate;
pub use target::{Met, Reach, Target};
pub use targets::targets;
pub use usage::{forget_peak, peak_memory, processor_time};
