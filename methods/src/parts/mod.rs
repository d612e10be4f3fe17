//! What at least two methods use.

mod alpha;
mod batches;
pub mod budget;
mod clip;
pub mod compress;
mod exchange;
mod gradients;
mod iterates;
mod mirror;
mod mixture;
mod optimiser;
mod pass;
pub mod questions;
mod regime;
pub mod robust;
mod simplex;
mod solve;
mod start;
mod weighing;

pub use alpha::refuse_alpha;
pub use batches::{BatchSize, rows};
pub use clip::Clip;
pub use exchange::{Ask, Curvatures, Reply, gather, introduce};
pub use gradients::Gradients;
pub use iterates::Iterates;
pub use mirror::{Damp, MIRROR, Mirror, MirrorKind, Search, estimate, on_sphere};
pub use mixture::Mixture;
pub use optimiser::{Flavour, Momenta, Optimiser};
pub use pass::Pass;
pub use regime::Regime;
pub use simplex::Simplex;
pub use solve::{Solve, SolveKind, Solved};
pub use start::Start;
pub use weighing::{cosine, gather_gradients, refuse_target, simplex_of};
