//! No compression: vectors are sent as they are.

use motet_core::{Documented, Kind, Rng, Vector};
use serde::{Deserialize, Serialize};

use super::{Compress, Key, Packed, Sends};

/// No compression, everything is sent as it is: C(x) = x, ω = 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Identity {}

impl Kind for Identity {
    const NAME: &'static str = "identity";
}

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
