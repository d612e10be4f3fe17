//! Dice for making a problem: one stream per step and client.

use motet_core::{Purpose, Rng, Seed, Slot};

/// Which step of making a problem throws.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Source = 0,
    Split = 1,
    Holdout = 2,
    Unseen = 3,
    Given = 4,
    Examples = 5,
}

/// What all clients of a step share.
pub(crate) fn shared(seed: Seed, step: Step) -> Rng {
    seed.problem(step as u64)
}

/// A client's own: it has the same dice however many others there are.
pub(crate) fn own(seed: Seed, step: Step, client: usize) -> Rng {
    // Stream 0 is the shared one, and of 2³² clients the last goes round to another attempt.
    let (client, attempt) = (client as u32).overflowing_add(1);
    seed.dice(Slot { round: step as u64, attempt: attempt.into(), exchange: 0 }, client, Purpose::Problem)
}
