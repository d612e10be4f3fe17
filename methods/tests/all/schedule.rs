//! Rates that change: their values, and the theorems they come from.

use std::sync::Arc;

use crate::lab::{Lab, close};
use crate::local_update::method;
use motet_core::{NonNegative, Objective, Plan, Rng, Row, Seed, Vector};
use motet_methods::local_update::{LocalUpdate, phi};
use motet_methods::parts::Schedule;
use motet_problems::synthetic::Quadratic;
use motet_problems::synthetic::formula::{q2, q2s};
use serde_json::{Value, json};

fn schedule(text: Value) -> Schedule<NonNegative> {
    serde_json::from_value(text).unwrap()
}

#[test]
fn schedules_have_the_values_of_their_formulas() {
    let at = |text: Value, t: u64| {
        let schedule = schedule(text);
        *schedule.given().unwrap() * schedule.shape.at(t, f64::NAN)
    };
    close(at(json!(0.3), 17), 0.3);
    let inverse = json!({ "kind": "inverse", "start": 0.3, "after": 10 });
    close(at(inverse.clone(), 0), 0.3);
    close(at(inverse, 20), 0.1);
    let stairs = json!({ "kind": "staircase", "start": 0.8, "every": 5, "factor": 0.5 });
    assert_eq!([0, 4, 5, 14].map(|t| at(stairs.clone(), t)), [0.8, 0.8, 0.4, 0.2]);
    let wave = |last: f64| json!({ "kind": "cosine", "start": 2, "rounds": 7, "last": last });
    for t in 0..=9u64 {
        let cosine = (std::f64::consts::PI * t.min(7) as f64 / 7.0).cos();
        close(at(wave(0.0), t), 1.0 + cosine);
        close(at(wave(0.1), t), 0.2 + 0.9 * (1.0 + cosine));
    }
}

#[test]
fn schedules_come_back_as_they_were_written() {
    for text in [
        json!(0.5),
        json!("theory"),
        json!({ "kind": "inverse", "start": "theory" }),
        json!({ "kind": "inverse", "start": 0.5, "after": 3.0 }),
        json!({ "kind": "staircase", "start": 0.5, "every": 3, "factor": 0.1 }),
        json!({ "kind": "cosine", "start": 0.5, "rounds": 3, "last": 0.0 }),
    ] {
        assert_eq!(serde_json::to_value(schedule(text.clone())).unwrap(), text);
    }
}

fn run(lab: &Lab, settings: Value, rounds: u64) -> (Vec<Row>, Vector) {
    let (rows, trained) = lab.run(&method::<LocalUpdate>(settings), lab.zeros(), &Plan::new(rounds, Seed(1)));
    (rows, trained.server.x)
}

#[test]
fn rates_of_a_run_follow_their_schedules() {
    let stairs = json!({ "kind": "staircase", "start": 0.4, "every": 2, "factor": 0.5 });
    let wave = json!({ "kind": "cosine", "start": 0.2, "rounds": 4 });
    let (rows, _) = run(&Lab::new(q2()), json!({ "gamma": stairs, "eta": wave, "steps": 2 }), 5);
    let noted = |name: &str| rows[1..].iter().map(|row| row.notes[name]).collect::<Vec<_>>();
    assert_eq!(noted("gamma"), [0.4, 0.4, 0.2, 0.2, 0.1]);
    for (ours, theirs) in noted("eta").into_iter().zip([1.0, 0.8535533905932737, 0.5, 0.14644660940672627, 0.0]) {
        close(ours, 0.2 * theirs);
    }
    // An optimiser's step follows its schedule too: two plain steps, the second of half the size.
    let halving = json!({ "kind": "sgd", "step": { "kind": "staircase", "start": 0.1, "every": 1, "factor": 0.5 } });
    let (_, x) = run(&Lab::new(q2()), json!({ "gamma": 0, "optimiser": halving }), 2);
    let first = 0.1 * 1.0;
    close(x.at(0), first + 0.05 * (1.0 - 1.5 * first));
}

/// Diagonal quadratics with μ and L among their curvatures, whose surrogate has a minimiser by coordinate.
struct Draw {
    lab: Lab,
    curvatures: Vec<Vec<f64>>,
    centres: Vec<Vec<f64>>,
    least: f64,
    most: f64,
}

fn draw(rng: &mut Rng) -> Draw {
    let (clients, dim) = (1 + rng.below(4), 1 + rng.below(3));
    let (least, most) = (0.2 + rng.unit(), 1.5 + 3.0 * rng.unit());
    let mut curvatures: Vec<Vec<f64>> = (0..clients).map(|_| (0..dim).map(|_| least + (most - least) * rng.unit()).collect()).collect();
    (curvatures[0][0], curvatures[clients - 1][dim - 1]) = (least, most);
    let least = curvatures.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let centres: Vec<Vec<f64>> = (0..clients).map(|_| (0..dim).map(|_| 3.0 * rng.normal()).collect()).collect();
    let client = |i: usize| Arc::new(Quadratic::diagonal(&curvatures[i], centres[i].clone()).unwrap()) as Arc<dyn Objective>;
    let lab = Lab::new((0..clients).map(client).collect());
    Draw { lab, curvatures, centres, least, most }
}

