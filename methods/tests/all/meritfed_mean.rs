//! MeritFed on mean estimation: invariants, estimators, validation data, drift.

use std::path::Path;
use std::sync::Arc;

use motet_core::{Batch, ClientVersions, Host, Memo, Merit, Outcome, Plan, Rhythm, Row, Rows, Seed, Sink, Study, Trained, Vector, train};
use motet_methods::fedadp::FedAdp;
use motet_methods::meritfed::MeritFed;
use motet_methods::parts::{estimate, on_sphere};
use motet_problems::{Problem, ProblemConfig};
use motet_runtime::{Byzantine, ByzantineClients, Inline, Memory};
use serde_json::{Value, json};

use crate::meritfed::method;

/// Mean estimation with few clients: three like the target, six near it, six far from it.
pub(crate) fn problem(changes: Value, seed: u64) -> Problem {
    let mut source = json!({ "kind": "mean-estimation", "groups": [3, 6, 6], "mu": 0.1, "dim": 10, "samples": 200, "validation": 400 });
    for (key, value) in changes.as_object().unwrap() {
        source[key] = value.clone();
    }
    let config: ProblemConfig = serde_json::from_value(json!({ "source": source, "seed": "run" })).unwrap();
    Problem::build(&config, Path::new("."), seed).unwrap()
}

/// Rows and the merit ledger.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) rows: Vec<Row>,
    pub(crate) merits: Vec<Merit>,
}

impl Sink for Noted {
    fn row(&mut self, row: &Row) -> std::io::Result<()> {
        self.rows.push(row.clone());
        Ok(())
    }
    fn merit(&mut self, merit: &Merit) -> std::io::Result<()> {
        self.merits.push(merit.clone());
        Ok(())
    }
}

pub(crate) fn run<A: Study + Clone>(method: &A, problem: &Problem, plan: &Plan, liars: Option<ByzantineClients>) -> (Noted, Trained<A>) {
    let (method, store) = (Arc::new(method.clone()), Arc::new(Memory::<ClientVersions<A::Client>>::default()));
    let host = Host::new(Arc::clone(&method), Arc::clone(&problem.population), store, Arc::<Memo>::default(), plan.seed);
    let mut sink = Noted::default();
    let mut fleet = Byzantine::new(Inline::new(host), liars, plan.seed);
    let trained = train(&*method, problem.start().into_owned(), plan, &mut fleet, &mut sink).unwrap();
    (sink, trained)
}

pub(crate) fn seldom(rounds: u64, seed: u64) -> Plan {
    let look = motet_core::ProbeRequest { test: true, ..Default::default() };
    Plan { rhythm: Rhythm::At(vec![]), look, ..Plan::new(rounds, Seed(seed)) }
}

pub(crate) fn meritfed(changes: Value) -> MeritFed {
    let mut params = json!({ "step": 0.05, "batch": 20, "mirror": { "rate": 10, "steps": 5 } });
    for (key, value) in changes.as_object().unwrap() {
        params[key] = value.clone();
    }
    method(params)
}

/// |x|², the excess risk of the target.
pub(crate) fn excess(x: &Vector) -> f64 {
    x.norm2()
}

pub(crate) fn total(weights: &[f64], clients: std::ops::Range<usize>) -> f64 {
    weights[clients].iter().sum()
}

#[test]
fn weights_stay_on_the_simplex_after_every_round_of_every_solver() {
    let problem = problem(json!({}), 1);
    for mirror in [
        json!({ "rate": 10, "steps": 5 }),
        json!({ "kind": "smd", "rate": 10, "steps": 5, "batch": 100 }),
        json!({ "kind": "zeroth", "rate": 1, "steps": 5 }),
        json!({ "rate": 1e12, "steps": 3 }),
        json!({ "rate": 10, "steps": 5, "average": true, "damp": { "after": 3, "by": 10 } }),
    ] {
        let (kept, trained) = run(&meritfed(json!({ "mirror": mirror })), &problem, &Plan::new(30, Seed(1)), None);
        assert_eq!(trained.outcome, Outcome::Finished);
        assert_eq!(kept.merits.len(), 31, "a record per measured round");
        for merit in kept.merits {
            let weights = merit.weights.to_f64();
            assert!(weights.iter().all(|w| *w >= 0.0), "{mirror}: {weights:?}");
            // Fifteen numbers, each rounded to single precision.
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{mirror}: {weights:?}");
        }
        let exact = trained.server.w.weights();
        assert!(exact.iter().all(|w| *w > 0.0) && (exact.iter().sum::<f64>() - 1.0).abs() < 1e-14, "{mirror}: {exact:?}");
    }
}

#[test]
fn the_ledger_averages_over_rounds_that_are_not_measured() {
    // FedAdp's weights have no memory: every tenth round alone says little about the other nine.
    let (problem, adp): (_, FedAdp) = (problem(json!({}), 1), method(json!({ "step": 0.05, "batch": 20 })));
    let often = run(&adp, &problem, &Plan::new(40, Seed(1)), None).0.merits;
    let seldom = run(&adp, &problem, &Plan { rhythm: Rhythm::Every(10), ..Plan::new(40, Seed(1)) }, None).0.merits;
    assert!(often.iter().all(|merit| merit.mean.is_none()), "one round is its own average");
    for (k, merit) in seldom.iter().enumerate().skip(1) {
        let rounds = &often[10 * k - 9..=10 * k];
        assert_eq!((merit.round, merit.rounds, &merit.weights), (10 * k as u64, 10, &rounds[9].weights));
        for client in 0..15 {
            let mean = rounds.iter().map(|m| m.weights.at(client)).sum::<f64>() / 10.0;
            // Numbers below 1, rounded to single precision.
            assert!((merit.average().at(client) - mean).abs() < 1e-7, "client {client} until round {}", merit.round);
        }
    }
}

