//! Judging a linear model on examples.

use motet_core::Vector;
use motet_nn::elementary::{exp, sigmoid};

use super::linear::{Loss, Shape};
use super::product::{self, Picked};
use super::{Arc, Evaluator, Examples, Range};

/// What was predicted on each example and what was right.
pub(super) struct Answers<'a> {
    /// Number or class of each example.
    targets: &'a [f64],
    /// Scores of each example, those of one together.
    scores: &'a [f64],
}

type Metric = (&'static str, f64);

/// A loss, and the further metrics of its kind of task, on a range of examples.
pub(super) struct Judge<L> {
    loss: L,
    shape: Shape,
    data: Arc<Examples>,
    rows: Range<usize>,
    task: fn(&Answers<'_>) -> Vec<Metric>,
    /// Does an example of this target with these scores count as right? None for tasks without right and wrong.
    is_right: Option<fn(f64, &[f64]) -> bool>,
}

impl<L: Loss> Judge<L> {
    pub(super) fn new(loss: L, shape: Shape, data: Arc<Examples>, rows: Range<usize>, task: fn(&Answers<'_>) -> Vec<Metric>) -> Self {
        Self { loss, shape, data, rows, task, is_right: None }
    }

    /// The same, for a task whose examples are right or wrong.
    pub(super) fn counting(self, is_right: fn(f64, &[f64]) -> bool) -> Self {
        Self { is_right: Some(is_right), ..self }
    }
}

impl<L: Loss> Evaluator for Judge<L> {
    fn examples(&self) -> usize {
        self.rows.len()
    }

    fn metrics(&self, x: &Vector, _: Option<&Vector>) -> Vec<Metric> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let outputs = self.shape.outputs;
        let mut scores = vec![0.0; self.rows.len() * outputs];
        product::scores(&self.data, &self.shape, &Picked::Range(self.rows.clone()), x.f64s(), &mut scores);
        let targets = &self.data.targets()[self.rows.clone()];
        let loss: f64 = targets.iter().zip(scores.chunks_exact(outputs)).map(|(t, s)| self.loss.value(*t, s)).sum();
        let mut metrics = vec![("loss", loss / targets.len() as f64)];
        metrics.extend((self.task)(&Answers { targets, scores: &scores }));
        metrics
    }

    fn scores(&self, x: &Vector) -> Option<Vec<f64>> {
        let mut scores = vec![0.0; self.rows.len() * self.shape.outputs];
        product::scores(&self.data, &self.shape, &Picked::Range(self.rows.clone()), x.f64s(), &mut scores);
        Some(scores)
    }

    fn right(&self, x: &Vector, _: Option<&Vector>) -> Option<Vec<bool>> {
        let (is_right, scores) = (self.is_right?, self.scores(x)?);
        let targets = &self.data.targets()[self.rows.clone()];
        Some(targets.iter().zip(scores.chunks_exact(self.shape.outputs)).map(|(target, scores)| is_right(*target, scores)).collect())
    }
}

/// Of two classes by one score: NaN is right for nobody.
pub(super) fn right_of_two(target: f64, scores: &[f64]) -> bool {
    if target == 1.0 { scores[0] > 0.0 } else { scores[0] <= 0.0 }
}

/// Of many classes by a score for each: ties go to the first.
pub(super) fn right_of_many(target: f64, scores: &[f64]) -> bool {
    let best = (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best });
    best == target as usize && !scores[best].is_nan()
}

/// Root mean square and mean absolute error of predicted numbers.
pub(super) fn regression(answers: &Answers<'_>) -> Vec<Metric> {
    let count = answers.targets.len() as f64;
    let errors = || answers.targets.iter().zip(answers.scores).map(|(t, s)| s - t);
    let squares: f64 = errors().map(|e| e * e).sum();
    vec![("rmse", (squares / count).sqrt()), ("mae", errors().map(f64::abs).sum::<f64>() / count)]
}

/// Accuracy, Brier's score, balanced accuracy and area under the curve of one score that is positive for class 1.
///
/// Brier's is (p − y)²: like the loss it judges probabilities, but no single example can weigh more than 1. The last two need examples of both classes and are left out otherwise.
pub(super) fn two_classes(answers: &Answers<'_>) -> Vec<Metric> {
    let (mut right, mut of) = ([0.0; 2], [0.0; 2]);
    for (&target, &score) in answers.targets.iter().zip(answers.scores) {
        let class = target as usize;
        of[class] += 1.0;
        right[class] += f64::from(u8::from(right_of_two(target, &[score])));
    }
    let squares = answers.targets.iter().zip(answers.scores).map(|(target, score)| (sigmoid(*score) - target) * (sigmoid(*score) - target));
    let mut metrics =
        vec![("accuracy", (right[0] + right[1]) / (of[0] + of[1])), ("brier", squares.sum::<f64>() / answers.targets.len() as f64)];
    if of[0] > 0.0 && of[1] > 0.0 {
        metrics.push(("balanced_accuracy", 0.5 * (right[0] / of[0] + right[1] / of[1])));
        metrics.push(("auc", area_under_curve(answers)));
    }
    metrics
}

/// Share of examples whose largest score is that of their class, ties go to the first; and half of Σ (p − y)² over the classes, which
/// for two classes is Brier's score.
pub(super) fn many_classes(answers: &Answers<'_>) -> Vec<Metric> {
    let outputs = answers.scores.len() / answers.targets.len();
    let right = answers.targets.iter().zip(answers.scores.chunks_exact(outputs)).filter(|(target, scores)| right_of_many(**target, scores));
    let right = right.count() as f64;
    let squares = answers.targets.iter().zip(answers.scores.chunks_exact(outputs)).map(|(target, scores)| {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|s| exp(s - top)).sum();
        let share = |c: usize| exp(scores[c] - top) / total - f64::from(u8::from(c == *target as usize));
        0.5 * (0..outputs).map(|c| share(c) * share(c)).sum::<f64>()
    });
    let squares: f64 = squares.sum();
    vec![("accuracy", right / answers.targets.len() as f64), ("brier", squares / answers.targets.len() as f64)]
}

