//! Problems that need no file.

pub mod formula;
pub mod quadratic;

pub use quadratic::{Quadratic, QuadraticError};
