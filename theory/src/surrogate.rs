//! The function that local updates really descend on.

use nalgebra::{DMatrix, DVector};

use crate::ensemble::{Ensemble, Member, norm};
use crate::theta::Theta;

/// f̃(x, γ, Θ) = E ½ (x − cᵢ)ᵀ Qᵢ Aᵢ (x − cᵢ). (The paper's (9) has lost the square.)
#[derive(Clone, Debug)]
pub struct Surrogate<'a> {
    of: &'a Ensemble,
    gamma: f64,
    theta: Theta,
    /// Qᵢ Aᵢ
    parts: Vec<DMatrix<f64>>,
    /// E Qᵢ Aᵢ
    whole: DMatrix<f64>,
    /// Least and largest eigenvalue of the whole.
    ends: [f64; 2],
    minimiser: Option<DVector<f64>>,
}

impl<'a> Surrogate<'a> {
    pub(crate) fn new(of: &'a Ensemble, gamma: f64, theta: Theta) -> Self {
        let parts: Vec<DMatrix<f64>> = of.members.iter().map(|m| m.map(|value| value * theta.distortion(value, gamma))).collect();
        let (mut whole, mut pull) = (DMatrix::zeros(of.dim(), of.dim()), DVector::zeros(of.dim()));
        for (member, part) in of.members.iter().zip(&parts) {
            whole += part * member.weight;
            pull += part * &member.centre * member.weight;
        }
        let values = whole.symmetric_eigenvalues();
        let minimiser = whole.clone().cholesky().map(|factors| factors.solve(&pull));
        Self { of, gamma, theta, parts, ends: [values.min(), values.max()], whole, minimiser }
    }

    /// γ
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Θ
    pub fn theta(&self) -> &Theta {
        &self.theta
    }

    /// Qᵢ, row after row; none if there is no such client.
    pub fn distortion(&self, client: usize) -> Option<Vec<f64>> {
        let member = self.of.members.get(client)?;
        // Symmetric: columns are rows.
        Some(member.map(|value| self.theta.distortion(value, self.gamma)).as_slice().to_vec())
    }

    /// Is every client's own surrogate strongly convex? Always for γ < 1/L and weights that are not negative.
    pub fn every_client_convex(&self) -> bool {
        self.of.members.iter().all(|m| m.values.iter().all(|value| self.theta.distortion(*value, self.gamma) > 0.0))
    }

    /// x*(γ, Θ) = (E Qᵢ Aᵢ)⁻¹ E Qᵢ Aᵢ cᵢ; none if the surrogate is not strongly convex.
    pub fn minimiser(&self) -> Option<&[f64]> {
        self.minimiser.as_ref().map(DVector::as_slice)
    }

    /// |x*(γ, Θ) − x*|
    pub fn distance(&self) -> Option<f64> {
        self.minimiser.as_ref().map(|x| (x - DVector::from_column_slice(self.of.minimiser())).norm())
    }

    /// |x*(γ, Θ) − x|
    pub fn distance_to(&self, x: &[f64]) -> Option<f64> {
        self.minimiser.as_ref().map(|own| (own - DVector::from_column_slice(x)).norm())
    }

    /// The largest eigenvalue of E Qᵢ Aᵢ.
    pub fn smoothness(&self) -> f64 {
        self.ends[1]
    }

    /// The least eigenvalue of E Qᵢ Aᵢ.
    pub fn convexity(&self) -> f64 {
        self.ends[0]
    }

    /// The condition number; infinite if the surrogate is not strongly convex.
    pub fn condition(&self) -> f64 {
        if self.ends[0] > 0.0 { self.ends[1] / self.ends[0] } else { f64::INFINITY }
    }

    /// f̃(x)
    pub fn value(&self, x: &[f64]) -> f64 {
        let x = DVector::from_column_slice(x);
        let term = |(part, member): (&DMatrix<f64>, &Member)| {
            let apart = &x - &member.centre;
            0.5 * member.weight * apart.dot(&(part * &apart))
        };
        self.parts.iter().zip(&self.of.members).map(term).sum()
    }

    /// ∇f̃ᵢ(x) = Qᵢ Aᵢ (x − cᵢ): what client i sends on average (Theorem 3); none if there is no such client.
    pub fn client_gradient(&self, client: usize, x: &[f64]) -> Option<Vec<f64>> {
        let (member, part) = (self.of.members.get(client)?, self.parts.get(client)?);
        Some((part * (DVector::from_column_slice(x) - &member.centre)).as_slice().to_vec())
    }

    /// ∇f̃(x)
    pub fn gradient(&self, x: &[f64]) -> Vec<f64> {
        self.slope(&DVector::from_column_slice(x)).as_slice().to_vec()
    }

    fn slope(&self, x: &DVector<f64>) -> DVector<f64> {
        let members = self.of.members.iter().zip(&self.parts);
        members.fold(DVector::zeros(x.len()), |sum, (m, part)| sum + part * (x - &m.centre) * m.weight)
    }

    /// E|∇f̃ᵢ(x) − ∇f̃(x)|²: the variance that drawing one client adds to Lemma 23.
    pub fn gradient_spread(&self, x: &[f64]) -> f64 {
        let x = DVector::from_column_slice(x);
        let slope = self.slope(&x);
        let members = self.of.members.iter().zip(&self.parts);
        members.map(|(m, part)| m.weight * (part * (&x - &m.centre) - &slope).norm_squared()).sum()
    }

    /// E|Qᵢ Aᵢ − E Qⱼ Aⱼ|²
    pub fn curvature_spread(&self) -> f64 {
        let members = self.of.members.iter().zip(&self.parts);
        members.map(|(m, part)| m.weight * norm(part - &self.whole).powi(2)).sum()
    }
}
