//! L2GD: what its two kinds of steps balance at, and when it communicates.

use crate::lab::{Lab, deployed};
use motet_core::{Direction, Plan, Seed, Study, Vector};
use motet_methods::l2gd::L2gd;
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::{Value, json};

fn l2gd(params: Value) -> L2gd {
    serde_json::from_value(params).unwrap()
}

/// The expected step of Q2 from (x₁, x₂), by the rates of the method.
fn drift(method: &L2gd, p: f64, s: f64, x: [f64; 2]) -> [f64; 2] {
    let (pull, step) = method.rates(p, s, 2);
    let mean = 0.5 * (x[0] + x[1]);
    let slope = [x[0] - 1.0, 2.0 * (x[1] - 0.5)];
    [0, 1].map(|i| -p * pull * (x[i] - mean) - (1.0 - p) * step * slope[i])
}

#[test]
fn the_expected_step_vanishes_at_the_minimiser_and_leads_there() {
    // ALGORITHMS 16: λ = 1: x = (6/7, 4/7), mean 5/7, whatever p and s.
    for (p, s) in [(0.1, 0.1), (0.5, 0.3), (0.9, 0.05)] {
        let method = l2gd(json!({ "lambda": 1.0, "p": p, "step": s }));
        let still = drift(&method, p, s, [6.0 / 7.0, 4.0 / 7.0]);
        assert!(still.iter().all(|d| d.abs() < 1e-15), "{still:?}");
        let mut x = [0.0, 0.0];
        for _ in 0..3000 {
            let d = drift(&method, p, s, x);
            x = [x[0] + d[0], x[1] + d[1]];
        }
        assert!((x[0] - 6.0 / 7.0).abs() < 1e-9 && (x[1] - 4.0 / 7.0).abs() < 1e-9, "{x:?}");
    }
}

#[test]
fn small_steps_end_near_the_minimiser() {
    // The neighbourhood shrinks with the step: the models are looked at after their local steps, s/(p(1−p)n) |∇fᵢ| off.
    let lab = Lab::new(q2());
    let far = |s: f64, rounds: u64| {
        let (_, models) = deployed(&lab, &l2gd(json!({ "lambda": 1.0, "p": 0.5, "step": s })), rounds);
        (models[0].f64s()[0] - 6.0 / 7.0).abs().max((models[1].f64s()[0] - 4.0 / 7.0).abs())
    };
    assert!(far(0.01, 10_000) < 0.02, "{}", far(0.01, 10_000));
    assert!(far(0.001, 60_000) < 0.003, "{}", far(0.001, 60_000));
}

#[test]
fn a_round_is_one_communication_and_counts_the_papers_iterations() {
    let lab = Lab::new(lrs(4, 6, 3));
    let method = l2gd(json!({ "lambda": 1.0, "p": 0.25, "step": 0.1 }));
    let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(2000, Seed(1)));
    assert_eq!(trained.ledger.total(Direction::Up).bits, 2000 * 4 * 3 * 64);
    // A run of tails has 1/p steps on average and one of heads 1/(1 − p): 4 + 4/3.
    let steps: f64 = rows.iter().skip(1).map(|row| row.notes["steps"]).sum();
    // Standard deviations √12 and √(4/9) a round: five of them over 2000 rounds are 0.4.
    assert!((steps / 2000.0 - (4.0 + 4.0 / 3.0)).abs() < 0.4, "{}", steps / 2000.0);
}

#[test]
fn theory_chooses_p_and_the_step_from_the_largest_smoothness() {
    let lab = Lab::new(q2());
    let method = l2gd(json!({ "lambda": 1.0 }));
    let server = lab.run(&method, lab.zeros(), &Plan::new(1, Seed(1))).1.server;
    // L = 2: p = 1/3, and L/(1 − p) = λ/p = 3.
    assert!((server.p - 1.0 / 3.0).abs() < 1e-15 && (server.step - 1.0 / 3.0).abs() < 1e-15);
}

#[test]
fn without_a_pull_the_models_are_local_ones() {
    let lab = Lab::new(q2());
    let (_, models) = deployed(&lab, &l2gd(json!({ "lambda": 0.0, "p": 0.5, "step": 0.2 })), 400);
    assert!(models[0].distance2(&Vector::from(vec![1.0])) < 1e-20 && models[1].distance2(&Vector::from(vec![0.5])) < 1e-20);
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |params: Value, clients| l2gd(params).suits(clients).err().map(|e| e.to_string()).unwrap();
    assert!(refused(json!({ "lambda": 1.0 }), None).contains("end"));
    assert!(refused(json!({ "lambda": 1.0, "p": 1.0 }), Some(2)).contains("below 1"));
    assert!(refused(json!({ "lambda": 10.0, "p": 0.1, "step": 1.0 }), Some(2)).contains("overshoots"));
}
