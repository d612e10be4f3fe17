//! Logistic regression on two classes.

use motet_core::{Documented, Kind, NonNegative};
use motet_nn::elementary::{sigmoid, softplus};
use serde::{Deserialize, Serialize};

use super::evaluator::{Judge, right_of_two, two_classes};
use super::linear::{Curvature, Linear, Loss, Shape};
use super::{Arc, Evaluator, Examples, Model, ModelError, Objective, Range, kernel};

/// Logistic regression with an l2 regulariser; tells two classes apart.
///
/// f(x) = (1/m) Σ log(1 + exp(−bⱼ aⱼᵀx)) + (λ/2)|x|², where b is −1 for class 0 and +1 for class 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields, default)]
pub struct Logistic {
    /// λ: strength of the quadratic regulariser (default 0).
    pub l2: NonNegative,
    /// A column of ones in front, regularised like the others (default false).
    pub intercept: bool,
    /// How L is computed: "spectral" (default), or "author" as in the released code of FLIX.
    pub smoothness: Smoothness,
}

/// The formula of Lᵢ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smoothness {
    /// λ_max(XᵀX)/(4m) + λ
    #[default]
    Spectral,
    /// λ_max(XᵀX + λI)/(4m), as the released FLIX code has it: λ divided by 4m by mistake.
    Author,
}

impl Kind for Logistic {
    const NAME: &'static str = "logistic";
}

impl Model for Logistic {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        match data.classes() {
            Some(2) => Ok(self.shape(data).dim()),
            Some(classes) => Err(ModelError::NeedsTwoClasses { model: Self::NAME, classes }),
            None => Err(ModelError::NeedsClasses { model: Self::NAME }),
        }
    }

    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        let linear = Linear::new(Margin, self.shape(&data), *self.l2, data, rows);
        Arc::new(match self.smoothness {
            Smoothness::Spectral => linear,
            Smoothness::Author => linear.with_regulariser_divided(),
        })
    }

    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Arc::new(Judge::new(Margin, self.shape(&data), data, rows, two_classes).counting(right_of_two))
    }
}

impl Logistic {
    fn shape(&self, data: &Examples) -> Shape {
        Shape::new(data, 1, self.intercept)
    }
}

/// log(1 + exp(−b s))
struct Margin;

impl Loss for Margin {
    fn value(&self, target: f64, scores: &[f64]) -> f64 {
        softplus(-sign(target) * scores[0])
    }
    fn slope(&self, target: f64, scores: &mut [f64]) {
        scores[0] = margin_slope(target, scores[0]);
    }
    fn slopes(&self, targets: &[f64], scores: &mut [f64]) {
        kernel::margin_slopes(targets, scores);
    }
    fn bend(&self, _: f64, scores: &[f64], direction: &mut [f64]) {
        direction[0] *= sigmoid(scores[0]) * sigmoid(-scores[0]);
    }
    fn curvature(&self) -> Curvature {
        Curvature { least: 0.0, most: 0.25 }
    }
}

/// −b σ(−b s): unlike σ(s) − [b = 1], exact to the last digits when the example is right by far.
#[inline(always)]
pub(super) fn margin_slope(target: f64, score: f64) -> f64 {
    let b = sign(target);
    -b * sigmoid(-b * score)
}

#[inline(always)]
fn sign(target: f64) -> f64 {
    2.0 * target - 1.0
}