/// P(score of a positive > score of a negative) + ½ P(equal), by ranks (Mann–Whitney).
fn area_under_curve(answers: &Answers<'_>) -> f64 {
    let mut order: Vec<(f64, f64)> = answers.scores.iter().copied().zip(answers.targets.iter().copied()).collect();
    if order.iter().any(|(score, _)| score.is_nan()) {
        return f64::NAN;
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut wins, mut negatives, mut positives) = (0.0, 0.0, 0.0);
    for tied in order.chunk_by(|a, b| a.0 == b.0) {
        let positive: f64 = tied.iter().map(|(_, target)| target).sum();
        let negative = tied.len() as f64 - positive;
        wins += positive * (negatives + 0.5 * negative);
        positives += positive;
        negatives += negative;
    }
    wins / (positives * negatives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_under_the_curve_counts_pairs_and_halves_ties() {
        let answers = Answers { targets: &[0.0, 1.0, 0.0, 1.0, 1.0], scores: &[-1.0, 2.0, 0.5, 0.5, -2.0] };
        // Of six pairs: (2 > −1), (2 > 0.5), (0.5 > −1) won, (0.5 = 0.5) half, two lost.
        assert!((area_under_curve(&answers) - 3.5 / 6.0).abs() < 1e-15);
        let metrics = two_classes(&answers);
        assert_eq!(metrics[0], ("accuracy", 0.6));
        let balanced = metrics.iter().find(|(name, _)| *name == "balanced_accuracy").map(|(_, value)| *value);
        assert!(balanced.is_some_and(|value| (value - 0.5 * (0.5 + 2.0 / 3.0)).abs() < 1e-15));
    }

    #[test]
    fn one_class_alone_has_no_curve() {
        let answers = Answers { targets: &[1.0, 1.0], scores: &[0.0, f64::NAN] };
        assert_eq!(two_classes(&answers)[0], ("accuracy", 0.0));
        assert_eq!(two_classes(&answers).len(), 2);
    }

    #[test]
    fn the_largest_score_is_the_predicted_class() {
        let answers = Answers { targets: &[2.0, 0.0], scores: &[0.0, 1.0, 3.0, 1.0, 2.0, 0.0] };
        assert_eq!(many_classes(&answers)[0], ("accuracy", 0.5));
        let (one, two) =
            (Answers { targets: &[1.0, 0.0], scores: &[2.0, -1.0] }, Answers { targets: &[1.0, 0.0], scores: &[0.0, 2.0, 3.0, 2.0] });
        assert!((two_classes(&one)[1].1 - many_classes(&two)[1].1).abs() < 1e-15, "two classes are two classes");
        assert!((two_classes(&one)[1].1 - 0.5 * ((1.0 / (1.0 + 2f64.exp())).powi(2) + (1.0 / (1.0 + 1f64.exp())).powi(2))).abs() < 1e-12);
        assert_eq!(regression(&Answers { targets: &[1.0, 2.0], scores: &[4.0, -2.0] }), [("rmse", 12.5f64.sqrt()), ("mae", 3.5)]);
    }
}
