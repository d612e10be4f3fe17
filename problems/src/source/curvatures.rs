//! A population instead of a list: one-dimensional quadratics whose curvature is drawn from a density.
//!
//! ```text
//! fᵢ(x) = ½ aᵢ x² − x,   aᵢ of density ∝ a on [low, high]:   aᵢ = √(low² + u (high² − low²)),   u of client i uniform on [0, 1)
//! ```
//!
//! With low = ½, high = 2 this is the family of figure 1 of LocalUpdate (density 8a/15). A client is its number: its
//! function is made when it is asked for, and nothing is kept of it.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{
    Batch, ClientId, Constants, Documented, Kind, NonNegative, Objective, Population, Positive, Precision, Roster, Seed, Shard, StoreError,
    Vector,
};
use serde::{Deserialize, Serialize};

use super::{Load, Material, Place};
use crate::dice::{self, Step};
use crate::error::ProblemError;

/// Quadratics on the line with curvatures from a density: a population, each client made from its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Curvatures {
    /// The least curvature (default 0.5).
    #[serde(default = "half")]
    pub low: Positive,
    /// The largest curvature (default 2).
    #[serde(default = "two")]
    pub high: Positive,
    /// How many clients (default: endlessly many).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<NonZeroU32>,
    /// Standard deviation of the noise of a gradient in training (default 0).
    #[serde(default)]
    pub noise: NonNegative,
}

impl Kind for Curvatures {
    const NAME: &'static str = "curvatures";
}

fn half() -> Positive {
    Positive::new(0.5).expect("one half is positive")
}
fn two() -> Positive {
    Positive::new(2.0).expect("2 is positive")
}

impl Load for Curvatures {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        if *self.low > *self.high {
            let wanted = format!("at least low = {}", self.low);
            return Err(ProblemError::Value { key: "source.high", value: self.high.to_string(), wanted });
        }
        super::countable_clients(self.clients)?;
        let population = Arc::new(Clients { of: self.clone(), seed: place.seed });
        Ok(Material::Population { population, start: Vector::zeros(1, Precision::F64) })
    }
}

/// All of them, as a formula.
struct Clients {
    of: Curvatures,
    seed: Seed,
}

impl Population for Clients {
    fn roster(&self) -> Roster {
        self.of.clients.map_or(Roster::Unbounded, |n| Roster::Counted(n.get()))
    }

    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        let u = dice::own(self.seed, Step::Source, client.0 as usize).unit();
        let (low, high) = (*self.of.low, *self.of.high);
        let curvature = (low * low + u * (high * high - low * low)).sqrt();
        Ok(Cow::Owned(Shard::new(Arc::new(Bowl { curvature, noise: *self.of.noise }))))
    }
}

/// ½ a x² − x
struct Bowl {
    curvature: f64,
    noise: f64,
}

impl Objective for Bowl {
    fn dim(&self) -> usize {
        1
    }
    fn samples(&self) -> usize {
        1
    }
    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        let x = x.at(0);
        0.5 * self.curvature * x * x - x
    }
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        let mut slope = self.curvature * x.at(0) - 1.0;
        if let (Some(noise), true) = (batch.noise, self.noise > 0.0) {
            slope += self.noise * Seed(noise.key()).problem(0).normal();
        }
        g.f64s_mut()[0] = slope;
    }
    fn hessian_vector(&self, _: &Vector, v: &Vector, _: Batch<'_>, out: &mut Vector) {
        out.f64s_mut()[0] = self.curvature * v.at(0);
    }
    fn constants(&self) -> Constants {
        let curvature = Some(self.curvature);
        Constants { smoothness: curvature, convexity: curvature, sample_smoothness: curvature }
    }
}
