//! How many coordinates are kept.

use serde::{Deserialize, Serialize};

/// k: a whole number of coordinates, or below 1 a share of d.
///
/// `k = 3` keeps three, `k = 0.2` keeps a fifth of d (rounded down as in the papers, at least one). All of them are
/// kept where k is larger than d.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Amount(f64);

/// Not a number of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("k must be a whole number or a share between 0 and 1, got {0}")]
pub struct NotAnAmount(f64);

impl TryFrom<f64> for Amount {
    type Error = NotAnAmount;
    fn try_from(k: f64) -> Result<Self, NotAnAmount> {
        let whole = k >= 1.0 && k.fract() == 0.0 && k <= f64::from(u32::MAX);
        if whole || (k > 0.0 && k < 1.0) { Ok(Self(k)) } else { Err(NotAnAmount(k)) }
    }
}

impl From<Amount> for f64 {
    fn from(k: Amount) -> f64 {
        k.0
    }
}

impl Amount {
    /// k of d.
    pub fn of(self, dim: usize) -> usize {
        // 0.29 × 100 is just below 29 in binary and means 29.
        let k = if self.0 < 1.0 { (self.0 * dim as f64 + 1e-9).floor().max(1.0) } else { self.0 };
        (k as usize).min(dim)
    }
}
