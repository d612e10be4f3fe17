//! Many runs of one method, each with dice of its own: the means that theorems speak of.

use std::sync::Arc;

use motet_core::{Host, Plan, ProbeRequest, Reference, Rhythm, Row, Seed, Study, Trained, Vector, train};
use motet_runtime::{Inline, Memory};

use super::Lab;

/// How many runs a mean is taken over.
pub const RUNS: u64 = 30;
/// Where runs with a known optimum are measured; the others in every round.
const LOOKS: [u64; 7] = [0, 1, 2, 4, 8, 16, 30];

/// The rows of every run.
pub struct Walks(Vec<Vec<Row>>);

impl Lab {
    /// Runs a method `RUNS` times from `start`.
    pub fn walks<A: Study + Clone>(&self, method: &A, start: &Vector, rounds: u64, best: Option<&Reference>) -> Walks {
        Walks((0..RUNS).map(|seed| self.walk(method, start, rounds, best, seed).0).collect())
    }

    /// One run whose dice, the clients' too, are those of `seed`.
    pub fn walk<A: Study + Clone>(
        &self,
        method: &A,
        start: &Vector,
        rounds: u64,
        best: Option<&Reference>,
        seed: u64,
    ) -> (Vec<Row>, Trained<A>) {
        let (method, store, seed) = (Arc::new(method.clone()), Arc::new(Memory::default()), Seed(seed));
        let host = Host::new(Arc::clone(&method), Arc::clone(&self.population), store, Arc::clone(&self.memo), seed);
        // Gradients are measured where no optimum is known: then they are what the theorem bounds.
        let look = ProbeRequest { gradient: best.is_none(), ..ProbeRequest::default() };
        let rhythm = if best.is_none() { Rhythm::Every(1) } else { Rhythm::At(LOOKS.to_vec()) };
        let plan = Plan { reference: best.cloned(), look, rhythm, ..Plan::new(rounds, seed) };
        let mut rows = vec![];
        let trained = train(&*method, start.clone(), &plan, &mut Inline::new(host), &mut rows).unwrap();
        assert_eq!(rows.last().map(|row| row.round), Some(rounds), "{:?}", trained.outcome);
        (rows, trained)
    }
}

impl Walks {
    /// The cautious mean of the last row.
    pub fn end(&self, of: impl Fn(&Row) -> f64) -> f64 {
        cautious(&self.0.iter().map(|rows| rows.last().map_or(f64::NAN, &of)).collect::<Vec<_>>())
    }

    /// The cautious mean of row k.
    pub fn at(&self, k: usize, of: impl Fn(&Row) -> f64) -> f64 {
        cautious(&self.0.iter().map(|rows| of(&rows[k])).collect::<Vec<_>>())
    }

    /// The cautious mean of the averages over the first k rows.
    pub fn average(&self, k: usize, of: impl Fn(&Row) -> f64) -> f64 {
        cautious(&self.0.iter().map(|rows| rows[..k].iter().map(&of).sum::<f64>() / k as f64).collect::<Vec<_>>())
    }

    /// Nowhere after round `from` is the mean above the bound. `size` is that of the numbers subtracted, which rounding
    /// is relative to.
    pub fn stay_below(&self, name: &str, from: u64, size: f64, of: impl Fn(&Row) -> f64, bound: impl Fn(f64) -> f64) {
        for (k, row) in self.0[0].iter().enumerate().filter(|(_, row)| row.round >= from) {
            within(&format!("{name}, round {}", row.round), self.at(k, &of), bound(row.round as f64), size);
        }
    }
}

/// `value` is at most `bound`, but for rounding: a few hundred units in the last place of `size`.
pub fn within(name: &str, value: f64, bound: f64, size: f64) {
    assert!(value <= bound * (1.0 + 1e-9) + 1e-13 * (1.0 + size), "{name}: {value:e} is above {bound:e}");
}

/// The mean less four standard errors.
///
/// A theorem bounds the mean over all dice; ours is over thirty runs. If the bound were an equality, the estimate would
/// lie four standard errors above it in 3 of 100,000 normal samples. The dice are fixed: what passes stays so.
pub fn cautious(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean - 4.0 * (variance / n).sqrt()
}
