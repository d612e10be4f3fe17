//! Studies whose truth is known in closed form.
//!
//! Client i's rows are N(mᵢ, I) in d dimensions, mᵢ ~ N(0, τ² I). Alone it predicts with the mean of its n training rows; together with
//! α · (mean of all clients' means) + (1 − α) · (its own). Judged by the squared error on test rows, the gain of the second over the
//! first is, with N clients,
//!
//! ```text
//! gᵢ = d/n − α² |m̄ − mᵢ|² − ((1 − α + α/N)² + (N − 1) (α/N)²) d/n,    E|m̄ − mᵢ|² = d τ² (1 − 1/N)
//! ```
//!
//! With d = 1 the differences are as skewed as a squared normal; with d = 10, as with any model of some size, much less.

use motet_core::{Rng, Seed};
use motet_report::verdict::{Contender, Design, Score, Study};

/// What a study is made of.
#[derive(Clone, Copy)]
pub(crate) struct Lab {
    pub(crate) dim: usize,
    pub(crate) clients: usize,
    pub(crate) train: usize,
    pub(crate) test: usize,
    pub(crate) draws: usize,
    pub(crate) spread: f64,
    pub(crate) alpha: f64,
    pub(crate) kind: Kind,
}

/// Where the draws of a study come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Every draw has clients of its own.
    Others,
    /// Every draw has new rows of the same clients.
    Redrawn,
    /// Every draw cuts the same rows anew.
    Resplit,
}

/// A study and what is true.
pub(crate) struct Known {
    pub(crate) study: Study,
    /// By client.
    pub(crate) gains: Vec<f64>,
    /// For clients like these.
    pub(crate) mean: f64,
}

impl Lab {
    pub(crate) fn study(&self, seed: u64) -> Known {
        let mut dice = Seed(seed).problem(7);
        let mut means = self.means(&mut dice);
        let mut rows = self.rows(&means, &mut dice);
        let design = match self.kind {
            Kind::Others => Design::Independent { same_clients: false },
            Kind::Redrawn => Design::Independent { same_clients: true },
            Kind::Resplit => Design::Resplit { test_per_train: self.test as f64 / self.train as f64, same_clients: true },
        };
        let (mut alone, mut together) = (vec![], vec![]);
        for draw in 0..self.draws {
            match self.kind {
                _ if draw == 0 => {}
                Kind::Others => {
                    means = self.means(&mut dice);
                    rows = self.rows(&means, &mut dice);
                }
                Kind::Redrawn => rows = self.rows(&means, &mut dice),
                Kind::Resplit => rows.iter_mut().for_each(|rows| dice.shuffle(rows)),
            }
            let own: Vec<Vec<f64>> = rows.iter().map(|rows| self.mean(&rows[..self.train])).collect();
            let shared = self.mean(&own);
            for (client, rows) in rows.iter().enumerate() {
                let error = |model: &[f64]| rows[self.train..].iter().map(|y| distance2(y, model)).sum::<f64>() / self.test as f64;
                let score = |model: &[f64]| Score { draw, client, validation: None, test: error(model), right: None };
                alone.push(score(&own[client]));
                let mixed: Vec<f64> = shared.iter().zip(&own[client]).map(|(x, o)| self.alpha * x + (1.0 - self.alpha) * o).collect();
                together.push(score(&mixed));
            }
        }
        let contender =
            |label: &str, alone, scores| Contender { label: label.into(), way: label.into(), alone, scores, ..Contender::default() };
        let study = Study {
            metric: "test.loss".into(),
            design,
            draws: self.draws,
            clients: (0..self.clients).map(|client| format!("client {client}")).collect(),
            contenders: vec![contender("own models", true, alone), contender("mixture", false, together)],
            ..Study::default()
        };
        let centre = self.mean(&means);
        let gains = means.iter().map(|m| self.gain(distance2(&centre, m))).collect();
        let n = self.clients as f64;
        Known { study, gains, mean: self.gain(self.dim as f64 * self.spread * self.spread * (1.0 - 1.0 / n)) }
    }

    fn gain(&self, squared_distance: f64) -> f64 {
        let (n, a, noise) = (self.clients as f64, self.alpha, self.dim as f64 / self.train as f64);
        let (own, others) = (1.0 - a + a / n, a / n);
        noise - a * a * squared_distance - (own * own + (n - 1.0) * others * others) * noise
    }

    fn means(&self, dice: &mut Rng) -> Vec<Vec<f64>> {
        (0..self.clients).map(|_| (0..self.dim).map(|_| self.spread * dice.normal()).collect()).collect()
    }

    fn rows(&self, means: &[Vec<f64>], dice: &mut Rng) -> Vec<Vec<Vec<f64>>> {
        let mut row = |mean: &[f64]| mean.iter().map(|m| m + dice.normal()).collect::<Vec<f64>>();
        means.iter().map(|mean| (0..self.train + self.test).map(|_| row(mean)).collect()).collect()
    }

    fn mean(&self, rows: &[Vec<f64>]) -> Vec<f64> {
        (0..self.dim).map(|k| rows.iter().map(|row| row[k]).sum::<f64>() / rows.len() as f64).collect()
    }
}

fn distance2(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Counts how often intervals hold the truth, and how wide they are.
#[derive(Default)]
pub(crate) struct Count {
    held: usize,
    of: usize,
    width: f64,
}

impl Count {
    pub(crate) fn add(&mut self, interval: Option<[f64; 2]>, truth: f64) {
        let Some([low, high]) = interval else { return };
        self.held += usize::from(low <= truth && truth <= high);
        self.of += 1;
        self.width += high - low;
    }

    pub(crate) fn share(&self) -> f64 {
        self.held as f64 / self.of as f64
    }

    pub(crate) fn width(&self) -> f64 {
        self.width / self.of as f64
    }
}
