//! One-shot averaging against the specification and its bounds.

use crate::lab::random::{self, draw};
use crate::lab::{Lab, all_close, close, flix, mean, printed};
use motet_core::{Direction, Facts, Metrics, Outcome, Plan, Seed, Study, Vector};
use motet_methods::one_shot::OneShot;
use motet_methods::parts::budget::{diameter2, normalised, variance};
use motet_problems::synthetic::formula::{lrs, q3};
use serde_json::json;

const Q3_ALPHA: [f64; 3] = [0.2, 0.5, 1.0];
const LRS_ALPHA: [f64; 4] = [0.1, 0.4, 0.7, 1.0];

fn one_shot(alpha: &[f64], weights: &str) -> OneShot {
    let solve = json!({ "kind": "newton", "to": 1e-14, "steps": 200 });
    serde_json::from_value(json!({ "alpha": { "per_client": alpha }, "weights": weights, "solve": solve })).unwrap()
}

/// x_avg, and F there less F*.
fn shot(lab: &Lab, alpha: &[f64], weights: &str) -> (Vector, f64) {
    let plan = Plan { reference: Some(lab.optimum(&flix(alpha, "zeros"))), ..Plan::new(9, Seed(1)) };
    let (rows, trained) = lab.run(&one_shot(alpha, weights), lab.zeros(), &plan);
    assert_eq!((trained.outcome, trained.rounds, rows.len()), (Outcome::Finished, 0, 1));
    (trained.server, rows[0].metrics["gap"])
}

/// αᵢ² Lᵢ
fn curvatures(lab: &Lab, alpha: &[f64]) -> Vec<f64> {
    lab.constants().iter().zip(alpha).map(|(c, a)| a * a * c.smoothness.unwrap()).collect()
}

fn squares(of: &[f64]) -> Vec<f64> {
    of.iter().map(|c| c * c).collect()
}

/// |∇F(x)|² and ζ, its bound at x_avg of Theorem 3.
fn stationarity(lab: &Lab, alpha: &[f64], x: &Vector) -> (f64, f64) {
    let method = one_shot(alpha, "stationary-points");
    let gradients: Vec<Vector> = lab.scores(&method, x).into_iter().map(|s| s.gradient.unwrap()).collect();
    let weights = squares(&curvatures(lab, alpha));
    let zeta = weights.iter().zip(lab.anchors(&method)).map(|(w, a)| w * a.distance2(x)).sum::<f64>() / alpha.len() as f64;
    (mean(&gradients).norm2(), zeta)
}

#[test]
fn q3_averages_as_the_specification_says() {
    let lab = Lab::new(q3());
    let (x, gap) = shot(&lab, &Q3_ALPHA, "minimisers");
    all_close(&x, &[-0.808323168503, 1.808323168503]);
    close(gap, 0.209044386350 - 0.200308043657);
    let (weights, anchors) = (curvatures(&lab, &Q3_ALPHA), lab.anchors(&one_shot(&Q3_ALPHA, "minimisers")));
    all_close(&Vector::from(normalised(&weights)), &[0.037400357365, 0.116876116766, 0.845723525868]);
    close(variance(&weights, &anchors), 0.459475076990);
    close(diameter2(&anchors), 8.0);
    close(lab.mixed_constants(&Q3_ALPHA).0 * variance(&weights, &anchors) / 2.0, 0.327608332724);
}

#[test]
fn lrs_averages_as_the_specification_says() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (x, gap) = shot(&lab, &LRS_ALPHA, "minimisers");
    all_close(&x, &[0.834060902132, -0.369387969868, 0.493828751686]);
    printed(gap, 2.612987015e-4);
    let (weights, anchors) = (curvatures(&lab, &LRS_ALPHA), lab.anchors(&one_shot(&LRS_ALPHA, "minimisers")));
    all_close(&Vector::from(normalised(&weights)), &[0.007270751266, 0.101787736439, 0.295862466320, 0.595079045975]);
    close(variance(&weights, &anchors), 0.667201887640);
    close(diameter2(&anchors), 3.184310785617);
    close(lab.mixed_constants(&LRS_ALPHA).0 * variance(&weights, &anchors) / 2.0, 0.055152755212);
    let (x, gap) = shot(&lab, &[0.3; 4], "minimisers");
    all_close(&x, &[0.579106864678, -0.712306889508, 0.619790473281]);
    printed(gap, 2.220257881e-5);
    close(0.09 * 0.423585266558 * variance(&curvatures(&lab, &[0.3; 4]), &anchors) / 2.0, 0.013322058549);
}

