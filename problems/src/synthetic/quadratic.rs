//! Quadratic functions: every constant is known and every answer has a formula.

use std::sync::OnceLock;

use motet_core::{Batch, Constants, Objective, Vector};

use crate::model::spectrum::{Ends, spectrum};

/// f(x) = ½ (x − c)ᵀ A (x − c)
///
/// ```
/// use motet_core::{Objective, Vector};
/// use motet_problems::synthetic::Quadratic;
/// let f = Quadratic::diagonal(&[1.0, 4.0], vec![1.0, 0.0])?;
/// let constants = f.constants();
/// assert_eq!((constants.convexity, constants.smoothness), (Some(1.0), Some(4.0)));
/// # Ok::<(), motet_problems::synthetic::QuadraticError>(())
/// ```
#[derive(Debug)]
pub struct Quadratic {
    /// Row after row.
    curvature: Vec<f64>,
    centre: Vec<f64>,
    constants: OnceLock<Constants>,
}

/// Why some numbers do not make a quadratic function.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum QuadraticError {
    /// A is d × d.
    #[error("a centre of dimension {dim} needs a matrix of {} numbers, got {numbers}", dim * dim)]
    Size {
        /// d
        dim: usize,
        /// How many numbers A has.
        numbers: usize,
    },
    /// A is symmetric.
    #[error("the matrix must be symmetric: entry ({row}, {col}) differs from entry ({col}, {row})")]
    Asymmetric {
        /// The row concerned.
        row: usize,
        /// The column concerned.
        col: usize,
    },
}

impl Quadratic {
    /// From A, row after row, and c.
    pub fn new(curvature: Vec<f64>, centre: Vec<f64>) -> Result<Self, QuadraticError> {
        let dim = centre.len();
        if curvature.len() != dim * dim {
            return Err(QuadraticError::Size { dim, numbers: curvature.len() });
        }
        for row in 0..dim {
            for col in 0..row {
                if curvature[row * dim + col] != curvature[col * dim + row] {
                    return Err(QuadraticError::Asymmetric { row, col });
                }
            }
        }
        Ok(Self { curvature, centre, constants: OnceLock::new() })
    }

    /// From the diagonal of A, and c.
    pub fn diagonal(diagonal: &[f64], centre: Vec<f64>) -> Result<Self, QuadraticError> {
        let dim = diagonal.len();
        let mut curvature = vec![0.0; dim * dim];
        for (k, value) in diagonal.iter().enumerate() {
            curvature[k * dim + k] = *value;
        }
        let whole = Self::new(curvature, centre)?;
        // No iteration could find the ends of a diagonal more exactly than looking.
        let (low, high) = diagonal.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        Ok(Self { constants: OnceLock::from(constants(low, high)), ..whole })
    }

    /// c: the minimiser, if A is positive definite.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// A, row after row.
    pub fn curvature(&self) -> &[f64] {
        &self.curvature
    }

    /// out ← A v
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(self.curvature.chunks_exact(v.len().max(1))) {
            *out = row.iter().zip(v).map(|(a, v)| a * v).sum();
        }
    }

    fn offset(&self, x: &Vector) -> Vec<f64> {
        assert_eq!(x.len(), self.centre.len(), "dimensions agree");
        x.f64s().iter().zip(&self.centre).map(|(x, c)| x - c).collect()
    }
}

fn constants(smallest: f64, largest: f64) -> Constants {
    let smoothness = Some(largest.abs().max(smallest.abs()));
    Constants { smoothness, convexity: Some(smallest.max(0.0)), sample_smoothness: smoothness }
}

impl Objective for Quadratic {
    fn dim(&self) -> usize {
        self.centre.len()
    }

    fn samples(&self) -> usize {
        1
    }

    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        let apart = self.offset(x);
        let mut product = vec![0.0; apart.len()];
        self.apply(&apart, &mut product);
        0.5 * apart.iter().zip(&product).map(|(a, p)| a * p).sum::<f64>()
    }

    fn gradient(&self, x: &Vector, _: Batch<'_>, g: &mut Vector) {
        self.apply(&self.offset(x), g.f64s_mut());
    }

    fn hessian_vector(&self, _: &Vector, v: &Vector, _: Batch<'_>, out: &mut Vector) {
        self.apply(v.f64s(), out.f64s_mut());
    }

    fn quadratic(&self) -> bool {
        true
    }

    fn constants(&self) -> Constants {
        *self.constants.get_or_init(|| {
            let found = spectrum(self.dim(), Ends::Both, |v, out| self.apply(v, out));
            constants(found.smallest.unwrap_or(0.0), found.largest)
        })
    }
}
