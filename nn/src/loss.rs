//! How scores are judged.

use crate::count::Count;
use crate::element::Element;
use motet_core::{fast, fastest};

/// A target that is not to be judged: the padding of a sequence.
pub const PADDING: f64 = -1.0;

/// A loss of scores and targets, per example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// log Σ exp(s_c) − s_y, the mean over the positions of a sequence that are not padding.
    CrossEntropy,
    /// Σ_c log(1 + exp(s_c)) − y_c s_c: every class by itself, y_c in {0, 1}.
    OneVsRest,
    /// Mean of (s − y)² over the outputs.
    Squared,
}

impl Loss {
    /// Targets of an example with so many positions of so many scores.
    ///
    /// # Panics
    /// If no memory can hold so many scores; those of a model were counted.
    pub fn targets(self, positions: usize, outputs: usize) -> usize {
        match self {
            Loss::CrossEntropy => positions,
            Loss::OneVsRest | Loss::Squared => Count::product(&[positions, outputs]).known(),
        }
    }

    /// The loss of one example, 0 if it is of no interest; its scores become `share` times their slopes.
    pub(crate) fn slopes<E: Element>(self, outputs: usize, targets: &[E], share: f64, valued: bool, scores: &mut [E]) -> f64 {
        match self {
            Loss::CrossEntropy => {
                let counted = targets.iter().filter(|t| **t >= E::ZERO).count();
                let share = E::of(share / counted.max(1) as f64);
                let mut sum = 0.0;
                for (target, scores) in targets.iter().zip(scores.chunks_exact_mut(outputs)) {
                    if *target >= E::ZERO {
                        sum += cross_entropy(target.index(), share, valued, scores);
                    } else {
                        scores.fill(E::ZERO);
                    }
                }
                sum / counted.max(1) as f64
            }
            Loss::OneVsRest => {
                let mut sum = 0.0;
                for (s, y) in scores.iter_mut().zip(targets) {
                    sum += crate::elementary::softplus(s.wide()) - y.wide() * s.wide();
                    *s = E::of(share) * (s.sigmoid() - *y);
                }
                sum
            }
            Loss::Squared => {
                let (mut sum, mean) = (0.0, 1.0 / targets.len().max(1) as f64);
                let slope = E::of(2.0 * share * mean);
                for (s, y) in scores.iter_mut().zip(targets) {
                    let error = *s - *y;
                    sum += (error * error).wide();
                    *s = slope * error;
                }
                sum * mean
            }
        }
    }

    /// Σ of the losses of all examples, 0 if it is of no interest; their scores become `share` times their slopes. An example has so many
    /// scores, of which so many are of one position.
    pub(crate) fn slopes_of_all<E: Element>(
        self,
        (outputs, last): (usize, usize),
        targets: &[E],
        share: f64,
        valued: bool,
        scores: &mut [E],
    ) -> f64 {
        if self == Loss::CrossEntropy && !valued && outputs == last {
            cross_entropies(targets, E::of(share), scores);
            return 0.0;
        }
        let per = self.targets(outputs / last.max(1), last);
        let pairs = targets.chunks_exact(per.max(1)).zip(scores.chunks_exact_mut(outputs.max(1)));
        pairs.map(|(targets, scores)| self.slopes(last, targets, share, valued, scores)).sum()
    }

    /// The loss of one example. Spoils the scores.
    pub(crate) fn value<E: Element>(self, outputs: usize, targets: &[E], scores: &mut [E]) -> f64 {
        self.slopes(outputs, targets, 0.0, true, scores)
    }
}

/// A class out of range is judged like the last one; the problem has checked that there is none.
fn cross_entropy<E: Element>(target: usize, share: E, valued: bool, scores: &mut [E]) -> f64 {
    let target = target.min(scores.len() - 1);
    let (own, sum) = chances(target, share, scores);
    scores[target] -= share;
    if valued { crate::elementary::ln(sum.wide()) - own.wide() } else { 0.0 }
}

fast! {
    /// scores ← share · their chances; gives the target's score below the top and the sum the chances were divided by.
    fn chances<E: Element>(target: usize, share: E, scores: &mut [E]) -> (E, E) {
        let top = scores.iter().copied().fold(E::of(f64::NEG_INFINITY), E::larger);
        let own = scores[target] - top;
        for s in scores.iter_mut() {
            *s = (*s - top).exp();
        }
        (own, divide(share, scores))
    }
}

/// scores ← share · scores / their sum, which it gives.
#[inline(always)]
fn divide<E: Element>(share: E, scores: &mut [E]) -> E {
    // Eight sums side by side, in one fixed order.
    let (chunks, rest) = scores.as_chunks::<8>();
    let mut lanes = [E::ZERO; 8];
    for chunk in chunks {
        for (lane, s) in lanes.iter_mut().zip(chunk) {
            *lane += *s;
        }
    }
    let sum: E = lanes.into_iter().chain(rest.iter().copied()).sum();
    let scale = share / sum;
    scores.iter_mut().for_each(|s| *s *= scale);
    sum
}

fastest! {
    /// What [`cross_entropy`] makes of the scores of many examples with one target each. The exponentials of all of them are one loop: a
    /// row of ten scores is a vector of eight and a rest, and rests take longer than vectors.
    fn cross_entropies<E: Element>(targets: &[E], share: E, scores: &mut [E]) {
        let outputs = scores.len() / targets.len().max(1);
        for row in scores.chunks_exact_mut(outputs.max(1)) {
            let top = row.iter().copied().fold(E::of(f64::NEG_INFINITY), E::larger);
            row.iter_mut().for_each(|s| *s -= top);
        }
        scores.iter_mut().for_each(|s| *s = s.exp());
        for (row, target) in scores.chunks_exact_mut(outputs.max(1)).zip(targets) {
            if *target >= E::ZERO {
                divide(share, row);
                row[target.index().min(outputs - 1)] -= share;
            } else {
                row.fill(E::ZERO);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_examples_at_once_have_the_bits_of_one_after_the_other() {
        for (examples, outputs) in [(0, 3), (1, 1), (3, 10), (7, 2), (10, 10), (5, 62)] {
            let scores: Vec<f32> = (0..examples * outputs).map(|k| (k as f32 * 0.7).sin() * 9.0).collect();
            // Some are not to be judged.
            let targets: Vec<f32> = (0..examples).map(|k| (k % (outputs + 1)) as f32 - 1.0).collect();
            let (mut all, mut each) = (scores.clone(), scores);
            let value = Loss::CrossEntropy.slopes_of_all((outputs, outputs), &targets, -0.3, false, &mut all);
            assert_eq!(value, 0.0);
            for (target, scores) in targets.chunks(1).zip(each.chunks_mut(outputs)) {
                Loss::CrossEntropy.slopes(outputs, target, -0.3, false, scores);
            }
            assert_eq!(all, each, "{examples} x {outputs}");
        }
    }
}
