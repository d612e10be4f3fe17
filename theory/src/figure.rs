//! The family of the paper's Figure 1: fᵢ(x) = ½ i x² − x with i of density 8i/15 on [½, 2].

use crate::phi::{phi, power};

/// x* = 5/7, the minimiser of the mean.
pub const MINIMISER: f64 = 5.0 / 7.0;

/// The mean of the clients' own minimisers 1/i.
pub const MEAN_CENTRE: f64 = 0.8;

const ENDS: [f64; 2] = [0.5, 2.0];

/// Below this client rate the closed form cancels: about 1e-12 is lost at 0.001.
const CANCELS: f64 = 0.01;

/// x*(γ, Θ_{1:K}): where FedAvg and Reptile with K local steps end.
///
/// ```
/// use motet_theory::figure::{MEAN_CENTRE, MINIMISER, minimiser};
/// assert!((minimiser(1, 0.5) - MINIMISER).abs() < 1e-14);
/// assert!((minimiser(50, 0.5) - MEAN_CENTRE).abs() < 1e-8);
/// ```
pub fn minimiser(steps: u32, gamma: f64) -> f64 {
    if gamma < CANCELS {
        // E φ cᵢ / E φ, the densities' common 8/15 left out.
        return integral(|i| phi(steps, i, gamma)) / integral(|i| i * phi(steps, i, gamma));
    }
    let k = f64::from(steps);
    let (far, near) = (1.0 - gamma * ENDS[1], 1.0 - gamma * ENDS[0]);
    let antiderivative = |u: f64| power(u, steps.saturating_add(2)) / (k + 2.0) - power(u, steps.saturating_add(1)) / (k + 1.0);
    let pull = 8.0 / 15.0 * (1.5 - (power(near, steps.saturating_add(1)) - power(far, steps.saturating_add(1))) / (gamma * (k + 1.0)));
    pull / (1.0 - 8.0 / (15.0 * gamma * gamma) * (antiderivative(far) - antiderivative(near)))
}

/// Simpson's rule; the integrands are smooth, so that this many panels reach rounding.
fn integral(g: impl Fn(f64) -> f64) -> f64 {
    const PANELS: u32 = 2000;
    let width = (ENDS[1] - ENDS[0]) / f64::from(PANELS);
    let at = |k: u32| {
        let weight = if k == 0 || k == PANELS {
            1.0
        } else if k % 2 == 1 {
            4.0
        } else {
            2.0
        };
        weight * g(ENDS[0] + width * f64::from(k))
    };
    (0..=PANELS).map(at).sum::<f64>() * width / 3.0
}
