//! Ditto: where the personal models end.

use crate::lab::{Lab, all_close, deployed};
use motet_core::{Plan, Seed};
use motet_methods::ditto::Ditto;
use motet_methods::fedprox::Fedprox;
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::{Value, json};

fn ditto(params: Value) -> Ditto {
    serde_json::from_value(params).unwrap()
}

#[test]
fn personal_models_end_between_the_shared_one_and_the_local_ones() {
    // ALGORITHMS 16: λ = 1, x = 2/3.
    let lab = Lab::new(q2());
    let (x, models) = deployed(&lab, &ditto(json!({ "lambda": 1.0, "step": 0.3 })), 300);
    all_close(&x, &[2.0 / 3.0]);
    all_close(&models[0], &[5.0 / 6.0]);
    all_close(&models[1], &[5.0 / 9.0]);
}

#[test]
fn without_a_pull_they_are_local_models_and_with_a_huge_one_the_shared_one() {
    let lab = Lab::new(q2());
    let (_, free) = deployed(&lab, &ditto(json!({ "lambda": 0.0, "step": 0.3 })), 300);
    all_close(&free[0], &[1.0]);
    all_close(&free[1], &[0.5]);
    let (x, tied) = deployed(&lab, &ditto(json!({ "lambda": 1e4, "step": 0.3, "personal_step": 1e-4, "personal_steps": 5 })), 300);
    assert!(tied.iter().all(|v| v.distance2(&x).sqrt() < 1e-4));
}

#[test]
fn the_shared_model_is_that_of_federated_averaging() {
    let lab = Lab::new(lrs(4, 6, 3));
    let common = json!({ "step": 0.2, "steps": 3, "batch": 2, "sampling": { "clients": 2 } });
    let with = |key: &str| {
        let mut params = common.clone();
        params[key] = json!(0.0);
        params
    };
    let theirs: Fedprox = serde_json::from_value(with("mu")).unwrap();
    let theirs = lab.run(&theirs, lab.zeros(), &Plan::new(30, Seed(1))).1.server;
    // The same batches: the shared model is trained first. To the last bit.
    let ours = lab.run(&ditto(with("lambda")), lab.zeros(), &Plan::new(30, Seed(1))).1.server;
    assert_eq!(ours, theirs);
}

#[test]
fn a_client_that_was_never_asked_deploys_the_shared_model() {
    let lab = Lab::new(lrs(6, 5, 3));
    let (x, models) = deployed(&lab, &ditto(json!({ "lambda": 0.1, "step": 0.3, "sampling": { "clients": 2 } })), 1);
    assert_eq!(models.iter().filter(|v| **v == x).count(), 4);
}
