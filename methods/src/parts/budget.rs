//! How much personalisation a budget of rounds affords, and how many rounds a mixture needs (FLIX Theorems 1 and 2).
//!
//! Round 1 is the average of the local optima, the rest are gradient steps of size 1/Lα. The paper prints D without its
//! square and D in place of V; the proofs have D squared and V.

use motet_core::Vector;

/// The equal-α rule: L̄, μ̄ and V of a problem, and the accuracy ε wanted of F(x) − F*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// L̄ = 1/n Σ Lᵢ
    pub smoothness: f64,
    /// μ̄ = 1/n Σ μᵢ
    pub convexity: f64,
    /// V = Σ wᵢ |xᵢ* − x_avg|², wᵢ = Lᵢ/Σ L
    pub variance: f64,
    /// ε
    pub eps: f64,
}

impl Budget {
    /// A = √(2ε/(L̄ V)): up to here one round is enough.
    pub fn threshold(&self) -> f64 {
        (2.0 * self.eps / (self.smoothness * self.variance)).sqrt()
    }

    /// q = (1 − μ̄/L̄)^{−1/2}: each further round affords q times the α.
    pub fn growth(&self) -> f64 {
        (1.0 - self.convexity / self.smoothness).max(0.0).sqrt().recip()
    }

    /// Rounds that α = `b` needs; none if no number is enough (μ̄ = 0).
    pub fn rounds(&self, b: f64) -> Option<u64> {
        let first = self.threshold();
        if b <= 0.0 {
            return Some(0);
        }
        if b <= first {
            return Some(1);
        }
        steps_enough((b / first).ln(), self.growth().ln()).map(|steps| 1 + steps)
    }

    /// The largest α that `rounds` rounds afford.
    pub fn alpha(&self, rounds: u64) -> f64 {
        match rounds {
            0 => 0.0,
            1 => self.threshold().min(1.0), // q⁰ = 1, even where q is infinite
            _ => (self.threshold().ln() + (rounds - 1) as f64 * self.growth().ln()).exp().min(1.0),
        }
    }

    /// The classical sufficient count for α = 1: ⌈(L̄/μ̄) ln(L̄ V/(2ε))⌉.
    pub fn classical_rounds(&self) -> Option<u64> {
        let ratio = self.smoothness * self.variance / (2.0 * self.eps);
        if ratio <= 1.0 { Some(0) } else { steps_enough(ratio.ln(), self.convexity / self.smoothness) }
    }
}

/// The rule for unequal αᵢ, which needs the squared diameter in place of V.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// max αᵢ
    pub largest: f64,
    /// L̄
    pub smoothness: f64,
    /// D = max |xᵢ* − xⱼ*|²
    pub diameter2: f64,
    /// μα/Lα, which a common factor on all αᵢ does not change.
    pub conditioning: f64,
    /// ε
    pub eps: f64,
}

impl Profile {
    fn excess(&self) -> f64 {
        (self.largest * self.largest * self.smoothness * self.diameter2 / (2.0 * self.eps)).ln()
    }

    /// K: gradient steps after x_avg that are enough; none if no number is.
    pub fn steps(&self) -> Option<u64> {
        if self.excess() <= 0.0 { Some(0) } else { steps_enough(self.excess(), -(-self.conditioning).ln_1p()) }
    }

    /// The largest factor on all αᵢ, keeping them at most 1, for which `rounds` rounds (x_avg and steps) are enough.
    pub fn factor(&self, rounds: u64) -> f64 {
        if rounds == 0 || self.largest <= 0.0 {
            return 0.0;
        }
        let steps = (rounds - 1) as f64;
        let gained = if steps > 0.0 { -steps * (-self.conditioning).ln_1p() } else { 0.0 };
        ((gained - self.excess()) / 2.0).exp().min(1.0 / self.largest)
    }
}

/// Steps that are enough to gain `total` if each gains `each`, both logarithms: ⌈total/each⌉; none if each gains nothing.
///
/// A part in 10¹² too little counts as enough. Logarithms round, so what exactly R steps gain comes out a little above or below
/// R times `each`, and a bare ceiling would ask for one step more than the very rule that said R.
pub fn steps_enough(total: f64, each: f64) -> Option<u64> {
    const ROUNDING: f64 = 1e-12;
    let rest = total - ROUNDING * (1.0 + total);
    if rest <= 0.0 {
        return Some(0);
    }
    let steps = (rest / each).ceil().max(1.0);
    (each > 0.0 && steps < 1e18).then_some(steps as u64)
}

/// wᵢ/Σ w
pub fn normalised(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// Σ wᵢ |xᵢ − x̄|² about the mean x̄ of the same weights, which need not add up to 1. Zero for no vectors.
pub fn variance(weights: &[f64], of: &[Vector]) -> f64 {
    let Some(first) = of.first() else { return 0.0 };
    let mut mean = motet_core::Mean::like(first);
    weights.iter().zip(of).for_each(|(w, x)| mean.add(*w, x));
    let (total, centre) = (mean.weight(), mean.finish());
    if total == 0.0 { 0.0 } else { weights.iter().zip(of).map(|(w, x)| w * x.distance2(&centre)).sum::<f64>() / total }
}

/// max |xᵢ − xⱼ|²
pub fn diameter2(of: &[Vector]) -> f64 {
    let pairs = of.iter().enumerate().flat_map(|(i, x)| of[..i].iter().map(move |y| x.distance2(y)));
    pairs.fold(0.0, f64::max)
}
