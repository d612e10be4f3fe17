//! FLIX Propositions 1 to 3 and Theorem 2, corrected as the specification says, on a hundred random problems each.

use crate::lab::random::{Draw, PROBLEMS, draw, point, quadratic, quadratics};
use crate::lab::{Lab, flix, mean, variance};
use motet_core::{Batch, Facts, Objective, Seed, Study, Vector};
use motet_methods::flix::Flix;

const ROUNDS: u64 = 60;

/// What rounding may add to a difference of sums of this size: a few hundred units in the last place.
fn rounding(size: f64) -> f64 {
    1e-13 * (1.0 + size)
}

/// Measured gaps lie below initial·factorᵏ in every round.
fn below(name: &str, gaps: &[f64], initial: f64, factor: f64, size: f64) {
    assert_eq!(gaps.len() as u64, ROUNDS + 1);
    for (k, gap) in gaps.iter().enumerate() {
        let bound = initial * factor.powi(k as i32);
        assert!(*gap <= bound * (1.0 + 1e-10) + rounding(size), "{name}: gap {gap:e} above {bound:e} in round {k}");
    }
}

#[test]
fn theorem_2_holds_from_the_one_shot_average() {
    for k in 0..PROBLEMS {
        let Draw { lab, alpha, name, .. } = draw(k);
        let method = flix(&alpha, "one-shot");
        let (smoothness, convexity) = lab.mixed_constants(&alpha);
        let (average, anchors) = (lab.iterate(&method, 0), lab.anchors(&method));
        // V = Σ wᵢ |xᵢ* − x_avg|², wᵢ = αᵢ² Lᵢ / (n Lα)
        let weight = |i: usize| alpha[i].powi(2) * lab.clients[i].constants().smoothness.unwrap() / (alpha.len() as f64 * smoothness);
        let spread: f64 = anchors.iter().enumerate().map(|(i, x)| weight(i) * x.distance2(&average)).sum();
        let size = lab.optimum(&method).value + smoothness * spread;
        below(&name, &lab.gaps(&method, lab.zeros(), ROUNDS), smoothness * spread / 2.0, 1.0 - convexity / smoothness, size);
    }
}

#[test]
fn theorem_2_holds_from_any_start() {
    for k in 0..PROBLEMS {
        let Draw { lab, alpha, mut rng, name } = draw(k);
        let (method, start) = (flix(&alpha, "model"), point(&mut rng, lab.dim()));
        let (smoothness, convexity) = lab.mixed_constants(&alpha);
        let gaps = lab.gaps(&method, start, ROUNDS);
        below(&name, &gaps, gaps[0], 1.0 - convexity / smoothness, gaps[0] + lab.optimum(&method).value);
    }
}

#[test]
fn theorem_2_holds_for_shorter_steps_as_the_method_promises() {
    for k in 0..PROBLEMS {
        let Draw { lab, alpha, mut rng, name } = draw(k);
        let start = point(&mut rng, lab.dim());
        let step = (0.05 + 0.95 * rng.unit()) / lab.mixed_constants(&alpha).0;
        let method = Flix { step: motet_core::Rate::Given(step.try_into().unwrap()), ..flix(&alpha, "model") };
        let constants = lab.constants();
        let (l, m): (Vec<_>, Vec<_>) = constants.iter().map(|c| (c.smoothness.unwrap(), c.convexity.unwrap())).unzip();
        let promise = method.promise(&Facts::new(&l, &m, lab.dim())).unwrap();
        let gaps = lab.gaps(&method, start, ROUNDS);
        below(&name, &gaps, gaps[0], promise.factor, gaps[0] + lab.optimum(&method).value);
    }
}

/// F(x) and ∇F(x), as the engine measures them.
fn value_and_gradient(lab: &Lab, method: &Flix, x: &Vector) -> (f64, Vector) {
    let scores = lab.scores(method, x);
    let value = scores.iter().map(|s| s.loss).sum::<f64>() / scores.len() as f64;
    (value, mean(&scores.into_iter().map(|s| s.gradient.unwrap()).collect::<Vec<_>>()))
}

#[test]
fn proposition_2_the_mixture_is_as_smooth_and_as_convex_as_its_constants_say() {
    for k in 0..PROBLEMS {
        let Draw { lab, alpha, mut rng, name } = draw(k);
        let method = flix(&alpha, "model");
        let (smoothness, convexity) = lab.mixed_constants(&alpha);
        for _ in 0..10 {
            let (x, y) = (point(&mut rng, lab.dim()), point(&mut rng, lab.dim()));
            let ((fx, gx), (fy, gy)) = (value_and_gradient(&lab, &method, &x), value_and_gradient(&lab, &method, &y));
            let (apart, slope) = (x.distance2(&y), gx.dot(&Vector::diff(&y, &x)));
            // D(y, x) = F(y) − F(x) − ⟨∇F(x), y − x⟩ lies between μα/2 |y − x|² and Lα/2 |y − x|².
            let (divergence, slack) = (fy - fx - slope, rounding(fx + fy + slope.abs()));
            assert!(divergence <= smoothness / 2.0 * apart * (1.0 + 1e-10) + slack, "{name}: not smooth");
            assert!(divergence >= convexity / 2.0 * apart * (1.0 - 1e-10) - slack, "{name}: not convex");
            let bend = gx.distance2(&gy).sqrt();
            assert!(bend <= smoothness * apart.sqrt() * (1.0 + 1e-10) + rounding(gx.norm() + gy.norm()), "{name}: gradients jump");
        }
    }
}

