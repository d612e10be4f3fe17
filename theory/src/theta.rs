//! Θ: the weights of local gradients in what a client sends.

use crate::phi::{phi, power};

/// Weights θ₁, θ₂, … of the gradients that a client meets on its local walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Theta(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    All(u32),
    Last(u32),
    Given(Vec<f64>),
}

impl Theta {
    /// Θ_{1:K} = (1, …, 1): FedAvg, Reptile.
    pub fn all(steps: u32) -> Self {
        Self(Kind::All(steps))
    }

    /// Θ_K = (0, …, 0, 1): FOMAML with K − 1 steps of adaptation; m-MAML is Θ_{2m+1} (Theorem 4).
    pub fn last(step: u32) -> Self {
        Self(Kind::Last(step))
    }

    /// Any weights.
    pub fn given(weights: Vec<f64>) -> Self {
        Self(Kind::Given(weights))
    }

    /// K: how many gradients a client computes.
    pub fn steps(&self) -> u32 {
        match &self.0 {
            Kind::All(k) | Kind::Last(k) => *k,
            Kind::Given(weights) => u32::try_from(weights.len()).unwrap_or(u32::MAX),
        }
    }

    /// Is it Θ_{1:K}? Most theorems are about it alone.
    pub fn is_all(&self) -> bool {
        matches!(self.0, Kind::All(_))
    }

    /// Σ θ_k
    pub fn sum(&self) -> f64 {
        match &self.0 {
            Kind::All(k) => f64::from(*k),
            Kind::Last(_) => 1.0,
            Kind::Given(weights) => weights.iter().sum(),
        }
    }

    /// Σ θ_k (1 − γλ)^{k−1}: the eigenvalue of Qᵢ that belongs to λ of Aᵢ.
    pub fn distortion(&self, eigenvalue: f64, gamma: f64) -> f64 {
        let shrink = 1.0 - gamma * eigenvalue;
        match &self.0 {
            Kind::All(k) if eigenvalue == 0.0 => f64::from(*k),
            Kind::All(k) => phi(*k, eigenvalue, gamma) / eigenvalue,
            Kind::Last(k) => power(shrink, k.saturating_sub(1)),
            Kind::Given(weights) => weights.iter().rev().fold(0.0, |sum, weight| sum * shrink + weight),
        }
    }

    /// χ(γ, Θ) of Theorem 16: the smallest distortion, relative to Σ θ_k.
    pub fn chi(&self, smoothness: f64, gamma: f64) -> f64 {
        self.distortion(smoothness, gamma) / self.sum()
    }
}
