//! Per-FedAvg: the fixed points of its three variants.

use crate::lab::{Lab, all_close, deployed};
use motet_core::{Plan, Seed};
use motet_methods::per_fedavg::PerFedavg;
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::{Value, json};

fn method(variant: &str, more: Value) -> PerFedavg {
    let mut params = json!({ "inner_step": 0.25, "step": 0.3, "variant": variant });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(params).unwrap()
}

#[test]
fn every_variant_has_its_fixed_point() {
    // ALGORITHMS 12 and 16: Θ₂ at 5/7 for the first order, Θ₃ at 13/17 for the others.
    let lab = Lab::new(q2());
    for (variant, x) in [("fo", 5.0 / 7.0), ("hf", 13.0 / 17.0), ("exact", 13.0 / 17.0)] {
        let (ours, models) = deployed(&lab, &method(variant, json!({})), 400);
        all_close(&ours, &[x]);
        // One step of ¼ towards the client's own minimiser.
        all_close(&models[0], &[x - 0.25 * (x - 1.0)]);
        all_close(&models[1], &[x - 0.25 * 2.0 * (x - 0.5)]);
    }
}

#[test]
fn differences_of_gradients_are_hessian_vector_products_to_second_order() {
    let lab = Lab::new(lrs(4, 6, 3));
    let end = |variant: &str, difference: f64| {
        lab.run(&method(variant, json!({ "difference": difference, "steps": 3 })), lab.zeros(), &Plan::new(50, Seed(1))).1.server
    };
    let exact = end("exact", 1e-3);
    let far = |difference: f64| end("hf", difference).distance2(&exact).sqrt();
    // A tenth of the distance, a hundredth of the error.
    assert!(far(1e-1) < 1e-2 && far(1e-2) < 0.02 * far(1e-1), "{} {}", far(1e-1), far(1e-2));
    assert!(end("fo", 1e-3).distance2(&exact).sqrt() > 100.0 * far(1e-2));
}

#[test]
fn adaptation_pays_after_training_for_it() {
    // Trained for one step of adaptation, the adapted models are better on average than those of plain averaging.
    let lab = Lab::new(lrs(6, 8, 3));
    let loss = |method: &PerFedavg| lab.run(method, lab.zeros(), &Plan::new(300, Seed(1))).0[300].metrics["loss"];
    let plain: motet_methods::finetune::Finetune = serde_json::from_value(json!({ "step": 0.3, "tune": 1, "tune_step": 1.0 })).unwrap();
    let plain = lab.run(&plain, lab.zeros(), &Plan::new(300, Seed(1))).0[300].metrics["loss"];
    let trained = loss(&method("exact", json!({ "inner_step": 1.0 })));
    assert!(trained < plain, "{trained} is not below {plain}");
}

#[test]
fn batches_and_sampled_clients_descend() {
    let lab = Lab::new(lrs(6, 8, 3));
    for variant in ["fo", "hf", "exact"] {
        let method = method(variant, json!({ "batch": 3, "steps": 2, "step": 0.1, "sampling": { "clients": 3 } }));
        let rows = lab.run(&method, lab.zeros(), &Plan::new(100, Seed(1))).0;
        assert!(rows[100].metrics["loss"] < rows[0].metrics["loss"], "{variant}");
    }
}
