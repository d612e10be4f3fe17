//! σ_c and σ_A of LocalUpdate's Theorem 17, bounded in rounds, against their truth.

use std::sync::Arc;

use crate::lab::Lab;
use motet_core::{Objective, Outcome, Plan, Row, Seed, Study, Trained, train};
use motet_methods::local_update::LocalUpdate;
use motet_methods::local_update::spreads::PROBES;
use motet_problems::synthetic::Quadratic;
use motet_problems::synthetic::formula::q2;
use motet_runtime::{Deployed, Devices, Inline, Memory};
use serde_json::{Value, json};

fn learning(accuracy: f64, steps: u32, eta: f64) -> LocalUpdate {
    let step = json!({ "estimate": { "accuracy": accuracy, "online": true } });
    serde_json::from_value(json!({ "step": step, "local_steps": steps, "server_step": eta })).unwrap()
}

#[test]
fn q2_learns_its_spreads_and_a_rate_below_the_specification_s() {
    // σ_c = 0.25, σ_A = 0.5, and with K = 2 Theorem 17 is 0.214285714286 at γ = 0.25; the minimiser is 2/3.
    let (lab, accuracy) = (Lab::new(q2()), 0.214285714286);
    let method = learning(accuracy, 2, 0.1);
    let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(400, Seed(1)));
    let spreads = trained.server.spreads.unwrap();
    // In one dimension signs cancel, and what they give is exact.
    assert!((spreads.curvatures(2.0, 1.0) - 0.5).abs() < 1e-9, "{spreads:?}");
    let centres = spreads.centres2.sqrt();
    assert!((0.25..0.35).contains(&centres), "σ_c is 0.25, the bound {centres}");
    let rates: Vec<f64> = rows[1..].iter().map(|row| row.notes["gamma"]).collect();
    assert_eq!(rates[0], 0.0, "nothing is known before the first round");
    assert!(rates.windows(2).all(|pair| pair[1] >= pair[0]), "a rate only rises");
    let last = rates[rates.len() - 1];
    assert!((0.1..=0.25 + 1e-9).contains(&last), "{last}");
    assert!((trained.server.x.at(0) - 2.0 / 3.0).abs() <= accuracy);
    // It is the truth's rate where the bound is the truth.
    let exact = motet_methods::local_update::Spreads { centres2: 0.0625, ..spreads };
    assert!((exact.rate(accuracy, 2, (2.0, 1.0)) - 0.25).abs() < 1e-9);
}

/// Quadratics in four dimensions, with Hessians that do not commute.
fn turned(seed: u64) -> Vec<Arc<Quadratic>> {
    let mut dice = Seed(seed).problem(3);
    let one = |_| {
        let root: Vec<f64> = (0..16).map(|_| dice.normal() / 4.0).collect();
        let product =
            |i: usize, j: usize| (0..4).map(|k| root[4 * i + k] * root[4 * j + k]).sum::<f64>() + f64::from(u8::from(i == j)) * 0.2;
        let curvature = (0..16).map(|at| product(at / 4, at % 4)).collect();
        Arc::new(Quadratic::new(curvature, (0..4).map(|_| 0.3 * dice.normal()).collect()).unwrap())
    };
    (0..5).map(one).collect()
}

/// The largest |eigenvalue| of A − B, of four rows each, by power iteration on its square.
fn largest(a: &[f64], b: &[f64]) -> f64 {
    let apart = |v: &[f64]| -> Vec<f64> { (0..4).map(|i| (0..4).map(|j| (a[4 * i + j] - b[4 * i + j]) * v[j]).sum()).collect() };
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut v = vec![1.0, 0.7, -0.4, 0.2];
    for _ in 0..500 {
        let next = apart(&apart(&v));
        let length = norm(&next);
        v = next.iter().map(|x| x / length).collect();
    }
    norm(&apart(&v))
}

#[test]
fn both_bounds_are_above_the_truth_and_the_run_ends_within_the_accuracy() {
    let accuracy = 0.05;
    let mut ratios = vec![];
    for seed in 0..12 {
        let clients = turned(seed);
        let lab = Lab::new(clients.iter().map(|f| Arc::clone(f) as Arc<dyn Objective>).collect());
        let (rows, trained) = lab.run(&learning(accuracy, 3, 0.2), lab.zeros(), &Plan::new(1500, Seed(seed)));
        let (spreads, (most, least)) = (trained.server.spreads.clone().unwrap(), trained.server.constants.unwrap());
        assert_eq!(spreads.probes, PROBES);
        let mean: Vec<f64> = (0..4).map(|k| clients.iter().map(|f| f.centre()[k]).sum::<f64>() / 5.0).collect();
        let centres2 = clients.iter().flat_map(|f| f.centre().iter().zip(&mean).map(|(c, m)| (c - m).powi(2))).sum::<f64>() / 5.0;
        assert!(spreads.centres2 >= centres2, "σ_c² is {centres2}, the bound {}", spreads.centres2);
        // The truth of what the signs estimate: the mean of |Aᵢ − A|² in the Frobenius norm, which bounds the spectral one.
        let hessian: Vec<f64> = (0..16).map(|at| clients.iter().map(|f| f.curvature()[at]).sum::<f64>() / 5.0).collect();
        let frobenius2 = clients.iter().flat_map(|f| f.curvature().iter().zip(&hessian).map(|(a, m)| (a - m).powi(2))).sum::<f64>() / 5.0;
        ratios.push(spreads.bent / f64::from(PROBES) / frobenius2);
        let spectral2 = clients.iter().map(|f| largest(f.curvature(), &hessian).powi(2)).sum::<f64>() / 5.0;
        let bound = spreads.curvatures(most, least);
        assert!(bound * bound >= spectral2, "seed {seed}: σ_A² is {spectral2}, the bound {}", bound * bound);
        let rates: Vec<f64> = rows[1..].iter().map(|row| row.notes["gamma"]).collect();
        assert!(rates.windows(2).all(|pair| pair[1] >= pair[0]) && rates[rates.len() - 1] > 0.0);
        let best = lab.optimum(&crate::lab::flix(&[1.0; 5], "zeros")).x.unwrap();
        let apart = trained.server.x.distance2(&best).sqrt();
        assert!(apart <= accuracy, "seed {seed} ends {apart} away");
    }
    // Sixteen draws of signs in each of twelve problems: the mean is right to a few in a hundred.
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((mean - 1.0).abs() < 0.15, "{mean}: {ratios:?}");
}

