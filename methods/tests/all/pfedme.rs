//! pFedMe: where the shared model and the proximal points end.

use crate::lab::{Lab, all_close, deployed};
use motet_methods::pfedme::Pfedme;
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::json;

#[test]
fn it_minimises_the_mean_of_the_envelopes() {
    // ALGORITHMS 16: λ = 1: w = 5/7, θ = (6/7, 4/7). Sixty inner steps of 0.4 are exact to 1e-13.
    let lab = Lab::new(q2());
    for beta in [1.0, 0.5, 1.5] {
        let params = json!({ "lambda": 1.0, "step": 0.5, "inner_step": 0.4, "inner_steps": 60, "beta": beta });
        let (w, theta) = deployed(&lab, &serde_json::from_value::<Pfedme>(params).unwrap(), 300);
        all_close(&w, &[5.0 / 7.0]);
        all_close(&theta[0], &[6.0 / 7.0]);
        all_close(&theta[1], &[4.0 / 7.0]);
    }
}

#[test]
fn many_local_steps_are_biased_as_those_of_federated_averaging_are() {
    // Envelopes of curvature (1/2, 2/3) and minimisers (1, 1/2): K steps of s have the surrogate's fixed point.
    let lab = Lab::new(q2());
    let params = json!({ "lambda": 1.0, "step": 0.5, "steps": 4, "inner_step": 0.4, "inner_steps": 80 });
    let (w, _) = deployed(&lab, &serde_json::from_value::<Pfedme>(params).unwrap(), 300);
    let lost = |curvature: f64| 1.0 - (1.0 - 0.5 * curvature).powi(4);
    let (a, b) = (lost(0.5), lost(2.0 / 3.0));
    all_close(&w, &[(a + 0.5 * b) / (a + b)]);
}

#[test]
fn batches_and_sampled_clients_descend() {
    let lab = Lab::new(lrs(6, 8, 3));
    let params = json!({ "lambda": 2.0, "step": 0.2, "steps": 3, "inner_step": 0.2, "batch": 2, "sampling": { "clients": 3 } });
    let method: Pfedme = serde_json::from_value(params).unwrap();
    let rows = lab.run(&method, lab.zeros(), &motet_core::Plan::new(100, motet_core::Seed(1))).0;
    assert!(rows[100].metrics["loss"] < rows[0].metrics["loss"]);
}
