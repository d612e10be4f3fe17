//! Records → tables, plots, a page, and verdicts on claims.

mod records;

pub use records::{ReadError, Records};
