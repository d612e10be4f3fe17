//! Many clients are many tests: p-values that take the others into account.

/// Benjamini and Hochberg (1995): of those below 0.05 at most 5 % are there by chance, on average. In the order given.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let (order, n) = (ascending(p), p.len() as f64);
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0f64;
    for (rank, &at) in order.iter().enumerate().rev() {
        least = least.min(p[at] * n / (rank + 1) as f64);
        // Never below p itself, which rounding could do.
        adjusted[at] = least.max(p[at]);
    }
    adjusted
}

/// Holm (1979): the chance that any of those below 0.05 is there by chance is at most 5 %. In the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut most = 0.0f64;
    for (rank, &at) in order.iter().enumerate() {
        most = most.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = most;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_corrections_are_those_of_r() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.5];
        let near = |found: Vec<f64>, wanted: [f64; 5]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12);
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "BH") and "holm"
        assert!(near(benjamini_hochberg(&p), [0.025, 0.05, 0.05, 0.025, 0.5]));
        assert!(near(holm(&p), [0.04, 0.09, 0.09, 0.025, 0.5]));
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }
}
