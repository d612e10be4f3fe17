//! Judging a network on examples.

use motet_core::{Evaluator, Vector};
use motet_nn::Loss;

use super::{Arc, CHUNK, Network, Range};

/// A network on a range of examples.
pub(super) struct NetworkExam {
    network: Arc<Network>,
    rows: Range<usize>,
}

impl NetworkExam {
    pub(super) fn new(network: Arc<Network>, rows: Range<usize>) -> Self {
        Self { network, rows }
    }
}

/// How far down the list of classes a right answer still counts.
const TOP: usize = 5;

/// Sums over examples, or over tokens.
#[derive(Default)]
struct Tally {
    judged: f64,
    right: f64,
    near: f64,
    squares: f64,
    errors: f64,
}

impl Tally {
    /// Scores of one example against its targets.
    fn add(&mut self, loss: Loss, targets: &[f32], scores: &[f32]) {
        match loss {
            Loss::CrossEntropy => {
                let classes = scores.len() / targets.len().max(1);
                for (target, scores) in targets.iter().zip(scores.chunks_exact(classes.max(1))).filter(|(t, _)| **t >= 0.0) {
                    let (own, class) = (scores[*target as usize], *target as usize);
                    // Ties go to the first, as in `many_classes`; NaN is right for nobody.
                    let ahead = scores.iter().enumerate().filter(|(c, s)| **s > own || (**s == own && *c < class)).count();
                    let sound = !scores.iter().any(|s| s.is_nan());
                    self.judged += 1.0;
                    self.right += f64::from(u8::from(sound && ahead == 0));
                    self.near += f64::from(u8::from(sound && ahead < TOP));
                }
            }
            Loss::OneVsRest | Loss::Squared => {
                for (target, score) in targets.iter().zip(scores) {
                    let error = f64::from(score - target);
                    self.judged += 1.0;
                    self.squares += error * error;
                    self.errors += error.abs();
                }
            }
        }
    }
}

impl Evaluator for NetworkExam {
    fn examples(&self) -> usize {
        self.rows.len()
    }

    /// Not for networks with running statistics: they are not part of a model's file.
    fn scores(&self, x: &Vector) -> Option<Vec<f64>> {
        if self.network.buffers.is_some() {
            return None;
        }
        let mut all = Vec::with_capacity(self.rows.len() * self.network.layers.output().len());
        self.network.with_room(|room| {
            for from in self.rows.clone().step_by(CHUNK) {
                self.network.gather(from..(from + CHUNK).min(self.rows.end), None, room);
                all.extend(self.network.layers.scores(x.f32s(), None, room).iter().map(|s| f64::from(*s)));
            }
        });
        Some(all)
    }

    /// Where an example has one target; of text, each token has.
    fn right(&self, x: &Vector, buffers: Option<&Vector>) -> Option<Vec<bool>> {
        let layers = &self.network.layers;
        if !matches!(layers.loss(), Loss::CrossEntropy) || layers.targets() != 1 || self.network.buffers.is_some() && buffers.is_none() {
            return None;
        }
        let (mut right, mut buffers) = (Vec::with_capacity(self.rows.len()), buffers.cloned());
        self.network.with_room(|room| {
            for from in self.rows.clone().step_by(CHUNK) {
                self.network.gather(from..(from + CHUNK).min(self.rows.end), None, room);
                let targets = room.targets.clone();
                let running = buffers.as_mut().map(|buffers| buffers.f32s_mut());
                let scores = layers.scores(x.f32s(), running, room);
                for (target, scores) in targets.iter().zip(scores.chunks_exact(layers.output().len().max(1))) {
                    let mut tally = Tally::default();
                    tally.add(layers.loss(), std::slice::from_ref(target), scores);
                    right.push(tally.right > 0.0);
                }
            }
        });
        Some(right)
    }

    /// Running statistics are used as they are and not changed.
    fn metrics(&self, x: &Vector, buffers: Option<&Vector>) -> Vec<(&'static str, f64)> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let (layers, x) = (&self.network.layers, x.f32s());
        let (mut tally, mut loss, mut buffers) = (Tally::default(), 0.0, buffers.cloned());
        self.network.with_room(|room| {
            let whole = self.network.buffers.is_some() && buffers.is_none();
            for from in self.rows.clone().step_by(if whole { self.rows.len() } else { CHUNK }) {
                let to = if whole { self.rows.end } else { (from + CHUNK).min(self.rows.end) };
                self.network.gather(from..to, None, room);
                let targets = room.targets.clone();
                let running = buffers.as_mut().map(|buffers| buffers.f32s_mut());
                let scores = layers.scores(x, running, room);
                let each = targets.chunks_exact(layers.targets().max(1)).zip(scores.chunks_exact(layers.output().len().max(1)));
                each.for_each(|(targets, scores)| tally.add(layers.loss(), targets, scores));
                loss += layers.judge(&targets, scores);
            }
        });
        let mut metrics = vec![("loss", loss / self.rows.len() as f64)];
        let share = 1.0 / tally.judged.max(1.0);
        match layers.loss() {
            Loss::CrossEntropy => {
                metrics.push(("accuracy", tally.right * share));
                if layers.output().last() > TOP {
                    metrics.push(("top_5", tally.near * share));
                }
            }
            Loss::OneVsRest | Loss::Squared => {
                metrics.extend([("rmse", (tally.squares * share).sqrt()), ("mae", tally.errors * share)]);
            }
        }
        metrics
    }
}
