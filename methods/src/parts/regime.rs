//! Which theorem a theoretical step comes from.

use serde::{Deserialize, Serialize};

/// What is known of the functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// μ > 0: the last iterate is the model.
    #[default]
    StronglyConvex,
    /// Convex: theory speaks of the average of the iterates, and that is the model.
    Convex,
    /// Neither: theory speaks of the smallest gradient; the last iterate is the model.
    NonConvex,
}
