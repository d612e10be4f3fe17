//! Means with intervals: what the spread over draws, clients or rows says about a difference.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::exact::Discordance;
use super::paired::{Paired, Rows};
use super::skew::Skewness;
use super::study::Design;

/// A mean difference, with its interval where there is one. Positive is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// How likely a difference at least as large is if there is none, two-sided. Known where the interval is.
    pub p: Option<f64>,
    /// Why there is no interval, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// The smallest difference that matters: a smaller mean has no sign.
    pub least: f64,
    /// The squared standard error and its degrees of freedom, for those who pool.
    #[serde(skip)]
    pub error: Option<(f64, f64)>,
}

/// Why a difference has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// There is one draw, and the metric does not count rows that are right.
    OneDraw,
    /// There is one split with fewer than forty test rows.
    TooFewRows,
    /// Every draw gives the same difference to the last digit, so that nothing says how much chance does.
    NoSpread,
    /// Nothing was measured on both sides.
    Nothing,
}

/// Every interval is one of 95 %.
pub(super) const MISS: f64 = 0.05;

impl Estimate {
    /// One client's gain. `skewness` is that of all clients; it counts where draws are independent.
    pub fn of_client(paired: &Paired, client: usize, skewness: Skewness, design: Design, tries: usize) -> Self {
        match design {
            Design::OneSplit => {
                let differences = paired.of_client(client);
                Self::of_rows(paired.rows.get(&client).copied(), &differences, tries)
            }
            _ if !design.same_clients() => Self::without(mean(&paired.of_client(client)), Missing::OneDraw),
            Design::Independent { .. } => Self::over_draws(&paired.of_client(client), design).skewed(skewness),
            Design::Resplit { .. } => Self::over_draws(&paired.of_client(client), design),
        }
    }

    /// The mean gain of all clients. Its interval is over draws and over clients: it speaks of clients like these. On one split it
    /// is over all test rows together.
    pub fn of_all(paired: &Paired, design: Design, tries: usize) -> Self {
        let by_draw = paired.by_draw();
        if design == Design::OneSplit {
            return Self::of_rows(paired.all_rows(), &by_draw, tries);
        }
        let over_draws = Self::over_draws(&by_draw, design);
        let by_client = paired.by_client();
        let (Some((draws, freedom)), true, true) = (over_draws.error, design.same_clients(), by_client.len() > 1) else {
            // Where draws have clients of their own, their spread over draws has that of the clients in it.
            return over_draws;
        };
        let clients = variance(&by_client) / by_client.len() as f64;
        // What belongs to single cells is in both parts and counts once.
        let both = (draws + clients - paired.cell_variance().unwrap_or(0.0)).max(draws).max(clients);
        // Satterthwaite: as much freedom as the two parts have together.
        let freedom = both * both / (draws * draws / freedom + clients * clients / (by_client.len() - 1) as f64);
        Self::student(over_draws.mean, both, freedom)
    }

    /// The t interval of a mean over draws.
    pub fn over_draws(differences: &[f64], design: Design) -> Self {
        let (n, centre) = (differences.len() as f64, mean(differences));
        // Nadeau and Bengio (2003): splits of the same data are correlated by about the share that is tested.
        let overlap = match design {
            Design::Resplit { test_per_train, .. } => test_per_train.max(0.0),
            Design::Independent { .. } | Design::OneSplit => 0.0,
        };
        match differences.len() {
            0 => Self::without(f64::NAN, Missing::Nothing),
            1 => Self::without(centre, Missing::OneDraw),
            _ => Self::student(centre, variance(differences) * (1.0 / n + overlap), n - 1.0),
        }
    }

    /// From the test rows of one split. Where a choice among `tries` saw the same rows, the interval is wider and p larger, after
    /// Bonferroni.
    fn of_rows(rows: Option<Rows>, differences: &[f64], tries: usize) -> Self {
        let centre = mean(differences);
        let tries = tries.max(1) as f64;
        let Some(rows) = rows else {
            return Self::without(centre, if differences.is_empty() { Missing::Nothing } else { Missing::OneDraw });
        };
        match Discordance::of(rows, MISS / tries) {
            None => Self::without(centre, Missing::TooFewRows),
            Some(Discordance { mean, interval, p }) => {
                Self { mean, interval: Some(interval), p: Some((p * tries).min(1.0)), missing: None, least: 0.0, error: None }
            }
        }
    }

