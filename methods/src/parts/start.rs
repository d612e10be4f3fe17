//! Where the shared model starts.

use motet_core::Vector;
use serde::{Deserialize, Serialize};

/// Where the shared model starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Where the problem's model says; zeros for convex models.
    #[default]
    Model,
    /// 0
    Zeros,
    /// 1 in every coordinate, as the released code of FLIX and Scafflix has it.
    Ones,
    /// x_avg, the weighted average of the pure local models (FLIX Theorem 1): one exchange.
    OneShot,
}

impl Start {
    /// The vector to start from, before any exchange.
    pub fn from(self, model: Vector) -> Vector {
        match self {
            Start::Model | Start::OneShot => model,
            Start::Zeros => model.zeros_like(),
            Start::Ones => Vector::filled(model.len(), 1.0, model.precision()),
        }
    }
}