impl Draw {
    /// x*(γ, Θ_{1:K})
    fn surrogate(&self, gamma: f64, steps: u32) -> Vector {
        let coordinate = |l: usize| {
            let weights: Vec<f64> = self.curvatures.iter().map(|a| phi(steps, a[l], gamma)).collect();
            self.centres.iter().zip(&weights).map(|(c, w)| c[l] * w).sum::<f64>() / weights.iter().sum::<f64>()
        };
        Vector::from((0..self.centres[0].len()).map(coordinate).collect::<Vec<_>>())
    }
}

#[test]
fn theorem_26_the_error_to_the_surrogate_minimiser_falls_at_its_rate() {
    for seed in 0..60 {
        let mut rng = Seed(seed).problem(3);
        let problem = draw(&mut rng);
        let (steps, gamma) = (1 + rng.below(12) as u32, 0.95 * rng.unit() / problem.most);
        let (least, most) = (phi(steps, problem.least, gamma), phi(steps, problem.most, gamma));
        let (target, eta) = (problem.surrogate(gamma, steps), least / (most * most));
        let first = problem.lab.zeros().distance2(&target);
        for t in [1, 3, 10, 40] {
            let (rows, x) = run(&problem.lab, json!({ "gamma": gamma, "steps": steps, "eta": "theory" }), t);
            close(rows[t as usize].notes["eta"], eta);
            let bound = (1.0 - eta * least).powi(t as i32) * first;
            assert!(x.distance2(&target) <= bound * (1.0 + 1e-9) + 1e-24, "seed {seed}, round {t}: {} > {bound}", x.distance2(&target));
        }
    }
}

#[test]
fn theorem_27_the_error_falls_like_one_over_t() {
    for seed in 0..30 {
        let mut rng = Seed(seed).problem(4);
        let problem = draw(&mut rng);
        let (steps, gamma) = (1 + rng.below(12) as u32, 0.95 * rng.unit() / problem.most);
        let kappa = phi(steps, problem.most, gamma) / phi(steps, problem.least, gamma);
        let (b, target) = (2.0 * kappa * kappa, problem.surrogate(gamma, steps));
        let first = problem.lab.zeros().distance2(&target);
        let eta = json!({ "kind": "inverse", "start": "theory" });
        for t in [1u64, 5, 60] {
            let (rows, x) = run(&problem.lab, json!({ "gamma": gamma, "steps": steps, "eta": eta }), t);
            close(rows[t as usize].notes["eta"] * (b + t as f64), 2.0 / phi(steps, problem.least, gamma));
            let bound = (b + 1.0) * first / (b + t as f64 + 1.0);
            assert!(x.distance2(&target) <= bound * (1.0 + 1e-9), "seed {seed}, round {t}: {} > {bound}", x.distance2(&target));
        }
    }
}

#[test]
fn theorem_29_with_both_rates_falling_the_true_minimiser_is_reached() {
    // Q2s: μ = 1, L = 2, κ = 2, b = 12, σ_c = 1; the minimiser is 1/3.
    let (lab, b) = (Lab::new(q2s()), 12.0f64);
    for steps in [2u32, 10, 100] {
        let (rows, _) = run(&lab, json!({ "gamma": "theory", "eta": "theory", "steps": steps }), 3000);
        let gamma_1 = (1.0 / (2.0 * (b + 1.0))).min(std::f64::consts::LN_2 / f64::from(steps));
        close(rows[1].notes["gamma"], gamma_1);
        close(rows[1].notes["eta"], 3.0 / (phi(steps, 1.0, gamma_1) * (b + 1.0)));
        let surrogate = {
            let (one, two) = (phi(steps, 1.0, gamma_1), phi(steps, 2.0, gamma_1));
            (two - one) / (two + one)
        };
        // ν without noise is (b + 1) |x₁ − x₁*|²; the corrected bound has 4 K² σ_c² κ².
        let bound = 2.0 * (b + 1.0) * surrogate.powi(2) + 16.0 * f64::from(steps).powi(2);
        for t in [1u64, 10, 100, 1000, 3000] {
            let (_, x) = run(&lab, json!({ "gamma": "theory", "eta": "theory", "steps": steps }), t);
            let error = (x.at(0) - 1.0 / 3.0).powi(2);
            assert!(error <= bound / (b + t as f64 + 1.0), "K = {steps}, t = {t}: {error}");
            if t == 3000 {
                assert!(error < 1e-3 * (1.0f64 / 3.0).powi(2), "K = {steps}: {error}");
            }
        }
    }
}

#[test]
fn theory_that_does_not_apply_says_so() {
    let lab = Lab::new(q2());
    let wide: LocalUpdate = method(json!({ "gamma": 0.5, "eta": "theory", "steps": 2 }));
    let (_, trained) = lab.run(&wide, lab.zeros(), &Plan::new(3, Seed(1)));
    assert!(trained.outcome.to_string().contains("step < 1/L = 0.5"), "{}", trained.outcome);
}
