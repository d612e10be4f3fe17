//! The weighted mean of what clients send, folded one reply at a time.

use crate::update::{RowUpdate, Update};
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
        Self { sum: x.zeros_like(), weight: 0.0, named: Named::Nothing }
    }

    /// One more vector.
    pub fn add(&mut self, weight: f64, v: &Vector) {
        self.sum.axpy(weight, v);
        self.weight += weight;
        self.named = Named::All;
    }

    /// One more vector, dense or by rows.
    pub fn add_update(&mut self, weight: f64, update: &Update) {
        update.add_to(weight, &mut self.sum);
        self.weight += weight;
        let Update::Rows(some) = update else { return self.named = Named::All };
        let width = some.width();
        if let (Named::Nothing, true) = (&self.named, width > 0) {
            self.named = Named::Rows(vec![false; self.sum.len() / width], width);
        }
        match &mut self.named {
            Named::Rows(named, wide) if *wide == width => some.rows().iter().for_each(|&row| named[row as usize] = true),
            Named::Rows(..) if width > 0 => self.named = Named::All,
            _ => {}
        }
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

    /// The mean, by rows if only rows were added.
    pub fn finish_update(self) -> Update {
        let Named::Rows(named, width) = &self.named else { return Update::Dense(self.finish()) };
        let rows: Vec<u32> = (0..named.len() as u32).filter(|&row| named[row as usize]).collect();
        let mut values = self.sum.rows(&rows, *width);
        if self.weight != 0.0 {
            values.scale(1.0 / self.weight);
        }
        Update::Rows(RowUpdate::new(self.sum.len(), rows, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_rows_names_the_rows_and_equals_the_dense_one() {
        let rows = |at: Vec<u32>, v: Vec<f64>| Update::Rows(RowUpdate::new(8, at, v.into()));
        let (a, b) = (rows(vec![0, 2], vec![1.0, 2.0, 3.0, 4.0]), rows(vec![2], vec![5.0, 7.0]));
        let mut mean = Mean::like(&vec![0.0; 8].into());
        mean.add_update(1.0, &a);
        mean.add_update(3.0, &b);
        let dense = mean.clone().finish();
        assert_eq!(dense.f64s(), [0.25, 0.5, 0.0, 0.0, 4.5, 6.25, 0.0, 0.0]);
        let Update::Rows(found) = mean.clone().finish_update() else { panic!("only rows were added") };
        assert_eq!((found.rows(), found.values().f64s()), (&[0, 2][..], &[0.25, 0.5, 4.5, 6.25][..]));
        mean.add(0.0, &dense);
        assert!(matches!(mean.finish_update(), Update::Dense(_)));
    }
}
