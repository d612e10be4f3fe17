//! Error feedback: EF and EF21 (ALGORITHMS 8).

use std::sync::Arc;

use crate::lab::random::{draw, point};
use crate::lab::{Lab, close, flix};
use motet_core::{Plan, Seed, Study, Vector, train};
use motet_methods::ef::Ef;
use motet_methods::ef21::Ef21;
use motet_problems::synthetic::formula::lrs;
use motet_runtime::{Inline, Lossy};

fn method<M: serde::de::DeserializeOwned>(alpha: &[f64], compressor: serde_json::Value, start: &str) -> M {
    let solve = serde_json::json!({ "kind": "newton", "to": 1e-14, "steps": 200 });
    let params = serde_json::json!({ "alpha": { "per_client": alpha }, "start": start, "solve": solve, "compressor": compressor });
    serde_json::from_value(params).unwrap()
}

fn top(k: usize) -> serde_json::Value {
    serde_json::json!({ "kind": "top-k", "k": k })
}

fn end<A: Study + Clone>(lab: &Lab, method: &A, rounds: u64) -> A::Server {
    lab.run(method, lab.zeros(), &Plan::new(rounds, Seed(1))).1.server
}

#[test]
fn with_every_coordinate_kept_both_are_gradient_descent() {
    let (lab, alpha) = (Lab::new(lrs(4, 6, 3)), [0.1, 0.0, 0.7, 1.0]);
    for start in ["ones", "one-shot"] {
        let descent = lab.iterate(&flix(&alpha, start), 30);
        let (ef, ef21) = (end(&lab, &method::<Ef>(&alpha, top(3), start), 30), end(&lab, &method::<Ef21>(&alpha, top(3), start), 30));
        let step = end(&lab, &method::<Ef>(&alpha, top(3), start), 0).step;
        assert_eq!(step, lab.run(&flix(&alpha, start), lab.zeros(), &Plan::new(0, Seed(1))).1.server.step);
        // Equal but for the order of roundings.
        assert!(ef.x.distance2(&descent) < 1e-28 && ef21.x.distance2(&descent) < 1e-28);
    }
}

#[test]
fn the_step_of_ef21_is_that_of_its_theorem() {
    let lab = Lab::new(lrs(4, 6, 3));
    let step = end(&lab, &method::<Ef21>(&[0.5; 4], top(1), "ones"), 0).step;
    let l: Vec<f64> = lab.constants().iter().map(|c| 0.25 * c.smoothness.unwrap()).collect();
    let (mean, root) = (l.iter().sum::<f64>() / 4.0, (l.iter().map(|l| l * l).sum::<f64>() / 4.0).sqrt());
    let theta = 1.0 - (2.0f64 / 3.0).sqrt();
    close(step, 1.0 / (mean + root * ((2.0 / 3.0 / theta) / theta).sqrt()));
}

#[test]
fn ef21_with_top_k_converges_on_random_problems() {
    for k in 0..20 {
        let mut d = draw(k);
        let (lab, alpha, dim) = (&d.lab, &d.alpha, d.lab.dim());
        let best = lab.optimum(&flix(alpha, "ones"));
        let start = point(&mut d.rng, dim);
        let method: Ef21 = method(alpha, top(1 + dim / 3), "model");
        let plan = Plan { reference: Some(best), ..Plan::new(200, Seed(1)) };
        let rows = lab.run(&method, start, &plan).0;
        let gaps: Vec<f64> = rows.iter().map(|row| row.metrics["gap"]).collect();
        let worst = gaps.iter().copied().fold(0.0, f64::max);
        assert!(worst <= 4.0 * gaps[0] + 1e-12, "{}: the gap grows from {} to {worst}", d.name, gaps[0]);
        assert!(gaps[200] < gaps[0] + 1e-12, "{}: {} after {}", d.name, gaps[200], gaps[0]);
    }
}

#[test]
fn ef21_reaches_the_optimum_where_ef_keeps_a_distance() {
    let lab = Lab::new(lrs(4, 6, 3));
    let best = lab.optimum(&flix(&[1.0; 4], "ones")).x.unwrap();
    let ef21 = end(&lab, &method::<Ef21>(&[1.0; 4], top(1), "ones"), 3000).x.distance2(&best);
    let ef = end(&lab, &method::<Ef>(&[1.0; 4], top(1), "ones"), 3000).x.distance2(&best);
    assert!(ef21 < 1e-20, "{ef21:e}");
    assert!(ef < 0.05 && ef > 1e-12, "{ef:e}");
}

#[test]
fn unbiased_compressors_are_scaled_until_they_contract() {
    let lab = Lab::new(lrs(4, 6, 3));
    let best = lab.optimum(&flix(&[1.0; 4], "ones")).x.unwrap();
    for compressor in [
        serde_json::json!({ "kind": "rand-k", "k": 1 }),
        serde_json::json!({ "kind": "natural" }),
        serde_json::json!({ "kind": "qsgd", "levels": 2 }),
    ] {
        let distance = end(&lab, &method::<Ef21>(&[1.0; 4], compressor.clone(), "ones"), 3000).x.distance2(&best);
        assert!(distance < 1e-16, "{compressor}: {distance:e}");
    }
}

#[test]
fn lost_replies_leave_the_servers_gradient_the_mean_of_the_clients() {
    let lab = Lab::new(lrs(6, 6, 3));
    let method: Arc<Ef21> = Arc::new(method(&[1.0; 6], top(1), "ones"));
    let plan = Plan { quorum: 0.3, ..Plan::new(3000, Seed(1)) };
    let mut fleet = Lossy::new(Inline::new(lab.host(&method)), 0.3, Seed(5));
    let server = train(&*method, lab.zeros(), &plan, &mut fleet, &mut vec![]).unwrap().server;
    let best = lab.optimum(&flix(&[1.0; 6], "ones")).x.unwrap();
    assert!(server.x.distance2(&best) < 1e-16 && server.g.norm2() < 1e-16, "{:e}", server.x.distance2(&best));
}

#[test]
fn a_round_of_top_k_costs_numbers_and_coordinates() {
    let lab = Lab::new(lrs(4, 6, 3));
    let rows = lab.run(&method::<Ef>(&[0.0, 0.5, 0.5, 1.0], top(2), "ones"), Vector::from(vec![0.0; 3]), &Plan::new(3, Seed(1))).0;
    rows.windows(2).for_each(|w| assert_eq!(w[1].bits.up - w[0].bits.up, 3 * 2 * (64 + 2)));
}
