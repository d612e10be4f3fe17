//! Rand-k: k coordinates at random, scaled so that the mean is right.

use motet_core::{Documented, Kind, Rng, Vector};
use serde::{Deserialize, Serialize};

use super::{Amount, Compress, Indices, Key, Mask, Packed, Sends, keep};

/// k random coordinates times d/k; unbiased, ω = d/k − 1.
///
/// Keeps k of d coordinates, uniformly without replacement, times d/k.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RandK {
    /// k: coordinates sent, a whole number, or below 1 a share of d.
    pub k: Amount,
    /// How the server learns which: "seeded" (both sides throw the same dice, default) or "sent".
    #[serde(default)]
    pub indices: Indices,
}

impl Kind for RandK {
    const NAME: &'static str = "rand-k";
}

impl Compress for RandK {
    /// d/k − 1, exactly.
    fn omega(&self, dim: usize) -> Option<f64> {
        Some(dim as f64 / self.k.of(dim) as f64 - 1.0)
    }

    fn mask(&self, dim: usize, key: &Key) -> Option<Mask> {
        Some(Mask::new(|kept| {
            key.dice().choose_into(self.k.of(dim), dim, kept);
            if self.indices == Indices::Sent {
                kept.sort_unstable(); // on the wire they ascend
            }
        }))
    }

    fn sends(&self, dim: usize, _: &Key) -> Sends {
        Sends::Some(self.k.of(dim))
    }

    fn pack(&self, v: &Vector, mask: Option<&[u32]>, _: &mut Rng) -> Packed {
        keep(v, mask.unwrap_or_default(), v.len() as f64 / self.k.of(v.len()) as f64, self.indices)
    }
}
