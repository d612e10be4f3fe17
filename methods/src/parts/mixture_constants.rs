//! The constants of F = 1/n Σ fᵢ(αᵢ x + (1 − αᵢ) xᵢ*), for what theorems promise.

use motet_core::{ClientId, Facts, Positive, Promise, Rate};

use super::Curvatures;

/// What theory knows of F.
#[derive(Clone, Debug, PartialEq)]
pub struct MixtureConstants {
    /// Lα = 1/n Σ αᵢ² Lᵢ
    pub smoothness: f64,
    /// μα = 1/n Σ αᵢ² μᵢ
    pub convexity: f64,
    /// 1/n Σ αᵢ²: times |x − y|² it is the metric `distance` of x and y.
    pub squares: f64,
    /// αᵢ² Lᵢ of those who share.
    pub curvatures: Curvatures,
}

impl MixtureConstants {
    /// From the constants of the clients.
    pub fn new(facts: &Facts<'_>, share: impl Fn(ClientId) -> f64) -> Self {
        let square = |id| share(id) * share(id);
        let bend = |id: ClientId| square(id) * facts.smoothness[id.0 as usize];
        let ids = (0..facts.smoothness.len() as u32).map(ClientId);
        Self {
            smoothness: facts.mean(|id, _| bend(id)),
            convexity: facts.mean(|id, i| square(id) * facts.convexity[i]),
            squares: facts.mean(|id, _| square(id)),
            curvatures: Curvatures {
                clients: facts.smoothness.len() as f64,
                each: ids.filter(|&id| share(id) > 0.0).map(|id| (id, bend(id))).collect(),
            },
        }
    }

    /// Gradient descent with γ ≤ 1/Lα: the gap falls by 1 − γ μα in every round.
    pub fn descent(&self, step: Rate<Positive>, source: &str) -> Option<Promise> {
        let step = match step {
            Rate::Theory => 1.0 / self.smoothness,
            Rate::Given(step) => *step,
        };
        (self.convexity > 0.0 && step * self.smoothness <= 1.0 + 1e-12).then(|| Promise {
            metric: "gap".into(),
            factor: 1.0 - step * self.convexity,
            source: source.into(),
            ..Promise::default()
        })
    }

    /// The weight of the measured distance in Lα/2 |x⁰ − x^α|², which bounds the gap of x⁰.
    pub fn gap_of_distance(&self) -> f64 {
        self.smoothness / 2.0 / self.squares
    }
}
