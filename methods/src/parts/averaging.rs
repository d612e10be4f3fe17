//! The server of FedAvg and its kin: hand out a model, average what comes back.

use motet_core::{Abort, Addend, Algorithm, Cohort, Misfit, ModelShape, Round, Vector, message};

use super::Weights;

message! {
    /// Server to client: work on this.
    pub struct Train {
        /// The shared model.
        pub x: Vector,
    }
}

message! {
    /// Client to server: what became of it.
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

/// The mean of what the cohort makes of x; x itself if nobody is asked.
pub fn average<A: Algorithm<Ask = Train, Reply = Trained>>(x: &Vector, cohort: &Cohort, round: &mut Round<'_, A>) -> Result<Vector, Abort> {
    let sum = round.sum(cohort, Train { x: x.clone() }, |id| cohort.weight(id))?;
    Ok(if sum.weight > 0.0 { sum.mean() } else { x.clone() })
}
