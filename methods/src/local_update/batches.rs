//! The batches of one round of local training, drawn before the first step.

use motet_core::{Purpose, Rng, Site};

use super::settings::Draw;
use crate::parts::{Amount, BatchSize};

/// The examples of one gradient; none stands for all.
pub(super) type Rows = Option<Vec<u32>>;

/// How batches are drawn from a client's examples, or from a part of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batches<'a> {
    pub(super) size: BatchSize,
    pub(super) draw: Draw,
    /// How many examples there are.
    pub(super) samples: usize,
    /// The part to draw from; all if absent.
    pub(super) part: Option<&'a [u32]>,
}

impl Batches<'_> {
    /// All batches of a round.
    pub(super) fn of(&self, amount: Amount, rng: &mut Rng) -> Vec<Rows> {
        match (amount, self.draw) {
            (Amount::Epochs(epochs), _) => (0..epochs.get()).flat_map(|_| self.pass(rng)).collect(),
            (Amount::Steps(steps), Draw::Passes) => {
                let mut left = vec![];
                let next = |_| {
                    if left.is_empty() {
                        left = self.pass(rng);
                        left.reverse();
                    }
                    left.pop().flatten()
                };
                (0..steps.get()).map(next).collect()
            }
            (Amount::Steps(steps), _) => (0..steps.get()).map(|_| self.one(rng)).collect(),
        }
    }

    /// One batch.
    pub(super) fn one(&self, rng: &mut Rng) -> Rows {
        let count = self.count();
        let drawn = match (self.draw, self.size) {
            (Draw::Replacement, BatchSize::Of(size)) if count > 1 => Some((0..size).map(|_| rng.below(count) as u32).collect()),
            _ => self.size.draw(count, rng),
        };
        self.rows(drawn)
    }

    fn pass(&self, rng: &mut Rng) -> Vec<Rows> {
        let mut all = vec![];
        self.size.pass(self.count(), rng, |rows| {
            all.push(self.rows(match rows {
                motet_core::Rows::All => None,
                motet_core::Rows::Only(rows) => Some(rows.to_vec()),
            }));
        });
        all
    }

    fn count(&self) -> usize {
        self.part.map_or(self.samples, <[u32]>::len)
    }

    /// Positions in the part → examples.
    fn rows(&self, drawn: Rows) -> Rows {
        match (self.part, drawn) {
            (None, drawn) => drawn,
            (Some(part), None) => Some(part.to_vec()),
            (Some(part), Some(drawn)) => Some(drawn.into_iter().map(|k| part[k as usize]).collect()),
        }
    }
}

/// A client's examples in two parts, the second with this share of them: drawn once for each seed, the same in every round. None
/// where there is nothing to part: the whole then serves as both.
pub(super) fn parted(site: &Site<'_>, share: f64) -> Option<(Vec<u32>, Vec<u32>)> {
    let samples = site.train.samples();
    let held = (share * samples as f64).round() as usize;
    if share <= 0.0 || samples < 2 {
        return None;
    }
    let mut order: Vec<u32> = (0..samples as u32).collect();
    site.seed.fixed(site.id, Purpose::Entry).shuffle(&mut order);
    let held = order.split_off(samples - held.clamp(1, samples - 1));
    Some((order, held))
}