/// A run of five clients, each of which is there in this share of the rounds, and whoever answers is enough.
fn coming_and_going(available: f64, rounds: u64) -> (Vec<Row>, Trained<LocalUpdate>) {
    let lab = Lab::new(turned(1).into_iter().map(|f| f as Arc<dyn Objective>).collect());
    let (method, seed) = (Arc::new(learning(0.05, 3, 0.2)), Seed(1));
    let devices: Devices = serde_json::from_value(json!({ "available": available })).unwrap();
    let inline = Inline::new(lab.host_with(&method, Arc::new(Memory::default()), seed));
    let (mut fleet, mut rows) = (Deployed::new(inline, Some(devices), seed), vec![]);
    let plan = Plan { quorum: 0.0, attempts: 1000, ..Plan::new(rounds, seed) };
    let trained = train(&*method, lab.zeros(), &plan, &mut fleet, &mut rows).unwrap();
    (rows, trained)
}

#[test]
fn devices_that_come_and_go_are_asked_for_signs_sixteen_times_and_the_rate_still_rises() {
    let (rows, trained) = coming_and_going(0.95, 60);
    assert_eq!(trained.outcome, Outcome::Finished);
    let spreads = trained.server.spreads.unwrap();
    assert!(spreads.tries == PROBES && (PROBES / 2..PROBES).contains(&spreads.probes), "{spreads:?}");
    let (most, least) = trained.server.constants.unwrap();
    assert!(spreads.curvatures(most, least) < most - least, "what was heard counts");
    assert!(rows[60].notes["gamma"] > 0.0);
    // Five replies at most, each with a vector more while signs are sent.
    let up = |round: usize| rows[round].bits.up - rows[round - 1].bits.up;
    let most = |rounds: std::ops::RangeInclusive<usize>| rounds.map(up).max().unwrap();
    assert!(most(17..=60) < most(1..=16), "signs are still sent");
    // Too few are not averaged.
    let few = motet_methods::local_update::Spreads { probes: PROBES / 2 - 1, ..spreads };
    assert_eq!(few.curvatures(3.0, 1.0), 2.0);
}

#[test]
fn a_rate_that_nobody_can_learn_ends_the_run_in_words() {
    // All five are there in one of 10^5 rounds.
    let Outcome::Failed { round, reason: said } = coming_and_going(0.1, 200).1.outcome else { panic!("it goes on with rate 0") };
    assert!(round == 51 && said.contains("devices") && said.contains("estimate") && said.contains("50 rounds"), "{said}");
}

#[test]
fn what_a_learnt_rate_does_not_go_with_is_refused() {
    let with = |more: Value| {
        let mut settings = json!({ "step": { "estimate": { "accuracy": 0.1, "online": true } }, "local_steps": 2, "server_step": 0.1 });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value::<LocalUpdate>(settings)
    };
    assert_eq!(with(json!({})).unwrap().suits(Some(4)), Ok(()));
    for (more, word) in [
        (json!({ "sampling": { "clients": 2 } }), "everyone"),
        (json!({ "loss": true }), "loss"),
        (json!({ "send": "deltas" }), "send"),
        (json!({ "theta": "K" }), "theta"),
        (json!({ "weights": "examples" }), "uniform"),
        (json!({ "step": { "estimate": { "accuracy": 0.1, "online": false } } }), "online = true"),
    ] {
        let said = with(more).unwrap().suits(Some(4)).unwrap_err().to_string();
        assert!(said.contains(word), "{said}");
    }
    for (step, word) in [
        (json!({ "estimate": { "accuracy": 0.1, "online": true }, "start": 1.0 }), "beside an estimate"),
        (json!({ "estimate": { "accuracy": 0.0, "online": true } }), "positive"),
        (json!({ "kind": "inverted", "start": 1.0 }), "inverse"),
    ] {
        let said = with(json!({ "step": step })).unwrap_err().to_string();
        assert!(said.contains(word), "{said}");
    }
    // Schedules are read as before.
    let inverse = with(json!({ "step": { "kind": "inverse", "start": 1.0, "after": 5.0 } })).unwrap();
    assert!(serde_json::to_value(&inverse).unwrap()["step"]["kind"] == "inverse");
}
