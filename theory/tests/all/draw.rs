//! Random ensembles.

use motet_core::{Rng, Seed};
use motet_theory::{Ensemble, Theta};

/// How many ensembles each statement is tried on.
pub const ENSEMBLES: u64 = 1000;

/// Some quadratics, a client rate and a number of steps.
pub struct Draw {
    pub functions: Vec<(Vec<f64>, Vec<f64>)>,
    pub ensemble: Ensemble,
    pub gamma: f64,
    pub steps: u32,
    pub rng: Rng,
}

/// Ensemble number k: 2 to 5 clients in dimension 1 to 4, condition numbers to 300, γ < 1/L with every order of
/// magnitude down to 1e-4/L, K to 60.
pub fn draw(k: u64) -> Draw {
    let mut rng = Seed(k).problem(0);
    let (clients, dim) = (2 + rng.below(4), 1 + rng.below(4));
    let (least, condition) = (10f64.powf(2.0 * rng.unit() - 1.0), 10f64.powf(2.5 * rng.unit()));
    // Some ensembles differ in curvature alone, some hardly at all: bounds are tight at the edges.
    let spread = 10f64.powf(2.0 * rng.unit() - 1.0);
    let functions: Vec<(Vec<f64>, Vec<f64>)> =
        (0..clients).map(|_| (curvature(&mut rng, dim, least, condition), (0..dim).map(|_| spread * rng.normal()).collect())).collect();
    let ensemble = Ensemble::new(functions.clone()).unwrap();
    let share = if rng.coin(0.5) { rng.unit() } else { 10f64.powf(-4.0 * rng.unit()) };
    let gamma = 0.999 * share / ensemble.scales().smoothness;
    let most = [3, 10, 60][rng.below(3)];
    let steps = 1 + rng.below(most) as u32;
    Draw { functions, ensemble, gamma, steps, rng }
}

pub fn all() -> impl Iterator<Item = Draw> {
    (0..ENSEMBLES).map(draw)
}

/// V diag(λ) Vᵀ with a random reflection V, eigenvalues between `least` and `least`·`condition`.
fn curvature(rng: &mut Rng, dim: usize, least: f64, condition: f64) -> Vec<f64> {
    let values: Vec<f64> = (0..dim).map(|_| least * condition.powf(rng.unit())).collect();
    let v: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
    let norm2: f64 = v.iter().map(|v| v * v).sum();
    let h = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / norm2;
    let mut a = vec![0.0; dim * dim];
    for i in 0..dim {
        for j in 0..=i {
            let entry: f64 = (0..dim).map(|k| h(i, k) * values[k] * h(j, k)).sum();
            (a[i * dim + j], a[j * dim + i]) = (entry, entry);
        }
    }
    a
}

impl Draw {
    pub fn point(&mut self, scale: f64) -> Vec<f64> {
        (0..self.ensemble.dim()).map(|_| scale * self.rng.normal()).collect()
    }

    /// Weights that are not negative, some of them zero, not all.
    pub fn theta(&mut self) -> Theta {
        let mut weights: Vec<f64> = (0..1 + self.rng.below(8)).map(|_| if self.rng.coin(0.3) { 0.0 } else { self.rng.unit() }).collect();
        weights[0] += 0.01;
        Theta::given(weights)
    }
}

/// `ours` is at most `bound`, up to rounding of quantities of size `scale`.
pub fn within(ours: f64, bound: f64, scale: f64, what: &str) {
    assert!(ours <= bound * (1.0 + 1e-9) + 1e-12 * scale, "{what}: {ours:e} is above {bound:e}");
}

pub fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0), "{ours} is not {theirs}");
}

/// A with c.
pub fn q2() -> Ensemble {
    Ensemble::new([(vec![1.0], vec![1.0]), (vec![2.0], vec![0.5])]).unwrap()
}

pub fn q2s() -> Ensemble {
    Ensemble::new([(vec![1.0], vec![-1.0]), (vec![2.0], vec![1.0])]).unwrap()
}
