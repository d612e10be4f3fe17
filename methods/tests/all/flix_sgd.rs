//! Stochastic FLIX: what it reduces to, and that its steps are right on average.

use crate::lab::{Lab, flix, mean};
use motet_core::{Outcome, Plan, Seed, Study, Vector};
use motet_methods::flix_sgd::FlixSgd;
use motet_problems::synthetic::formula::lrs;
use serde_json::{Value, json};

const ALPHA: [f64; 4] = [0.1, 0.4, 0.7, 1.0];

fn sgd(alpha: &[f64], more: Value) -> FlixSgd {
    let mut params = json!({ "alpha": { "per_client": alpha }, "solve": { "kind": "newton", "to": 1e-14, "steps": 200 } });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(params).unwrap()
}

fn run(lab: &Lab, method: &FlixSgd, rounds: u64, seed: u64) -> Vector {
    let trained = lab.run(method, lab.zeros(), &Plan::new(rounds, Seed(seed))).1;
    assert_eq!(trained.outcome, Outcome::Finished);
    trained.server.x
}

#[test]
fn with_everyone_full_batches_and_theory_steps_it_is_flix() {
    let lab = Lab::new(lrs(4, 6, 3));
    for alpha in [ALPHA, [0.3; 4], [0.0, 0.5, 0.0, 1.0]] {
        for start in ["zeros", "ones", "one-shot"] {
            let (ours, theirs) = (run(&lab, &sgd(&alpha, json!({ "start": start })), 30, 1), lab.iterate(&flix(&alpha, start), 30));
            // The two divide by n in a different order: rounding of thirty steps.
            assert!(ours.distance2(&theirs).sqrt() <= 1e-13, "{alpha:?} from {start}: {ours:?} is not {theirs:?}");
        }
    }
}

#[test]
fn every_way_of_sampling_and_batching_steps_along_the_gradient_on_average() {
    let lab = Lab::new(lrs(4, 6, 3));
    let ways = [
        json!({ "sampling": { "clients": 2 } }),
        json!({ "sampling": { "bernoulli": 0.4 } }),
        json!({ "sampling": { "replacement": 3 } }),
        json!({ "sampling": { "importance": { "clients": 2, "q": [1, 4, 2, 3] } } }),
        json!({ "sampling": { "passes": 3 } }),
        json!({ "batch": 2 }),
        json!({ "sampling": { "clients": 2 }, "batch": 1 }),
    ];
    for alpha in [ALPHA, [0.0, 0.5, 0.7, 1.0]] {
        let whole = sgd(&alpha, json!({ "optimiser": { "kind": "sgd", "step": 1.0 } }));
        let gradients: Vec<Vector> = lab.scores(&whole, &lab.zeros()).into_iter().map(|s| s.gradient.unwrap()).collect();
        let gradient = mean(&gradients);
        for way in &ways {
            let method = sgd(&alpha, json!({ "optimiser": { "kind": "sgd", "step": 1.0 } }));
            let mut method: Value = serde_json::to_value(&method).unwrap();
            method.as_object_mut().unwrap().extend(way.as_object().unwrap().clone());
            let method: FlixSgd = serde_json::from_value(method).unwrap();
            let seeds = 4000;
            let steps: Vec<f64> = (0..seeds).flat_map(|seed| seeded(&lab, &method, seed).f64s().to_vec()).collect();
            for l in 0..3 {
                let of: Vec<f64> = steps.iter().skip(l).step_by(3).map(|x| -x).collect();
                let average = of.iter().sum::<f64>() / seeds as f64;
                let sd = (of.iter().map(|v| (v - average).powi(2)).sum::<f64>() / seeds as f64 / seeds as f64).sqrt();
                assert!(sd > 1e-6, "{way}: there is chance in it");
                assert!((average - gradient.at(l)).abs() <= 5.0 * sd, "{way}, α = {alpha:?}: {average} is not {}", gradient.at(l));
            }
        }
    }
}

/// x¹ from 0, with client dice of this seed too.
fn seeded(lab: &Lab, method: &FlixSgd, seed: u64) -> Vector {
    lab.run(method, lab.zeros(), &Plan { rhythm: motet_core::Rhythm::Never, ..Plan::new(1, Seed(seed)) }).1.server.x
}

