//! Multinomial logistic regression.

use motet_core::{Documented, Kind, NonNegative};
use motet_nn::elementary::{exp, ln};
use serde::{Deserialize, Serialize};

use super::evaluator::{Judge, many_classes, right_of_many};
use super::linear::{Curvature, Linear, Loss, Shape};
use super::{Arc, Evaluator, Examples, Model, ModelError, Objective, Range};

/// Multinomial logistic regression with an l2 regulariser; any number of classes.
///
/// f(X) = (1/m) Σ (log Σ_c exp(x_cᵀaⱼ) − x_{yⱼ}ᵀaⱼ) + (λ/2)|X|²; the coefficients x_c of one class lie together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct Softmax {
    /// λ: strength of the quadratic regulariser (default 0).
    pub l2: NonNegative,
    /// A column of ones in front, regularised like the others (default false).
    pub intercept: bool,
}

impl Kind for Softmax {
    const NAME: &'static str = "softmax";
}

impl Model for Softmax {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        data.classes().map(|_| self.shape(data).dim()).ok_or(ModelError::NeedsClasses { model: Self::NAME })
    }

    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Arc::new(Linear::new(CrossEntropy, self.shape(&data), *self.l2, data, rows))
    }

    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Arc::new(Judge::new(CrossEntropy, self.shape(&data), data, rows, many_classes).counting(right_of_many))
    }
}

impl Softmax {
    fn shape(&self, data: &Examples) -> Shape {
        Shape::new(data, data.classes().unwrap_or(0) as usize, self.intercept)
    }
}

/// log Σ exp(s_c) − s_y
struct CrossEntropy;

impl Loss for CrossEntropy {
    fn value(&self, target: f64, scores: &[f64]) -> f64 {
        let top = largest(scores);
        let sum: f64 = scores.iter().map(|s| exp(s - top)).sum();
        ln(sum) + (top - scores[target as usize])
    }
    fn slope(&self, target: f64, scores: &mut [f64]) {
        probabilities(scores);
        scores[target as usize] -= 1.0;
    }
    fn bend(&self, _: f64, scores: &[f64], direction: &mut [f64]) {
        // (diag(p) − p pᵀ) v
        let mut p = scores.to_vec();
        probabilities(&mut p);
        let mean: f64 = p.iter().zip(&*direction).map(|(p, v)| p * v).sum();
        for (v, p) in direction.iter_mut().zip(&p) {
            *v = p * (*v - mean);
        }
    }
    fn curvature(&self) -> Curvature {
        // diag(p) − p pᵀ ≤ ½ I (Böhning 1992), reached at p = (½, ½, 0, …).
        Curvature { least: 0.0, most: 0.5 }
    }
}

/// Replaces scores by exp(s_c)/Σ exp(s).
fn probabilities(scores: &mut [f64]) {
    let top = largest(scores);
    let mut sum = 0.0;
    for s in scores.iter_mut() {
        *s = exp(*s - top);
        sum += *s;
    }
    for s in scores.iter_mut() {
        *s /= sum;
    }
}

fn largest(scores: &[f64]) -> f64 {
    scores.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
