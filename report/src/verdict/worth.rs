//! The smallest difference that matters.
//!
//! With rows enough, a difference of any size can be shown, also one that nobody would join for. A difference matters if it is at
//! least a share of the error that is there to be lost: 1 % unless another share is asked for, one error in a hundred. The error is the metric
//! itself where smaller is better, and what is missing to 1 where larger is.

use motet_core::larger_is_better;
use serde::Serialize;

/// The smallest difference that matters, as a share of the error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Worth(f64);

impl Worth {
    /// From 0, where every difference that is shown counts, to 1.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// The share.
    pub fn share(self) -> f64 {
        self.0
    }

    /// The smallest difference that matters beside a model with this value of the metric.
    pub fn least(self, metric: &str, value: f64) -> f64 {
        let error = if larger_is_better(metric) { 1.0 - value } else { value };
        if error.is_finite() { self.0 * error.abs() } else { 0.0 }
    }
}

impl Default for Worth {
    fn default() -> Self {
        Self(0.01)
    }
}
