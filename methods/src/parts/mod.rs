//! What at least two methods use.

mod alpha;
mod averaging;
mod batches;
pub mod budget;
pub mod compress;
mod exchange;
mod iterates;
mod local_steps;
mod mixture;
mod optimiser;
mod plateau;
mod regime;
mod schedule;
mod solve;
mod start;
mod weights;

pub use alpha::refuse_alpha;
pub use averaging::{Train, Trained, average};
pub use batches::{BatchSize, rows};
pub use exchange::{Ask, Curvatures, Reply, gather, introduce};
pub use iterates::Iterates;
pub use local_steps::{Amount, LocalSteps, words};
pub use mixture::Mixture;
pub use optimiser::{Flavour, Momenta, Optimiser};
pub use plateau::{Decay, Machine, Plateau};
pub use regime::Regime;
pub use schedule::{Schedule, Shape};
pub use solve::{Solve, SolveKind, Solved};
pub use start::Start;
pub use weights::Weights;