#[test]
fn proposition_2_the_condition_number_does_not_depend_on_an_equal_alpha() {
    for k in 0..PROBLEMS {
        let Draw { lab, name, .. } = draw(k);
        let condition = |alpha: f64| {
            let (smoothness, convexity) = lab.mixed_constants(&vec![alpha; lab.clients.len()]);
            smoothness / convexity
        };
        for alpha in [0.01, 0.3, 0.9] {
            assert!((condition(alpha) / condition(1.0) - 1.0).abs() < 1e-13, "{name}");
        }
    }
}

#[test]
fn proposition_3_deployed_models_vary_by_the_square_of_what_is_kept() {
    for k in 0..PROBLEMS {
        let Draw { lab, mut rng, name, .. } = draw(k);
        let (alpha, x) = (rng.unit(), point(&mut rng, lab.dim()));
        let method = flix(&vec![alpha; lab.clients.len()], "model");
        let (deployed, kept) = (variance(&lab.deployed(&method, &x)), variance(&lab.anchors(&method)));
        let expected = (1.0 - alpha).powi(2) * kept;
        assert!((deployed - expected).abs() <= 1e-12 * (kept + x.norm2()), "{name}: {deployed} is not {expected}");
    }
}

/// Row-major product of two d × d matrices.
fn product(a: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
    (0..dim * dim).map(|at| (0..dim).map(|k| a[at / dim * dim + k] * b[k * dim + at % dim]).sum()).collect()
}

#[test]
fn proposition_1_fine_tuning_a_quadratic_is_a_mixture_with_a_matrix() {
    for k in 0..PROBLEMS {
        let mut rng = Seed(k).problem(1);
        let dim = 1 + rng.below(6);
        let f = quadratic(&mut rng, dim);
        let (steps, step) = (rng.below(30), rng.unit() / f.constants().smoothness.unwrap());
        let start = point(&mut rng, dim);
        let mut tuned = start.clone();
        for _ in 0..steps {
            let mut g = tuned.zeros_like();
            f.gradient(&tuned, Batch::all(), &mut g);
            tuned.axpy(-step, &g);
        }
        // x^H = (I − J^H) x* + J^H x⁰, J = I − sA.
        let identity = |at: usize| f64::from(u8::from(at / dim == at % dim));
        let j: Vec<f64> = (0..dim * dim).map(|at| identity(at) - step * f.curvature()[at]).collect();
        let power = (0..steps).fold((0..dim * dim).map(identity).collect::<Vec<_>>(), |p, _| product(&p, &j, dim));
        for row in 0..dim {
            let moved: f64 = (0..dim).map(|col| power[row * dim + col] * (start.at(col) - f.centre()[col])).sum();
            let expected = f.centre()[row] + moved;
            assert!((tuned.at(row) - expected).abs() <= 1e-12 * (1.0 + start.norm()), "problem {k}, coordinate {row}");
        }
    }
}

#[test]
fn proposition_1_with_round_bowls_fine_tuning_is_what_flix_deploys() {
    for k in 0..PROBLEMS {
        // In one dimension J is a number, so that H steps from x are the FLIX mixture with αᵢ = (1 − s Lᵢ)^H.
        let mut rng = Seed(k).problem(2);
        let lab = Lab::new(quadratics(&mut rng, 4, 1));
        let steps = 1 + rng.below(10) as i32;
        let fastest = lab.constants().iter().map(|c| c.smoothness.unwrap()).fold(0.0, f64::max);
        let (step, x) = (rng.unit() / fastest, point(&mut rng, 1));
        let alpha: Vec<f64> = lab.constants().iter().map(|c| (1.0 - step * c.smoothness.unwrap()).powi(steps)).collect();
        for (f, deployed) in lab.clients.iter().zip(lab.deployed(&flix(&alpha, "model"), &x)) {
            let mut tuned = x.clone();
            for _ in 0..steps {
                let mut g = tuned.zeros_like();
                f.gradient(&tuned, Batch::all(), &mut g);
                tuned.axpy(-step, &g);
            }
            assert!((tuned.at(0) - deployed.at(0)).abs() <= 1e-12 * (1.0 + x.norm()), "problem {k}");
        }
    }
}
