//! Bounds that need four numbers only.

use crate::phi::{phi, power};
use crate::theta::Theta;

/// How curved and how different the clients are. The bounds hold for γ < 1/L.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// L: no Aᵢ has a larger eigenvalue.
    pub smoothness: f64,
    /// μ: no Aᵢ has a smaller one.
    pub convexity: f64,
    /// σ_c = √E|cᵢ − E cⱼ|²
    pub centres: f64,
    /// σ_A = √E|Aᵢ − E Aⱼ|², in the spectral norm.
    pub curvatures: f64,
}

/// The largest γ for which φ_{K,λ}(γ) ≥ (1 − ε) K λ is promised (Lemma 18): ln(1/(1 − ε))/(Kλ). None for
/// ε > 1 − e^{−K}, where the lemma ends. (Its proof says x ≤ 1 where x ≤ K is meant and enough.)
pub fn gamma_keeping(epsilon: f64, steps: u32, eigenvalue: f64) -> Option<f64> {
    let k = f64::from(steps);
    let fits = (0.0..=-(-k).exp_m1()).contains(&epsilon);
    // At the last ε the logarithm is K; for large K that ε is 1 to all digits.
    fits.then(|| (-(-epsilon).ln_1p()).min(k) / (k * eigenvalue))
}

impl Scales {
    /// κ = L/μ
    pub fn condition(&self) -> f64 {
        self.smoothness / self.convexity
    }

    /// Corollary 13: the condition number of the surrogate of Θ_{1:K} is at most φ_{K,L}/φ_{K,μ}.
    pub fn condition_all(&self, steps: u32, gamma: f64) -> f64 {
        phi(steps, self.smoothness, gamma) / phi(steps, self.convexity, gamma)
    }

    /// Corollary 14: the condition number of the surrogate of Θ_K is at most ((1 − γL)/(1 − γμ))^{K−1} L/μ. None
    /// unless γ < 1/(KL).
    pub fn condition_last(&self, step: u32, gamma: f64) -> Option<f64> {
        let shrink = (1.0 - gamma * self.smoothness) / (1.0 - gamma * self.convexity);
        (gamma * f64::from(step) * self.smoothness < 1.0).then(|| power(shrink, step.saturating_sub(1)) * self.condition())
    }

    /// σ_c (1 + σ_A/μ)
    fn heterogeneity(&self) -> f64 {
        self.centres * (1.0 + self.curvatures / self.convexity)
    }

    /// Theorem 16: |x*(γ, Θ) − x*| ≤ (L σ_c/μ)(1 + σ_A/μ)(1 − χ)/χ.
    pub fn distance(&self, theta: &Theta, gamma: f64) -> f64 {
        let chi = theta.chi(self.smoothness, gamma);
        self.condition() * self.heterogeneity() * (1.0 - chi) / chi
    }

    /// Theorem 17: |x*(γ, Θ_{1:K}) − x*| ≤ σ_c (1 + σ_A/μ)(LK − φ_{K,L})/φ_{K,μ}.
    pub fn distance_all(&self, steps: u32, gamma: f64) -> f64 {
        let lost = self.smoothness * f64::from(steps) - phi(steps, self.smoothness, gamma);
        self.heterogeneity() * lost / phi(steps, self.convexity, gamma)
    }

    /// Corollary 20: |x*(γ, Θ_{1:K}) − x*| ≤ σ_c (1 + σ_A/μ)(L/μ) ε/(1 − ε) for every γ ≤ ln(1/(1 − ε))/(KL).
    pub fn distance_keeping(&self, epsilon: f64) -> f64 {
        self.heterogeneity() * self.condition() * epsilon / (1.0 - epsilon)
    }

    /// The client rate that Corollary 20 recommends for |x*(γ, Θ_{1:K}) − x*| ≤ `accuracy`; at most 1/L.
    pub fn gamma_for(&self, steps: u32, accuracy: f64) -> f64 {
        let (k, reach) = (f64::from(steps), self.heterogeneity() * self.condition());
        // ε/(1 − ε) = accuracy/reach, so that ln(1/(1 − ε)) = ln(1 + accuracy/reach); the lemma ends at K.
        let exponent = if reach > 0.0 { (accuracy / reach).ln_1p().min(k) } else { k };
        exponent / (k * self.smoothness)
    }

    /// The largest client rate below 1/L for which Theorem 17 promises |x*(γ, Θ_{1:K}) − x*| ≤ `accuracy`.
    pub fn sharp_gamma_for(&self, steps: u32, accuracy: f64) -> f64 {
        // The bound grows with γ: φ_{K,λ} falls.
        let (mut low, mut high) = (0.0, (1.0 - 1e-12) / self.smoothness);
        if self.distance_all(steps, high) <= accuracy {
            return high;
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if self.distance_all(steps, middle) <= accuracy { low = middle } else { high = middle }
        }
        low
    }

    /// Theorem 21: |x*(γ₁) − x*(γ₂)| for Θ_{1:K} and γ₁ ≤ γ₂ is at most
    /// σ_c (1 + φ_{K,L}(γ₂)/φ_{K,μ}(γ₂)) (φ_{K,L}(γ₁) − φ_{K,L}(γ₂))/φ_{K,μ}(γ₁).
    pub fn drift(&self, steps: u32, first: f64, second: f64) -> f64 {
        let lost = phi(steps, self.smoothness, first) - phi(steps, self.smoothness, second);
        self.centres * (1.0 + self.condition_all(steps, second)) * lost / phi(steps, self.convexity, first)
    }

    /// Corollary 22, corrected: |x*(γ₁) − x*(γ₂)| ≤ K σ_c (L³/μ²)(γ₂ − γ₁). The paper prints 2 for K, which is false
    /// for K > 2: its proof needs φ_{K,L}(γ₁) − φ_{K,L}(γ₂) ≤ (K/2) φ_{K,L}(γ₁) L (γ₂ − γ₁), without the K/2. For K = 1
    /// nothing moves at all.
    pub fn simple_drift(&self, steps: u32, first: f64, second: f64) -> f64 {
        let Scales { smoothness, convexity, centres, .. } = self;
        f64::from(steps) * centres * smoothness.powi(3) / convexity.powi(2) * (second - first)
    }
}