#[test]
fn sampled_clients_and_small_batches_come_near_the_optimum_with_every_optimiser() {
    let lab = Lab::new(lrs(4, 6, 3));
    let best = lab.optimum(&flix(&ALPHA, "zeros"));
    for optimiser in [
        json!({ "kind": "sgd", "step": 0.3 }),
        json!({ "kind": "momentum", "step": 0.03 }),
        json!({ "kind": "adam", "step": 0.01 }),
        json!({ "kind": "adagrad", "step": 0.3 }),
        json!({ "kind": "yogi", "step": 0.01 }),
    ] {
        let method = sgd(&ALPHA, json!({ "sampling": { "clients": 2 }, "batch": 3, "optimiser": optimiser }));
        let plan = Plan { reference: Some(best.clone()), ..Plan::new(600, Seed(3)) };
        let (rows, _) = lab.run(&method, lab.zeros(), &plan);
        let gap = |k: usize| rows[k].metrics["gap"];
        let tail = (500..=600).map(gap).sum::<f64>() / 101.0;
        assert!(tail <= 0.2 * gap(0), "{optimiser}: from {} to {tail}", gap(0));
    }
}

#[test]
fn a_round_without_anyone_changes_nothing_and_costs_nothing() {
    let lab = Lab::new(lrs(4, 6, 3));
    let method = sgd(&ALPHA, json!({ "sampling": { "bernoulli": 1e-12 }, "optimiser": { "kind": "momentum", "step": 1.0 } }));
    let trained = lab.run(&method, lab.zeros(), &Plan::new(20, Seed(1))).1;
    assert_eq!((trained.outcome, trained.rounds), (Outcome::Finished, 20));
    assert_eq!((trained.server.x, trained.server.momenta.t), (lab.zeros(), 0));
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let refused = |more: Value| sgd(&ALPHA, more).suits(Some(4)).err().map(|e| e.to_string());
    assert_eq!(refused(json!({})), None);
    assert!(refused(json!({ "optimiser": { "kind": "adam", "step": "theory" } })).unwrap().contains("give step as a number"));
    assert!(refused(json!({ "sampling": { "clients": 0 } })).unwrap().contains("at least one"));
    assert!(sgd(&ALPHA, json!({})).suits(Some(5)).err().map(|e| e.to_string()).unwrap().contains("alpha lists 4 clients"));
    assert!(serde_json::from_value::<FlixSgd>(json!({ "alpha": 0.5, "batch": 0 })).unwrap_err().to_string().contains("from 1"));
}

#[test]
fn the_step_falls_on_a_plateau_and_leaves_less_noise() {
    let lab = Lab::new(lrs(4, 6, 3));
    let settings = |decay: Value| json!({ "batch": 1, "optimiser": { "kind": "sgd", "step": 1.0 }, "decay": decay });
    let decay = json!({ "window": 20, "patience": 20, "cooldown": 20, "server_factor": 0.5 });
    let optimum = lab.optimum(&flix(&ALPHA, "zeros")).x.unwrap();
    // One end is one throw of the noise: the mean of several tells its size.
    let end = |settings: Value| {
        let runs = (1..=8).map(|seed| lab.run(&sgd(&ALPHA, settings.clone()), lab.zeros(), &Plan::new(1500, Seed(seed))));
        let (rows, ends): (Vec<_>, Vec<_>) = runs.map(|(rows, trained)| (rows, trained.server.x.distance2(&optimum))).unzip();
        (rows.into_iter().next().unwrap(), ends.iter().sum::<f64>() / 8.0)
    };
    let ((rows, falling), (_, steady)) = (end(settings(decay)), end(settings(Value::Null)));
    let steps: Vec<f64> = rows[1..].iter().map(|row| row.notes["eta"]).collect();
    assert!(steps[0] == 1.0 && steps.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == 0.5 * pair[0]));
    assert!(*steps.last().unwrap() < 0.01, "{steps:?}");
    // The noise floor is proportional to the step, which has fallen to a hundredth.
    assert!(falling < 0.1 * steady, "{falling} against {steady}");
    // Everyone takes part: the cohort's loss is the loss of the model that was sent.
    assert!(rows.windows(2).all(|pair| (pair[1].notes["cohort_loss"] - pair[0].metrics["loss"]).abs() <= 1e-14));
}
