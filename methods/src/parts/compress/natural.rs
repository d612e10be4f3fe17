//! Natural compression: powers of two.
//!
//! Horváth, Ho, Horváth, Sahu, Canini, Richtárik. *Natural Compression for Distributed Deep Learning*.
//! MSML 2022.

use motet_core::{Documented, Kind, Rng, Vector, ViewMut};
use serde::{Deserialize, Serialize};

use super::{Compress, Key, Packed, Sends};

/// Random powers of two, in 9 bits of a 32-bit number and 12 of a 64-bit one; unbiased, ω = 1/8.
///
/// Rounds each |xₗ| to one of the two powers of two around it, right in the mean.
///
/// Sign and exponent are sent: 9 bits of a 32-bit number, 12 of a 64-bit one (11 bits of exponent).
/// Below the smallest normal number the lower neighbour is 0: right in the mean, but the variance is of
/// the size of that number's square and not a share of xₗ². Above the largest power of two there
/// is no upper neighbour: such numbers come down to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Natural {}

impl Kind for Natural {
    const NAME: &'static str = "natural";
}

/// For numbers of one width: up with the probability that the mantissa is.
macro_rules! round {
    ($x:expr, $float:ty, $mantissa:literal, $largest:literal, $rng:expr) => {
        for x in $x {
            let bits = x.to_bits();
            let (power, rest) = (bits >> $mantissa, bits & ((1 << $mantissa) - 1));
            let up = rest != 0 && $rng.next_u64() >> (64 - $mantissa) < rest.into() && power & $largest != $largest - 1;
            // One more in the exponent is the next power of two, and from 0 the smallest normal number.
            *x = <$float>::from_bits((if up { power + 1 } else { power }) << $mantissa);
        }
    };
}

impl Compress for Natural {
    /// 1/8
    fn omega(&self, _: usize) -> Option<f64> {
        Some(0.125)
    }

    fn sends(&self, _: usize, _: &Key) -> Sends {
        Sends::Powers
    }

    fn pack(&self, v: &Vector, _: Option<&[u32]>, rng: &mut Rng) -> Packed {
        let mut rounded = v.clone();
        match rounded.view_mut() {
            ViewMut::F32(x) => round!(x, f32, 23, 0xFF, rng),
            ViewMut::F64(x) => round!(x, f64, 52, 0x7FF, rng),
        }
        Packed::powers(rounded)
    }
}
