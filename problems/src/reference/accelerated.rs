//! Nesterov's accelerated gradient method, for functions whose infimum is not reached.

use motet_core::Vector;

use super::Reference;
use super::mixture::Mixture;

/// The best point of so many steps.
///
/// Steps are 1/L where L is known, found by backtracking otherwise; the momentum starts anew whenever it points
/// uphill (O'Donoghue and Candès).
pub(super) fn minimise(f: &Mixture<'_>, start: Vector, steps: u64) -> Reference {
    let mut smoothness = f.smoothness().filter(|l| *l > 0.0).unwrap_or(1.0);
    let (mut x, mut y, mut momentum) = (start.clone(), start.clone(), 1.0_f64);
    let mut best = (f.value(&start), start);
    for _ in 0..steps {
        let (value, gradient) = f.value_gradient(&y);
        let Some((next, reached)) = descend(f, &y, value, &gradient, &mut smoothness) else { break };
        if reached < best.0 {
            best = (reached, next.clone());
        }
        let forward = Vector::diff(&next, &x);
        let after = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let uphill = gradient.dot(&forward) > 0.0;
        y = next.clone();
        if uphill {
            momentum = 1.0;
        } else {
            y.axpy((momentum - 1.0) / after, &forward);
            momentum = after;
        }
        x = next;
    }
    let how = format!("no minimiser found: least value of {steps} accelerated gradient steps");
    Reference { value: best.0, x: best.1, exact: false, how }
}

/// y − ∇F(y)/L and its value, doubling L until the descent lemma holds; None when no step is short enough.
fn descend(f: &Mixture<'_>, y: &Vector, value: f64, gradient: &Vector, smoothness: &mut f64) -> Option<(Vector, f64)> {
    let length2 = gradient.norm2();
    for _ in 0..100 {
        let mut next = y.clone();
        next.axpy(-1.0 / *smoothness, gradient);
        let reached = f.value(&next);
        // Rounding of the two values must not be taken for a wrong L.
        if reached <= value - 0.5 * length2 / *smoothness + 1e-15 * value.abs() {
            return Some((next, reached));
        }
        *smoothness *= 2.0;
    }
    None
}
