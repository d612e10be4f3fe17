//! Random problems for the propositions: condition numbers to 1e4, unequal α, some of them 0.

use std::sync::Arc;

use motet_core::{Objective, Rng, Seed, Vector};
use motet_problems::synthetic::Quadratic;
use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};

use super::{Clients, Lab};

/// How many problems each proposition is tried on.
pub const PROBLEMS: u64 = 100;

/// A problem, an αᵢ for each of its clients, and dice for the rest.
pub struct Draw {
    pub lab: Lab,
    pub alpha: Vec<f64>,
    pub rng: Rng,
    pub name: String,
}

/// Problem number k: quadratics and logistic regressions in turn.
pub fn draw(k: u64) -> Draw {
    let mut rng = Seed(k).problem(0);
    let (clients, dim) = (1 + rng.below(6), 1 + rng.below(6));
    let functions = if k.is_multiple_of(2) { quadratics(&mut rng, clients, dim) } else { logistic(&mut rng, clients, dim) };
    let mut alpha: Vec<f64> = (0..clients).map(|_| if rng.coin(0.2) { 0.0 } else { rng.unit() }).collect();
    if alpha.iter().all(|&a| a == 0.0) {
        alpha[0] = 1.0;
    }
    Draw { lab: Lab::new(functions), alpha, rng, name: format!("problem {k}: {clients} clients in dimension {dim}") }
}

/// A point a few units from 0.
pub fn point(rng: &mut Rng, dim: usize) -> Vector {
    Vector::from((0..dim).map(|_| 3.0 * rng.normal()).collect::<Vec<_>>())
}

pub fn quadratics(rng: &mut Rng, clients: usize, dim: usize) -> Clients {
    (0..clients).map(|_| Arc::new(quadratic(rng, dim)) as Arc<dyn Objective>).collect()
}

/// ½ (x − c)ᵀ A (x − c) with eigenvalues of A from 0.01..1 to up to 1e4 times that, in random directions.
pub fn quadratic(rng: &mut Rng, dim: usize) -> Quadratic {
    let (least, condition) = (10f64.powf(-2.0 * rng.unit()), 10f64.powf(4.0 * rng.unit()));
    let spread = |k: usize, u: f64| {
        if k == 0 {
            0.0
        } else if k == 1 {
            1.0
        } else {
            u
        }
    };
    let eigenvalues: Vec<f64> = (0..dim).map(|k| least * condition.powf(spread(k, rng.unit()))).collect();
    // A = H diag(λ) H with a reflection H = I − 2vvᵀ/|v|².
    let v: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
    let norm2: f64 = v.iter().map(|v| v * v).sum();
    let h = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / norm2;
    let mut a = vec![0.0; dim * dim];
    for i in 0..dim {
        for j in 0..=i {
            let entry: f64 = (0..dim).map(|k| h(i, k) * eigenvalues[k] * h(j, k)).sum();
            (a[i * dim + j], a[j * dim + i]) = (entry, entry);
        }
    }
    Quadratic::new(a, (0..dim).map(|_| rng.normal()).collect()).unwrap()
}

/// Logistic regressions whose clients see different features and different weights; λ from 1e-3 to 0.1.
pub fn logistic(rng: &mut Rng, clients: usize, dim: usize) -> Clients {
    let rows = 3 + rng.below(15);
    let (mut values, mut labels) = (vec![], vec![]);
    for _ in 0..clients {
        let (shift, weights, scale) = (rng.normal(), point(rng, dim), 10f64.powf(rng.unit() - 0.5));
        for _ in 0..rows {
            let features: Vec<f64> = (0..dim).map(|_| scale * (rng.normal() + shift)).collect();
            let score: f64 = features.iter().zip(weights.f64s()).map(|(a, w)| a * w).sum();
            labels.push(u32::from(score + rng.normal() > 0.0));
            values.extend(features);
        }
    }
    let features = Matrix::dense(dim, values).unwrap();
    let data = Arc::new(Examples::new(Dataset::new(features, Targets::Classes { labels, classes: 2 })).unwrap());
    let model = serde_json::json!({ "kind": "logistic", "l2": 10f64.powf(-1.0 - 2.0 * rng.unit()) });
    let model: ModelConfig = serde_json::from_value(model).unwrap();
    (0..clients).map(|i| model.objective(&data, i * rows..(i + 1) * rows).unwrap()).collect()
}

/// Problem number k of those that are convex and no more: every second one is flat along one direction.
pub fn draw_convex(k: u64) -> Draw {
    if !k.is_multiple_of(2) {
        return draw(k);
    }
    let mut rng = Seed(k).problem(4);
    let (clients, dim) = (1 + rng.below(6), 2 + rng.below(5));
    let flat = |rng: &mut Rng| {
        let bends: Vec<f64> = (0..dim).map(|l| if l == 0 { 0.0 } else { 10f64.powf(4.0 * rng.unit() - 2.0) }).collect();
        Quadratic::diagonal(&bends, (0..dim).map(|_| rng.normal()).collect()).unwrap()
    };
    let functions = (0..clients).map(|_| Arc::new(flat(&mut rng)) as Arc<dyn Objective>).collect();
    let alpha = (0..clients).map(|_| 0.05 + 0.95 * rng.unit()).collect();
    Draw { lab: Lab::new(functions), alpha, rng, name: format!("flat problem {k}: {clients} clients in dimension {dim}") }
}
