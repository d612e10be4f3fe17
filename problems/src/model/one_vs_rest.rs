//! One logistic regression per class.

use motet_core::{Documented, Kind, NonNegative};
use motet_nn::elementary::{sigmoid, softplus};
use serde::{Deserialize, Serialize};

use super::evaluator::{Judge, many_classes, right_of_many};
use super::linear::{Curvature, Linear, Loss, Shape};
use super::{Arc, Evaluator, Examples, Model, ModelError, Objective, Range};

/// One logistic regression per class, losses averaged over classes; any number of classes.
///
/// f(X) = 1/(mC) Σ_c Σⱼ log(1 + exp(−b_{jc} x_cᵀaⱼ)) + (λ/2)|X|², where b_{jc} is +1 if example j is of class c
/// and −1 otherwise; the coefficients x_c of one class lie together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct OneVsRest {
    /// λ: strength of the quadratic regulariser (default 0).
    pub l2: NonNegative,
    /// A column of ones in front, regularised like the others (default false).
    pub intercept: bool,
}

impl Kind for OneVsRest {
    const NAME: &'static str = "one-vs-rest";
}

impl Model for OneVsRest {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        data.classes().map(|_| self.shape(data).dim()).ok_or(ModelError::NeedsClasses { model: Self::NAME })
    }

    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        let shape = self.shape(&data);
        Arc::new(Linear::new(Margins { classes: shape.outputs as f64 }, shape, *self.l2, data, rows))
    }

    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        let shape = self.shape(&data);
        Arc::new(Judge::new(Margins { classes: shape.outputs as f64 }, shape, data, rows, many_classes).counting(right_of_many))
    }
}

impl OneVsRest {
    fn shape(&self, data: &Examples) -> Shape {
        Shape::new(data, data.classes().unwrap_or(0) as usize, self.intercept)
    }
}

/// (1/C) Σ_c log(1 + exp(−b_c s_c))
struct Margins {
    classes: f64,
}

impl Loss for Margins {
    fn value(&self, target: f64, scores: &[f64]) -> f64 {
        let own = target as usize;
        let sum: f64 = scores.iter().enumerate().map(|(c, &s)| softplus(if c == own { -s } else { s })).sum();
        sum / self.classes
    }
    fn slope(&self, target: f64, scores: &mut [f64]) {
        for s in scores.iter_mut() {
            *s = sigmoid(*s);
        }
        scores[target as usize] -= 1.0;
        for s in scores.iter_mut() {
            *s /= self.classes;
        }
    }
    fn bend(&self, _: f64, scores: &[f64], direction: &mut [f64]) {
        for (v, &s) in direction.iter_mut().zip(scores) {
            *v *= sigmoid(s) * sigmoid(-s) / self.classes;
        }
    }
    fn curvature(&self) -> Curvature {
        Curvature { least: 0.0, most: 0.25 / self.classes }
    }
}
