//! What at least two methods use.

mod alpha;
mod batches;
pub mod budget;
mod optimiser;
mod solve;
mod start;

pub use alpha::refuse_alpha;
pub use batches::{BatchSize, rows};
pub use optimiser::{Flavour, Momenta, Optimiser};
pub use solve::{Solve, SolveKind, Solved};
pub use start::Start;
