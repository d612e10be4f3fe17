//! Optima of problems that are hard in one way or another.

// Outside of `#[test]` functions too, a panic is how a test fails.

use std::sync::Arc;

use motet_core::{Batch, Objective, Seed, Vector};
use motet_problems::reference::{Part, Reference, ReferenceError, minimise};
use motet_problems::synthetic::Quadratic;
use motet_problems::{Dataset, Examples, Matrix, ModelConfig, Targets};

fn model(config: &str) -> ModelConfig {
    serde_json::from_str(config).unwrap()
}

fn random_examples(rows: usize, cols: usize, classes: u32) -> Arc<Examples> {
    let mut dice = Seed(9).problem(0);
    let features = Matrix::dense(cols, (0..rows * cols).map(|_| dice.normal()).collect()).unwrap();
    let targets = match classes {
        0 => Targets::Numbers((0..rows).map(|_| dice.normal()).collect()),
        _ => Targets::Classes { labels: (0..rows).map(|_| dice.below(classes as usize) as u32).collect(), classes },
    };
    Arc::new(Examples::new(Dataset::new(features, targets)).unwrap())
}

fn alone(f: &dyn Objective, steps: u64) -> Reference {
    minimise(&[Part { alpha: 1.0, local: None, objective: f }], steps).unwrap()
}

fn gradient_norm(f: &dyn Objective, x: &Vector) -> f64 {
    let mut g = x.zeros_like();
    f.gradient(x, Batch::all(), &mut g);
    g.norm()
}

#[test]
fn condition_numbers_up_to_1e10_leave_no_gap() {
    for condition in [1e2, 1e6, 1e10] {
        let diagonal: Vec<f64> = (0..40).map(|k| f64::powf(condition, f64::from(k) / 39.0)).collect();
        let centre: Vec<f64> = (0..40).map(|k| f64::from(k).sin()).collect();
        let best = alone(&Quadratic::diagonal(&diagonal, centre).unwrap(), 0);
        assert!(best.exact && best.value.abs() < 1e-13, "κ = {condition:e}: {best:?}");
    }
}

#[test]
fn weak_regularisers_and_many_coefficients_are_solved_exactly() {
    for (config, classes) in [
        (r#"{"kind": "logistic", "l2": 1e-6, "intercept": true}"#, 2),
        (r#"{"kind": "softmax", "l2": 1e-4}"#, 4),
        (r#"{"kind": "one-vs-rest", "l2": 1e-4}"#, 4),
        (r#"{"kind": "ridge"}"#, 0),
    ] {
        let data = random_examples(300, 20, classes);
        let f = model(config).objective(&data, 0..300).unwrap();
        let best = alone(&*f, 0);
        assert!(best.exact && gradient_norm(&*f, &best.x) < 1e-12, "{config}: {} {}", best.how, gradient_norm(&*f, &best.x));
    }
}

#[test]
fn a_dimension_too_large_for_a_matrix_is_solved_by_products() {
    let data = random_examples(200, 900, 2);
    let f = model(r#"{"kind": "logistic", "l2": 1e-3}"#).objective(&data, 0..200).unwrap();
    let best = alone(&*f, 0);
    assert!(best.exact && gradient_norm(&*f, &best.x) < 1e-12, "{}", best.how);
}

#[test]
fn an_exact_fit_has_value_zero() {
    let data = random_examples(5, 12, 0);
    let f = model(r#"{"kind": "ridge"}"#).objective(&data, 0..5).unwrap();
    let best = alone(&*f, 0);
    assert!(best.exact && best.value < 1e-25, "{best:?}");
}

#[test]
fn separable_data_without_regulariser_has_no_minimiser_and_says_so() {
    let features = Matrix::dense(1, vec![1.0, 2.0, -1.0, -3.0]).unwrap();
    let targets = Targets::Classes { labels: vec![1, 1, 0, 0], classes: 2 };
    let data = Arc::new(Examples::new(Dataset::new(features, targets)).unwrap());
    let f = model(r#"{"kind": "logistic"}"#).objective(&data, 0..4).unwrap();
    let (short, long) = (alone(&*f, 10), alone(&*f, 1000));
    assert!(!short.exact && !long.exact && long.how.contains("no minimiser"));
    assert!(0.0 < long.value && long.value < short.value && short.value < f.value(&Vector::from(vec![0.0]), Batch::all()));
}

#[test]
fn clients_that_share_nothing_add_a_constant() {
    let (a, b) = (Quadratic::diagonal(&[2.0], vec![1.0]).unwrap(), Quadratic::diagonal(&[1.0], vec![5.0]).unwrap());
    let (at_one, at_seven) = (Vector::from(vec![1.0]), Vector::from(vec![7.0]));
    let parts = [Part { alpha: 0.5, local: Some(&at_one), objective: &a }, Part { alpha: 0.0, local: Some(&at_seven), objective: &b }];
    let best = minimise(&parts, 0).unwrap();
    assert!((best.x.at(0) - 1.0).abs() < 1e-15 && best.value == 1.0);
    let best = minimise(&parts[1..], 0).unwrap();
    assert!(best.exact && best.value == 2.0);
}

#[test]
fn parts_that_make_no_function_are_refused() {
    let (one, two) = (Quadratic::diagonal(&[1.0], vec![0.0]).unwrap(), Quadratic::diagonal(&[1.0; 2], vec![0.0; 2]).unwrap());
    let part = |alpha, objective| Part { alpha, local: None, objective };
    assert_eq!(minimise(&[], 0), Err(ReferenceError::Empty));
    assert_eq!(minimise(&[part(1.0, &one), part(0.5, &one)], 0), Err(ReferenceError::NoLocal { client: 1 }));
    assert_eq!(minimise(&[part(1.0, &one), part(1.0, &two)], 0), Err(ReferenceError::Dimension { client: 1, dim: 2, first: 1 }));
}
