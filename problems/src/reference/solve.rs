//! Newton's system ∇²F s = −∇F: conjugate gradients, and Cholesky's factors where those are slow.

use motet_core::{Precision, Vector};

use super::mixture::Hessian;

/// Beyond this dimension the matrix is not formed.
const LARGEST_DENSE: usize = 600;
/// Added to the diagonal, relative to its largest entry, so that a singular matrix has factors;
/// Newton's repetition corrects for it.
const RIDGE: f64 = 1e-14;

/// s with |∇²F s + g| ≤ tolerance·|g|, as nearly as rounding allows.
pub(super) fn newton_step(hessian: &Hessian<'_, '_>, g: &Vector, tolerance: f64) -> Vector {
    let dim = g.len();
    // Half as many products as forming the matrix takes; well-conditioned problems need far fewer.
    let patience = if dim <= LARGEST_DENSE { dim / 2 } else { 20 * LARGEST_DENSE };
    let (step, solved) = conjugate_gradients(hessian, g, tolerance, patience);
    if solved || dim > LARGEST_DENSE {
        return step;
    }
    cholesky_step(hessian, g).unwrap_or(step)
}

fn conjugate_gradients(hessian: &Hessian<'_, '_>, g: &Vector, tolerance: f64, patience: usize) -> (Vector, bool) {
    let mut step = g.zeros_like();
    let mut residual = g.clone();
    residual.scale(-1.0);
    let mut direction = residual.clone();
    let mut length2 = residual.norm2();
    let enough = tolerance * tolerance * length2;
    for _ in 0..patience {
        let product = hessian.times(&direction);
        let curvature = direction.dot(&product);
        // Flat along this direction: what has been found is all there is.
        if curvature.is_nan() || curvature <= f64::EPSILON * f64::EPSILON * direction.norm2() {
            return (step, false);
        }
        let along = length2 / curvature;
        step.axpy(along, &direction);
        residual.axpy(-along, &product);
        let before = std::mem::replace(&mut length2, residual.norm2());
        if length2 <= enough {
            return (step, true);
        }
        direction.scale(length2 / before);
        direction.axpy(1.0, &residual);
    }
    (step, false)
}

fn cholesky_step(hessian: &Hessian<'_, '_>, g: &Vector) -> Option<Vector> {
    let dim = g.len();
    let mut columns = Vec::with_capacity(dim);
    let mut unit = Vector::zeros(dim, Precision::F64);
    for k in 0..dim {
        unit.f64s_mut()[k] = 1.0;
        columns.push(hessian.times(&unit).to_f64());
        unit.f64s_mut()[k] = 0.0;
    }
    let largest = (0..dim).map(|k| columns[k][k]).fold(0.0, f64::max);
    (0..dim).for_each(|k| columns[k][k] += RIDGE * largest);
    factor(&mut columns)?;
    let mut step: Vec<f64> = g.f64s().iter().map(|g| -g).collect();
    substitute(&columns, &mut step);
    Some(Vector::from(step))
}

/// A = L Lᵀ in place: row k of `a` becomes row k of L. None if A is not positive definite.
fn factor(a: &mut [Vec<f64>]) -> Option<()> {
    for k in 0..a.len() {
        let (above, rest) = a.split_at_mut(k);
        let row = &mut rest[0];
        for (j, other) in above.iter().enumerate() {
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let pivot = row[k] - dot(&row[..k], &row[..k]);
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        row[k] = pivot.sqrt();
    }
    Some(())
}

/// b ← (L Lᵀ)⁻¹ b
fn substitute(l: &[Vec<f64>], b: &mut [f64]) {
    for k in 0..b.len() {
        b[k] = (b[k] - dot(&l[k][..k], &b[..k])) / l[k][k];
    }
    for k in (0..b.len()).rev() {
        b[k] /= l[k][k];
        for j in 0..k {
            b[j] -= l[k][j] * b[k];
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_and_refuses_what_is_not_positive_definite() {
        let mut a = vec![vec![4.0, 2.0, 0.0], vec![2.0, 5.0, 3.0], vec![0.0, 3.0, 6.0]];
        let mut b = [4.0 + 4.0, 2.0 + 10.0 + 9.0, 6.0 + 18.0];
        factor(&mut a).unwrap();
        substitute(&a, &mut b);
        assert!(b.iter().zip([1.0, 2.0, 3.0]).all(|(b, x)| (b - x).abs() < 1e-14), "{b:?}");
        assert!(factor(&mut [vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
    }
}
