//! What an experiment leaves: formats, digests, readers and writers. Nothing here runs or draws anything.
//!
//! [`Manifest`] says what is planned, [`Row`](motet_core::Row)s what was measured as it happens, [`Summary`] what came of it;
//! [`Records`] is all of it in memory. [`Writer`] writes a folder so that a kill at any moment leaves whole records,
//! [`Records::read`] reads it back, and [`verify`] tells whether every byte is as it was written. `docs/reference/records.md` has every
//! file, field by field.
//!
//! ```
//! use motet_core::Row;
//! use motet_records::{Lengths, Manifest, Records, Writer};
//!
//! let folder = std::env::temp_dir().join(format!("motet-records-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let mut writer = Writer::open(&folder, Lengths::default())?;
//! writer.manifest(&Manifest { experiment: "first".into(), ..Manifest::default() })?;
//! writer.row(&Row { round: 1, ..Row::default() })?;
//! writer.close()?;
//! let records = Records::read(&folder)?;
//! assert_eq!((records.manifest.experiment.as_str(), records.rows.len()), ("first", 1));
//! assert!(motet_records::verify(&folder)?.is_sound());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checksums;
mod digest;
mod event;
mod format;
mod lengths;
mod manifest;
mod merits;
mod model_parts;
mod models;
pub mod names;
mod read;
mod right_rows;
mod stream;
mod summary;
mod tuning;
mod utc;
mod verify;
mod writer;

pub use checksums::Checksum;
pub use digest::{digest, hexadecimal, sha256};
pub use event::{Attendance, Event, EventKind};
pub use format::Format;
pub use lengths::Lengths;
pub use manifest::{Input, Manifest, OptimumCard, ProblemCard, RunCard};
pub use models::{ModelError, ModelFile, Models};
pub use names::slug;
pub use read::{ReadError, Records};
pub use right_rows::RightRows;
pub use stream::Stream;
pub use summary::{ClientRow, RunSummary, Status, Summary, Verdict};
pub use tuning::{Trial, Tried, Tuning};
pub use utc::{NotATime, Utc};
pub use verify::{Damage, Span, Verification, WholeFiles, verify};
pub use writer::{WriteError, Writer};
