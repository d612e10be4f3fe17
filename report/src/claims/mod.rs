//! Claims: what an experiment says it will show, and whether it did.
//!
//! A claim is one line of a small language, `rounds_to(scafflix, gap=1e-6) <= rounds_to(flix, gap=1e-6) / 3`,
//! read against the records of a finished experiment. `docs/claims.md` is its manual.
//!
//! From text to verdict: [`lexer`] (tokens), [`parser`] with [`calls`] (the tree of [`ast`]), [`names`]
//! (every variable bound, every operand of the right sort), [`scope`] (which grid values are compared
//! with which), [`eval`] with [`curve`] (numbers and truth), [`verdict`] (seeds, reasons).

mod ast;
mod book;
mod calls;
mod curve;
mod error;
mod eval;
mod lexer;
mod names;
mod over;
mod parser;
mod scope;
mod table;
mod truth;
mod verdict;

pub use ast::Claim;
pub use error::{ClaimError, Problem};
pub use parser::parse;
pub use table::{Claims, Grade, NamedClaim, SeedRule, SeedRuleError};
pub use verdict::{check, judge};
