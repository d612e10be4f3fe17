//! Top-k: the largest coordinates. Biased.

use motet_core::{Documented, Kind, Rng, Vector};
use serde::{Deserialize, Serialize};

use super::{Amount, Compress, Indices, Key, Packed, Sends, keep};

/// The k largest coordinates as they are; biased, contracts by 1 − k/d.
///
/// Keeps the k coordinates of largest modulus as they are; of equals the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct TopK {
    /// k: coordinates sent, a whole number, or below 1 a share of d.
    pub k: Amount,
}

impl Kind for TopK {
    const NAME: &'static str = "top-k";
}

impl Compress for TopK {
    fn omega(&self, _: usize) -> Option<f64> {
        None
    }

    /// k/d
    fn delta(&self, dim: usize) -> f64 {
        self.k.of(dim) as f64 / dim as f64
    }

    fn sends(&self, dim: usize, _: &Key) -> Sends {
        Sends::Some(self.k.of(dim))
    }

    fn pack(&self, v: &Vector, _: Option<&[u32]>, _: &mut Rng) -> Packed {
        let k = self.k.of(v.len());
        let mut order: Vec<u32> = (0..v.len() as u32).collect();
        if k < v.len() {
            let modulus = |l: u32| v.at(l as usize).abs();
            order.select_nth_unstable_by(k, |&l, &m| modulus(m).total_cmp(&modulus(l)).then(l.cmp(&m)));
            order.truncate(k);
            order.sort_unstable();
        }
        keep(v, &order, 1.0, Indices::Sent)
    }
}
