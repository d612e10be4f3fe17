//! Bernoulli compression: every coordinate by its own coin.

use motet_core::{Documented, Kind, Probability, Rng, Vector};
use serde::{Deserialize, Serialize};

use super::{Compress, Indices, Key, Mask, Packed, Sends, keep};

/// Each coordinate with probability q, divided by q; unbiased, ω = 1/q − 1.
///
/// Keeps each coordinate with probability q, divided by q.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// q: probability that a coordinate is sent.
    pub q: Probability,
    /// How the server learns which: "seeded" (both sides throw the same dice, default) or "sent".
    #[serde(default)]
    pub indices: Indices,
}

impl Kind for Bernoulli {
    const NAME: &'static str = "bernoulli";
}

impl Bernoulli {
    /// Jumps from one kept coordinate to the next: O(q d) throws.
    fn coins(&self, dim: usize, key: &Key, kept: &mut Vec<u32>) {
        let (mut dice, mut next) = (key.dice(), 0u64);
        loop {
            next = next.saturating_add(dice.geometric(*self.q));
            if next > dim as u64 {
                return;
            }
            kept.push((next - 1) as u32);
        }
    }
}

impl Compress for Bernoulli {
    /// 1/q − 1, exactly.
    fn omega(&self, _: usize) -> Option<f64> {
        Some(1.0 / *self.q - 1.0)
    }

    fn mask(&self, dim: usize, key: &Key) -> Option<Mask> {
        Some(Mask::new(|kept| self.coins(dim, key, kept)))
    }

    fn sends(&self, dim: usize, key: &Key) -> Sends {
        Sends::Some(self.mask(dim, key).map_or(0, |kept| kept.len()))
    }

    fn pack(&self, v: &Vector, mask: Option<&[u32]>, _: &mut Rng) -> Packed {
        keep(v, mask.unwrap_or_default(), 1.0 / *self.q, self.indices)
    }
}
