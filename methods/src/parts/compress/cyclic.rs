//! Cyclic compression, coordinates in turn: Rand-k without dice, for comparisons by hand.

use motet_core::{Documented, Kind, Rng, Vector};
use serde::{Deserialize, Serialize};

use super::{Amount, Compress, Indices, Key, Mask, Packed, Sends, keep};

/// k coordinates in turn, times d/k; unbiased on average over clients or rounds.
///
/// Client i keeps k coordinates from (i + t) mod d on in round t = 0, 1, …, times d/k.
///
/// Over d rounds, or d clients, each coordinate has its turn k times: the mean over them is right and
/// the variance is Rand-k's, whose ω it states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Cyclic {
    /// k: coordinates sent, a whole number, or below 1 a share of d.
    pub k: Amount,
}

impl Kind for Cyclic {
    const NAME: &'static str = "cyclic";
}

impl Cyclic {
    fn turn(&self, dim: usize, key: &Key, kept: &mut Vec<u32>) {
        let first = u64::from(key.client.0) + key.turn.round.saturating_sub(1);
        kept.extend((0..self.k.of(dim) as u64).map(|j| ((first + j) % dim as u64) as u32));
        kept.sort_unstable();
    }
}

impl Compress for Cyclic {
    fn omega(&self, dim: usize) -> Option<f64> {
        Some(dim as f64 / self.k.of(dim) as f64 - 1.0)
    }

    fn mask(&self, dim: usize, key: &Key) -> Option<Mask> {
        Some(Mask::new(|kept| self.turn(dim, key, kept)))
    }

    fn sends(&self, dim: usize, _: &Key) -> Sends {
        Sends::Some(self.k.of(dim))
    }

    fn pack(&self, v: &Vector, mask: Option<&[u32]>, _: &mut Rng) -> Packed {
        keep(v, mask.unwrap_or_default(), v.len() as f64 / self.k.of(v.len()) as f64, Indices::Seeded)
    }
}
