//! Smooth functions that are not convex, with their constants and a lower bound on their values.

use std::sync::Arc;

use motet_core::{Batch, Constants, Objective, Rng, Seed, Vector};

use super::random::{logistic, point};
use super::{Clients, Lab};

/// Problem number k: rippled bowls and logistic regressions with a bounded regulariser in turn. All values are at least
/// 0, and the bowls reach it.
pub fn rough(k: u64) -> (Lab, Rng, String) {
    let mut rng = Seed(k).problem(3);
    let (clients, dim) = (1 + rng.below(6), 1 + rng.below(6));
    let functions: Clients = if k.is_multiple_of(2) {
        (0..clients).map(|_| Arc::new(Rippled::draw(&mut rng, dim)) as Arc<dyn Objective>).collect()
    } else {
        let weight = 10f64.powf(-2.0 * rng.unit());
        let bounded = |smooth| Arc::new(Bounded { smooth, weight }) as Arc<dyn Objective>;
        logistic(&mut rng, clients, dim).into_iter().map(bounded).collect()
    };
    (Lab::new(functions), rng, format!("rough problem {k}: {clients} clients in dimension {dim}"))
}

/// Σ aₗ/2 yₗ² + bₗ (1 − cos(wₗ yₗ)), y = H(x − c) with a reflection H: least at c, where it is 0; its second
/// derivatives lie between aₗ − bₗ wₗ² and aₗ + bₗ wₗ².
struct Rippled {
    /// aₗ, bₗ, wₗ
    terms: Vec<[f64; 3]>,
    centre: Vector,
    /// v of H = I − 2vvᵀ/|v|²
    mirror: Vector,
}

impl Rippled {
    fn draw(rng: &mut Rng, dim: usize) -> Self {
        let term = |rng: &mut Rng| [10f64.powf(-2.0 * rng.unit()), rng.unit(), 0.5 + 2.0 * rng.unit()];
        Self { terms: (0..dim).map(|_| term(rng)).collect(), centre: point(rng, dim), mirror: point(rng, dim) }
    }

    /// H v
    fn reflect(&self, v: &Vector) -> Vector {
        let mut out = v.clone();
        out.axpy(-2.0 * self.mirror.dot(v) / self.mirror.norm2(), &self.mirror);
        out
    }

    fn turned(&self, x: &Vector) -> Vector {
        self.reflect(&Vector::diff(x, &self.centre))
    }
}

impl Objective for Rippled {
    fn dim(&self) -> usize {
        self.terms.len()
    }
    fn samples(&self) -> usize {
        1
    }
    fn value(&self, x: &Vector, _: Batch<'_>) -> f64 {
        let y = self.turned(x);
        self.terms.iter().zip(y.f64s()).map(|([a, b, w], y)| a / 2.0 * y * y + b * (1.0 - (w * y).cos())).sum()
    }
    fn gradient(&self, x: &Vector, _: Batch<'_>, g: &mut Vector) {
        let y = self.turned(x);
        let slopes: Vec<f64> = self.terms.iter().zip(y.f64s()).map(|([a, b, w], y)| a * y + b * w * (w * y).sin()).collect();
        g.copy_from(&self.reflect(&Vector::from(slopes)));
    }
    fn constants(&self) -> Constants {
        let smoothness = self.terms.iter().map(|[a, b, w]| a + b * w * w).fold(0.0, f64::max);
        Constants { smoothness: Some(smoothness), ..Constants::default() }
    }
}

/// f(x) + λ Σ xₗ²/(1 + xₗ²): the second derivatives of the added part lie between −λ/2 and 2λ.
struct Bounded {
    smooth: Arc<dyn Objective>,
    /// λ
    weight: f64,
}

impl Objective for Bounded {
    fn dim(&self) -> usize {
        self.smooth.dim()
    }
    fn samples(&self) -> usize {
        self.smooth.samples()
    }
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        self.smooth.value(x, batch) + self.weight * x.f64s().iter().map(|x| x * x / (1.0 + x * x)).sum::<f64>()
    }
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        self.smooth.gradient(x, batch, g);
        let weight = self.weight;
        g.f64s_mut().iter_mut().zip(x.f64s()).for_each(|(g, x)| *g += weight * 2.0 * x / (1.0 + x * x).powi(2));
    }
    fn constants(&self) -> Constants {
        Constants { smoothness: self.smooth.constants().smoothness.map(|l| l + 2.0 * self.weight), ..Constants::default() }
    }
}
