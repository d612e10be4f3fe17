//! The weighted mean of what clients send, folded one reply at a time.

use crate::fit::ModelShape;
use crate::vector::sparse_mean::SparseMean;
use crate::vector::update::Update;
use crate::vector::{Precision, Vector};

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
    dim: usize,
    precision: Precision,
    /// Made when something is added, by when others are at work, too: to fill a large model with zeros takes milliseconds.
    sum: Option<Vector>,
    /// The first vector and its weight, until a second comes: by then its sender has let go of it, and it becomes the sum where it lies.
    first: Option<(f64, Vector)>,
    weight: f64,
    named: Named,
}

/// Which coordinates of the sum were added to.
#[derive(Clone, Debug)]
enum Named {
    /// Any.
    All,
    /// These rows of a model, each so wide.
    Rows(Vec<bool>, usize),
    /// None.
    Nothing,
}

impl Mean {
    /// An empty mean of vectors like this one.
    pub fn like(x: &Vector) -> Self {
        Self { dim: x.len(), precision: x.precision(), sum: None, first: None, weight: 0.0, named: Named::Nothing }
    }

    /// An empty mean of models of this shape.
    pub(crate) fn of(model: ModelShape) -> Self {
        Self { dim: model.dim, precision: model.precision, sum: None, first: None, weight: 0.0, named: Named::Nothing }
    }

    /// A sum that begins with this vector.
    pub fn onto(x: Vector) -> Self {
        Self { dim: x.len(), precision: x.precision(), sum: Some(x), first: None, weight: 0.0, named: Named::All }
    }

    /// What the sum began with, or has come to; none before that.
    pub(crate) fn begun(&self) -> Option<&Vector> {
        self.sum.as_ref()
    }

    /// One more vector of this weight, which was added somewhere else.
    pub(crate) fn count(&mut self, weight: Option<f64>) {
        if let Some(weight) = weight {
            self.weight += weight;
            self.named = Named::All;
        }
    }

    /// The sum is this one: it was added up somewhere else.
    pub(crate) fn replace(&mut self, sum: Vector) {
        (self.first, self.sum) = (None, Some(sum));
    }

    /// Waits with a first vector. False if it is to be added as others are.
    fn is_first(&mut self, weight: f64, v: &Vector) -> bool {
        let fits = v.len() == self.dim && v.precision() == self.precision;
        let first = fits && self.sum.is_none() && self.first.is_none();
        if first {
            self.first = Some((weight, v.clone()));
        }
        first
    }

    /// A sum of one vector, with the bits that it has when it is added to zeros.
    fn settle(&mut self) {
        if let Some((weight, mut v)) = self.first.take() {
            v.weigh(weight);
            self.sum = Some(v);
        }
    }

    fn sum(&mut self) -> &mut Vector {
        self.settle();
        self.sum.get_or_insert_with(|| Vector::zeros(self.dim, self.precision))
    }

    /// Σ wᵢ vᵢ
    pub fn total(mut self) -> Vector {
        self.settle();
        self.sum.unwrap_or_else(|| Vector::zeros(self.dim, self.precision))
    }

    /// One more vector.
    pub fn add(&mut self, weight: f64, v: &Vector) {
        if !self.is_first(weight, v) {
            self.sum().axpy(weight, v);
        }
        self.weight += weight;
        self.named = Named::All;
    }

    /// One more vector, dense or by rows.
    pub fn add_update(&mut self, weight: f64, update: &Update) {
        match update {
            Update::Dense(v) if self.is_first(weight, v) => {}
            _ => update.add_to(weight, self.sum()),
        }
        self.weight += weight;
        let Update::Rows(some) = update else { return self.named = Named::All };
        let width = some.width();
        if let (Named::Nothing, true) = (&self.named, width > 0) {
            self.named = Named::Rows(vec![false; self.dim / width], width);
        }
        match &mut self.named {
            Named::Rows(named, wide) if *wide == width => some.rows().iter().for_each(|&row| named[row as usize] = true),
            Named::Rows(..) if width > 0 => self.named = Named::All,
            _ => {}
        }
    }

    /// What another mean holds, too.
    pub(crate) fn merge(&mut self, mut other: Mean) {
        other.settle();
        if let Some(sum) = &other.sum {
            self.sum().axpy(1.0, sum);
            self.named = Named::All;
        }
        self.weight += other.weight;
    }

    /// Σ wᵢ so far.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean; zero if nothing was added.
    pub fn finish(mut self) -> Vector {
        self.settle();
        if let (Some(sum), true) = (&mut self.sum, self.weight != 0.0) {
            sum.scale(1.0 / self.weight);
        }
        self.total()
    }

    /// The mean without a copy of the sum, by rows if only rows were added.
    pub fn average(self) -> SparseMean {
        let weight = self.weight;
        self.divided(weight)
    }

    /// The sum divided by something else than the sum of the weights; nothing at all where that is 0.
    pub(crate) fn divided(self, by: f64) -> SparseMean {
        let share = if by == 0.0 { 0.0 } else { 1.0 / by };
        let rows = match &self.named {
            Named::Rows(named, width) => Some(((0..named.len() as u32).filter(|&row| named[row as usize]).collect(), *width)),
            Named::All | Named::Nothing => None,
        };
        SparseMean::new(self.total(), share, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_vector_becomes_the_sum_with_the_bits_of_adding_it_to_zeros() {
        let sent: Vec<Vec<f32>> = vec![vec![0.1, -0.0, 3.3], vec![-0.7, 0.0, 1e-9], vec![0.3, 0.2, 5.0]];
        for count in 1..=3 {
            let mut expected = Vector::zeros(3, Precision::F32);
            let mut mean = Mean::like(&expected);
            for (k, numbers) in sent.iter().take(count).enumerate() {
                let (weight, v) = (1.5 - k as f64, Vector::from(numbers.clone()));
                expected.axpy(weight, &v);
                mean.add_update(weight, &Update::Dense(v.clone()));
                // What the sender still holds stays as it was.
                assert_eq!(v, Vector::from(numbers.clone()));
            }
            let bits = |v: &Vector| v.f32s().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&mean.clone().total()), bits(&expected), "{count}");
            let mut merged = Mean::like(&expected);
            merged.merge(mean);
            assert_eq!(bits(&merged.total()), bits(&expected), "{count}");
        }
    }
}
