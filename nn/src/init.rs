//! Where parameters start.

use motet_core::Rng;

/// A distribution of starting values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// 0
    Zeros,
    /// 1
    Ones,
    /// Uniform on [−a, a].
    Uniform(f64),
    /// N(0, s²)
    Normal(f64),
    /// N(0, s²) within two standard deviations, as BERT has it.
    Truncated(f64),
    /// Uniform on ±√(6/(in + out)) (Glorot, Bengio 2010), as Keras has it.
    Glorot(usize, usize),
    /// N(0, 2/in) (He et al. 2015).
    He(usize),
    /// The matrix with orthonormal rows, or columns where there are more rows, of so many columns (Saxe et al. 2014).
    Orthogonal(usize),
    /// Zeros but for the second quarter, which is 1: the forget gate of an LSTM (Jozefowicz et al. 2015).
    ForgetOne,
}

impl Init {
    /// Can a block of so many numbers start like this?
    pub(crate) fn fits(self, numbers: usize) -> bool {
        match self {
            Init::Orthogonal(columns) => columns > 0 && numbers.is_multiple_of(columns),
            Init::ForgetOne => numbers.is_multiple_of(4),
            _ => true,
        }
    }

    pub(crate) fn fill(self, rng: &mut Rng, out: &mut [f64]) {
        let mut each = |draw: &dyn Fn(&mut Rng) -> f64| out.iter_mut().for_each(|v| *v = draw(rng));
        match self {
            Init::Zeros => out.fill(0.0),
            Init::Ones => out.fill(1.0),
            Init::Uniform(a) => each(&|rng| a * (2.0 * rng.unit() - 1.0)),
            Init::Normal(s) => each(&|rng| s * rng.normal()),
            Init::Truncated(s) => each(&|rng| {
                loop {
                    let z = rng.normal();
                    if z.abs() <= 2.0 {
                        return s * z;
                    }
                }
            }),
            Init::Glorot(fan_in, fan_out) => Init::Uniform((6.0 / (fan_in as f64 + fan_out as f64).max(1.0)).sqrt()).fill(rng, out),
            Init::He(fan_in) => Init::Normal((2.0 / fan_in.max(1) as f64).sqrt()).fill(rng, out),
            Init::Orthogonal(columns) => orthogonal(columns, rng, out),
            Init::ForgetOne => {
                let quarter = out.len() / 4;
                out.fill(0.0);
                out[quarter..2 * quarter].fill(1.0);
            }
        }
    }
}

/// Gram–Schmidt on random rows; where there are more rows than columns, on columns.
fn orthogonal(columns: usize, rng: &mut Rng, out: &mut [f64]) {
    let rows = out.len() / columns;
    let (count, length) = (rows.min(columns), rows.max(columns));
    let mut basis: Vec<f64> = (0..count * length).map(|_| rng.normal()).collect();
    for k in 0..count {
        let (done, rest) = basis.split_at_mut(k * length);
        let v = &mut rest[..length];
        for u in done.chunks_exact(length) {
            let dot: f64 = u.iter().zip(&*v).map(|(u, v)| u * v).sum();
            v.iter_mut().zip(u).for_each(|(v, u)| *v -= dot * u);
        }
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.iter_mut().for_each(|v| *v /= norm);
    }
    for (k, v) in out.iter_mut().enumerate() {
        let (r, c) = (k / columns, k % columns);
        *v = if rows <= columns { basis[r * length + c] } else { basis[c * length + r] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_core::Seed;

    #[test]
    fn orthogonal_rows_or_columns_are_orthonormal() {
        for (rows, columns) in [(3, 8), (8, 3), (5, 5), (1, 1)] {
            let mut m = vec![0.0; rows * columns];
            Init::Orthogonal(columns).fill(&mut Seed(1).problem(0), &mut m);
            let at = |k: usize, l: usize| if rows <= columns { m[k * columns + l] } else { m[l * columns + k] };
            let (count, length) = (rows.min(columns), rows.max(columns));
            for a in 0..count {
                for b in 0..count {
                    let dot: f64 = (0..length).map(|l| at(a, l) * at(b, l)).sum();
                    assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn draws_have_the_spread_they_are_named_after() {
        let spread = |init: Init| {
            let mut v = vec![0.0; 40_000];
            init.fill(&mut Seed(2).problem(0), &mut v);
            (v.iter().map(|v| v * v).sum::<f64>() / v.len() as f64).sqrt()
        };
        // 40,000 draws know their spread to half a percent; three percent is six standard deviations.
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.03, "{a} {b}");
        near(spread(Init::Normal(0.5)), 0.5);
        near(spread(Init::He(8)), 0.5);
        near(spread(Init::Glorot(10, 14)), 0.5 / 3f64.sqrt());
        // The variance of N(0, 1) within ±2 is 0.7737.
        near(spread(Init::Truncated(1.0)), 0.7737f64.sqrt());
    }
}
