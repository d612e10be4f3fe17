//! Scafflix with a compressed uplink: the sum of control variates, the limit, the bits it saves.

use crate::lab::controlled::{End, Setup, Target};
use crate::lab::{Clients, Lab, close, flix, mushrooms};
use motet_core::{Objective, Plan, Seed, Stop, Study};
use motet_methods::scafflix::{Personal, Scafflix};
use motet_problems::synthetic::Quadratic;
use motet_problems::synthetic::formula::lrs;
use serde_json::{Value, json};
use std::sync::Arc;

const ALPHA: [f64; 4] = [0.1, 0.4, 0.7, 1.0];

fn scafflix(alpha: &[f64], compressor: &Value, more: Value) -> Scafflix {
    let solve = json!({ "kind": "newton", "to": 1e-14, "steps": 200 });
    let mut params = json!({ "alpha": { "per_client": alpha }, "solve": solve, "compressor": compressor });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(params).unwrap()
}

fn rounds(count: u64) -> Plan {
    Plan::new(count, Seed(0))
}

fn unbiased() -> [Value; 5] {
    [
        json!({ "kind": "rand-k", "k": 1 }),
        json!({ "kind": "rand-k", "k": 1, "indices": "sent" }),
        json!({ "kind": "bernoulli", "q": 0.5 }),
        json!({ "kind": "qsgd", "levels": 2 }),
        json!({ "kind": "natural" }),
    ]
}

#[test]
fn the_weighted_sum_of_control_variates_stays_zero_whatever_is_compressed_drawn_or_lost() {
    let lab = Lab::new(lrs(4, 6, 3));
    let target = Target::new(&lab, &ALPHA);
    for compressor in unbiased() {
        for more in [json!({}), json!({ "h0": "projected-gradients" }), json!({ "participation": { "clients": 2 } }), json!({ "batch": 2 })]
        {
            let method = scafflix(&ALPHA, &compressor, more.clone());
            for (k, loss) in [(0, 0.0), (1, 0.0), (7, 0.0), (25, 0.0), (25, 0.3)] {
                let end = Setup { loss, ..Setup::new(&lab, 3) }.run(&method, &rounds(k));
                // Rounding of x at some 1e-16, times p η/γ, for 25 rounds.
                assert!(target.drift(&end.h) <= 1e-12, "{compressor} {more}: {:e} after {k} rounds", target.drift(&end.h));
                assert!(k < 25 || end.h.iter().any(|h| h.norm() > 1e-3), "{compressor} {more}: h is alive");
            }
        }
    }
}

#[test]
fn every_unbiased_compressor_finds_the_optimum_and_lost_replies_change_nothing() {
    let lab = Lab::new(lrs(4, 6, 3));
    let target = Target::new(&lab, &ALPHA);
    for compressor in unbiased() {
        for (more, count) in [(json!({}), 600), (json!({ "participation": { "clients": 3 } }), 1500)] {
            let method = scafflix(&ALPHA, &compressor, more.clone());
            let whole = Setup::new(&lab, 5).run(&method, &rounds(count));
            let apart = whole.x.distance2(&target.x).sqrt();
            assert!(apart < 1e-12, "{compressor} {more}: {apart:e}");
            let lossy = Setup { loss: 0.3, ..Setup::new(&lab, 5) }.run(&method, &rounds(count));
            assert_eq!((whole.x, whole.h), (lossy.x, lossy.h), "{compressor} {more}: the silent are asked again in the same slot");
        }
    }
}

#[test]
fn a_compressor_that_keeps_everything_changes_nothing() {
    let lab = Lab::new(lrs(4, 6, 3));
    let run = |compressor: Value| Setup::new(&lab, 1).run(&scafflix(&ALPHA, &compressor, json!({ "coin": { "every": 3 } })), &rounds(20));
    let (plain, whole) = (run(json!(null)), run(json!({ "kind": "identity" })));
    close(plain.p, whole.p);
    // The difference to x is rounded once more.
    assert!(plain.x.distance2(&whole.x).sqrt() < 1e-14);
    plain.h.iter().zip(&whole.h).for_each(|(a, b)| assert!(a.distance2(b).sqrt() < 1e-13));
}

