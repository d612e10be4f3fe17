//! APFL: where mixtures end, and how their weight is learnt.

use crate::lab::{Lab, all_close, deployed};
use motet_core::{Plan, Seed};
use motet_methods::apfl::Apfl;
use motet_methods::fedprox::Fedprox;
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::{Value, json};

fn apfl(params: Value) -> Apfl {
    serde_json::from_value(params).unwrap()
}

#[test]
fn mixtures_end_at_the_local_models_and_the_shared_one_at_its_own_minimiser() {
    let lab = Lab::new(q2());
    for alpha in [0.3, 0.7, 1.0] {
        let (w, models) = deployed(&lab, &apfl(json!({ "alpha": alpha, "step": 0.3 })), 2000);
        all_close(&w, &[2.0 / 3.0]);
        all_close(&models[0], &[1.0]);
        all_close(&models[1], &[0.5]);
    }
}

#[test]
fn without_a_share_of_ones_own_it_is_federated_averaging() {
    let lab = Lab::new(lrs(4, 6, 3));
    let theirs: Fedprox = serde_json::from_value(json!({ "mu": 0.0, "step": 0.2, "steps": 3, "batch": 2 })).unwrap();
    let theirs = lab.run(&theirs, lab.zeros(), &Plan::new(30, Seed(1))).1.server;
    let (w, models) = deployed(&lab, &apfl(json!({ "alpha": 0.0, "step": 0.2, "steps": 3, "batch": 2 })), 30);
    assert_eq!(w, theirs);
    assert!(models.iter().all(|model| *model == w));
}

#[test]
fn a_learnt_weight_moves_against_its_derivative_and_stays_in_its_range() {
    // One round from x = 0 with v = w = 0: ⟨v − w, g⟩ = 0, so α stays. In the second round v and w differ.
    let lab = Lab::new(q2());
    let value = |alpha: f64, v: f64, w: f64| 0.5 * (alpha * v + (1.0 - alpha) * w - 1.0f64).powi(2);
    let (s, start) = (0.2, 0.5);
    let (mut v, mut w, mut alpha) = (0.0f64, 0.0f64, start);
    let mut steps = vec![];
    for _ in 0..2 {
        let g = alpha * v + (1.0 - alpha) * w - 1.0;
        let slope = (value(alpha + 1e-6, v, w) - value(alpha - 1e-6, v, w)) / 2e-6;
        let next = (alpha - s * slope).clamp(0.0, 1.0);
        (v, w) = (v - s * alpha * g, w - s * (w - 1.0));
        alpha = next;
        steps.push(alpha * v + (1.0 - alpha) * w);
    }
    // Alone, so that the shared model is the client's.
    let alone = Lab::new(vec![lab.clients[0].clone()]);
    let method = apfl(json!({ "alpha": start, "learn_alpha": true, "step": s }));
    for (rounds, expected) in [(1, steps[0]), (2, steps[1])] {
        let model = &deployed(&alone, &method, rounds).1[0];
        assert!((model.f64s()[0] - expected).abs() < 1e-9, "{model:?} is not {expected}");
    }
    let (_, far) = deployed(&lab, &apfl(json!({ "alpha": 0.5, "learn_alpha": true, "step": 0.9 })), 200);
    assert!(far.iter().all(|model| model.is_finite()));
}
