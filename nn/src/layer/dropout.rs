//! Dropout: in training, each number is zero with a chance and larger otherwise.

use motet_core::Fraction;

use super::{Flow, Layer, Pass, Reads};
use crate::element::Element;
use crate::shape::Shape;
use motet_core::fast;

/// Dropout. Which numbers are dropped is a function of the pass's noise and the number's place, so that the reverse pass drops the same ones and nothing need be remembered.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    rate: f64,
    len: usize,
}

impl Dropout {
    /// Drops this share; 1 would drop everything and is refused at construction of the model.
    pub fn new(rate: Fraction) -> Self {
        Self { rate: *rate, len: 0 }
    }

    #[inline(always)]
    fn scale<E: Element>(&self, pass: &Pass<'_, E>, numbers: &mut [E]) {
        let Some(noise) = pass.noise.filter(|_| self.rate > 0.0) else { return };
        let (kept, bound) = (E::of(1.0 / (1.0 - self.rate)), (self.rate * 4_294_967_296.0) as u32);
        let first = (pass.first * self.len) as u64;
        drop_some(noise, first, bound, kept, numbers);
    }
}

fast! {
    /// Zero where the dice are below the bound, else times `kept`.
    fn drop_some<E: Element>(noise: u64, first: u64, bound: u32, kept: E, numbers: &mut [E]) {
        for (k, v) in numbers.iter_mut().enumerate() {
            *v *= if dice(noise, first + k as u64) < bound { E::ZERO } else { kept };
        }
    }
}

/// 32 fair bits: the finaliser of SplitMix64.
#[inline(always)]
fn dice(key: u64, place: u64) -> u32 {
    let mut z = key.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z >> 32) as u32
}

impl<E: Element> Layer<E> for Dropout {
    fn kind(&self) -> &'static str {
        "dropout"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        self.len = input.len();
        if self.rate < 1.0 { Ok(input.clone()) } else { Err("would drop everything: its rate must be below 1".into()) }
    }
    fn reads(&self) -> Reads {
        Reads::NOTHING
    }
    fn in_place(&self) -> bool {
        true
    }
    fn forward(&self, pass: &mut Pass<'_, E>, _: &[E], _: &[E], y: &mut [E]) {
        self.scale(pass, y);
    }
    fn backward(&self, pass: &mut Pass<'_, E>, _: &[E], flow: Flow<'_, E>, _: &mut [E]) {
        self.scale(pass, flow.dy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_shares_are_those_asked_for_and_places_do_not_repeat() {
        let dropped = (0..100_000).filter(|&k| dice(77, k) < (0.3 * 4_294_967_296.0) as u32).count();
        // 30,000 ± five standard deviations of 145.
        assert!((29_275..30_725).contains(&dropped), "{dropped}");
        assert_ne!(dice(1, 0), dice(2, 0));
    }
}
