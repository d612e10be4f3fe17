//! What at least two methods use.

mod solve;
mod start;

pub use solve::{Solve, SolveKind, Solved};
pub use start::Start;
