//! Dice as a function of where they are thrown.
//!
//! The key of a ChaCha stream is the tuple (run seed, round, attempt, exchange, client, purpose)
//! itself: two different places never share dice, no generator is carried along, and asking a client
//! twice gives it the same dice twice.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use crate::algorithm::ClientId;
use crate::message::wire;

wire! {
    /// Where in a run something happens: the round, the attempt at it, the exchange within it.
    #[derive(Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Slot {
        /// Counts from 1; round 0 is what happens before the first.
        pub round: u64,
        /// Counts from 0; a round given up is tried again with the next attempt.
        pub attempt: u32,
        /// Counts from 0 within the attempt.
        pub exchange: u32,
    }
}

/// What dice are for; streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// The server's choices of a round: cohorts, coins.
    Server = 1,
    /// A client's work on one ask: batches, compression.
    Client = 2,
    /// A client's first moment.
    Entry = 3,
    /// What a client does only to be measured.
    Probe = 4,
    /// Dropout and augmentation.
    Noise = 5,
    /// Making the problem: generators, splits, hold-outs.
    Problem = 6,
    /// A local solve, shared by all runs on one problem.
    Solve = 7,
    /// The start of a model.
    Start = 8,
    /// Faults that a test fleet injects.
    Fault = 9,
    /// The order of clients in one shuffled pass.
    Pass = 10,
    /// Devices: how fast each is, and when it is there.
    Device = 11,
}

/// The seed of a run.
///
/// ```
/// use motet_core::{ClientId, Purpose, Seed, Slot};
/// let slot = Slot { round: 3, attempt: 0, exchange: 0 };
/// let mut once = Seed(7).client(slot, ClientId(5));
/// let mut again = Seed(7).client(slot, ClientId(5));
/// assert_eq!(once.next_u64(), again.next_u64());
/// assert_ne!(once.next_u64(), Seed(8).client(slot, ClientId(5)).next_u64());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The server's dice of one attempt at a round.
    pub fn server(self, round: u64, attempt: u32) -> Rng {
        self.dice(Slot { round, attempt, exchange: 0 }, 0, Purpose::Server)
    }

    /// A client's dice for one ask.
    pub fn client(self, slot: Slot, client: ClientId) -> Rng {
        self.dice(slot, client.0, Purpose::Client)
    }

    /// A client's dice of a given purpose that do not depend on the round.
    pub fn fixed(self, client: ClientId, purpose: Purpose) -> Rng {
        self.dice(Slot { round: 0, attempt: 0, exchange: 0 }, client.0, purpose)
    }

    /// Dice for step `index` of making a problem.
    pub fn problem(self, index: u64) -> Rng {
        self.dice(Slot { round: index, attempt: 0, exchange: 0 }, 0, Purpose::Problem)
    }

    /// The noise of a client's first gradient for one ask.
    pub fn noise(self, slot: Slot, client: ClientId) -> Noise {
        Noise { seed: self, slot, client, call: 0 }
    }

    /// The dice of one place. All coordinates are the key: no two places collide.
    pub fn dice(self, slot: Slot, client: u32, purpose: Purpose) -> Rng {
        let mut key = [0u8; 32];
        key[0..8].copy_from_slice(&self.0.to_le_bytes());
        key[8..16].copy_from_slice(&slot.round.to_le_bytes());
        key[16..20].copy_from_slice(&slot.attempt.to_le_bytes());
        key[20..24].copy_from_slice(&slot.exchange.to_le_bytes());
        key[24..28].copy_from_slice(&client.to_le_bytes());
        key[28..32].copy_from_slice(&(purpose as u32).to_le_bytes());
        Rng { key, stream: None }
    }
}

/// Where dropout and augmentation take their dice from: the place of one gradient in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    seed: Seed,
    slot: Slot,
    client: ClientId,
    call: u64,
}

