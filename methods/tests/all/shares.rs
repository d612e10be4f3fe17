//! Shares that are learnt in rounds: the promise of FLIX's Theorem 1 at every point of a run.

use std::sync::Arc;

use crate::lab::controlled::gradient;
use crate::lab::{Lab, flix};
use motet_core::{Batch, Objective, Outcome, Plan, Seed, Study, Vector};
use motet_methods::flix::Flix;
use motet_methods::flix_sgd::FlixSgd;
use motet_problems::synthetic::Quadratic;
use motet_problems::synthetic::formula::lrs;
use serde_json::{Value, json};

const EPS: f64 = 1e-3;

fn settings(more: Value) -> Value {
    let mut all = json!({
        "alpha": { "estimate": { "eps": EPS, "online": true } },
        "solve": { "kind": "newton", "to": 1e-14, "steps": 200 },
    });
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

fn learning(more: Value) -> Flix {
    serde_json::from_value(settings(more)).unwrap()
}

fn value(f: &dyn Objective, x: &Vector) -> f64 {
    f.value(x, Batch::all())
}

/// αᵢ of what each client deploys, read off its model: xᵢ* + αᵢ (x − xᵢ*).
fn shares(anchors: &[Vector], models: &[Vector], x: &Vector) -> Vec<f64> {
    anchors.iter().zip(models).map(|(a, m)| (a.distance2(m) / a.distance2(x)).sqrt()).collect()
}

/// The largest α with fᵢ(xᵢ* + α (x − xᵢ*)) − fᵢ(xᵢ*) ≤ ε, by halving.
fn largest(f: &dyn Objective, anchor: &Vector, x: &Vector) -> f64 {
    let lost = |alpha: f64| value(f, &Vector::mix(alpha, x, anchor)) - value(f, anchor);
    if lost(1.0) <= EPS {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if lost(middle) <= EPS { low = middle } else { high = middle }
    }
    low
}

#[test]
fn nobody_loses_more_than_eps_at_any_point_and_shares_are_nearly_the_largest() {
    let lab = Lab::new(lrs(4, 6, 3));
    let anchors = lab.anchors(&flix(&[0.5; 4], "zeros"));
    for start in ["zeros", "ones", "one-shot"] {
        let method = learning(json!({ "start": start }));
        for rounds in [0, 1, 2, 5, 40, 400] {
            let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(rounds, Seed(1)));
            let (x, models) = (&trained.server.x, lab.deployed(&method, &trained.server.x));
            let found = shares(&anchors, &models, x);
            for i in 0..4 {
                let f = &*lab.clients[i];
                let lost = value(f, &models[i]) - value(f, &anchors[i]);
                assert!(lost <= EPS * (1.0 + 1e-9), "client {i} loses {lost:e} after {rounds} rounds from {start}");
                // The search ends within a tenth of ε, and ε is nearly a square of the share.
                let most = largest(f, &anchors[i], x);
                assert!(found[i] <= most * (1.0 + 1e-9) && found[i] >= 0.94 * most, "{} of {most}", found[i]);
                // Theorem 1 with Lᵢ at this x would give less.
                let bound = (2.0 * EPS / (f.constants().smoothness.unwrap() * anchors[i].distance2(x))).sqrt().min(1.0);
                assert!(found[i] >= bound * 0.94, "{} is below Theorem 1's {bound}", found[i]);
            }
            if rounds > 0 {
                let told = rows.last().unwrap().notes["share"];
                assert!(told > 0.0 && told <= 1.0, "{told}");
                assert!(!rows.last().unwrap().metrics.contains_key("gap"), "shares that change leave no F* to measure from");
            }
        }
    }
}

#[test]
fn the_promise_of_theorem_1_holds_for_the_shares_of_the_point() {
    let lab = Lab::new(lrs(4, 6, 3));
    let anchors = lab.anchors(&flix(&[0.5; 4], "zeros"));
    let method = learning(json!({ "start": "one-shot" }));
    let x = lab.run(&method, lab.zeros(), &Plan::new(30, Seed(1))).1.server.x;
    let models = lab.deployed(&method, &x);
    let alpha = shares(&anchors, &models, &x);
    let best = lab.optimum(&flix(&alpha, "zeros"));
    let now = models.iter().zip(&lab.clients).map(|(m, f)| value(&**f, m)).sum::<f64>() / 4.0;
    let gap = now - best.value;
    assert!((-1e-12..=EPS).contains(&gap), "F(x) - F* is {gap:e}");
}

/// Quadratics in two groups: clients 0 to 3 near the origin, client 4 far away.
fn groups() -> Lab {
    let of = |curvature: [f64; 2], centre: [f64; 2]| -> Arc<dyn Objective> {
        Arc::new(Quadratic::new(vec![curvature[0], 0.0, 0.0, curvature[1]], centre.to_vec()).unwrap())
    };
    Lab::new(vec![
        of([1.0, 2.0], [0.1, 0.0]),
        of([2.0, 1.0], [-0.1, 0.05]),
        of([1.5, 1.0], [0.0, 0.1]),
        of([1.0, 1.0], [0.05, -0.1]),
        of([1.0, 1.5], [3.0, 3.0]),
    ])
}

