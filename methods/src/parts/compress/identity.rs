//! Nothing is lost and nothing saved.

use motet_core::{Rng, Vector};
use serde::{Deserialize, Serialize};

use super::{Compress, Key, Packed, Sends};

/// C(x) = x
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {}

impl Compress for Identity {
    fn omega(&self, _: usize) -> Option<f64> {
        Some(0.0)
    }

    fn sends(&self, _: usize, _: &Key) -> Sends {
        Sends::Whole
    }

    fn pack(&self, v: &Vector, _: Option<&[u32]>, _: &mut Rng) -> Packed {
        Packed::whole(v.clone())
    }
}
