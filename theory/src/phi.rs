//! The eigenvalues of K local steps.

/// φ_{K,λ}(γ) = (1 − (1 − γλ)^K)/γ, which is Kλ at γ = 0: what K summed local gradients make of an eigenvalue λ.
///
/// ```
/// use motet_theory::phi;
/// assert_eq!(phi(5, 2.0, 0.5), 2.0);
/// assert_eq!(phi(5, 2.0, 0.0), 10.0);
/// ```
pub fn phi(steps: u32, eigenvalue: f64, gamma: f64) -> f64 {
    let k = f64::from(steps);
    if gamma == 0.0 {
        k * eigenvalue
    } else if gamma * eigenvalue < 1.0 {
        // 1 − (1 − z)^K without losing the digits of a small z.
        -(k * (-gamma * eigenvalue).ln_1p()).exp_m1() / gamma
    } else {
        (1.0 - power(1.0 - gamma * eigenvalue, steps)) / gamma
    }
}

/// base^exponent, of either sign.
pub(crate) fn power(base: f64, exponent: u32) -> f64 {
    i32::try_from(exponent).map_or_else(|_| base.powf(f64::from(exponent)), |exponent| base.powi(exponent))
}