impl Noise {
    /// The place as one number, computed only by models that have noise: each coordinate is mixed in
    /// turn, so that no two change the key alike.
    pub fn key(self) -> u64 {
        let Noise { seed, slot, client, call } = self;
        let place = [slot.round, slot.attempt.into(), slot.exchange.into(), client.0.into(), call, Purpose::Noise as u64];
        place.into_iter().fold(scramble(seed.0), |key, coordinate| scramble(key ^ coordinate))
    }

    /// The round the gradient is taken in: where the data of a client change with time, this is the time.
    pub fn round(self) -> u64 {
        self.slot.round
    }

    /// The noise of the next gradient.
    pub(crate) fn next(self) -> Self {
        Self { call: self.call + 1, ..self }
    }
}

/// The finaliser of SplitMix64: a bijection in which every input bit reaches every output bit.
fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A stream of dice.
///
/// The generator behind it is set up at the first throw: most asks throw none.
#[derive(Clone, Debug)]
pub struct Rng {
    key: [u8; 32],
    stream: Option<ChaCha8Rng>,
}

impl Rng {
    fn stream(&mut self) -> &mut ChaCha8Rng {
        self.stream.get_or_insert_with(|| ChaCha8Rng::from_seed(self.key))
    }

    /// 64 fair bits.
    pub fn next_u64(&mut self) -> u64 {
        self.stream().next_u64()
    }

    /// Uniform on [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform on 0..n, exactly.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a choice among none");
        let n = n as u64;
        // Lemire's multiplication with rejection: no bias.
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            // The threshold is below n: most draws need no division to be accepted.
            if (wide as u64) >= n || (wide as u64) >= n.wrapping_neg() % n {
                return (wide >> 64) as usize;
            }
        }
    }

    /// True with probability `p`.
    pub fn coin(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// N(0, 1)
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(self.stream())
    }

    /// One value of any distribution of the `rand_distr` crate.
    pub fn draw<T>(&mut self, from: &impl Distribution<T>) -> T {
        from.sample(self.stream())
    }

    /// Flips until the first head: P(l) = p (1 − p)^{l−1}, l = 1, 2, …
    pub fn geometric(&mut self, p: f64) -> u64 {
        if p >= 1.0 {
            return 1;
        }
        // Inversion; 1 − unit() lies in (0, 1], so the logarithm is finite.
        1 + ((1.0 - self.unit()).ln() / (-p).ln_1p()) as u64
    }

    /// Fisher–Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for k in (1..items.len()).rev() {
            items.swap(k, self.below(k + 1));
        }
    }

    /// `count` of 0..n without replacement, ascending. Costs O(count), whatever n.
    pub fn choose(&mut self, count: usize, n: usize) -> Vec<u32> {
        let mut chosen = Vec::new();
        self.choose_into(count, n, &mut chosen);
        chosen.sort_unstable();
        chosen
    }

    /// Like [`choose`](Self::choose), but in the order drawn, written into a list that may have been used before.
    pub fn choose_into(&mut self, count: usize, n: usize, chosen: &mut Vec<u32>) {
        let count = count.min(n);
        chosen.clear();
        chosen.reserve(count);
        // A bit for every number, where that is no more work than the numbers chosen.
        let words = n.div_ceil(64);
        if words <= ON_STACK {
            self.choose_marking(count, n, &mut [0; ON_STACK][..words], chosen);
        } else if words <= 2 * count {
            self.choose_marking(count, n, &mut vec![0; words], chosen);
        } else {
            let mut members = std::collections::BTreeSet::new();
            self.floyd(count, n, |t, j| {
                let new = if members.contains(&t) { j } else { t };
                members.insert(new);
                chosen.push(new);
            });
        }
    }

    fn choose_marking(&mut self, count: usize, n: usize, marks: &mut [u64], chosen: &mut Vec<u32>) {
        self.floyd(count, n, |t, j| {
            // Whether t is new is a matter of luck: chosen without a branch that the processor would have to guess.
            let taken = marks[t as usize / 64] >> (t % 64) & 1 == 1;
            let new = std::hint::select_unpredictable(taken, j, t);
            marks[new as usize / 64] |= 1 << (new % 64);
            chosen.push(new);
        });
    }

    /// Floyd's algorithm: of each pair (t, j), t becomes a member, or j if t is one.
    fn floyd(&mut self, count: usize, n: usize, mut insert: impl FnMut(u32, u32)) {
        let stream = self.stream();
        for j in n - count..n {
            let t = below(stream, j as u32 + 1);
            insert(t, j as u32);
        }
    }
}

