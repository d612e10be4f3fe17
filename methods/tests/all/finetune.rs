//! Fine-tuning: FLIX's Proposition 1, and what it reduces to.

use crate::lab::{Lab, all_close, deployed};
use motet_core::{Plan, Seed};
use motet_methods::fedprox::Fedprox;
use motet_methods::finetune::Finetune;
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::json;

#[test]
fn tuning_a_quadratic_mixes_the_shared_and_the_local_model() {
    // Proposition 1: (1 − J) cᵢ + J x with J = (1 − t Aᵢ)^H, around x = 2/3.
    let lab = Lab::new(q2());
    for (t, h) in [(0.1, 1), (0.1, 7), (0.3, 4)] {
        let params = json!({ "step": 0.3, "tune": h, "tune_step": t });
        let (x, models) = deployed(&lab, &serde_json::from_value::<Finetune>(params).unwrap(), 300);
        all_close(&x, &[2.0 / 3.0]);
        for (model, (a, c)) in models.iter().zip([(1.0f64, 1.0), (2.0, 0.5)]) {
            let j = (1.0 - t * a).powi(h);
            all_close(model, &[(1.0 - j) * c + j * 2.0 / 3.0]);
        }
    }
}

#[test]
fn the_shared_model_is_that_of_federated_averaging_and_tuning_lowers_the_training_loss() {
    let lab = Lab::new(lrs(6, 8, 3));
    let theirs: Fedprox = serde_json::from_value(json!({ "mu": 0.0, "step": 0.3, "steps": 2, "batch": 4 })).unwrap();
    let (rows, theirs) = lab.run(&theirs, lab.zeros(), &Plan::new(50, Seed(1)));
    let ours: Finetune = serde_json::from_value(json!({ "step": 0.3, "steps": 2, "batch": 4, "tune": { "epochs": 5 } })).unwrap();
    let (tuned, ours) = lab.run(&ours, lab.zeros(), &Plan::new(50, Seed(1)));
    assert_eq!(ours.server, theirs.server);
    assert_eq!(ours.ledger.gradients, theirs.ledger.gradients, "tuning is not training");
    assert!(tuned[50].metrics["loss"] < rows[50].metrics["loss"]);
}
