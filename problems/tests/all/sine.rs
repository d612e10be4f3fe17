//! Sines: points on the right curves, and networks that start at dice of their own.

use std::path::Path;

use motet_core::{Batch, Vector};
use motet_problems::{Problem, ProblemConfig};
use serde_json::{Value, json};

fn config(source: Value, model: Value) -> ProblemConfig {
    serde_json::from_value(json!({ "source": source, "holdout": { "validation": 0.2, "test": 0.3 }, "model": model })).unwrap()
}

fn source() -> Value {
    json!({ "kind": "sine", "tasks": [[0.4, 0.5], [0.25, 3.2]], "counts": [2, 3], "examples": 40 })
}

fn mlp(own: bool) -> Value {
    json!({ "kind": "mlp", "sizes": [40, 40], "activation": "tanh", "normal": 1.0, "own_start": own })
}

fn build(config: &ProblemConfig) -> Problem {
    Problem::build(config, Path::new(""), 1).unwrap()
}

#[test]
fn clients_have_points_of_their_own_task() {
    let problem = build(&config(source(), json!({ "kind": "mlp", "sizes": [] })));
    assert_eq!((problem.shards.len(), problem.start().len()), (5, 2));
    assert!(problem.shards.iter().all(|s| s.train.samples() == 20));
    // A model that is 0 everywhere errs by the curve itself: mean y² is a²/2 up to the draw of 20 points.
    let zero = Vector::from(vec![0f32; 2]);
    let errors: Vec<f64> = problem.shards.iter().map(|s| s.train.value(&zero, Batch::all())).collect();
    for (error, amplitude) in errors.iter().zip([0.4, 0.4, 0.25, 0.25, 0.25]) {
        assert!((error / (amplitude * amplitude / 2.0) - 1.0).abs() < 0.5, "{error} for {amplitude}");
    }
    assert!(errors[0] != errors[1], "other points of the same curve");
}

#[test]
fn every_client_starts_at_normal_numbers_of_its_own_if_asked() {
    let (own, common) = (build(&config(source(), mlp(true))), build(&config(source(), mlp(false))));
    assert_eq!(own.start().len(), 1761, "1-40-40-1");
    assert_eq!(own.start(), common.start(), "the shared model starts at the same place");
    let starts: Vec<Vector> = own.shards.iter().map(|s| s.train.start()).collect();
    for (k, start) in starts.iter().enumerate() {
        // The mean square of 1761 standard normal numbers is 1 ± 0.034.
        assert!((start.norm2() / 1761.0 - 1.0).abs() < 0.15);
        assert!(starts[..k].iter().all(|other| other.distance2(start) > 1761.0) && start.distance2(&own.start()) > 1761.0);
    }
    assert_eq!(starts[3], build(&config(source(), mlp(true))).shards[3].train.start(), "the same again");
    assert!(common.shards.iter().all(|s| s.train.start() == *common.start()));
}

#[test]
fn tasks_without_clients_are_refused() {
    let mut wrong = source();
    wrong["counts"] = json!([5]);
    let said = Problem::build(&config(wrong, mlp(false)), Path::new(""), 1).err().unwrap().to_string();
    assert!(said.contains("source.counts") && said.contains("2 tasks and 1 counts"), "{said}");
}

#[test]
fn a_hold_out_is_cut_anew_for_each_run_on_the_same_clients_if_asked() {
    let read = |redraw: bool| -> ProblemConfig {
        let holdout = json!({ "validation": 0.2, "test": 0.3, "redraw": redraw });
        serde_json::from_value(json!({ "source": source(), "holdout": holdout, "model": { "kind": "mlp", "sizes": [] } })).unwrap()
    };
    let x = Vector::from(vec![0.1f32, 0.2]);
    let losses = |config: &ProblemConfig, run: u64| -> Vec<(f64, f64)> {
        let problem = Problem::build(config, Path::new(""), run).unwrap();
        let test = |s: &motet_core::Shard| s.test_evaluator.as_ref().unwrap().metrics(&x, None)[0].1;
        let validation = |s: &motet_core::Shard| s.validation_evaluator.as_ref().unwrap().metrics(&x, None)[0].1;
        // All 40 examples of a client, whoever has them: 20, 8 and 12.
        let whole = |s: &motet_core::Shard| 20.0 * s.train.value(&x, Batch::all()) + 8.0 * validation(s) + 12.0 * test(s);
        problem.shards.iter().map(|s| (whole(s), test(s))).collect()
    };
    let (one, two) = (losses(&read(true), 1), losses(&read(true), 2));
    for (a, b) in one.iter().zip(&two) {
        assert!((a.0 / b.0 - 1.0).abs() < 1e-5, "the same examples: {} and {}", a.0, b.0);
        assert!(a.1 != b.1, "cut otherwise");
    }
    assert_eq!(losses(&read(false), 1), losses(&read(false), 2));
    assert_eq!((read(true).draw_of(7), read(false).draw_of(7)), ((0, 7), (0, 0)));
}
