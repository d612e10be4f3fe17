//! `convolution = "exact"` or `"fast"`, in the models that convolve.

use serde::{Deserialize, Serialize};

/// How convolutions are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Convolution {
    /// By their definition.
    Exact,
    /// With fewer multiplications, where the sizes make that worth it.
    #[default]
    Fast,
}

impl From<Convolution> for motet_nn::layer::Convolution {
    fn from(convolution: Convolution) -> Self {
        match convolution {
            Convolution::Exact => Self::Exact,
            Convolution::Fast => Self::Fast,
        }
    }
}
