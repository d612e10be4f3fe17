//! The weighted mean of what clients send, folded one reply at a time.

use crate::update::Update;
use crate::vector::Vector;

/// Σ wᵢ vᵢ / Σ wᵢ, summed in the order of the calls.
///
/// Divides by the weight of those who answered, not of those who were asked.
///
/// ```
/// use motet_core::{Mean, Vector};
/// let mut mean = Mean::like(&Vector::from(vec![0.0]));
/// mean.add(1.0, &Vector::from(vec![3.0]));
/// mean.add(3.0, &Vector::from(vec![7.0]));
/// assert_eq!(mean.finish().to_f64(), [6.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Mean {
    sum: Vector,
    weight: f64,
}

impl Mean {
    /// An empty mean of vectors like this one.
    pub fn like(x: &Vector) -> Self {
        Self { sum: x.zeros_like(), weight: 0.0 }
    }

    /// One more vector.
    pub fn add(&mut self, weight: f64, v: &Vector) {
        self.sum.axpy(weight, v);
        self.weight += weight;
    }

    /// One more vector, dense or by rows.
    pub fn add_update(&mut self, weight: f64, update: &Update) {
        update.add_to(weight, &mut self.sum);
        self.weight += weight;
    }

    /// Σ wᵢ so far.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean; zero if nothing was added.
    pub fn finish(mut self) -> Vector {
        if self.weight != 0.0 {
            self.sum.scale(1.0 / self.weight);
        }
        self.sum
    }
}
