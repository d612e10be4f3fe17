//! F(x) = (1/n) Σ fᵢ(αᵢ x + (1 − αᵢ) xᵢ*) and its derivatives.

use motet_core::{Batch, Vector};

use super::{Constants, Part, Precision, ReferenceError};

/// F, checked. Clients with αᵢ = 0 add a constant and are never differentiated.
pub(super) struct Mixture<'a> {
    sharing: Vec<Part<'a>>,
    constant: f64,
    clients: f64,
    dim: usize,
}

impl<'a> Mixture<'a> {
    pub(super) fn new(parts: &[Part<'a>]) -> Result<Self, ReferenceError> {
        let dim = parts.first().ok_or(ReferenceError::Empty)?.objective.dim();
        let mut mixture = Self { sharing: Vec::new(), constant: 0.0, clients: parts.len() as f64, dim };
        for (client, part) in parts.iter().enumerate() {
            let local = part.local.map_or(dim, Vector::len);
            if let Some(other) = [part.objective.dim(), local].into_iter().find(|&d| d != dim) {
                return Err(ReferenceError::Dimension { client, dim: other, first: dim });
            }
            if part.objective.precision() == Precision::F32 {
                return Err(ReferenceError::SinglePrecision { client });
            }
            if part.alpha != 0.0 && (part.alpha == 1.0 || part.local.is_some()) {
                mixture.sharing.push(*part);
            } else {
                let local = part.local.ok_or(ReferenceError::NoLocal { client })?;
                mixture.constant += part.objective.value(local, Batch::all());
            }
        }
        Ok(mixture)
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// F(x)
    pub(super) fn value(&self, x: &Vector) -> f64 {
        let sum: f64 = self.sharing.iter().map(|part| part.objective.value(&deployed(part, x), Batch::all())).sum();
        (sum + self.constant) / self.clients
    }

    /// F(x) and ∇F(x) = (1/n) Σ αᵢ ∇fᵢ(Tᵢ(x))
    pub(super) fn value_gradient(&self, x: &Vector) -> (f64, Vector) {
        let (mut sum, mut gradient, mut one) = (0.0, x.zeros_like(), x.zeros_like());
        for part in &self.sharing {
            sum += part.objective.value_gradient(&deployed(part, x), Batch::all(), &mut one);
            gradient.axpy(part.alpha / self.clients, &one);
        }
        ((sum + self.constant) / self.clients, gradient)
    }

    /// ∇²F at x, to be multiplied with vectors: (1/n) Σ αᵢ² ∇²fᵢ(Tᵢ(x))
    pub(super) fn hessian(&self, x: &Vector) -> Hessian<'_, 'a> {
        Hessian { of: self, points: self.sharing.iter().map(|part| deployed(part, x)).collect() }
    }

    /// (1/n) Σ αᵢ² Lᵢ, where all are known.
    pub(super) fn smoothness(&self) -> Option<f64> {
        self.sharing.iter().try_fold(0.0, |sum, part| {
            let Constants { smoothness, .. } = part.objective.constants();
            Some(sum + part.alpha * part.alpha * smoothness? / self.clients)
        })
    }
}

/// Tᵢ(x)
fn deployed(part: &Part<'_>, x: &Vector) -> Vector {
    part.local.filter(|_| part.alpha != 1.0).map_or_else(|| x.clone(), |local| Vector::mix(part.alpha, x, local))
}

/// ∇²F at one point.
pub(super) struct Hessian<'m, 'a> {
    of: &'m Mixture<'a>,
    points: Vec<Vector>,
}

impl Hessian<'_, '_> {
    /// ∇²F v
    pub(super) fn times(&self, v: &Vector) -> Vector {
        let (mut product, mut one) = (v.zeros_like(), v.zeros_like());
        for (part, point) in self.of.sharing.iter().zip(&self.points) {
            part.objective.hessian_vector(point, v, Batch::all(), &mut one);
            product.axpy(part.alpha * part.alpha / self.of.clients, &one);
        }
        product
    }
}
