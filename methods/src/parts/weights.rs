//! What a client counts for in a mean.

use serde::{Deserialize, Serialize};

/// What a client's vector weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// By its number of examples, as released code mostly has it.
    #[default]
    Examples,
    /// All alike.
    Uniform,
}

impl Weights {
    /// What a client with so many examples weighs.
    pub fn of(self, examples: u32) -> f64 {
        match self {
            Weights::Examples => f64::from(examples),
            Weights::Uniform => 1.0,
        }
    }

    /// Uniform: for methods whose papers minimise 1/n Σ fᵢ.
    pub fn uniform() -> Self {
        Weights::Uniform
    }
}
