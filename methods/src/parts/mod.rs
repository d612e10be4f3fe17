//! What at least two methods use.

pub mod compress;
mod exchange;
mod iterates;
mod mixture;
mod regime;
mod solve;
mod start;

pub use exchange::{Ask, Curvatures, Reply, gather, introduce};
pub use iterates::Iterates;
pub use mixture::Mixture;
pub use regime::Regime;
pub use solve::{Solve, SolveKind, Solved};
pub use start::Start;
