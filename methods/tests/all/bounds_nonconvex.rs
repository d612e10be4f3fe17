//! FLIX Theorems 8 and 9 and Corollaries 5 and 6, in their corrected form, on a hundred random problems each that are
//! smooth and not convex. All functions are at least 0, which stands for the minima the theorems subtract.

use crate::lab::Lab;
use crate::lab::random::{PROBLEMS, point};
use crate::lab::rough::rough;
use motet_core::{Row, Vector};
use motet_methods::dcgd::Dcgd;
use motet_methods::diana::Diana;
use serde_json::{Value, json};

const ROUNDS: u64 = 30;

fn method<M: serde::de::DeserializeOwned>(alpha: &[f64], more: &Value) -> M {
    let mut params = json!({
        "alpha": { "per_client": alpha }, "start": "model", "regime": "non-convex",
        "solve": { "kind": "gd", "to": 1e-6, "steps": 100_000 },
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(params).unwrap()
}

fn smoothness(lab: &Lab) -> Vec<f64> {
    lab.constants().iter().map(|c| c.smoothness.unwrap()).collect()
}

fn average(of: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = of.len() as f64;
    of.sum::<f64>() / n
}

fn gradient(row: &Row) -> f64 {
    row.metrics["grad_norm2"]
}

/// F(x⁰) for each of these equal α, and the largest of them: Δ₀.
fn largest_start(lab: &Lab, alphas: &[f64], x: &Vector) -> f64 {
    let value = |alpha: f64| {
        let method: Dcgd = method(&vec![alpha; lab.clients.len()], &json!({ "compressor": { "kind": "identity" } }));
        average(lab.scores(&method, x).iter().map(|s| s.loss))
    };
    alphas.iter().map(|&a| value(a)).fold(0.0, f64::max)
}

/// The smallest mean of the rounds before k is at most the bound, for every k.
fn some_gradient_is_small(lab: &Lab, method: &Dcgd, start: &Vector, name: &str, bound: impl Fn(f64) -> f64) {
    let walks = lab.walks(method, start, ROUNDS, None);
    let mut least = f64::INFINITY;
    for k in 1..=ROUNDS as usize {
        least = least.min(walks.at(k - 1, gradient));
        assert!(least <= bound(k as f64) * (1.0 + 1e-9) + 1e-13, "{name}, round {k}: {least:e} is above {:e}", bound(k as f64));
    }
}

#[test]
fn theorem_8_some_gradient_of_dcgd_is_small() {
    for k in 0..PROBLEMS {
        let (lab, mut rng, name) = rough(k);
        let (n, dim) = (lab.clients.len(), lab.dim());
        let alpha: Vec<f64> = (0..n).map(|_| 0.05 + 0.95 * rng.unit()).collect();
        let start = point(&mut rng, dim);
        let kept = |i: usize| 1 + i % dim;
        let list: Vec<Value> = (0..n).map(|i| json!({ "kind": "rand-k", "k": kept(i) })).collect();
        let bends: Vec<f64> = smoothness(&lab).iter().zip(&alpha).map(|(l, a)| a * a * l).collect();
        let mean = average(bends.iter().copied());
        let noise = (0..n).map(|i| bends[i] * (dim as f64 / kept(i) as f64 - 1.0)).fold(0.0, f64::max) / n as f64;
        for shorter in [1.0, 0.3] {
            let step = shorter / mean;
            let method: Dcgd = if shorter == 1.0 {
                method(&alpha, &json!({ "compressor": list }))
            } else {
                method(&alpha, &json!({ "compressor": list, "step": step }))
            };
            let (rows, trained) = lab.walk(&method, &start, 0, None, 0);
            assert!((trained.server.step / step - 1.0).abs() < 1e-12, "{name}");
            let value = rows[0].metrics["loss"];
            // Without the factor 2 that the paper prints beside the noise.
            some_gradient_is_small(&lab, &method, &start, &name, |k| 2.0 * (1.0 + mean * step * step * noise).powf(k) * value / (step * k));
        }
    }
}

#[test]
fn corollary_5_gradients_of_dcgd_fall_with_the_square_of_alpha() {
    for k in 0..PROBLEMS {
        let (lab, mut rng, name) = rough(k);
        let (n, dim) = (lab.clients.len(), lab.dim());
        let (alpha, start, kept) = (0.05 + 0.95 * rng.unit(), point(&mut rng, dim), 1 + k as usize % dim);
        let method: Dcgd = method(&vec![alpha; n], &json!({ "compressor": { "kind": "rand-k", "k": kept } }));
        let l = smoothness(&lab);
        let (mean, omega) = (average(l.iter().copied()), dim as f64 / kept as f64 - 1.0);
        let noise = omega * l.iter().copied().fold(0.0, f64::max) / n as f64;
        let first = largest_start(&lab, &[alpha, 0.25, 0.5, 0.75, 1.0], &start);
        some_gradient_is_small(&lab, &method, &start, &name, |k| {
            alpha * alpha * 2.0 * (1.0 + noise / mean).powf(k) * mean / k * first // γ₀ = 1/L̄
        });
    }
}

/// γ of Theorem 9 with Lq where the paper prints Lα (F13).
fn diana_step(lq: f64, omega: f64, n: f64) -> f64 {
    let noise = omega * (1.0 + omega) * (1.0 + 2.0 * (1.0 + omega)) / n;
    (0.5 / noise.sqrt()).min(2.0 / ((1.0 + 8.0 * noise).sqrt() + 1.0)) / lq
}

#[test]
fn theorem_9_gradients_of_diana_are_small_on_average() {
    for k in 0..PROBLEMS {
        let (lab, mut rng, name) = rough(k);
        let (n, dim) = (lab.clients.len(), lab.dim());
        let alpha: Vec<f64> = (0..n).map(|_| 0.05 + 0.95 * rng.unit()).collect();
        let (start, kept) = (point(&mut rng, dim), 1 + k as usize % dim);
        let compressor = json!({ "kind": "rand-k", "k": kept });
        let method: Diana = method(&alpha, &json!({ "compressor": compressor, "h0": "gradients" }));
        let lq = average(smoothness(&lab).iter().zip(&alpha).map(|(l, a)| (a * a * l).powi(2))).sqrt();
        let step = diana_step(lq, dim as f64 / kept as f64 - 1.0, n as f64);
        let (rows, trained) = lab.walk(&method, &start, 0, None, 0);
        assert!((trained.server.step / step - 1.0).abs() < 1e-12, "{name}");
        let value = rows[0].metrics["loss"];
        let walks = lab.walks(&method, &start, ROUNDS, None);
        for k in 1..=ROUNDS as usize {
            let bound = 2.0 * value / (step * k as f64);
            let seen = walks.average(k, gradient);
            assert!(seen <= bound * (1.0 + 1e-9) + 1e-13, "{name}, round {k}: {seen:e} is above {bound:e}");
        }
    }
}

#[test]
fn corollary_6_gradients_of_diana_fall_with_the_square_of_alpha() {
    for k in 0..PROBLEMS {
        let (lab, mut rng, name) = rough(k);
        let (n, dim) = (lab.clients.len(), lab.dim());
        let (alpha, start, kept) = (0.05 + 0.95 * rng.unit(), point(&mut rng, dim), 1 + k as usize % dim);
        let compressor = json!({ "kind": "rand-k", "k": kept });
        let method: Diana = method(&vec![alpha; n], &json!({ "compressor": compressor, "h0": "gradients" }));
        let root = average(smoothness(&lab).iter().map(|l| l * l)).sqrt();
        let step = diana_step(root, dim as f64 / kept as f64 - 1.0, n as f64); // γ₀, by F13
        let first = largest_start(&lab, &[alpha, 0.25, 0.5, 0.75, 1.0], &start);
        let walks = lab.walks(&method, &start, ROUNDS, None);
        for k in 1..=ROUNDS as usize {
            let bound = alpha * alpha * 2.0 / (step * k as f64) * first;
            let seen = walks.average(k, gradient);
            assert!(seen <= bound * (1.0 + 1e-9) + 1e-13, "{name}, round {k}: {seen:e} is above {bound:e}");
        }
    }
}
