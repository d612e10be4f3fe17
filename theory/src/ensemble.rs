//! Quadratic clients, taken apart once.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use crate::scales::Scales;
use crate::surrogate::Surrogate;
use crate::theta::Theta;

/// Clients fᵢ(x) = ½ (x − cᵢ)ᵀ Aᵢ (x − cᵢ) and their probabilities.
#[derive(Clone, Debug)]
pub struct Ensemble {
    pub(crate) members: Vec<Member>,
    minimiser: DVector<f64>,
    scales: Scales,
}

/// Aᵢ = V diag(λ) Vᵀ: every matrix of the theory is a function of λ.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) weight: f64,
    pub(crate) centre: DVector<f64>,
    pub(crate) values: DVector<f64>,
    vectors: DMatrix<f64>,
}

/// Numbers that are no ensemble of strongly convex quadratics.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EnsembleError {
    /// Nobody.
    #[error("an ensemble needs at least one client")]
    Empty,
    /// A is d × d, the same d for everyone.
    #[error("client {client} has a matrix of {numbers} numbers and a centre of {centre}; the first client's centre has {dim}")]
    Size {
        /// The client concerned.
        client: usize,
        /// Of A.
        numbers: usize,
        /// Of c.
        centre: usize,
        /// d
        dim: usize,
    },
    /// Every Aᵢ is positive definite.
    #[error("the matrix of client {client} is not positive definite: its least eigenvalue is {least}")]
    NotConvex {
        /// The client concerned.
        client: usize,
        /// μᵢ
        least: f64,
    },
    /// Probabilities are positive.
    #[error("client {client} has weight {weight}: weights must be positive")]
    Weight {
        /// The client concerned.
        client: usize,
        /// What it weighs.
        weight: f64,
    },
}

impl Ensemble {
    /// Equally likely clients, each with A, row after row, and c. Only the lower triangle of A is read.
    pub fn new(clients: impl IntoIterator<Item = (Vec<f64>, Vec<f64>)>) -> Result<Self, EnsembleError> {
        Self::weighted(clients.into_iter().map(|(curvature, centre)| (1.0, curvature, centre)))
    }

    /// Equally likely clients, each with A, row after row, and ∇f(0) = −A c.
    pub fn from_slopes(clients: impl IntoIterator<Item = (Vec<f64>, Vec<f64>)>) -> Result<Self, EnsembleError> {
        let mut ensemble = Self::new(clients)?;
        for member in &mut ensemble.members {
            member.centre = member.map(|value| -1.0 / value) * &member.centre;
        }
        (ensemble.minimiser, ensemble.scales) = (minimiser(&ensemble.members), scales(&ensemble.members));
        Ok(ensemble)
    }

    /// Clients with a weight, A, row after row, and c. Weights are normalised.
    pub fn weighted(clients: impl IntoIterator<Item = (f64, Vec<f64>, Vec<f64>)>) -> Result<Self, EnsembleError> {
        let mut members: Vec<Member> = vec![];
        for (client, (weight, curvature, centre)) in clients.into_iter().enumerate() {
            let dim = members.first().map_or(centre.len(), |first| first.centre.len());
            if centre.len() != dim || curvature.len() != dim * dim || dim == 0 {
                return Err(EnsembleError::Size { client, numbers: curvature.len(), centre: centre.len(), dim });
            }
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(EnsembleError::Weight { client, weight });
            }
            let member = Member::new(weight, DMatrix::from_row_slice(dim, dim, &curvature), centre.into());
            let least = member.values.min();
            if least.is_nan() || least <= 0.0 {
                return Err(EnsembleError::NotConvex { client, least });
            }
            members.push(member);
        }
        let total: f64 = members.iter().map(|member| member.weight).sum();
        members.iter_mut().for_each(|member| member.weight /= total);
        if members.is_empty() {
            return Err(EnsembleError::Empty);
        }
        let (minimiser, scales) = (minimiser(&members), scales(&members));
        Ok(Self { members, minimiser, scales })
    }

    /// How many clients.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Never: an ensemble has a client.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// d
    pub fn dim(&self) -> usize {
        self.minimiser.len()
    }

    /// x* = argmin f = (E Aᵢ)⁻¹ E Aᵢ cᵢ
    pub fn minimiser(&self) -> &[f64] {
        self.minimiser.as_slice()
    }

    /// E cᵢ: where ever more local steps lead (Lemma 15).
    pub fn mean_centre(&self) -> Vec<f64> {
        mean_centre(&self.members).as_slice().to_vec()
    }

    /// L, μ, σ_c and σ_A.
    pub fn scales(&self) -> Scales {
        self.scales
    }

    /// What a client rate and weights make of it.
    pub fn surrogate(&self, gamma: f64, theta: &Theta) -> Surrogate<'_> {
        Surrogate::new(self, gamma, theta.clone())
    }

    /// 1/(2γ) E|x − cᵢ|²: above every surrogate of Θ_{1:K} with γ < 1/L, and their limit as K grows (Lemma 15).
    pub fn one_shot_loss(&self, x: &[f64], gamma: f64) -> f64 {
        let x = DVector::from_column_slice(x);
        self.members.iter().map(|m| m.weight * (&x - &m.centre).norm_squared()).sum::<f64>() / (2.0 * gamma)
    }
}

