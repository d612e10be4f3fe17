//! Records → tables, plots, a page, and verdicts on claims.

pub mod claims;
mod records;

pub use records::{ReadError, Records};
