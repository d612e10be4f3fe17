//! Partial pooling: a client with little evidence borrows from the others.
//!
//! ```text
//! gᵢ ~ N(θᵢ, vᵢ),   θᵢ ~ N(μ, τ²)
//! θ̂ᵢ = gᵢ − Bᵢ (gᵢ − μ̂),   Bᵢ = (n − 3)/(n − 1) · vᵢ/(vᵢ + τ²)
//! ```
//!
//! τ² after DerSimonian and Laird; the interval is Morris's (1983), which counts that μ and τ² are guesses. It covers on average
//! over the clients, not for each: a client unlike all others is drawn towards them. Where draws are skewed, so is what is drawn from
//! them, and the interval moves as that of the client does.

use super::interval::Estimate;
use super::skew::Skewness;

/// With fewer clients τ² is no more than a guess.
pub(super) const LEAST_CLIENTS: usize = 5;

/// The clients' gains, each drawn towards their mean. None with fewer than five clients, or where one has no interval over draws.
pub fn partially_pooled(gains: &[Estimate], skewness: Skewness) -> Option<Vec<Estimate>> {
    let errors: Vec<(f64, f64)> = gains.iter().map(|gain| gain.error).collect::<Option<_>>()?;
    if gains.len() < LEAST_CLIENTS || errors.iter().any(|(v, _)| *v <= 0.0) {
        return None;
    }
    let n = gains.len() as f64;
    let tau2 = between(gains, &errors);
    let weights: Vec<f64> = errors.iter().map(|(v, _)| 1.0 / (v + tau2)).collect();
    let total: f64 = weights.iter().sum();
    let mu = gains.iter().zip(&weights).map(|(g, w)| g.mean * w).sum::<f64>() / total;
    let typical = n / total;
    let pooled = |(gain, (v, freedom)): (&Estimate, &(f64, f64))| {
        let shrink = (n - 3.0) / (n - 1.0) * v / (v + tau2);
        let distance = gain.mean - mu;
        let guessed = 2.0 / (n - 3.0) * shrink * shrink * distance * distance * typical / (v + tau2);
        Estimate::student(gain.mean - shrink * distance, v * (1.0 - (n - 1.0) / n * shrink) + guessed, *freedom).skewed(skewness)
    };
    Some(gains.iter().zip(&errors).map(pooled).collect())
}

/// τ²: how far apart the clients are beyond what chance explains.
fn between(gains: &[Estimate], errors: &[(f64, f64)]) -> f64 {
    let weights: Vec<f64> = errors.iter().map(|(v, _)| 1.0 / v).collect();
    let (total, squares) = (weights.iter().sum::<f64>(), weights.iter().map(|w| w * w).sum::<f64>());
    let mu = gains.iter().zip(&weights).map(|(g, w)| g.mean * w).sum::<f64>() / total;
    let q: f64 = gains.iter().zip(&weights).map(|(g, w)| w * (g.mean - mu) * (g.mean - mu)).sum();
    ((q - (gains.len() as f64 - 1.0)) / (total - squares / total)).max(0.0)
}