    /// Mean, squared standard error and degrees of freedom → interval.
    pub(super) fn student(mean: f64, squared_error: f64, freedom: f64) -> Self {
        // Equal up to rounding, which a mean of many numbers has.
        let spread = squared_error.sqrt() > 1e-12 * mean.abs();
        let law = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| freedom > 0.0 && squared_error.is_finite());
        match law {
            Some(_) if mean == 0.0 && squared_error == 0.0 => {
                Self { mean, interval: Some([0.0, 0.0]), p: Some(1.0), missing: None, least: 0.0, error: Some((0.0, freedom)) }
            }
            Some(law) if spread => {
                let half = law.inverse_cdf(1.0 - MISS / 2.0) * squared_error.sqrt();
                let p = 2.0 * law.cdf(-(mean / squared_error.sqrt()).abs());
                let error = Some((squared_error, freedom));
                Self { mean, interval: Some([mean - half, mean + half]), p: Some(p), missing: None, least: 0.0, error }
            }
            _ => Self::without(mean, Missing::NoSpread),
        }
    }

    /// Student's interval of a mean over independent draws, moved to where it belongs if the draws are skewed.
    pub(super) fn skewed(self, skewness: Skewness) -> Self {
        let (Some((squared_error, freedom)), Some(_)) = (self.error, self.interval) else { return self };
        let (n, law) = (freedom + 1.0, StudentsT::new(0.0, 1.0, freedom));
        let Some(law) = law.ok().filter(|_| squared_error > 0.0) else { return self };
        // The spread of one draw.
        let s = (squared_error * n).sqrt();
        let half = law.inverse_cdf(1.0 - MISS / 2.0) / n.sqrt();
        let interval = [self.mean - s * skewness.bent(half, n), self.mean - s * skewness.bent(-half, n)];
        let p = 2.0 * law.cdf(-(skewness.straightened(self.mean / s, n) * n.sqrt()).abs());
        Self { interval: Some(interval), p: Some(p), ..self }
    }

    fn without(mean: f64, missing: Missing) -> Self {
        Self { mean, interval: None, p: None, missing: Some(missing), least: 0.0, error: None }
    }

    /// Sets the smallest difference that matters.
    #[must_use]
    pub fn at_least(self, least: f64) -> Self {
        Self { least, ..self }
    }

    /// Is a difference shown that is too small to matter?
    pub fn is_too_small(&self) -> bool {
        self.mean.abs() < self.least && self.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }

    /// 1 or −1 if the interval lies on one side of zero, the test agrees and the difference matters, else 0.
    pub fn sign(&self) -> i32 {
        self.sign_with(self.p)
    }

    /// Like [`sign`](Self::sign), with a p that takes many tests into account.
    pub fn sign_with(&self, p: Option<f64>) -> i32 {
        if self.mean.abs() < self.least {
            return 0;
        }
        match (self.interval, p) {
            (Some([low, _]), Some(p)) if low > 0.0 && p < MISS => 1,
            (Some([_, high]), Some(p)) if high < 0.0 && p < MISS => -1,
            _ => 0,
        }
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// With n − 1 below.
fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|v| (v - centre) * (v - centre)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: Design = Design::Independent { same_clients: true };

    #[test]
    fn the_interval_is_students_and_splits_of_the_same_data_widen_it() {
        let width = |estimate: &Estimate| estimate.interval.map(|[low, high]| high - low).unwrap();
        let plain = Estimate::over_draws(&[1.0, 2.0, 3.0], DRAWS);
        // s = 1, n = 3: R says qt(0.975, 2) = 4.302653.
        assert!((width(&plain) / 2.0 - 4.302_653 / 3f64.sqrt()).abs() < 1e-5 && plain.mean == 2.0 && plain.sign() == 0);
        // 1/3 + 1/3 instead of 1/3.
        let split = Estimate::over_draws(&[1.0, 2.0, 3.0], Design::Resplit { test_per_train: 1.0 / 3.0, same_clients: true });
        assert!((width(&split) / width(&plain) - 2f64.sqrt()).abs() < 1e-9);
        // R: t.test(c(1, 2, 3))$p.value = 0.07417990
        assert!((plain.p.unwrap() - 0.074_179_9).abs() < 1e-6);
        let signs = [[1.0, 1.1, 0.9], [-1.0, -1.1, -0.9]].map(|d| Estimate::over_draws(&d, DRAWS).sign());
        assert_eq!(signs, [1, -1]);
    }

    #[test]
    fn one_draw_and_equal_draws_have_no_interval() {
        assert_eq!(Estimate::over_draws(&[1.0], DRAWS).missing, Some(Missing::OneDraw));
        assert_eq!(Estimate::over_draws(&[0.1, 0.1, 0.1], DRAWS).missing, Some(Missing::NoSpread));
        assert_eq!(Estimate::over_draws(&[], DRAWS).missing, Some(Missing::Nothing));
        assert_eq!(Estimate::over_draws(&[0.0, 0.0], DRAWS).sign(), 0);
    }
}
