//! The three matrices of minimal filtering, from the points at which polynomials are compared, computed by the compiler.
//!
//! A filter of R numbers at M neighbouring places is a product of polynomials, known from its values at N = M + R − 1 points, of
//! which the last one is infinity (Toom, Cook; Winograd, *Arithmetic Complexity of Computations*, 1980). With Cᵀ the transpose:
//!
//! ```text
//! outputs = Aᵀ [(G w) ∘ (Bᵀ x)]       A: N × M powers of the points       G: N × R powers, each row divided by ∏ (p − q)
//!                                     Bᵀ: N × N coefficients of ∏ (x − q) over the other points q
//! ```

/// A matrix with a row for each of N points and I columns.
pub(crate) trait Matrix<const I: usize, const N: usize> {
    /// Its numbers.
    const C: [[f64; I]; N];
}

/// Of what comes in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bt;
/// Of the weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct G;
/// Of what goes out: its transpose makes outputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct A;

/// Zero and pairs ±p, which share their even and their odd terms; infinity is the last point of every matrix. Powers of two are
/// exact, and small and large ones in turn keep the numbers between the transforms near each other.
const POINTS: [f64; 7] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5];

/// 1, p, p², … in each row, divided by ∏ (p − q) over the other points q if that is asked for.
const fn powers<const I: usize, const N: usize>(divided: bool) -> [[f64; I]; N] {
    let mut c = [[0.0; I]; N];
    c[N - 1][I - 1] = 1.0;
    let mut j = 0;
    while j < N - 1 {
        let (mut v, mut l) = (1.0, 0);
        while divided && l < N - 1 {
            if l != j {
                v /= POINTS[j] - POINTS[l];
            }
            l += 1;
        }
        let mut i = 0;
        while i < I {
            c[j][i] = v;
            v *= POINTS[j];
            i += 1;
        }
        j += 1;
    }
    c
}

/// Row j: the coefficients of ∏ (x − q) over the points q other than the j-th.
const fn others<const N: usize>() -> [[f64; N]; N] {
    let mut c = [[0.0; N]; N];
    let mut j = 0;
    while j < N {
        let mut polynomial = [0.0; N];
        polynomial[0] = 1.0;
        let mut l = 0;
        while l < N - 1 {
            if l != j {
                let mut i = N - 1;
                while i > 0 {
                    polynomial[i] = polynomial[i - 1] - POINTS[l] * polynomial[i];
                    i -= 1;
                }
                polynomial[0] *= -POINTS[l];
            }
            l += 1;
        }
        c[j] = polynomial;
        j += 1;
    }
    c
}

impl<const N: usize> Matrix<N, N> for Bt {
    const C: [[f64; N]; N] = others();
}
impl<const R: usize, const N: usize> Matrix<R, N> for G {
    const C: [[f64; R]; N] = powers(true);
}
impl<const M: usize, const N: usize> Matrix<M, N> for A {
    const C: [[f64; M]; N] = powers(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ over points of A[q][m] G[q][r] B[q][i] is 1 where i = m + r and 0 elsewhere: that is the filter.
    fn filters<const M: usize, const R: usize, const N: usize>() {
        let a: [[f64; M]; N] = <A as Matrix<M, N>>::C;
        let (g, b): ([[f64; R]; N], [[f64; N]; N]) = (<G as Matrix<R, N>>::C, <Bt as Matrix<N, N>>::C);
        for (m, r, i) in (0..M).flat_map(|m| (0..R).flat_map(move |r| (0..N).map(move |i| (m, r, i)))) {
            let sum: f64 = (0..N).map(|q| a[q][m] * g[q][r] * b[q][i]).sum();
            // Eight terms below 100, exact but for the divisions.
            assert!((sum - f64::from(u8::from(i == m + r))).abs() < 1e-13, "F({M}, {R}): {m} {r} {i}: {sum}");
        }
    }

    #[test]
    fn the_matrices_filter_exactly() {
        filters::<2, 3, 4>();
        filters::<4, 3, 6>();
        filters::<2, 5, 6>();
        filters::<4, 5, 8>();
    }
}
