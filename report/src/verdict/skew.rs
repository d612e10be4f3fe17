//! Skewed differences: Student's t interval lies too far to one side where differences have a long tail on the other.
//!
//! ```text
//! γ̂      the mean over clients of the skewness of each one's differences, if it is beyond two of its standard errors; else 0
//! S      (ḡ − θ) / s
//! h(S)   S + γ̂ S²/3 + γ̂² S³/27 + γ̂/(6n)                   Hall (1992): √n h(S) has the skewness of a t variable, none
//! ```
//!
//! Single clients have few draws, from which nobody can tell how skewed they are; all clients together have many. With no skewness
//! shown this is Student's interval to the last digit. Interval and p use one transformation, so that they agree.

use super::paired::Paired;

/// How skewed the differences of clients are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skewness(f64);

impl Skewness {
    /// Of all clients together: 0 if chance explains it, or where a client has fewer than three draws.
    pub fn of(paired: &Paired) -> Self {
        let clients: std::collections::BTreeSet<usize> = paired.cells.keys().map(|(_, client)| *client).collect();
        let all: Vec<(f64, f64)> = clients.into_iter().filter_map(|client| sample(&paired.of_client(client))).collect();
        let count = all.len() as f64;
        let (mean, variance) = all.iter().fold((0.0, 0.0), |(mean, variance), (g, v)| (mean + g / count, variance + v / (count * count)));
        if mean * mean > 4.0 * variance { Self(mean) } else { Self(0.0) }
    }

    /// Hall's h(S), for a mean of n draws.
    pub(super) fn straightened(self, s: f64, n: f64) -> f64 {
        let Self(g) = self;
        s + g * s * s / 3.0 + g * g * s * s * s / 27.0 + g / (6.0 * n)
    }

    /// The S that has this h(S). The cubic is monotone: there is one.
    pub(super) fn bent(self, h: f64, n: f64) -> f64 {
        let Self(g) = self;
        if g.abs() < 1e-9 { h } else { ((1.0 + g * (h - g / (6.0 * n))).cbrt() - 1.0) * 3.0 / g }
    }
}

/// The adjusted Fisher-Pearson skewness of a sample, and its variance for normal draws. None where it has no spread.
fn sample(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let centre = values.iter().sum::<f64>() / n;
    let moment = |k: i32| values.iter().map(|v| (v - centre).powi(k)).sum::<f64>() / n;
    let spread = moment(2);
    if values.len() < 3 || spread.is_nan() || spread.sqrt() <= 1e-12 * centre.abs() {
        return None;
    }
    let skewness = moment(3) / spread.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
    let variance = 6.0 * n * (n - 1.0) / ((n - 2.0) * (n + 1.0) * (n + 3.0));
    skewness.is_finite().then_some((skewness, variance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transformation_has_an_inverse_and_no_skewness_changes_nothing() {
        for g in [-2.5, -0.1, 0.0, 0.7, 3.0] {
            for s in [-4.0, -0.3, 0.0, 0.2, 5.0] {
                let h = Skewness(g).straightened(s, 8.0);
                assert!((Skewness(g).bent(h, 8.0) - s).abs() < 1e-9, "{g} {s}");
            }
        }
        assert_eq!(Skewness(0.0).straightened(1.5, 8.0), 1.5);
    }

    #[test]
    fn skewness_is_scipys_and_counts_where_the_clients_share_it() {
        // scipy.stats.skew([1, 2, 3, 10], bias=False) = 1.763632614803888
        let (g, v) = sample(&[1.0, 2.0, 3.0, 10.0]).unwrap();
        assert!((g - 1.763_632_614_803_888).abs() < 1e-12 && (v - 72.0 / 70.0).abs() < 1e-12);
        let cells = |clients: usize, sign: fn(usize) -> f64| Paired {
            cells: (0..clients)
                .flat_map(|client| [1.0, 2.0, 3.0, 10.0].into_iter().enumerate().map(move |(draw, d)| ((draw, client), sign(client) * d)))
                .collect(),
            ..Paired::default()
        };
        assert_eq!(Skewness::of(&cells(1, |_| 1.0)), Skewness(0.0));
        assert!((Skewness::of(&cells(5, |_| -1.0)).0 + g).abs() < 1e-12);
        // Tails on both sides are no common skewness.
        assert_eq!(Skewness::of(&cells(6, |client| if client % 2 == 0 { 1.0 } else { -1.0 })), Skewness(0.0));
    }
}
