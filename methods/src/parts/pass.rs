//! Batches without replacement: one shuffled pass over the examples after another.

use motet_core::{Rng, Rows, wire};

use crate::parts::BatchSize;

/// More examples than this are no list to shuffle but a stream to draw from: batches are then independent, and two
/// hardly ever meet in an example.
const STREAM: usize = 1 << 22;

wire! {
    /// Where a client stands in its pass; part of its state.
    #[derive(PartialEq, Default)]
    pub struct Pass {
        /// The examples in the order of this pass; empty before the first.
        order: Vec<u32>,
        /// How many are used up.
        used: u32,
    }
}

impl Pass {
    /// The next batch; the last of a pass may be smaller. A batch of everything needs no pass.
    pub fn next(&mut self, batch: BatchSize, samples: usize, rng: &mut Rng) -> Rows<'_> {
        let size = match batch {
            BatchSize::Of(size) if (size as usize) < samples => size as usize,
            _ => return Rows::All,
        };
        if samples > STREAM {
            self.order = rng.choose(size, samples);
            return Rows::Only(&self.order);
        }
        let mut from = self.used as usize;
        if from >= self.order.len() || self.order.len() != samples {
            self.order = (0..samples as u32).collect();
            rng.shuffle(&mut self.order);
            from = 0;
        }
        let to = samples.min(from + size);
        self.used = to as u32;
        Rows::Only(&self.order[from..to])
    }

    /// Forgets the pass: the next batch begins a new one.
    pub fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_core::Seed;

    #[test]
    fn every_pass_shows_every_example_once() {
        let (mut pass, mut rng) = (Pass::default(), Seed(1).server(1, 0));
        for _ in 0..3 {
            let mut seen = vec![];
            for expected in [4, 4, 2] {
                let Rows::Only(rows) = pass.next(BatchSize::Of(4), 10, &mut rng) else { panic!("a batch of four is not all") };
                assert_eq!(rows.len(), expected);
                seen.extend_from_slice(rows);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..10).collect::<Vec<_>>());
        }
        assert_eq!(pass.next(BatchSize::Of(10), 10, &mut rng), Rows::All);
    }
}
