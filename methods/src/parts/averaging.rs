//! The server of FedAvg and related methods: hand out a model, average what comes back.

use motet_core::{Abort, Addend, Algorithm, Cohort, Misfit, ModelShape, Round, Vector, message};

use super::Weights;

message! {
    /// Server to client: train from this model.
    pub struct Train {
        /// The shared model.
        pub x: Vector,
    }
}

message! {
    /// Client to server: the trained model.
    pub struct Trained {
        /// The client's copy of the shared model, after its work.
        pub y: Vector,
        /// How many examples the client has.
        pub examples: u32,
    }
}

impl Trained {
    /// A model and the number of examples behind it.
    pub fn new(y: Vector, samples: usize) -> Self {
        Self { y, examples: u32::try_from(samples).unwrap_or(u32::MAX) }
    }

    /// What it adds to the mean.
    pub fn addend(&self, weights: Weights) -> Addend<'_> {
        Addend::counting(weights.of(self.examples)).vector(&self.y)
    }

    /// Is it what [`Train`] asks for?
    pub fn fits(&self, model: ModelShape) -> Result<(), Misfit> {
        self.y.fits(model)
    }
}

/// The mean of what the cohort makes of x, as an estimate of the mean over all clients; x itself if nobody is asked.
///
/// Where the weights of a draw do not sum to one, models cannot be averaged by them: x goes on by the weighted sum of how far each
/// client moved from it.
pub fn average<A: Algorithm<Ask = Train, Reply = Trained>>(
    x: &Vector,
    cohort: &Cohort,
    weights: Weights,
    round: &mut Round<'_, A>,
) -> Result<Vector, Abort> {
    let sum = round.sum(cohort, Train { x: x.clone() }, |id| cohort.weight(id))?;
    let (weight, divisor) = (sum.weight, weights.divisor(&sum, 1.0));
    if weight == 0.0 {
        return Ok(x.clone());
    }
    if divisor == weight {
        return Ok(sum.mean());
    }
    let mut moved = sum.total();
    moved.axpy(-weight, x);
    moved.scale(1.0 / divisor);
    moved.axpy(1.0, x);
    Ok(moved)
}