#[test]
fn quadratics_descend_on_a_sum_of_logarithms_and_rest_where_f_of_their_shares_is_least() {
    let lab = groups();
    let method = learning(json!({ "start": "ones" }));
    let anchors = lab.anchors(&flix(&[0.5; 5], "zeros"));
    let psi = |x: &Vector| {
        let of = |i: usize| {
            let lost = value(&*lab.clients[i], x) - value(&*lab.clients[i], &anchors[i]);
            if lost <= EPS { lost } else { EPS * (1.0 + (lost / EPS).ln()) }
        };
        (0..5).map(of).sum::<f64>() / 5.0
    };
    let points: Vec<Vector> = (0..60).map(|k| lab.run(&method, lab.zeros(), &Plan::new(k, Seed(1))).1.server.x).collect();
    let falls = points.windows(2).all(|pair| psi(&pair[1]) <= psi(&pair[0]) + 1e-15);
    assert!(falls, "{:?}", points.iter().map(psi).collect::<Vec<_>>());
    let x = lab.run(&method, lab.zeros(), &Plan::new(3000, Seed(1))).1.server.x;
    let models = lab.deployed(&method, &x);
    let alpha = shares(&anchors, &models, &x);
    let mut slope = x.zeros_like();
    (0..5).for_each(|i| slope.axpy(alpha[i] / 5.0, &gradient(&*lab.clients[i], &models[i])));
    assert!(slope.norm() < 1e-9, "∇F is {:e} where the run rests", slope.norm());
    // One common model would be drawn to the client that is far away; here it counts little, and keeps a small share.
    assert!(x.norm() < 0.2 && alpha[4] < 0.05 && alpha[..4].iter().all(|a| *a > 0.1), "{x:?} {alpha:?}");
}

#[test]
fn sampled_batches_learn_the_same_shares() {
    let lab = Lab::new(lrs(4, 6, 3));
    let anchors = lab.anchors(&flix(&[0.5; 4], "zeros"));
    let sgd = |more: Value| -> FlixSgd { serde_json::from_value(settings(more)).unwrap() };
    // Everyone, whole batches and plain steps: FLIX itself.
    let step = json!({ "kind": "sgd", "step": 0.5 });
    let one = lab.run(&sgd(json!({ "optimiser": step })), lab.zeros(), &Plan::new(20, Seed(1))).1.server.x;
    let other = lab.run(&learning(json!({ "step": 0.5 })), lab.zeros(), &Plan::new(20, Seed(1))).1.server.x;
    assert!(one.distance2(&other) < 1e-28);
    let method = sgd(json!({ "optimiser": step, "sampling": { "clients": 2 }, "batch": 2 }));
    let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(50, Seed(1)));
    assert_eq!(trained.outcome, Outcome::Finished);
    assert!(rows[1..].iter().all(|row| row.notes["share"] > 0.0));
    for (i, model) in lab.deployed(&method, &trained.server.x).iter().enumerate() {
        let lost = value(&*lab.clients[i], model) - value(&*lab.clients[i], &anchors[i]);
        assert!(lost <= EPS * (1.0 + 1e-9), "client {i} loses {lost:e}");
    }
}

#[test]
fn what_it_costs_is_counted_and_what_it_does_not_go_with_is_refused() {
    let lab = Lab::new(lrs(4, 6, 3));
    let work = |method: &Flix| lab.run(method, lab.zeros(), &Plan::new(1, Seed(1))).1.ledger;
    let (fixed, learnt) = (work(&flix(&[0.5; 4], "zeros")), work(&learning(json!({ "start": "zeros" }))));
    // f at x*, at x and at one to four points between, of six examples each.
    let values = learnt.values - fixed.values;
    assert_eq!(learnt.gradients, fixed.gradients);
    assert!((4 * 6 * 3..=4 * 6 * 6).contains(&values), "{values}");

    let sgd = |more: Value| serde_json::from_value::<FlixSgd>(settings(more)).unwrap().suits(Some(4)).unwrap_err().to_string();
    assert!(sgd(json!({})).contains("step as a number"));
    assert!(sgd(json!({ "optimiser": { "kind": "sgd", "step": 0.1 }, "decay": {} })).contains("decay"));
    for (alpha, word) in [
        (json!({ "estimate": { "eps": 1e-3 } }), "online = true"),
        (json!({ "estimate": { "eps": -1.0, "online": true } }), "positive"),
        (json!({ "estimate": { "eps": 1.0, "online": true }, "per_client": [1.0] }), "one of"),
        (json!({ "estimate": { "eps": 1.0, "on": true } }), "unknown field"),
        (json!("learnt"), "per_client"),
    ] {
        let said = serde_json::from_value::<Flix>(json!({ "alpha": alpha })).unwrap_err().to_string();
        assert!(said.contains(word), "{said}");
    }
}
