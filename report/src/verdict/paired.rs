//! Differences between two methods, on the same rows of the same client in the same draw.

use std::collections::BTreeMap;

use super::study::Score;

/// How much better one method is than another: draw × client → difference; positive is better.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paired {
    /// (draw, client) → difference.
    pub cells: BTreeMap<(usize, usize), f64>,
    /// By client: test rows that only one of the two gets right. For one split.
    pub rows: BTreeMap<usize, Rows>,
}

/// What two models make of the same test rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// All of them.
    pub all: usize,
    /// Those that the first gets right and the second wrong.
    pub gained: usize,
    /// Those that the second gets right and the first wrong.
    pub lost: usize,
}

impl Paired {
    /// `ours` against `theirs`, wherever both were measured. `sign` is 1 where larger is better, else −1.
    pub fn of<'a>(ours: impl Iterator<Item = &'a Score>, theirs: impl Iterator<Item = &'a Score>, sign: f64) -> Self {
        let theirs: BTreeMap<(usize, usize), &Score> = theirs.map(|score| ((score.draw, score.client), score)).collect();
        let mut paired = Self::default();
        for score in ours {
            let Some(other) = theirs.get(&(score.draw, score.client)) else { continue };
            paired.cells.insert((score.draw, score.client), sign * (score.test - other.test));
            if let (Some(ours), Some(theirs)) = (&score.right, &other.right)
                && ours.len() == theirs.len()
                && !paired.rows.contains_key(&score.client)
            {
                paired.rows.insert(score.client, Rows::of(ours, theirs));
            }
        }
        paired
    }

    /// One client's differences, by draw.
    pub fn of_client(&self, client: usize) -> Vec<f64> {
        self.cells.iter().filter(|((_, c), _)| *c == client).map(|(_, d)| *d).collect()
    }

    /// The mean over clients, by draw.
    pub fn by_draw(&self) -> Vec<f64> {
        means(self.cells.iter().map(|((draw, _), d)| (*draw, *d)))
    }

    /// The mean over draws, by client.
    pub fn by_client(&self) -> Vec<f64> {
        means(self.cells.iter().map(|((_, client), d)| (*client, *d)))
    }

    /// The variance of the mean of all cells that neither clients nor draws explain; none unless every client is in every draw.
    pub(super) fn cell_variance(&self) -> Option<f64> {
        let (draws, clients) = (self.by_draw(), self.by_client());
        let (rows, columns) = (draws.len() as f64, clients.len() as f64);
        if draws.len() < 2 || clients.len() < 2 || self.cells.len() != draws.len() * clients.len() {
            return None;
        }
        let mean = draws.iter().sum::<f64>() / rows;
        // Cells are in the order of draws, and within a draw in that of clients.
        let rest = self.cells.values().enumerate().map(|(at, d)| d - draws[at / clients.len()] - clients[at % clients.len()] + mean);
        Some(rest.map(|r| r * r).sum::<f64>() / ((rows - 1.0) * (columns - 1.0)) / (rows * columns))
    }

    /// All test rows together.
    pub fn all_rows(&self) -> Option<Rows> {
        self.rows.values().copied().reduce(|a, b| Rows { all: a.all + b.all, gained: a.gained + b.gained, lost: a.lost + b.lost })
    }
}

impl Rows {
    /// Of which rows each gets right, in the same order.
    pub fn of(ours: &[bool], theirs: &[bool]) -> Self {
        let count = |first: bool| ours.iter().zip(theirs).filter(|(a, b)| a != b && **a == first).count();
        Self { all: ours.len(), gained: count(true), lost: count(false) }
    }
}

fn means(values: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
    let mut by: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (key, value) in values {
        let (sum, count) = by.entry(key).or_default();
        *sum += value;
        *count += 1.0;
    }
    by.into_values().map(|(sum, count)| sum / count).collect()
}
