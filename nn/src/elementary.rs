//! Exponential and logarithm of our own: without branches, so that the compiler can do several at once, and
//! with the same bits on every machine, which the system's mathematical library does not promise.

use std::f64::consts::LOG2_E;

// ln 2 in two parts; the first has trailing zeros, so that k·LN2_HIGH is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 1.5·2⁵²: adding it rounds to the nearest integer, which is then in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// eˣ to about one unit in the last place; clamped to the range of normal numbers, NaN stays NaN.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Comparisons in this direction let NaN through.
    let x = if x > 709.0 { 709.0 } else { x };
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x * LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = (Q[0] + r * Q[1]) + r2 * (Q[2] + r * Q[3]);
    let middle = (Q[4] + r * Q[5]) + r2 * (Q[6] + r * Q[7]);
    let high = (Q[8] + r * Q[9]) + r2 * Q[10];
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    (1.0 + r * (low + r4 * (middle + r4 * high))) * scale
}

/// (eʳ − 1)/r interpolated at Chebyshev's nodes of |r| ≤ ½ ln 2: 1 + r·Q(r) is eʳ to 1e-17, relatively.
const Q: [f64; 11] = [
    1.0,
    0.500_000_000_000_000_6,
    0.166_666_666_666_666_7,
    0.041_666_666_666_573_14,
    0.008_333_333_333_326_141,
    0.001_388_888_893_248_886,
    0.000_198_412_698_748_006_94,
    2.480_150_434_666_561_5e-5,
    2.755_725_542_549_107e-6,
    2.762_635_737_968_284e-7,
    2.510_520_648_025_936_5e-8,
];

/// eˣ in single precision, to about one unit in the last place (the polynomial of Cephes); clamped, NaN stays NaN.
#[inline(always)]
pub fn exp_single(x: f32) -> f32 {
    let x = if x > 88.0 { 88.0 } else { x };
    let x = if x < -87.0 { -87.0 } else { x };
    // 1.5·2²³ rounds to the nearest integer, which is then in the low bits.
    let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
    let k = shifted - 12_582_912.0;
    let r = (x - k * 0.693_359_4) + k * 2.121_944_4e-4;
    let p = 1.987_569_1e-4 * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let p = (p * (r * r) + r) + 1.0;
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

/// tanh x in single precision, to a few units in the last place: near 0 the polynomial of Cephes, because there the formula
/// with the exponential takes the difference of two numbers that are nearly equal.
#[inline(always)]
pub fn tanh_single(x: f32) -> f32 {
    let far = 1.0 - 2.0 / (exp_single(x + x) + 1.0);
    let z = x * x;
    let p = -5.704_988_7e-3 * z + 2.063_909e-2;
    let p = p * z - 5.373_971_6e-2;
    let p = p * z + 1.333_144_2e-1;
    let p = p * z - 3.333_328e-1;
    let near = p * z * x + x;
    if z < 0.390_625 { near } else { far }
}

/// σ(z) = 1/(1 + e⁻ᶻ), accurate at both ends.
#[inline(always)]
pub fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + exp(-z))
}

/// log(1 + eᶻ), accurate at both ends.
#[inline(always)]
pub fn softplus(z: f64) -> f64 {
    let e = exp(-z.abs());
    // log(1 + e) = 2 artanh(t), t = e/(2 + e) ≤ 1/3
    let t = e / (2.0 + e);
    let above = if z < 0.0 { 0.0 } else { z };
    above + 2.0 * artanh::<17>(t)
}

/// log x of a positive normal number.
pub fn ln(x: f64) -> f64 {
    // x = m·2ᵏ with m in [√½, √2)
    const HALF_ROOT: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    let shifted = x.to_bits().wrapping_sub(HALF_ROOT);
    let k = ((shifted as i64) >> 52) as f64;
    let m = f64::from_bits((shifted & ((1 << 52) - 1)).wrapping_add(HALF_ROOT));
    let small = 2.0 * artanh::<12>((m - 1.0) / (m + 1.0));
    let finite = k * LN2_HIGH + (k * LN2_LOW + small);
    if x > 0.0 && x < f64::INFINITY { finite } else { x.ln() }
}

/// t + t³/3 + t⁵/5 + … with so many terms.
#[inline(always)]
fn artanh<const TERMS: usize>(t: f64) -> f64 {
    let square = t * t;
    let mut sum = 0.0;
    for k in (1..TERMS).rev() {
        sum = (sum + 1.0 / (2 * k + 1) as f64) * square;
    }
    t + t * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_single_precision_exponential_is_within_three_units() {
        for k in -80_000..80_000 {
            let x = k as f32 * 1.07e-3;
            let (ours, theirs) = (f64::from(exp_single(x)), f64::from(x).exp());
            assert!((ours - theirs).abs() <= 3.0 * f64::from(f32::EPSILON) * theirs, "at {x}: {ours:e} {theirs:e}");
        }
        assert!(exp_single(f32::NAN).is_nan());
    }

    #[test]
    fn the_single_precision_tangent_is_within_four_units_at_both_ends() {
        for k in -80_000..80_000 {
            let x = k as f32 * 1.3e-4 * (1.0 + (k % 7) as f32);
            let (ours, theirs) = (f64::from(tanh_single(x)), f64::from(x).tanh());
            assert!((ours - theirs).abs() <= 4.0 * f64::from(f32::EPSILON) * theirs.abs(), "at {x}: {ours:e} {theirs:e}");
        }
        assert!(tanh_single(f32::NAN).is_nan());
        assert_eq!((tanh_single(1e30), tanh_single(-1e30)), (1.0, -1.0));
    }

    fn close(ours: f64, theirs: f64, at: f64) {
        assert!((ours - theirs).abs() <= 4.5e-16 * theirs.abs(), "at {at}: {ours:e} {theirs:e}");
    }

    #[test]
    fn agree_with_the_system_to_two_units_in_the_last_place() {
        for k in -400_000..400_000 {
            let x = f64::from(k) * 1.7e-3 + 1e-7;
            close(exp(x), x.exp(), x);
            close(sigmoid(x), 1.0 / (1.0 + (-x).exp()), x);
            close(softplus(x), if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }, x);
            let positive = 1.0 + f64::from(k + 400_000) * 0.37;
            close(ln(positive), positive.ln(), positive);
            close(ln(1.0 / positive), (1.0 / positive).ln(), positive);
        }
    }

    #[test]
    fn extremes_neither_overflow_nor_hide_a_nan() {
        assert_eq!(softplus(1e300), 1e300);
        assert!(softplus(-1e300) < 1e-300 && softplus(-1e300) >= 0.0);
        assert!(sigmoid(-1e300) < 1e-300 && sigmoid(1e300) == 1.0);
        assert_eq!((exp(0.0), ln(1.0), sigmoid(0.0)), (1.0, 0.0, 0.5));
        assert!(exp(f64::NAN).is_nan() && sigmoid(f64::NAN).is_nan() && softplus(f64::NAN).is_nan() && ln(f64::NAN).is_nan());
        assert_eq!(softplus(f64::INFINITY), f64::INFINITY);
    }
}