/// Uniform on 0..n, exactly, from 32 bits at a time: half the dice of [`Rng::below`].
#[inline(always)]
fn below(stream: &mut ChaCha8Rng, n: u32) -> u32 {
    loop {
        let wide = u64::from(stream.next_u32()) * u64::from(n);
        if (wide as u32) >= n || (wide as u32) >= n.wrapping_neg() % n {
            return (wide >> 32) as u32;
        }
    }
}

/// Words of marks that need no allocation: 4096 numbers.
const ON_STACK: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coordinate_of_the_key_matters() {
        let slot = Slot { round: 1, attempt: 2, exchange: 3 };
        let mut seen = std::collections::BTreeSet::new();
        let mut add = |mut rng: Rng| assert!(seen.insert(rng.next_u64()));
        add(Seed(0).dice(slot, 4, Purpose::Client));
        add(Seed(1).dice(slot, 4, Purpose::Client));
        add(Seed(0).dice(Slot { round: 2, ..slot }, 4, Purpose::Client));
        add(Seed(0).dice(Slot { attempt: 3, ..slot }, 4, Purpose::Client));
        add(Seed(0).dice(Slot { exchange: 4, ..slot }, 4, Purpose::Client));
        add(Seed(0).dice(slot, 5, Purpose::Client));
        add(Seed(0).dice(slot, 4, Purpose::Noise));
    }

    #[test]
    fn noise_keys_of_different_places_differ() {
        let mut seen = std::collections::BTreeSet::new();
        for (round, exchange, client, seed) in
            [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1 << 16, 0, 0, 0), (1 << 24, 0, 0, 0)]
        {
            let first = Seed(seed).noise(Slot { round, attempt: 0, exchange }, ClientId(client));
            assert!(seen.insert(first.key()) && seen.insert(first.next().key()));
        }
    }

    #[test]
    fn run_lengths_have_the_mean_of_the_coin() {
        for p in [0.05, 0.3, 0.9, 1.0] {
            let mut rng = Seed(3).server(1, 0);
            let draws = 40_000;
            let sum: u64 = (0..draws).map(|_| rng.geometric(p)).sum();
            let (mean, sd) = (sum as f64 / f64::from(draws), ((1.0 - p) / (p * p) / f64::from(draws)).sqrt());
            assert!((mean - 1.0 / p).abs() <= 5.0 * sd, "p = {p}: {mean}");
        }
    }

    #[test]
    fn chosen_sets_are_uniform() {
        let mut rng = Seed(1).server(1, 0);
        let mut hits = [0u32; 5];
        for _ in 0..20_000 {
            let set = rng.choose(2, 5);
            assert!(set.len() == 2 && set[0] < set[1]);
            set.iter().for_each(|&k| hits[k as usize] += 1);
        }
        // Each of five is in 2/5 of the pairs: 8000 ± 5 standard deviations.
        assert!(hits.iter().all(|&h| (h as f64 - 8000.0).abs() < 5.0 * 69.3), "{hits:?}");
        assert_eq!(rng.choose(9, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn choices_are_the_same_however_they_are_marked() {
        for (count, n) in [(0, 5), (5, 5), (9, 5), (60, 300), (1, 5000), (400, 5000), (3, 1 << 20)] {
            let mut expected = std::collections::BTreeSet::new();
            Seed(7).server(1, 0).floyd(count.min(n), n, |t, j| {
                let new = if expected.contains(&t) { j } else { t };
                expected.insert(new);
            });
            let chosen = Seed(7).server(1, 0).choose(count, n);
            assert_eq!(chosen, expected.into_iter().collect::<Vec<_>>(), "{count} of {n}");
            assert_eq!(chosen.len(), count.min(n));
        }
    }
}