#[test]
fn the_weights_of_theorem_3_are_those_of_the_specification() {
    let lab = Lab::new(lrs(4, 6, 3));
    let weights = normalised(&squares(&curvatures(&lab, &LRS_ALPHA)));
    let expected = [1.169379573692e-4, 0.02291858715605, 0.1936317964627, 0.7833326784239];
    weights.iter().zip(expected).for_each(|(ours, theirs)| printed(*ours, theirs));
    let (x, _) = shot(&lab, &LRS_ALPHA, "stationary-points");
    let (gradient, zeta) = stationarity(&lab, &LRS_ALPHA, &x);
    close(zeta, 0.020674956680);
    close(gradient, 0.001344247182);
}

#[test]
fn both_theorems_hold_on_random_problems() {
    for k in 0..random::PROBLEMS {
        let draw = draw(k);
        let (lab, alpha, name) = (&draw.lab, &draw.alpha[..], &draw.name);
        let (weights, anchors) = (curvatures(lab, alpha), lab.anchors(&one_shot(alpha, "minimisers")));
        let (smoothness, _) = lab.mixed_constants(alpha);
        let bound = smoothness * variance(&weights, &anchors) / 2.0;
        let (_, gap) = shot(lab, alpha, "minimisers");
        // What rounding leaves of F when the bound is zero.
        assert!(gap <= bound + 1e-10, "{name}: {gap} above {bound}");
        let largest = alpha.iter().fold(0.0, |m: f64, a| m.max(*a));
        let (average, _) = lab.mixed_constants(&vec![1.0; alpha.len()]);
        assert!(bound <= largest * largest * average * diameter2(&anchors) / 2.0 + 1e-10, "{name}");
        let (x, _) = shot(lab, alpha, "stationary-points");
        let (gradient, zeta) = stationarity(lab, alpha, &x);
        assert!(gradient <= zeta + 1e-10, "{name}: {gradient} above {zeta}");
    }
}

#[test]
fn it_promises_what_the_theorems_bound() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (l, m): (Vec<_>, Vec<_>) = lab.constants().iter().map(|c| (c.smoothness.unwrap(), c.convexity.unwrap())).unzip();
    for (weights, bound) in [("minimisers", 0.055152755212), ("stationary-points", 0.020674956680)] {
        let method = one_shot(&LRS_ALPHA, weights);
        let anchors = || lab.anchors(&method);
        let promise = method.promise(&Facts { anchors: Some(&anchors), ..Facts::new(&l, &m, 3) }).unwrap();
        close(promise.at(0, &Metrics::new()).unwrap(), bound);
    }
}

#[test]
fn one_round_costs_d_plus_1_numbers_up_and_d_down_for_each_who_shares() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (_, trained) = lab.run(&one_shot(&[0.0, 0.5, 1.0, 0.2], "minimisers"), lab.zeros(), &Plan::new(1, Seed(1)));
    assert_eq!(trained.ledger.total(Direction::Up).bits, 3 * 64 * 4);
    assert_eq!(trained.ledger.total(Direction::Down).bits, 3 * 64 * 3);
}

#[test]
fn it_is_where_flix_starts_from_x_avg_and_nobody_sharing_is_no_error() {
    let lab = Lab::new(lrs(4, 6, 3));
    assert_eq!(shot(&lab, &LRS_ALPHA, "minimisers").0, lab.iterate(&flix(&LRS_ALPHA, "one-shot"), 0));
    let (_, trained) = lab.run(&one_shot(&[0.0; 4], "minimisers"), lab.zeros(), &Plan::new(1, Seed(1)));
    assert_eq!((trained.outcome, trained.server), (Outcome::Finished, lab.zeros()));
}
