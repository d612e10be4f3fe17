//! Draws by unequal chances, on problem Q2 of the specification: the minimiser is 2/3, that of the chances 9 : 1 is 10/11.

use crate::lab::Lab;
use motet_core::{ClientId, Plan, Rhythm, Seed, Study};
use motet_methods::Method;
use motet_methods::fedavg::Fedavg;
use motet_methods::fedprox::Fedprox;
use motet_methods::flix_fedavg::FlixFedavg;
use motet_methods::minibatch_sgd::MinibatchSgd;
use motet_problems::synthetic::formula::q2;
use serde_json::{Value, json};

/// Where x is on average over the last three quarters of a long run with one draw a round.
fn ends_at<M: Method + Clone>(mut settings: Value, normalised: bool) -> f64 {
    let importance = json!({ "importance": { "clients": 1, "q": [9, 1] } });
    settings["sampling"] = if normalised { json!({ "self-normalised": importance }) } else { importance };
    let method: M = serde_json::from_value(settings).unwrap();
    let (lab, rounds) = (Lab::new(q2()), 20_000);
    assert_eq!(method.suits(Some(2)), Ok(()));
    let plan = Plan { coordinates: 1, rhythm: Rhythm::Every(5), ..Plan::new(rounds, Seed(1)) };
    let (rows, trained) = lab.run(&method, lab.zeros(), &plan);
    assert!(method.shared(&trained.server, ClientId(0)).is_finite());
    let late: Vec<f64> = rows.iter().filter(|row| row.round > rounds / 4).map(|row| row.metrics["x"]).collect();
    late.iter().sum::<f64>() / late.len() as f64
}

/// Small steps: the mean of 15,000 rounds, 300 of them in a memory of 1/(0.02 · 1.5) rounds, is right to about 0.01.
#[test]
fn one_draw_a_round_ends_where_everyone_would_and_by_name_where_the_chances_say() {
    let near = |x: f64, at: f64| assert!((x - at).abs() < 0.03, "{x} is not near {at}");
    let local = json!({ "step": 0.02, "steps": 1, "mu": 0.0, "weights": "uniform" });
    near(ends_at::<MinibatchSgd>(json!({ "eta": 0.02 }), false), 2.0 / 3.0);
    near(ends_at::<MinibatchSgd>(json!({ "eta": 0.02 }), true), 10.0 / 11.0);
    near(ends_at::<Fedprox>(local.clone(), false), 2.0 / 3.0);
    near(ends_at::<Fedprox>(local, true), 10.0 / 11.0);
    near(ends_at::<Fedavg>(json!({ "gamma": 0.02, "weights": "uniform" }), false), 2.0 / 3.0);
    near(ends_at::<FlixFedavg>(json!({ "alpha": 1, "client_step": 0.02, "weights": "uniform" }), false), 2.0 / 3.0);
}

#[test]
fn a_mean_by_examples_goes_with_equal_chances_or_by_name() {
    let method = |sampling: Value| serde_json::from_value::<Fedavg>(json!({ "gamma": 0.1, "sampling": sampling })).unwrap();
    let importance = json!({ "importance": { "clients": 1, "q": [9, 1] } });
    let refused = method(importance.clone()).suits(Some(2)).unwrap_err().to_string();
    assert!(refused.contains("weights = \"uniform\"") && refused.contains("self-normalised"), "{refused}");
    assert_eq!(method(json!({ "self-normalised": importance })).suits(Some(2)), Ok(()));
    assert_eq!(method(json!({ "bernoulli": 0.5 })).suits(Some(2)), Ok(()));
}
