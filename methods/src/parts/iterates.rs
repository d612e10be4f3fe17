//! The server's point, and the average of the points it has been at.

use motet_core::{Vector, wire};

use super::Regime;

wire! {
    /// xᵏ and, where a theorem speaks of it, the average of x¹ … xᵏ.
    pub struct Iterates {
        /// xᵏ
        pub x: Vector,
        /// k
        pub steps: u64,
        average: Option<Vector>,
    }
}

impl Iterates {
    /// At x⁰. The average is kept in the convex regime only.
    pub fn new(x: Vector, regime: Regime) -> Self {
        Self { average: (regime == Regime::Convex).then(|| x.clone()), x, steps: 0 }
    }

    /// x ← x − γ g
    pub fn step(&mut self, step: f64, g: &Vector) {
        self.x.axpy(-step, g);
        self.steps += 1;
        if let Some(average) = &mut self.average {
            *average = Vector::mix(1.0 / self.steps as f64, &self.x, average);
        }
    }

    /// The model to hand out: the average where it is kept, else xᵏ.
    pub fn model(&self) -> &Vector {
        self.average.as_ref().unwrap_or(&self.x)
    }
}
