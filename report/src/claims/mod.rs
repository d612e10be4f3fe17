//! Claims: what an experiment says it will show, and whether it did.
//!
//! A claim is one line of a small language, `rounds_to(scafflix, gap=1e-6) <= rounds_to(flix, gap=1e-6) / 3`,
//! read against the records of a finished experiment. `docs/reference/claims.md` is its manual.
//!
//! From text to verdict: `lexer` (tokens), `parser` with `calls` (the tree of `ast`), `names` (every variable
//! bound, every operand of the right sort), `book` (the runs), `scope` (which grid values are compared with
//! which), `eval` with `over`, `curve` and `truth` (numbers and what follows), `tally` (every case under one
//! view of the seeds), `noise` (what their spread leaves open), `verdict` (seeds, reasons).
//!
//! ```
//! use motet_core::Row;
//! use motet_records::{Records, RunCard};
//! use motet_report::claims::{NamedClaim, judge};
//!
//! let mut records = Records::default();
//! records.manifest.runs.push(RunCard { method: "flix".into(), label: "flix".into(), ..RunCard::default() });
//! let row = |k: u64| Row { round: k, metrics: [("gap".to_owned(), 0.5f64.powi(k as i32))].into(), ..Row::default() };
//! records.rows = (0..=20).map(row).collect();
//!
//! let text = "rounds_to(flix, gap=1e-3) <= 12".to_owned();
//! let verdicts = judge(&[NamedClaim { name: "quick".into(), text, ..NamedClaim::default() }], &records)?;
//! assert!(verdicts[0].holds && verdicts[0].value == Some(10.0));
//! # Ok::<(), motet_report::claims::ClaimError>(())
//! ```

mod ast;
mod book;
mod calls;
mod curve;
mod error;
mod eval;
mod falsify;
mod lexer;
mod names;
mod noise;
mod over;
mod parser;
mod scope;
mod table;
mod tally;
mod truth;
mod verdict;

pub use ast::Claim;
pub use error::{ClaimError, Problem};
pub use falsify::{Falsifier, Undecided, falsify};
pub use parser::parse;
pub use table::{Claims, Grade, NamedClaim, SeedRule, SeedRuleError};
pub use verdict::{check, judge};
