//! Ridge regression.

use motet_core::{Documented, Kind, NonNegative};
use serde::{Deserialize, Serialize};

use super::evaluator::{Judge, regression};
use super::linear::{Curvature, Linear, Loss, Shape};
use super::{Arc, Evaluator, Examples, Model, ModelError, Objective, Range};

/// Least squares with an l2 regulariser; predicts numbers.
///
/// f(x) = 1/(2m) Σ (aⱼᵀx − bⱼ)² + (λ/2)|x|²
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct Ridge {
    /// λ: strength of the quadratic regulariser (default 0).
    pub l2: NonNegative,
    /// A column of ones in front, regularised like the others (default false).
    pub intercept: bool,
}

impl Kind for Ridge {
    const NAME: &'static str = "ridge";
}

impl Model for Ridge {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        // The number of a class says nothing of its size: 10, 20 and 40 would be 0, 1 and 2.
        if data.recoded() { Err(ModelError::NeedsNumbers { model: Self::NAME }) } else { Ok(self.shape(data).dim()) }
    }

    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Arc::new(Linear::new(Squares, self.shape(&data), *self.l2, data, rows))
    }

    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Arc::new(Judge::new(Squares, self.shape(&data), data, rows, regression))
    }
}

impl Ridge {
    fn shape(&self, data: &Examples) -> Shape {
        Shape::new(data, 1, self.intercept)
    }
}

/// ½ (s − b)²
pub(super) struct Squares;

impl Loss for Squares {
    fn value(&self, target: f64, scores: &[f64]) -> f64 {
        0.5 * (scores[0] - target) * (scores[0] - target)
    }
    fn slope(&self, target: f64, scores: &mut [f64]) {
        scores[0] -= target;
    }
    fn bend(&self, _: f64, _: &[f64], _: &mut [f64]) {}
    fn curvature(&self) -> Curvature {
        Curvature { least: 1.0, most: 1.0 }
    }
}
