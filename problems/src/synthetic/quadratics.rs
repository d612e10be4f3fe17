//! Random quadratics with chosen constants and chosen distance between the clients.
//!
//! ```text
//! fᵢ(x) = ½ (x − cᵢ)ᵀ Aᵢ (x − cᵢ),   cᵢ = u + h zᵢ,   u, zᵢ ~ N(0, I/d)
//! Aᵢ: eigenvalues μᵢ, Lᵢ and between, in a random basis
//! ```
//!
//! h is `heterogeneity`: E|cᵢ − u|² = h².

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;

use motet_core::{ClientId, Documented, Kind, NonNegative, Population, Positive, Precision, Rng, Roster, Seed, Shard, StoreError, Vector};
use serde::{Deserialize, Serialize};

use super::Quadratic;
use crate::dice::{self, Step};
use crate::error::ProblemError;
use crate::on_demand::HELD_CLIENTS;
use crate::source::{Load, Material, Place, affordable, countable_clients};

/// Random quadratics with chosen constants; the distance between minimisers is chosen too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Quadratics {
    /// How many clients.
    pub clients: NonZeroU32,
    /// d: the dimension.
    pub dim: NonZeroU32,
    /// Range of the Lᵢ: [least, most], drawn evenly in the logarithm.
    pub smoothness: [Positive; 2],
    /// Range of the μᵢ: [least, most], drawn evenly in the logarithm, below the range of the Lᵢ.
    pub convexity: [Positive; 2],
    /// h: root mean square distance of the minimisers from their centre.
    pub heterogeneity: NonNegative,
}

impl Kind for Quadratics {
    const NAME: &'static str = "quadratics";
}

/// Reflections that make up a random basis.
const REFLECTIONS: usize = 32;

impl Load for Quadratics {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        self.check()?;
        let dim = self.dim.get() as usize;
        let spread = (dim as f64).sqrt().recip();
        let mut rng = dice::shared(place.seed, Step::Source);
        let shared: Vec<f64> = (0..dim).map(|_| spread * rng.normal()).collect();
        let clients = Clients { of: self.clone(), seed: place.seed, spread, shared };
        let start = Vector::zeros(dim, Precision::F64);
        if self.clients.get() > HELD_CLIENTS {
            return Ok(Material::Population { population: Arc::new(clients), start });
        }
        affordable(&[("clients", self.clients), ("dim", self.dim), ("dim", self.dim)])?;
        Ok(Material::Functions { shards: (0..self.clients.get()).map(|client| clients.make(client)).collect(), start })
    }
}

/// All of them, as a recipe.
struct Clients {
    of: Quadratics,
    seed: Seed,
    spread: f64,
    /// u
    shared: Vec<f64>,
}

impl Clients {
    fn make(&self, client: u32) -> Shard {
        let mut rng = dice::own(self.seed, Step::Source, client as usize);
        let centre = self.shared.iter().map(|u| u + *self.of.heterogeneity * self.spread * rng.normal()).collect();
        let curvature = rotated(&self.of.eigenvalues(&mut rng), &mut rng);
        Shard::new(Arc::new(Quadratic::new(curvature, centre).expect("a rotated diagonal is symmetric")))
    }
}

impl Population for Clients {
    fn roster(&self) -> Roster {
        Roster::Counted(self.of.clients.get())
    }

    fn shard(&self, client: ClientId) -> Result<Cow<'_, Shard>, StoreError> {
        Ok(Cow::Owned(self.make(client.0)))
    }
}

impl Quadratics {
    fn check(&self) -> Result<(), ProblemError> {
        let ([l, most_l], [mu, most_mu]) = (self.smoothness, self.convexity);
        let wrong = |key, value: String, wanted: &str| Err(ProblemError::Value { key, value, wanted: wanted.into() });
        if l > most_l {
            return wrong("source.smoothness", format!("[{l}, {most_l}]"), "the first number must not exceed the second");
        }
        if mu > most_mu {
            return wrong("source.convexity", format!("[{mu}, {most_mu}]"), "the first number must not exceed the second");
        }
        if most_mu > l {
            return wrong("source.convexity", format!("[{mu}, {most_mu}]"), &format!("must not reach above the least smoothness, {l}"));
        }
        countable_clients(Some(self.clients))?;
        affordable(&[("dim", self.dim), ("dim", self.dim)])
    }

    /// μᵢ and Lᵢ, and between them what the dice say; in dimension 1 only Lᵢ.
    fn eigenvalues(&self, rng: &mut Rng) -> Vec<f64> {
        let dim = self.dim.get() as usize;
        let mut between = |low: f64, high: f64| low * (high / low).powf(rng.unit());
        let l = between(*self.smoothness[0], *self.smoothness[1]);
        let mu = between(*self.convexity[0], *self.convexity[1]);
        let mut values = vec![l];
        if dim > 1 {
            values.push(mu);
        }
        values.extend((2..dim).map(|_| between(mu, l)));
        values
    }
}

/// Q diag Qᵀ, row after row, with Q a product of random reflections I − 2 v vᵀ/|v|².
fn rotated(diagonal: &[f64], rng: &mut Rng) -> Vec<f64> {
    let dim = diagonal.len();
    let mut a = vec![0.0; dim * dim];
    for (k, value) in diagonal.iter().enumerate() {
        a[k * dim + k] = *value;
    }
    if dim == 1 {
        return a;
    }
    for _ in 0..REFLECTIONS.min(dim) {
        let v: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        reflect(&mut a, &v);
    }
    // Rounding leaves the two halves a last bit apart.
    for row in 0..dim {
        for col in 0..row {
            a[col * dim + row] = a[row * dim + col];
        }
    }
    a
}

/// A ← H A H with H = I − 2 v vᵀ/|v|²: A − w vᵀ − v wᵀ, where w = β (A v − ½ β (vᵀA v) v), β = 2/|v|².
fn reflect(a: &mut [f64], v: &[f64]) {
    let dim = v.len();
    let beta = 2.0 / v.iter().map(|v| v * v).sum::<f64>();
    let av: Vec<f64> = a.chunks_exact(dim).map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum()).collect();
    let vav: f64 = av.iter().zip(v).map(|(a, v)| a * v).sum();
    let w: Vec<f64> = av.iter().zip(v).map(|(av, v)| beta * (av - 0.5 * beta * vav * v)).collect();
    for (row, out) in a.chunks_exact_mut(dim).enumerate() {
        for (col, out) in out.iter_mut().enumerate() {
            *out -= w[row] * v[col] + v[row] * w[col];
        }
    }
}
