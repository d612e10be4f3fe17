//! What at least two methods use.

mod alpha;
mod batches;
pub mod budget;
pub mod compress;
mod exchange;
mod iterates;
mod mixed;
mod mixture;
mod optimiser;
mod regime;
mod solve;
mod start;

pub use alpha::refuse_alpha;
pub use batches::{BatchSize, rows};
pub use exchange::{Ask, Curvatures, Reply, gather, introduce};
pub use iterates::Iterates;
pub use mixed::Mixed;
pub use mixture::Mixture;
pub use optimiser::{Flavour, Momenta, Optimiser};
pub use regime::Regime;
pub use solve::{Solve, SolveKind, Solved};
pub use start::Start;
