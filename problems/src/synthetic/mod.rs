//! Problems that need no file.

pub mod formula;
mod mean_groups;
mod moving;
mod named;
pub mod quadratic;
mod quadratics;

pub use mean_groups::{MeanGroups, MeanMode, Validated};
pub use moving::{Drift, Extra};
pub use named::{Lrs, Q2, Q2s, Q3};
pub use quadratic::{Quadratic, QuadraticError};
pub use quadratics::Quadratics;
