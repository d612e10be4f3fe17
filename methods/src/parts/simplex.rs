//! Weights that are positive and sum to one, kept as logarithms.

use motet_core::{ClientId, wire};

/// The least logarithm kept, relative to the largest: e⁻⁷⁰⁰ is still a normal number, so that no weight is ever
/// lost to underflow and every client can come back.
const LEAST: f64 = -700.0;

wire! {
    /// A point of the simplex: wᵢ > 0, Σ wᵢ = 1.
    ///
    /// ```
    /// use motet_methods::parts::Simplex;
    /// let mut w = Simplex::uniform(2);
    /// w.multiply(&[1e300, -1e300]);
    /// assert_eq!(w.weights(), [1.0, (-700f64).exp()]);
    /// ```
    #[derive(PartialEq)]
    pub struct Simplex {
        /// log wᵢ + c: the largest is 0, none is below −700.
        logs: Vec<f64>,
    }
}

impl Simplex {
    /// All alike.
    pub fn uniform(n: usize) -> Self {
        Self { logs: vec![0.0; n] }
    }

    /// These weights, normalised. What is not a positive number counts as next to nothing.
    pub fn from_weights(weights: &[f64]) -> Self {
        Self { logs: guarded(weights.iter().map(|w| w.ln()).collect()) }
    }

    /// How many weights there are.
    pub fn len(&self) -> usize {
        self.logs.len()
    }

    /// No weights at all?
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// wᵢ ← wᵢ exp(byᵢ) / Σ wⱼ exp(byⱼ)
    pub fn multiply(&mut self, by: &[f64]) {
        let logs = self.logs.iter().zip(by).map(|(log, by)| log + by).collect();
        self.logs = guarded(logs);
    }

    /// (1 − share) w + share v
    pub fn mix(&mut self, share: f64, v: &Simplex) {
        let (w, v) = (self.weights(), v.weights());
        let mixed: Vec<f64> = w.iter().zip(v).map(|(w, v)| (1.0 - share) * w + share * v).collect();
        *self = Self::from_weights(&mixed);
    }

    /// Sets the weights of some clients to almost nothing; they can grow again.
    pub fn banish(&mut self, who: &[ClientId]) {
        if !who.is_empty() {
            who.iter().for_each(|id| self.logs[id.0 as usize] = f64::NEG_INFINITY);
            self.logs = guarded(std::mem::take(&mut self.logs));
        }
    }

    /// w
    pub fn weights(&self) -> Vec<f64> {
        let mut weights: Vec<f64> = self.logs.iter().map(|log| log.exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        weights
    }

    /// The weights of some, normalised among themselves.
    pub fn among(&self, some: &[usize]) -> Simplex {
        Self { logs: guarded(some.iter().map(|&k| self.logs[k]).collect()) }
    }

    /// Puts back what [`among`](Self::among) took out and somebody changed: the others keep their weights, and
    /// these share among themselves what they had together.
    pub fn put_back(&mut self, some: &[usize], part: &Simplex) {
        let weights = self.weights();
        let mass: f64 = some.iter().map(|&k| weights[k]).sum();
        let mut logs: Vec<f64> = weights.iter().map(|w| w.ln()).collect();
        let total: f64 = part.logs.iter().map(|log| log.exp()).sum();
        for (&k, log) in some.iter().zip(&part.logs) {
            logs[k] = log + (mass / total).ln();
        }
        self.logs = guarded(logs);
    }
}

/// Shifted so that the largest is 0, and cut off below. A logarithm that is not a number (the inner product of huge
/// vectors can be ∞ − ∞) speaks neither for nor against: it must not win, so it counts as the least.
fn guarded(mut logs: Vec<f64>) -> Vec<f64> {
    let seen = |log: &f64| if log.is_nan() { f64::NEG_INFINITY } else { log.clamp(-f64::MAX, f64::MAX) };
    let largest = logs.iter().map(seen).fold(f64::NEG_INFINITY, f64::max);
    for log in &mut logs {
        *log = if largest == f64::NEG_INFINITY { 0.0 } else { (seen(log) - largest).max(LEAST) };
    }
    logs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_exponent_however_wild_leaves_the_simplex() {
        let mut w = Simplex::uniform(4);
        for by in [[1e308, 1e308, -1e308, 0.0], [f64::INFINITY, 0.0, 1.0, f64::NAN], [f64::NAN; 4], [f64::NEG_INFINITY; 4]] {
            w.multiply(&by);
            let weights = w.weights();
            assert!(weights.iter().all(|w| *w > 0.0), "{by:?}: {weights:?}");
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{by:?}: {weights:?}");
        }
    }

    #[test]
    fn those_left_out_keep_their_weight() {
        let mut w = Simplex::from_weights(&[0.1, 0.2, 0.3, 0.4]);
        let mut part = w.among(&[1, 3]);
        part.multiply(&[2f64.ln(), 0.0]); // 0.2 : 0.4 becomes 0.4 : 0.4 of the 0.6 they have together
        w.put_back(&[1, 3], &part);
        w.weights().iter().zip([0.1, 0.3, 0.3, 0.3]).for_each(|(ours, theirs)| assert!((ours - theirs).abs() < 1e-15));
    }
}
