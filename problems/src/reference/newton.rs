//! Newton's method with a line search, polished to rounding error.

use motet_core::Vector;

use super::Reference;
use super::mixture::Mixture;
use super::solve::newton_step;

const MOST_STEPS: usize = 60;
/// Half the squared decrement estimates F(x) − F*; this far below F no rounding can show it.
const RELATIVE_GAP: f64 = 1e-16;
/// Near enough for full steps: from here on values differ by little more than rounding, and a line search would judge noise.
const NEAR: f64 = 1e-9;
const MOST_POLISHING: usize = 6;

/// The minimiser, or None if the steps do not arrive at one.
pub(super) fn minimise(f: &Mixture<'_>, mut x: Vector) -> Option<Reference> {
    let (mut value, mut gradient) = f.value_gradient(&x);
    let first = gradient.norm();
    for steps in 0..MOST_STEPS {
        if !value.is_finite() || !gradient.is_finite() {
            return None;
        }
        let tolerance = (gradient.norm() / first).clamp(1e-12, 1e-2);
        let step = if first == 0.0 { x.zeros_like() } else { newton_step(&f.hessian(&x), &gradient, tolerance) };
        let gap = -0.5 * gradient.dot(&step);
        if gap <= NEAR * value.abs() || step.norm() <= 1e-9 * x.norm() {
            x.axpy(1.0, &step);
            let x = polish(f, x)?;
            return Some(Reference { value: f.value(&x), x, exact: true, how: format!("Newton's method, {} steps", steps + 1) });
        }
        (x, value, gradient) = line_search(f, &x, value, &step, gap)?;
    }
    None
}

/// Full steps until the gap can no longer be seen; None if they do not get there.
fn polish(f: &Mixture<'_>, mut x: Vector) -> Option<Vector> {
    for _ in 0..MOST_POLISHING {
        let (value, gradient) = f.value_gradient(&x);
        if gradient.norm2() == 0.0 {
            return Some(x);
        }
        let step = newton_step(&f.hessian(&x), &gradient, 1e-10);
        let gap = -0.5 * gradient.dot(&step);
        if !step.is_finite() {
            return None;
        }
        x.axpy(1.0, &step);
        if gap.abs() <= RELATIVE_GAP * value.abs() || step.norm() <= 1e-13 * x.norm() {
            return Some(x);
        }
    }
    None
}

/// Halves the step until F falls by a quarter of what its slope promises (Armijo's rule).
fn line_search(f: &Mixture<'_>, x: &Vector, value: f64, step: &Vector, gap: f64) -> Option<(Vector, f64, Vector)> {
    let mut length = 1.0;
    while length > 1e-12 {
        let mut next = x.clone();
        next.axpy(length, step);
        let (new, gradient) = f.value_gradient(&next);
        // The slope along the step is −2·gap.
        if new <= value - 0.25 * length * 2.0 * gap {
            return Some((next, new, gradient));
        }
        length *= 0.5;
    }
    None
}
