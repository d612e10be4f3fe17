//! Which data a problem is made of, and whose; and which test rows a model gets right.

use motet_problems::{Problem, ProblemConfig};
use std::path::Path;

fn build(source: &str, holdout: &str, run: u64) -> Problem {
    let text = format!(r#"{{"source": {source}, "holdout": {holdout}, "model": {{"kind": "logistic", "l2": 0.1}}, "seed": "run"}}"#);
    let config: ProblemConfig = serde_json::from_str(&text).unwrap();
    Problem::build(&config, Path::new(""), run).unwrap()
}

const FREE: &str = r#"{"kind": "synthetic", "clients": 3, "examples": 20, "features": 4, "heterogeneity": 0.5}"#;
const KNOWN: &str = r#"{"kind": "synthetic", "clients": 3, "examples": 20, "features": 4, "heterogeneity": 0.5, "truth": 7}"#;

#[test]
fn another_seed_draws_other_clients_unless_the_truth_is_given() {
    let half = r#"{"test": 0.5}"#;
    let [a, b] = [1, 2].map(|run| build(FREE, half, run).card());
    assert!(a.data != b.data && a.people != b.people);
    let [a, b] = [1, 2].map(|run| build(KNOWN, half, run));
    assert!(a.identity.data != b.identity.data && a.identity.people == b.identity.people);
    assert_eq!((a.card().examples, a.card().tested), (30, 30));
    // The rows are new: their best models differ.
    let value = |problem: &Problem| problem.shards[0].train.value(&problem.start(), motet_core::Batch::all());
    let shifted = |problem: &Problem| {
        let x = motet_core::Vector::from(vec![0.3, -0.2, 0.1, 0.4]);
        problem.shards[0].train.value(&x, motet_core::Batch::all())
    };
    assert!(value(&a) == value(&b) && shifted(&a) != shifted(&b));
}

#[test]
fn another_hold_out_of_the_same_data_is_the_same_data_of_the_same_clients() {
    let text = format!(
        r#"{{"source": {FREE}, "holdout": {{"test": 0.5, "redraw": true}}, "model": {{"kind": "logistic", "l2": 0.1}}, "seed": 3}}"#
    );
    let config: ProblemConfig = serde_json::from_str(&text).unwrap();
    let [a, b] = [1, 2].map(|run| Problem::build(&config, Path::new(""), run).unwrap());
    assert_eq!(a.identity, b.identity);
}

#[test]
fn the_share_of_right_rows_is_the_accuracy() {
    let problem = build(KNOWN, r#"{"test": 0.5}"#, 1);
    let x = motet_core::Vector::from(vec![1.0, -0.5, 0.25, 2.0]);
    for shard in problem.shards.iter() {
        let test = shard.test_evaluator.as_ref().unwrap();
        let right = test.right(&x, None).unwrap();
        let accuracy = test.metrics(&x, None).into_iter().find(|(name, _)| *name == "accuracy").unwrap().1;
        assert_eq!(right.len(), 10);
        assert_eq!(right.iter().filter(|r| **r).count() as f64 / 10.0, accuracy);
    }
}
