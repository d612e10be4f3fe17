//! One split, right or wrong: an exact test on the rows that only one of two models gets right.
//!
//! Under no difference each such row is a fair coin, so that the number gained of m is binomial (McNemar's test, exact). The
//! interval of the difference of accuracies is Tango's score interval (Statistics in Medicine 17, 1998): the conditional
//! interval of Clopper and Pearson, which takes m for granted, covers as little as 60 % where the difference is large.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

use super::paired::Rows;

/// Fewer test rows than this have no interval.
pub const LEAST_ROWS: usize = 40;

/// What the rows say about the difference of two accuracies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discordance {
    /// The difference of the accuracies.
    pub mean: f64,
    /// Tango's interval.
    pub interval: [f64; 2],
    /// Of the exact test, two-sided.
    pub p: f64,
}

impl Discordance {
    /// With an interval that misses in `miss` of all cases, 0.05 for 95 %. None below [`LEAST_ROWS`].
    pub fn of(rows: Rows, miss: f64) -> Option<Self> {
        let Rows { all, gained, lost } = rows;
        if all < LEAST_ROWS || gained + lost > all {
            return None;
        }
        let mean = (gained as f64 - lost as f64) / all as f64;
        Some(Self { mean, interval: tango(rows, standard_normal(1.0 - miss / 2.0)), p: coin(gained, lost) })
    }
}

/// The chance that fair coins fall at least as unevenly.
fn coin(gained: usize, lost: usize) -> f64 {
    let (few, all) = (gained.min(lost) as u64, (gained + lost) as u64);
    let below = Binomial::new(0.5, all).map_or(1.0, |coins| coins.cdf(few));
    (2.0 * below).min(1.0)
}

/// The differences d that a score test at `z` does not refuse.
fn tango(rows: Rows, z: f64) -> [f64; 2] {
    let centre = (rows.gained as f64 - rows.lost as f64) / rows.all as f64;
    // The score falls as d rises: outside of the interval it is beyond z on the left and beyond −z on the right.
    let edge = |mut inside: f64, mut outside: f64| {
        for _ in 0..60 {
            let middle = 0.5 * (inside + outside);
            if score(rows, middle).abs() <= z { inside = middle } else { outside = middle }
        }
        inside
    };
    [edge(centre, -1.0), edge(centre, 1.0)]
}

/// Tango's statistic: how far the rows are from a difference of d, in standard errors.
fn score(rows: Rows, d: f64) -> f64 {
    let (n, b, c) = (rows.all as f64, rows.gained as f64, rows.lost as f64);
    let (linear, constant) = (-b - c + (2.0 * n - b + c) * d, -c * d * (1.0 - d));
    // The share of lost rows that is likeliest if the difference is d.
    let lost = ((linear * linear - 8.0 * n * constant).max(0.0).sqrt() - linear) / (4.0 * n);
    let (distance, variance) = (b - c - n * d, n * (2.0 * lost + d * (1.0 - d)));
    match (distance.abs() < 1e-12, variance > 1e-12) {
        (true, _) => 0.0,
        (false, true) => distance / variance.sqrt(),
        (false, false) => distance.signum() * f64::INFINITY,
    }
}

fn standard_normal(p: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |normal| normal.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_is_the_binomial_and_the_interval_is_tangos() {
        let rows = |all, gained, lost| Rows { all, gained, lost };
        // 2 (1 + 6) / 2⁶ and 2 / 2⁶, by hand.
        assert!((Discordance::of(rows(50, 5, 1), 0.05).unwrap().p - 14.0 / 64.0).abs() < 1e-12);
        assert!((Discordance::of(rows(50, 0, 6), 0.05).unwrap().p - 2.0 / 64.0).abs() < 1e-12);
        assert_eq!(Discordance::of(rows(50, 0, 0), 0.05).unwrap().p, 1.0);
        // The example of Fagerland, Lydersen and Laake (2014), 1 and 7 of 21 rows: −0.517 to −0.026.
        let [low, high] = tango(rows(21, 1, 7), standard_normal(0.975));
        assert!((low + 0.517).abs() < 1e-3 && (high + 0.026).abs() < 1e-3, "{low} {high}");
        assert_eq!(Discordance::of(rows(39, 20, 0), 0.05), None);
    }
}