#[test]
fn the_damping_holds_where_every_direction_is_as_steep_as_can_be() {
    // ½|x − cᵢ|²: one step goes all the way, and nothing but the damping calms what the compressor adds.
    let centre = |i: usize| (0..8).map(|l| ((3 * i + 5 * l) as f64).sin()).collect();
    let identity = || (0..64).map(|k| f64::from(u8::from(k % 9 == 0))).collect();
    let clients: Clients = (0..3).map(|i| Arc::new(Quadratic::new(identity(), centre(i)).unwrap()) as Arc<dyn Objective>).collect();
    let lab = Lab::new(clients);
    let target = Target::new(&lab, &[1.0; 3]);
    for k in [1, 2, 4] {
        let method = scafflix(&[1.0; 3], &json!({ "kind": "rand-k", "k": k }), json!({}));
        let end = Setup::new(&lab, 1).run(&method, &rounds(2000));
        close(end.p, 1.0);
        assert!(end.x.distance2(&target.x).sqrt() < 1e-12, "k = {k}");
    }
}

/// Uplink bits to two gaps, the mean over some seeds.
fn bits_to(lab: &Lab, method: &Scafflix, count: u64, seeds: u64) -> [f64; 2] {
    let alpha: Vec<f64> = (0..lab.clients.len() as u32).map(|i| method.share(motet_core::ClientId(i))).collect();
    let reference = Some(lab.optimum(&flix(&alpha, "ones")));
    let plan = Plan { reference, stop: vec![Stop { metric: "gap".into(), value: 1e-10 }], ..rounds(count) };
    let mut bits = [0.0; 2];
    for seed in 1..=seeds {
        let end: End<Personal> = Setup::new(lab, seed).run(method, &plan);
        for (bits, goal) in bits.iter_mut().zip([1e-6, 1e-10]) {
            let row = end.rows.iter().find(|row| row.metrics["gap"] <= goal);
            *bits += row.unwrap_or_else(|| panic!("seed {seed}: {goal:e} was not reached")).bits.up as f64 / seeds as f64;
        }
    }
    bits
}

fn saves_bits(lab: &Lab, alpha: f64, count: u64, seeds: u64) {
    let alpha = vec![alpha; lab.clients.len()];
    let start = json!({ "start": "ones" });
    let full = bits_to(lab, &scafflix(&alpha, &json!(null), start.clone()), count, seeds);
    for compressor in [json!({ "kind": "rand-k", "k": 0.2 }), json!({ "kind": "qsgd", "levels": 4 }), json!({ "kind": "natural" })] {
        let few = bits_to(lab, &scafflix(&alpha, &compressor, start.clone()), count, seeds);
        eprintln!("alpha = {}, {compressor}: {few:.0?} bits to 1e-6 and 1e-10, {full:.0?} in full", alpha[0]);
        assert!(few[0] < full[0] && few[1] < full[1], "{compressor}: {few:?} bits, {full:?} in full");
    }
}

#[test]
fn on_a_formula_problem_it_reaches_the_same_gaps_with_fewer_bits() {
    saves_bits(&Lab::new(lrs(10, 20, 12)), 1.0, 2000, 5);
}

#[test]
fn on_mushrooms_it_reaches_the_same_gaps_with_fewer_bits() {
    let Some(clients) = mushrooms::corrected() else { return };
    let lab = Lab::new(clients);
    saves_bits(&lab, 1.0, 2000, 1);
    saves_bits(&lab, 0.1, 2000, 1);
}

#[test]
fn harsh_compression_of_few_clients_does_not_diverge() {
    // ω = 23 with three clients: without damping it diverges.
    let lab = Lab::new(lrs(3, 40, 24));
    let target = Target::new(&lab, &[1.0; 3]);
    for compressor in [json!({ "kind": "rand-k", "k": 1 }), json!({ "kind": "qsgd", "levels": 1 })] {
        for seed in 1..=3 {
            let end = Setup::new(&lab, seed).run(&scafflix(&[1.0; 3], &compressor, json!({})), &rounds(3000));
            let apart = end.x.distance2(&target.x).sqrt();
            assert!(apart < 1e-6, "{compressor}: {apart:e}");
        }
    }
}

#[test]
fn compressors_that_cannot_work_are_refused() {
    let refused = |compressor: Value, more: Value| scafflix(&ALPHA, &compressor, more).suits(Some(4)).err().map(|e| e.to_string());
    assert_eq!(refused(json!({ "kind": "rand-k", "k": 1 }), json!({ "participation": { "clients": 2 } })), None);
    assert!(refused(json!({ "kind": "top-k", "k": 1 }), json!({})).unwrap().contains("biased"));
    let author = refused(json!({ "kind": "rand-k", "k": 1 }), json!({ "participation": { "clients": 2, "variant": "author" } }));
    assert!(author.unwrap().contains("tracked"));
    assert!(refused(json!([{ "kind": "natural" }]), json!({})).unwrap().contains("the problem has 4"));
}
