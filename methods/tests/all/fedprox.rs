//! FedProx: where it ends, and what it reduces to.

use crate::lab::{Lab, all_close};
use motet_core::{Direction, Outcome, Plan, Seed, Vector};
use motet_methods::fedprox::Fedprox;
use motet_methods::flix_fedavg::FlixFedavg;
use motet_problems::synthetic::formula::{lrs, q2};
use serde_json::{Value, json};

fn end(lab: &Lab, params: Value, rounds: u64) -> Vector {
    let method: Fedprox = serde_json::from_value(params).unwrap();
    let trained = lab.run(&method, lab.zeros(), &Plan::new(rounds, Seed(1))).1;
    assert_eq!(trained.outcome, Outcome::Finished);
    trained.server
}

#[test]
fn exact_proximal_points_lead_to_the_fixed_point_of_the_envelopes() {
    // ALGORITHMS 16: 5/7, not 2/3. Sixty steps of 0.4 shrink the error of a proximal point by at least 0.6^60 < 1e-13.
    all_close(&end(&Lab::new(q2()), json!({ "mu": 1.0, "step": 0.4, "steps": 60 }), 100), &[5.0 / 7.0]);
}

#[test]
fn a_single_step_is_gradient_descent_whatever_mu() {
    // At y = x the proximal term has no gradient.
    for mu in [0.0, 1.0, 10.0] {
        all_close(&end(&Lab::new(q2()), json!({ "mu": mu, "step": 0.3 }), 200), &[2.0 / 3.0]);
    }
}

#[test]
fn without_the_proximal_term_it_is_federated_averaging() {
    let lab = Lab::new(lrs(4, 6, 3));
    for more in [json!({ "batch": 4, "sampling": { "clients": 3 } }), json!({ "weights": "examples" })] {
        let mut params = json!({ "mu": 0.0, "step": 0.3, "steps": { "epochs": 2 } });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut theirs = json!({ "alpha": 1.0, "client_step": 0.3, "epochs": 2, "weights": "uniform" });
        theirs.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let theirs: FlixFedavg = serde_json::from_value(theirs).unwrap();
        let theirs = lab.run(&theirs, lab.zeros(), &Plan::new(20, Seed(1))).1.server.x;
        // Means of models and of differences round differently.
        assert!(end(&lab, params, 20).distance2(&theirs).sqrt() <= 1e-13);
    }
}

#[test]
fn a_strong_proximal_term_brings_many_local_steps_nearer_to_the_minimiser() {
    let (lab, truth) = (Lab::new(q2()), Vector::from(vec![2.0 / 3.0]));
    let far = |mu: f64| end(&lab, json!({ "mu": mu, "step": 0.05, "steps": 20 }), 3000).distance2(&truth).sqrt();
    assert!(far(10.0) < 0.3 * far(1.0) && far(1.0) < far(0.0), "{} {} {}", far(10.0), far(1.0), far(0.0));
}

#[test]
fn one_model_travels_each_way() {
    let lab = Lab::new(lrs(4, 6, 3));
    let method: Fedprox = serde_json::from_value(json!({ "mu": 1.0, "step": 0.1, "sampling": { "clients": 2 } })).unwrap();
    let ledger = lab.run(&method, lab.zeros(), &Plan::new(5, Seed(1))).1.ledger;
    assert_eq!(ledger.total(Direction::Down).bits, 5 * 2 * 3 * 64);
    assert_eq!(ledger.total(Direction::Up).bits, 5 * 2 * (3 * 64 + 32));
}
