//! Sums over some rows of a large matrix: what sparse words do to a model with a row for each.

use crate::fast::fast;

fast! {
    /// scores ← scores + Σ v·row, for the rows of x that begin at the given places, in their order.
    pub fn gather_rows<E: Element>(entries: &[(usize, E)], x: &[E], scores: &mut [E]) {
        let width = scores.len();
        // Four rows at a time: the scores are fetched and put back once for all of them.
        let (fours, rest) = entries.as_chunks::<4>();
        for four in fours {
            let [a, b, c, d] = [&x[four[0].0..][..width], &x[four[1].0..][..width], &x[four[2].0..][..width], &x[four[3].0..][..width]];
            let v = [four[0].1, four[1].1, four[2].1, four[3].1];
            for (k, s) in scores.iter_mut().enumerate() {
                *s = *s + v[0] * a[k] + v[1] * b[k] + v[2] * c[k] + v[3] * d[k];
            }
        }
        for &(at, v) in rest {
            scores.iter_mut().zip(&x[at..][..width]).for_each(|(s, x)| *s += v * *x);
        }
    }

    /// Adds sign·v·slopes to the rows of x that begin at the given places.
    pub fn scatter_rows<E: Element>(sign: E, entries: &[(usize, E)], slopes: &[E], x: &mut [E]) {
        for &(at, v) in entries {
            let v = sign * v;
            x[at..][..slopes.len()].iter_mut().zip(slopes).for_each(|(x, s)| *x += v * *s);
        }
    }
}