impl Member {
    fn new(weight: f64, curvature: DMatrix<f64>, centre: DVector<f64>) -> Self {
        // In dimension 1 nothing needs to be found.
        if centre.len() == 1 {
            return Self { weight, centre, values: DVector::from_element(1, curvature[(0, 0)]), vectors: DMatrix::identity(1, 1) };
        }
        let SymmetricEigen { eigenvalues, eigenvectors } = curvature.symmetric_eigen();
        Self { weight, centre, values: eigenvalues, vectors: eigenvectors }
    }

    /// V diag(g(λ)) Vᵀ
    pub(crate) fn map(&self, g: impl Fn(f64) -> f64) -> DMatrix<f64> {
        let mut scaled = self.vectors.clone();
        for (mut column, value) in scaled.column_iter_mut().zip(&self.values) {
            column *= g(*value);
        }
        scaled * self.vectors.transpose()
    }
}

/// E of something.
fn mean(members: &[Member], of: impl Fn(&Member) -> DMatrix<f64>) -> DMatrix<f64> {
    let dim = members.first().map_or(0, |m| m.centre.len());
    members.iter().fold(DMatrix::zeros(dim, dim), |sum, m| sum + of(m) * m.weight)
}

/// The largest |eigenvalue| of a symmetric matrix.
pub(crate) fn norm(symmetric: DMatrix<f64>) -> f64 {
    symmetric.symmetric_eigenvalues().amax()
}

fn mean_centre(members: &[Member]) -> DVector<f64> {
    let dim = members.first().map_or(0, |m| m.centre.len());
    members.iter().fold(DVector::zeros(dim), |sum, m| sum + &m.centre * m.weight)
}

fn minimiser(members: &[Member]) -> DVector<f64> {
    let curvature = mean(members, |m| m.map(|value| value));
    let pull = members.iter().fold(DVector::zeros(curvature.nrows()), |sum, m| sum + m.map(|value| value) * &m.centre * m.weight);
    // A mean of positive definite matrices is one; rounding could break it only at condition numbers near 1e16.
    curvature.cholesky().map_or_else(|| mean_centre(members), |factors| factors.solve(&pull))
}

fn scales(members: &[Member]) -> Scales {
    let (curvature, centre) = (mean(members, |m| m.map(|value| value)), mean_centre(members));
    let ends = members.iter().map(|m| (m.values.min(), m.values.max()));
    let (convexity, smoothness) = ends.fold((f64::INFINITY, 0.0f64), |(least, most), (low, high)| (least.min(low), most.max(high)));
    let centres = members.iter().map(|m| m.weight * (&m.centre - &centre).norm_squared()).sum::<f64>().sqrt();
    let curvatures = members.iter().map(|m| m.weight * norm(m.map(|value| value) - &curvature).powi(2)).sum::<f64>().sqrt();
    Scales { smoothness, convexity, centres, curvatures }
}
