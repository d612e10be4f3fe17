//! FLIX by local epochs: what it reduces to, and its weights.

use std::sync::Arc;

use crate::lab::{Lab, all_close, flix};
use motet_core::{Direction, Objective, Outcome, Plan, Positive, Rate, Seed, Study, Vector};
use motet_methods::flix_fedavg::FlixFedavg;
use motet_problems::Examples;
use motet_problems::synthetic::formula::{lrs, lrs_dataset, lrs_model, q2};
use serde_json::{Value, json};

const ALPHA: [f64; 4] = [0.1, 0.4, 0.7, 1.0];

fn fedavg(alpha: &[f64], more: Value) -> FlixFedavg {
    let solve = json!({ "kind": "newton", "to": 1e-14, "steps": 200 });
    let mut params = json!({ "alpha": { "per_client": alpha }, "client_step": 0.5, "solve": solve });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(params).unwrap()
}

fn run(lab: &Lab, method: &FlixFedavg, rounds: u64) -> Vector {
    let trained = lab.run(method, lab.zeros(), &Plan::new(rounds, Seed(1))).1;
    assert_eq!(trained.outcome, Outcome::Finished);
    trained.server.x
}

#[test]
fn one_epoch_of_full_batches_is_gradient_descent_on_f() {
    let lab = Lab::new(lrs(4, 6, 3));
    let mut descent = flix(&ALPHA, "zeros");
    descent.step = Rate::Given(Positive::new(0.5).unwrap());
    let theirs = lab.iterate(&descent, 30);
    for weights in ["uniform", "examples"] {
        // Everyone has six examples: both weights are the same.
        let ours = run(&lab, &fedavg(&ALPHA, json!({ "weights": weights })), 30);
        assert!(ours.distance2(&theirs).sqrt() <= 1e-13, "{ours:?} is not {theirs:?}");
    }
}

#[test]
fn epochs_of_local_steps_lead_to_the_fixed_point_of_the_surrogate() {
    // ALGORITHMS 14, Q2 with γ = ½ and K local steps: (3·2^K − 2)/(2^{K+2} − 2).
    let lab = Lab::new(q2());
    for (epochs, limit) in [(1, 0.666666666667), (2, 0.714285714286), (3, 0.733333333333), (5, 0.746031746032)] {
        all_close(&run(&lab, &fedavg(&[1.0; 2], json!({ "epochs": epochs })), 200), &[limit]);
    }
}

#[test]
fn means_are_weighted_by_examples_unless_told_otherwise() {
    // Clients of 2 and 6 examples; one step from 0 is −γ times the weighted mean of the gradients.
    let data = Arc::new(Examples::new(lrs_dataset(1, 8, 3)).unwrap());
    let clients: Vec<Arc<dyn Objective>> = vec![lrs_model().objective(&data, 0..2).unwrap(), lrs_model().objective(&data, 2..8).unwrap()];
    let lab = Lab::new(clients);
    let gradient = |i: usize| {
        let mut g = lab.zeros();
        lab.clients[i].gradient(&lab.zeros(), motet_core::Batch::all(), &mut g);
        g
    };
    for (weights, first, second) in [("examples", 0.25, 0.75), ("uniform", 0.5, 0.5)] {
        let mut expected = lab.zeros();
        expected.axpy(-0.5 * first, &gradient(0));
        expected.axpy(-0.5 * second, &gradient(1));
        all_close(&run(&lab, &fedavg(&[1.0; 2], json!({ "weights": weights })), 1), expected.f64s());
    }
}

#[test]
fn an_epoch_of_batches_looks_at_every_example_once_and_descends() {
    let lab = Lab::new(lrs(4, 6, 3));
    let method = fedavg(&ALPHA, json!({ "batch": 4, "epochs": 2, "sampling": { "clients": 3 }, "client_step": 0.1 }));
    let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(100, Seed(1)));
    assert!(rows[100].metrics["loss"] < rows[0].metrics["loss"]);
    // Three clients, two epochs of six examples, a hundred rounds; on top of the solves, booked at a client's first ask.
    assert!(trained.ledger.gradients >= 3 * 2 * 6 * 100);
    assert_eq!(rows[99].gradients + 3 * 2 * 6, rows[100].gradients);
    assert_eq!(trained.ledger.total(Direction::Down).bits, 100 * 3 * 3 * 64);
    assert_eq!(trained.ledger.total(Direction::Up).bits, 100 * 3 * (3 * 64 + 32));
}

#[test]
fn those_who_share_nothing_are_not_asked_and_do_not_dilute_the_mean() {
    let lab = Lab::new(lrs(4, 6, 3));
    let two = Lab::new(lab.clients[2..].to_vec());
    let ours = run(&lab, &fedavg(&[0.0, 0.0, 0.7, 1.0], json!({})), 10);
    all_close(&ours, run(&two, &fedavg(&[0.7, 1.0], json!({})), 10).f64s());
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let refused = |more: Value| fedavg(&ALPHA, more).suits(Some(4)).err().map(|e| e.to_string());
    assert_eq!(refused(json!({})), None);
    assert!(refused(json!({ "optimiser": { "kind": "sgd", "step": "theory" } })).unwrap().contains("local epochs"));
    assert!(refused(json!({ "start": "one-shot" })).unwrap().contains("starts from"));
    assert!(serde_json::from_value::<FlixFedavg>(json!({ "alpha": 0.5, "client_step": 0.1, "epochs": 0 })).is_err());
}
