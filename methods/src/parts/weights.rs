//! What a client counts for in a mean.

use motet_core::{Sampling, SparseMean, Sum, Unsuitable};
use serde::{Deserialize, Serialize};

/// The weight of a client's vector in a mean.
///
/// "uniform" estimates 1/n Σ vᵢ, and is right on average over the draws of every sampling. "examples" is Σ mᵢ vᵢ / Σ mᵢ over those
/// who answered, the ratio of FedAvg: right where everyone is asked, and near it where chances are equal.
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

    /// What the sum over a cohort is divided by to be the mean over all clients, of whom the share `whole` can be asked.
    pub fn divisor(self, sum: &Sum, whole: f64) -> f64 {
        match self {
            Weights::Examples => sum.weight,
            Weights::Uniform => sum.divisor(whole),
        }
    }

    /// The mean over all clients, as the cohort's sum estimates it.
    pub fn estimate(self, sum: Sum, whole: f64) -> SparseMean {
        match self {
            Weights::Examples => sum.average(),
            Weights::Uniform => sum.estimate(whole),
        }
    }

    /// Does it go with the way clients are drawn?
    pub fn suits(self, sampling: &Sampling) -> Result<(), Unsuitable> {
        let cancels = "weights = \"examples\" divides by the examples of those drawn, which undoes the weights of unequal chances: \
                       take weights = \"uniform\", or sampling = { self-normalised = { importance = ... } } if that is meant";
        Unsuitable::when(self == Weights::Examples && sampling.has_unequal_chances(), cancels)
    }

    /// Uniform: for methods whose papers minimise 1/n Σ fᵢ.
    pub fn uniform() -> Self {
        Weights::Uniform
    }
}
