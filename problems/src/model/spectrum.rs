//! Extreme eigenvalues of a symmetric matrix that is known by its products.
//!
//! Lanczos iteration with full reorthogonalisation, and bisection on the tridiagonal matrix it makes.
//! Every sum has a fixed order, so that step sizes, and with them whole runs, have the same bits on every machine.

use motet_core::{Seed, Vector};

/// Which eigenvalues must be known to full accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// λ_max
    Largest,
    /// λ_min too
    Both,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spectrum {
    /// λ_max
    pub largest: f64,
    /// λ_min, if it was asked for and found.
    pub smallest: Option<f64>,
}

/// At most this many steps: enough to exhaust any matrix up to this size.
const MOST_STEPS: usize = 600;
/// An end that moves less than this in [`PATIENCE`] steps, relative to the largest, has arrived.
const SETTLED: f64 = 1e-15;
const PATIENCE: usize = 8;

/// The ends of the spectrum of a symmetric d × d matrix; `apply` writes A·v into its second argument.
pub(crate) fn spectrum(dim: usize, wanted: Ends, mut apply: impl FnMut(&[f64], &mut [f64])) -> Spectrum {
    if dim == 0 {
        return Spectrum { largest: 0.0, smallest: None };
    }
    let mut basis = vec![start(dim)];
    let (mut diagonal, mut beside): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut product = Vector::from(vec![0.0; dim]);
    let mut before: Option<(f64, f64)> = None;
    loop {
        let q = &basis[basis.len() - 1];
        apply(q.f64s(), product.f64s_mut());
        diagonal.push(product.dot(q));
        // Twice is enough (Kahan, Parlett): after the second pass the basis is orthogonal to rounding.
        for q in basis.iter().chain(&basis) {
            let along = product.dot(q);
            product.axpy(-along, q);
        }
        let length = product.norm();
        let steps = diagonal.len();
        let scale = diagonal.iter().fold(0.0, |m: f64, d| m.max(d.abs()));
        let exhausted = steps == dim || length <= 1e-14 * scale || !length.is_finite();
        if exhausted || steps == MOST_STEPS || steps % PATIENCE == 0 {
            let now = (extreme(&diagonal, &beside, End::Smallest), extreme(&diagonal, &beside, End::Largest));
            let settled = |moved: f64| moved.abs() <= SETTLED * now.0.abs().max(now.1.abs());
            let (low, high) = before.map_or((false, false), |b| (settled(now.0 - b.0), settled(now.1 - b.1)));
            let done = high && (low || wanted == Ends::Largest);
            if exhausted || done || steps == MOST_STEPS {
                let smallest = (wanted == Ends::Both && (exhausted || low)).then_some(now.0);
                return Spectrum { largest: now.1, smallest };
            }
            before = Some(now);
        }
        beside.push(length);
        let mut next = product.clone();
        next.scale(1.0 / length);
        basis.push(next);
    }
}

/// A fixed direction in general position: it has a part along every eigenvector.
fn start(dim: usize) -> Vector {
    let mut dice = Seed(0).problem(u64::MAX);
    let mut q = Vector::from((0..dim).map(|_| dice.normal()).collect::<Vec<_>>());
    q.scale(1.0 / q.norm());
    q
}

enum End {
    Smallest,
    Largest,
}

/// An extreme eigenvalue of a symmetric tridiagonal matrix, by bisection down to neighbouring numbers.
fn extreme(diagonal: &[f64], beside: &[f64], end: End) -> f64 {
    let n = diagonal.len();
    let at = |k: usize| beside.get(k).map_or(0.0, |b| b.abs());
    let reach = |k: usize| (if k > 0 { at(k - 1) } else { 0.0 }) + (if k + 1 < n { at(k) } else { 0.0 });
    // Gershgorin's discs hold them all.
    let mut low = (0..n).map(|k| diagonal[k] - reach(k)).fold(f64::INFINITY, f64::min);
    let mut high = (0..n).map(|k| diagonal[k] + reach(k)).fold(f64::NEG_INFINITY, f64::max);
    let wanted = match end {
        End::Smallest => 1,
        End::Largest => n,
    };
    loop {
        let middle = 0.5 * (low + high);
        if !(low < middle && middle < high) {
            return high;
        }
        if below(diagonal, beside, middle) >= wanted { high = middle } else { low = middle }
    }
}

/// How many eigenvalues lie below `shift`: negative pivots of T − shift·I (Sylvester's law of inertia).
fn below(diagonal: &[f64], beside: &[f64], shift: f64) -> usize {
    let mut count = 0;
    let mut pivot = 1.0;
    for (k, d) in diagonal.iter().enumerate() {
        let coupling = if k == 0 { 0.0 } else { beside[k - 1] * beside[k - 1] / pivot };
        pivot = d - shift - coupling;
        if pivot == 0.0 {
            pivot = -f64::MIN_POSITIVE;
        }
        count += usize::from(pivot < 0.0);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagonal(eigenvalues: &[f64], wanted: Ends) -> Spectrum {
        spectrum(eigenvalues.len(), wanted, |v, out| (0..v.len()).for_each(|k| out[k] = eigenvalues[k] * v[k]))
    }

    #[test]
    fn both_ends_of_a_known_spectrum_are_found() {
        for d in [1, 2, 3, 50, 300] {
            let eigenvalues: Vec<f64> = (1..=d).map(|k| f64::from(k) * 0.37).collect();
            let found = diagonal(&eigenvalues, Ends::Both);
            assert!((found.largest / (f64::from(d) * 0.37) - 1.0).abs() < 1e-13, "{d}: {found:?}");
            assert!((found.smallest.unwrap() / 0.37 - 1.0).abs() < 1e-11, "{d}: {found:?}");
        }
    }

    #[test]
    fn repeated_and_zero_eigenvalues_are_no_trouble() {
        let found = diagonal(&[5.0, 5.0, 5.0, 2.0, 2.0], Ends::Both);
        assert!((found.largest - 5.0).abs() < 1e-14 && (found.smallest.unwrap() - 2.0).abs() < 1e-13);
        assert_eq!(diagonal(&[0.0; 4], Ends::Both), Spectrum { largest: 0.0, smallest: Some(0.0) });
        assert_eq!(spectrum(0, Ends::Largest, |_, _| ()).largest, 0.0);
    }

    #[test]
    fn a_close_second_is_not_mistaken_for_the_largest() {
        let mut eigenvalues: Vec<f64> = (0..2000).map(|k| 1.0 - f64::from(k) / 2000.0).collect();
        eigenvalues[1000] = 1.0 + 1e-6;
        let found = diagonal(&eigenvalues, Ends::Largest);
        assert!((found.largest - (1.0 + 1e-6)).abs() < 1e-12, "{found:?}");
    }
}
