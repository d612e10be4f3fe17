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
