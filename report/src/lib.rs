//! Records → tables, plots, a page, and verdicts on claims.
//!
//! ```
//! use motet_core::Row;
//! use motet_records::{Manifest, Records, RunCard};
//! use motet_report::{render, table};
//!
//! // Usually `Records::read(folder)?`.
//! let card = RunCard { label: "flix α=0.5".into(), method: "flix".into(), ..RunCard::default() };
//! let manifest = Manifest { experiment: "demo".into(), runs: vec![card], ..Manifest::default() };
//! let row = |round, loss| Row { round, metrics: [("loss".to_owned(), loss)].into(), ..Row::default() };
//! let records = Records { manifest, rows: vec![row(0, 0.7), row(1, 0.25)], ..Records::default() };
//!
//! let folders = [("demo".to_owned(), records)];
//! assert!(table(&folders).contains("0.25"));
//!
//! let out = std::env::temp_dir().join(format!("motet-doc-{}", std::process::id()));
//! let written = render(&folders, &out)?;
//! assert!(written.iter().any(|path| path.ends_with("report.html")));
//! # std::fs::remove_dir_all(&out).ok();
//! # Ok::<(), motet_report::RenderError>(())
//! ```
//!
//! [`Comparison`] is what all outputs start from: runs of one or several folders, seeds grouped, on
//! common axes. An output is one file under `render/` and one line in [`OUTPUTS`].

mod advice_page;
mod albums;
mod cautions;
mod chart;
pub mod claims;
mod client_summaries;
mod clients;
mod compare;
mod evidence;
mod figures;
mod former_names;
mod group;
mod markup;
mod merit;
mod mixture;
mod number;
mod page;
mod render;
mod results;
mod sweep;
mod tensorboard;
pub mod verdict;

pub use advice_page::{AdviceLine, AdvicePage};
pub use albums::{Album, Picture};
pub use cautions::cautions;
pub use client_summaries::{ClientSummary, data_page, label_map};
pub use clients::{ClientLine, ClientTable, MOST_CLIENTS};
pub use compare::{Axis, Comparison, Curve, Point};
pub use group::{Group, Run};
pub use merit::{Columns, Help, Helper, MeritMap, Transfer, transfers};
pub use mixture::{AlphaCurve, Role, Station, alpha, alpha_curves};
pub use number::difference;
pub use render::{File, OUTPUTS, Output, RenderError, render, render_as, table};
pub use results::results;
pub use tensorboard::tensorboard;
