//! Rates that the paper's theorems give on quadratics between μ I and L I, with Theta_{1:K}.
//!
//! Theorems 26 and 27 take γ as given; Theorem 29 lowers both rates. Each needs γ < 1/L. With sampled clients the rates
//! are the same, but the variance of the draw (left out of Lemma 23) keeps Theorem 26 from converging.

/// μ, L and K.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theory {
    /// L
    pub smoothness: f64,
    /// μ
    pub convexity: f64,
    /// K
    pub steps: u32,
}

impl Theory {
    /// Of the least curved function of the surrogate: φ(K, μ).
    fn least(&self, gamma: f64) -> f64 {
        phi(self.steps, self.convexity, gamma)
    }

    fn most(&self, gamma: f64) -> f64 {
        phi(self.steps, self.smoothness, gamma)
    }

    /// Theorem 26: η = φ(K, μ) / φ(K, L)².
    pub fn constant(&self, gamma: f64) -> f64 {
        self.least(gamma) / self.most(gamma).powi(2)
    }

    /// Theorem 27: η_t = (2/φ(K, μ)) / (b + t), t = 1, 2, …, with b twice the squared condition number. Gives η₁ and b + 1.
    pub fn inverse(&self, gamma: f64) -> (f64, f64) {
        let b = 2.0 * (self.most(gamma) / self.least(gamma)).powi(2);
        (2.0 / (self.least(gamma) * (b + 1.0)), b + 1.0)
    }

    /// Theorem 29 in round t = 1, 2, …: γ_t = min{1/(L (b + t)), ln 2/(K μ)}, η_t = 3/(φ(K, μ; γ_t) (b + t)), b = 3 κ².
    pub fn both(&self, t: u64) -> (f64, f64) {
        let far = 3.0 * (self.smoothness / self.convexity).powi(2) + t as f64;
        let gamma = (1.0 / (self.smoothness * far)).min(std::f64::consts::LN_2 / (f64::from(self.steps) * self.convexity));
        (gamma, 3.0 / (self.least(gamma) * far))
    }
}

/// φ(K, l; γ) = Σ_{k<K} l (1 − γ l)^k: the curvature l as Theta_{1:K} sees it.
///
/// ```
/// let phi = motet_methods::local_update::phi(10, 2.0, 0.1);
/// assert!((phi - 8.926258176).abs() < 1e-9);
/// ```
pub fn phi(steps: u32, curvature: f64, gamma: f64) -> f64 {
    let (mut sum, shrink) = (0.0, 1.0 - gamma * curvature);
    // Horner's rule has no cancellation at small γ, where (1 − (1 − γ l)^K)/γ loses all its digits.
    for _ in 0..steps {
        sum = sum * shrink + curvature;
    }
    sum
}