#[test]
fn the_zeroth_order_estimator_is_unbiased_within_its_standard_error() {
    // φ(w) = f̂(x − γ Σ wᵢ gᵢ) with a quadratic f̂: the central difference has no error of its own, only that of e.
    let (rows, x, gamma, h) = ([[1.0, 0.3], [-0.2, 1.0], [0.5, -0.7], [0.1, 0.1]], [1.0, 2.0], 0.1, 0.05);
    let phi = |w: &[f64]| {
        let y = |l: usize| x[l] - gamma * rows.iter().zip(w).map(|(g, w)| w * g[l]).sum::<f64>();
        0.5 * (y(0).powi(2) + 3.0 * y(1).powi(2))
    };
    let w = [0.4, 0.3, 0.2, 0.1];
    let y = |l: usize| x[l] - gamma * rows.iter().zip(w).map(|(g, w)| w * g[l]).sum::<f64>();
    let slope: Vec<f64> = rows.iter().map(|g| -gamma * (g[0] * y(0) + 3.0 * g[1] * y(1))).collect();
    let (draws, mut rng) = (200_000, Seed(5).server(1, 0));
    let (mut sum, mut squares) = ([0.0; 4], [0.0; 4]);
    for _ in 0..draws {
        let e = on_sphere(4, &mut rng);
        let at = |h: f64| phi(&w.iter().zip(&e).map(|(w, e)| w + h * e).collect::<Vec<_>>());
        for (k, g) in estimate(at(h), at(-h), h, &e).into_iter().enumerate() {
            sum[k] += g;
            squares[k] += g * g;
        }
    }
    for k in 0..4 {
        let (n, mean) = (f64::from(draws), sum[k] / f64::from(draws));
        let error = ((squares[k] / n - mean * mean) / n).sqrt();
        assert!((mean - slope[k]).abs() <= 4.0 * error, "∂φ/∂w{k}: {mean} ± {error}, not {}", slope[k]);
        assert!(error < 0.02 * slope[k].abs() + 0.002, "the test would see a missing factor");
    }
}

#[test]
fn the_zeroth_order_solver_finds_the_same_friends_as_the_slopes() {
    let problem = problem(json!({ "mu": 0.001 }), 3);
    for mirror in [json!({ "rate": 20, "steps": 10 }), json!({ "kind": "zeroth", "rate": 2, "steps": 40 })] {
        let (_, trained) = run(&meritfed(json!({ "mirror": mirror })), &problem, &seldom(1500, 3), None);
        let far = total(&trained.server.w.weights(), 9..15);
        assert!(far < 0.1, "{mirror}: the far group has {far}");
    }
}

#[test]
fn validation_may_be_held_out_fresh_or_the_training_data() {
    let held = problem(json!({}), 1);
    let endless = problem(json!({ "validation": "endless" }), 1);
    let smd = json!({ "kind": "smd", "rate": 10, "steps": 5, "batch": 50 });
    let end = |validation: &str, problem: &Problem| {
        let (_, trained) = run(&meritfed(json!({ "mirror": smd, "validation": validation })), problem, &seldom(800, 1), None);
        assert_eq!(trained.outcome, Outcome::Finished);
        (excess(&trained.server.x), total(&trained.server.w.weights(), 9..15))
    };
    for (name, (error, far)) in
        [("held-out", end("held-out", &held)), ("fresh", end("fresh", &endless)), ("training", end("training", &held))]
    {
        // Averaging everybody ends near (6/15)² = 0.16.
        assert!(error < 0.08 && far < 0.1, "{name}: |x|² = {error}, far group {far}");
    }
}

#[test]
fn when_a_group_moves_away_its_weight_follows() {
    let drift = json!({ "mu": 0.001, "drift": { "after": 1000, "mu": 2.0 } });
    let merit = meritfed(json!({ "mirror": { "rate": 10, "steps": 10 } }));
    let plan = Plan { rhythm: Rhythm::At(vec![1000, 1500]), ..Plan::new(1500, Seed(2)) };
    let (kept, _) = run(&merit, &problem(drift, 2), &plan, None);
    let near: Vec<f64> = kept.merits.iter().map(|m| total(&m.weights.to_f64(), 3..9)).collect();
    assert!(near[0] > 0.4 && near[1] < 0.05, "before and 500 rounds after: {near:?}");
}

#[test]
fn endless_samples_answer_the_same_question_alike() {
    let problem = problem(json!({ "validation": "endless" }), 1);
    let f = problem.shards[0].validation.as_ref().unwrap();
    let x = Vector::from(vec![0.5; 10]);
    assert_eq!(f.value(&x, Batch::of(&[7, 9])), f.value(&x, Batch { rows: Rows::Only(&[7, 9]), ..Batch::all() }));
    assert_ne!(f.value(&x, Batch::of(&[7])), f.value(&x, Batch::of(&[8])));
}
