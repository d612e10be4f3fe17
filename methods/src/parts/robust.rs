//! Averages that withstand some clients that lie.

use motet_core::{Mean, Unsuitable, Vector};
use serde::{Deserialize, Serialize};

/// How many vectors become one: a mean, or something more robust.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Aggregator {
    /// The plain mean, which one liar can move anywhere.
    Mean {},
    /// The median of each coordinate.
    Median {},
    /// The mean of each coordinate without its extremes (Yin, Chen, Ramchandran, Bartlett 2018).
    TrimmedMean {
        /// How many are left out at either end.
        liars: u32,
    },
    /// The vector closest to its n − liars − 2 nearest others (Blanchard, El Mhamdi, Guerraoui, Stainer 2017).
    Krum {
        /// How many lie at most.
        liars: u32,
    },
    /// The point with the least sum of distances, by Weiszfeld's steps.
    GeometricMedian {},
}

impl Default for Aggregator {
    fn default() -> Self {
        Aggregator::Mean {}
    }
}

impl Aggregator {
    /// The aggregate of one or more vectors.
    pub fn of(&self, rows: &[Vector]) -> Vector {
        match *self {
            Aggregator::Mean {} => mean(rows, |_| 1.0),
            Aggregator::Median {} => coordinates(rows, |sorted| {
                let middle = sorted.len() / 2;
                if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * sorted[middle - 1] + 0.5 * sorted[middle] }
            }),
            Aggregator::TrimmedMean { liars } => coordinates(rows, |sorted| {
                // Those who are silent may leave fewer than twice the liars: one is kept.
                let cut = (liars as usize).min((sorted.len() - 1) / 2);
                let kept = &sorted[cut..sorted.len() - cut];
                kept.iter().sum::<f64>() / kept.len() as f64
            }),
            Aggregator::Krum { liars } => krum(rows, liars as usize),
            Aggregator::GeometricMedian {} => geometric_median(rows),
        }
    }

    /// Are there clients enough for the number of liars that it is to withstand?
    pub fn suits(&self, clients: Option<u32>) -> Result<(), Unsuitable> {
        let Some(n) = clients else { return Ok(()) };
        match *self {
            Aggregator::TrimmedMean { liars } => Unsuitable::when(
                u64::from(liars) * 2 >= u64::from(n),
                format!("aggregator.liars must be below half of the {n} clients, got {liars}"),
            ),
            Aggregator::Krum { liars } => Unsuitable::when(
                u64::from(liars) + 2 >= u64::from(n),
                format!("aggregator.liars must be below the number of clients less 2, which is {}, got {liars}", n.saturating_sub(2)),
            ),
            _ => Ok(()),
        }
    }
}

fn mean(rows: &[Vector], weight: impl Fn(usize) -> f64) -> Vector {
    let mut mean = Mean::like(&rows[0]);
    rows.iter().enumerate().for_each(|(i, g)| mean.add(weight(i), g));
    mean.finish()
}

/// Each coordinate on its own, its values sorted.
fn coordinates(rows: &[Vector], choose: impl Fn(&[f64]) -> f64) -> Vector {
    let mut column = vec![0.0; rows.len()];
    let chosen = (0..rows[0].len()).map(|l| {
        column.iter_mut().zip(rows).for_each(|(value, g)| *value = g.at(l));
        column.sort_by(f64::total_cmp);
        choose(&column)
    });
    Vector::with_precision(chosen, rows[0].precision())
}

fn krum(rows: &[Vector], liars: usize) -> Vector {
    let near = rows.len().saturating_sub(liars + 2).max(1);
    let score = |g: &Vector| {
        let mut distances: Vec<f64> = rows.iter().map(|other| g.distance2(other)).collect();
        distances.sort_by(f64::total_cmp);
        distances.iter().skip(1).take(near).sum::<f64>() // the first is its own
    };
    let scores: Vec<f64> = rows.iter().map(score).collect();
    let best = (0..rows.len()).min_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0);
    rows[best].clone()
}

/// Enough for six digits on a cohort that is not nearly collinear; each step reads all vectors twice.
const WEISZFELD_STEPS: usize = 50;

fn geometric_median(rows: &[Vector]) -> Vector {
    // The coordinatewise median to begin with: the mean may be anywhere.
    let mut x = Aggregator::Median {}.of(rows);
    for _ in 0..WEISZFELD_STEPS {
        let distances: Vec<f64> = rows.iter().map(|g| g.distance2(&x).sqrt()).collect();
        // The scale of the honest half: that of the farthest would be a liar's to choose.
        let mut sorted = distances.clone();
        sorted.sort_by(f64::total_cmp);
        let near = sorted[sorted.len() / 2];
        if near == 0.0 {
            return x;
        }
        // Smoothed: at one of the vectors the weight would be infinite.
        let next = mean(rows, |i| 1.0 / distances[i].max(1e-9 * near));
        if next.distance2(&x).sqrt() <= 1e-9 * near {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine near (1, 2), one far away.
    fn cohort(lie: f64) -> Vec<Vector> {
        let honest = (0..9).map(|i| Vector::from(vec![1.0 + 0.01 * f64::from(i - 4), 2.0 - 0.01 * f64::from((i * 5) % 9 - 4)]));
        honest.chain([Vector::from(vec![lie, -lie])]).collect()
    }

    fn rules() -> [Aggregator; 4] {
        [Aggregator::Median {}, Aggregator::TrimmedMean { liars: 1 }, Aggregator::Krum { liars: 1 }, Aggregator::GeometricMedian {}]
    }

    #[test]
    fn one_liar_moves_the_mean_but_no_robust_rule() {
        for lie in [1e3, -1e6, 1e150, 1e300] {
            let rows = cohort(lie);
            let off = |rule: Aggregator| rule.of(&rows).distance2(&Vector::from(vec![1.0, 2.0])).sqrt();
            assert!(off(Aggregator::Mean {}) > 50.0);
            for rule in rules() {
                assert!(off(rule) < 0.06, "{rule:?} is off by {} at {lie:e}", off(rule));
            }
        }
    }

    #[test]
    fn without_liars_all_rules_agree_on_equal_vectors() {
        let rows = vec![Vector::from(vec![3.0f32, -1.0]); 5];
        for rule in rules().into_iter().chain([Aggregator::Mean {}]) {
            assert_eq!(rule.of(&rows), rows[0], "{rule:?}");
        }
    }

    #[test]
    fn the_geometric_median_of_a_triangle_is_its_fermat_point() {
        let rows: Vec<Vector> = [[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]].map(|p| Vector::from(p.to_vec())).into();
        // On the axis of symmetry, where both base points are seen at 120°: y = 2 / √3.
        let x = Aggregator::GeometricMedian {}.of(&rows);
        assert!((x.at(0) - 2.0).abs() < 1e-6 && (x.at(1) - 2.0 / 3f64.sqrt()).abs() < 1e-6, "{x:?}");
    }

    #[test]
    fn more_liars_than_a_rule_can_bear_are_refused() {
        assert!(Aggregator::TrimmedMean { liars: 5 }.suits(Some(10)).is_err_and(|why| why.to_string().contains("below half of the 10")));
        assert!(Aggregator::Krum { liars: 8 }.suits(Some(10)).is_err());
        assert!(Aggregator::Krum { liars: 7 }.suits(Some(10)).is_ok());
    }
}
