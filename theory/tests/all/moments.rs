//! The exact mean and covariance of the server's iterate: no simulation, no luck.

use motet_theory::{Cohort, Ensemble, Noise};
use nalgebra::{DMatrix, DVector};

/// E x and Cov x under FedAvg on quadratics whose examples add noise of variance G² in random directions.
pub struct Moments<'a> {
    functions: &'a [(Vec<f64>, Vec<f64>)],
    noise: Noise,
    steps: u32,
    pub mean: DVector<f64>,
    pub covariance: DMatrix<f64>,
}

/// Qᵢ Aᵢ, cᵢ, and the covariance of what the client's noise adds.
struct Part {
    curvature: DMatrix<f64>,
    centre: DVector<f64>,
    noise: DMatrix<f64>,
}

impl<'a> Moments<'a> {
    pub fn new(functions: &'a [(Vec<f64>, Vec<f64>)], steps: u32, noise: Noise, start: &[f64]) -> Self {
        let dim = start.len();
        Self { functions, noise, steps, mean: DVector::from_column_slice(start), covariance: DMatrix::zeros(dim, dim) }
    }

    /// By the loop itself: K matrix products, not the formulas under test.
    fn part(&self, (a, c): &(Vec<f64>, Vec<f64>), gamma: f64) -> Part {
        let dim = c.len();
        let (a, one) = (DMatrix::from_row_slice(dim, dim, a), DMatrix::<f64>::identity(dim, dim));
        let shrink = &one - &a * gamma;
        let (mut power, mut sum, mut squares) = (one, DMatrix::zeros(dim, dim), DMatrix::zeros(dim, dim));
        for _ in 0..self.steps {
            sum += &power;
            // The noise of step j reaches the sum of gradients as (I − γA)^{K−j} ξ_j: the sum telescopes.
            squares += &power * &power;
            power *= &shrink;
        }
        let variance = self.noise.gradient / (dim as f64 * f64::from(self.noise.batch));
        Part { curvature: sum * a, centre: DVector::from_column_slice(c), noise: squares * variance }
    }

    pub fn round(&mut self, gamma: f64, eta: f64) {
        let n = self.functions.len() as f64;
        let parts: Vec<Part> = self.functions.iter().map(|f| self.part(f, gamma)).collect();
        let dim = self.mean.len();
        let (mut whole, mut slope, mut noise) = (DMatrix::zeros(dim, dim), DVector::zeros(dim), DMatrix::zeros(dim, dim));
        for part in &parts {
            whole += &part.curvature / n;
            slope += &part.curvature * (&self.mean - &part.centre) / n;
            noise += &part.noise / n;
        }
        let extra = match self.noise.cohort {
            Cohort::Everyone => noise / n,
            Cohort::Draws(m) => {
                let mut drawn = noise;
                for part in &parts {
                    let (apart, off) = (&part.curvature - &whole, &part.curvature * (&self.mean - &part.centre) - &slope);
                    drawn += (&apart * &self.covariance * &apart + &off * off.transpose()) / n;
                }
                drawn / f64::from(m)
            }
            Cohort::Distinct(_) => panic!("not needed"),
        };
        let contraction = DMatrix::identity(dim, dim) - &whole * eta;
        self.covariance = &contraction * &self.covariance * &contraction + extra * (eta * eta);
        self.mean -= slope * eta;
    }

    /// E|x − r|²
    pub fn distance2(&self, r: &[f64]) -> f64 {
        (&self.mean - DVector::from_column_slice(r)).norm_squared() + self.covariance.trace()
    }
}

/// |x − y|²
pub fn apart2(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum()
}

/// E cᵢ, moved a little or a lot.
pub fn start(ensemble: &Ensemble, by: &[f64]) -> Vec<f64> {
    ensemble.mean_centre().iter().zip(by).map(|(c, by)| c + by).collect()
}
