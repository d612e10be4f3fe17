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
        Self { dim: x.len(), precision: x.precision(), sum: None, weight: 0.0, named: Named::Nothing }
    }

    /// An empty mean of models of this shape.
    pub(crate) fn of(model: ModelShape) -> Self {
        Self { dim: model.dim, precision: model.precision, sum: None, weight: 0.0, named: Named::Nothing }
    }

    /// A sum that begins with this vector.
    pub(crate) fn onto(x: Vector) -> Self {
        Self { dim: x.len(), precision: x.precision(), sum: Some(x), weight: 0.0, named: Named::All }
    }

    fn sum(&mut self) -> &mut Vector {
        self.sum.get_or_insert_with(|| Vector::zeros(self.dim, self.precision))
    }

    /// Σ wᵢ vᵢ
    pub fn total(self) -> Vector {
        self.sum.unwrap_or_else(|| Vector::zeros(self.dim, self.precision))
    }

    /// One more vector.
    pub fn add(&mut self, weight: f64, v: &Vector) {
        self.sum().axpy(weight, v);
        self.weight += weight;
        self.named = Named::All;
    }

    /// One more vector, dense or by rows.
    pub fn add_update(&mut self, weight: f64, update: &Update) {
        update.add_to(weight, self.sum());
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
    pub(crate) fn merge(&mut self, other: Mean) {
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
        if let (Some(sum), true) = (&mut self.sum, self.weight != 0.0) {
            sum.scale(1.0 / self.weight);
        }
        self.total()
    }

    /// The mean where it was added up, by rows if only rows were added.
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
