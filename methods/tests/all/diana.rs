//! DIANA against its specification (ALGORITHMS 7).

use std::sync::Arc;

use crate::lab::{Lab, all_close, close, flix};
use motet_core::{Batch, ClientId, ClientVersions, Constants, Outcome, Plan, Seed, Store, Trained, Vector, train};
use motet_methods::diana::Diana;
use motet_problems::synthetic::formula::lrs;
use motet_runtime::{Inline, Lossy, Memory};

fn diana(alpha: &[f64], more: serde_json::Value) -> Diana {
    let mut params = serde_json::json!({
        "alpha": { "per_client": alpha }, "start": "ones",
        "solve": { "kind": "newton", "to": 1e-14, "steps": 200 },
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(params).unwrap()
}

fn run(lab: &Lab, method: &Diana, rounds: u64, seed: u64) -> Trained<Diana> {
    lab.run(method, lab.zeros(), &Plan::new(rounds, Seed(seed))).1
}

#[test]
fn fixed_masks_walk_as_the_specification_says() {
    let lab = Lab::new(lrs(4, 6, 3));
    let method = diana(&[0.5; 4], serde_json::json!({ "compressor": { "kind": "cyclic", "k": 1 } }));
    let server = run(&lab, &method, 4, 1).server;
    close(server.step, 2.143583324245);
    all_close(&server.at.x, &[0.661073117750, -0.055143676821, 0.620838747504]);
    let (method, store) = (Arc::new(method), Arc::new(Memory::default()));
    let mut fleet = Inline::new(lab.host_with(&method, Arc::clone(&store), Seed(1)));
    let trained = train(&*method, lab.zeros(), &Plan::new(4, Seed(1)), &mut fleet, &mut vec![]).unwrap();
    let kept: Vec<ClientVersions<Vector>> = (0..4).map(|i| store.read(ClientId(i)).unwrap().unwrap()).collect();
    let h: Vec<Vector> = (0..4).map(|i| kept[i].named(trained.heard.of(ClientId(i as u32))).unwrap().clone()).collect();
    all_close(&h[0], &[-0.011621754445, 0.103692586615, 0.001418903342]);
    assert!(crate::lab::mean(&h).distance2(&trained.server.h) < 1e-30, "h is the mean of the hᵢ");
}

#[test]
fn random_masks_end_where_the_specification_says() {
    let lab = Lab::new(lrs(10, 20, 12));
    for (alpha, scale) in [(1.0, 1.0), (0.3, 0.09)] {
        let best = lab.optimum(&flix(&[alpha; 10], "ones")).x.unwrap();
        for (k, step, low, high, bound) in
            [(1, 0.139510964, 2.1e-3, 3.1e-3, 1.8e-1), (3, 0.379224200, 6e-10, 1.1e-9, 1.1e-4), (6, 0.664792269, 1.1e-17, 1.5e-17, 1.3e-8)]
        {
            let method = diana(&[alpha; 10], serde_json::json!({ "compressor": { "kind": "rand-k", "k": k } }));
            for seed in 0..20 {
                let server = run(&lab, &method, 300, seed).server;
                assert!((server.step * scale - step).abs() < 1e-9);
                let distance = server.at.x.distance2(&best);
                assert!(distance > low / 2.0 && distance < high * 2.0, "α = {alpha}, k = {k}, seed {seed}: {distance:e}");
                assert!(distance < bound);
            }
        }
    }
}

/// ∇Fᵢ(x)
fn gradients(lab: &Lab, alpha: &[f64], x: &Vector) -> Vec<Vector> {
    let models = lab.deployed(&flix(alpha, "ones"), x);
    let of = |i: usize| {
        let mut g = x.zeros_like();
        lab.clients[i].gradient(&models[i], Batch::all(), &mut g);
        g.scale(alpha[i]);
        g
    };
    (0..alpha.len()).map(of).collect()
}

#[test]
fn without_compression_and_memory_it_is_gradient_descent() {
    let (lab, alpha) = (Lab::new(lrs(4, 6, 3)), [0.1, 0.0, 0.7, 1.0]);
    let method = diana(&alpha, serde_json::json!({ "compressor": { "kind": "identity" } }));
    assert!(run(&lab, &method, 30, 1).server.at.x.distance2(&lab.iterate(&flix(&alpha, "ones"), 30)) < 1e-26);
}

#[test]
fn memories_may_start_at_the_gradients_for_one_exchange_in_full() {
    let lab = Lab::new(lrs(4, 6, 3));
    let method = diana(&[0.0, 0.5, 0.5, 1.0], serde_json::json!({ "compressor": { "kind": "natural" }, "h0": "gradients" }));
    let server = run(&lab, &method, 0, 1).server;
    let ones = Vector::from(vec![1.0; 3]);
    assert!(crate::lab::mean(&gradients(&lab, &[0.0, 0.5, 0.5, 1.0], &ones)).distance2(&server.h) < 1e-28);
    let rows = lab.run(&method, lab.zeros(), &Plan::new(1, Seed(1))).0;
    assert_eq!(rows[0].bits.up, 3 * (65 + 1) + 3 * 3 * 64, "introductions, then gradients");
    assert_eq!(rows[1].bits.up - rows[0].bits.up, 3 * 3 * 12);
}

#[test]
fn lost_replies_leave_the_servers_memory_the_mean_of_the_clients() {
    let lab = Lab::new(lrs(6, 6, 3));
    let method = Arc::new(diana(&[1.0; 6], serde_json::json!({ "compressor": { "kind": "rand-k", "k": 2 } })));
    let plan = Plan { quorum: 0.3, ..Plan::new(1500, Seed(1)) };
    let mut fleet = Lossy::new(Inline::new(lab.host(&method)), 0.3, Seed(5));
    let server = train(&*method, lab.zeros(), &plan, &mut fleet, &mut vec![]).unwrap().server;
    // Only if h is the mean of the hᵢ is the optimum a fixed point: then hᵢ → ∇Fᵢ(x*) and h → 0.
    let best = lab.optimum(&flix(&[1.0; 6], "ones")).x.unwrap();
    assert!(server.at.x.distance2(&best) < 1e-16, "{:e}", server.at.x.distance2(&best));
    assert!(server.h.norm2() < 1e-16, "{:e}", server.h.norm2());
}

#[test]
fn steps_of_the_other_regimes_are_those_of_theorems_7_and_9() {
    let lab = Lab::new(lrs(4, 6, 3));
    let with = |more: serde_json::Value| {
        let mut params = serde_json::json!({ "compressor": { "kind": "rand-k", "k": 1 }, "h0": "gradients" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run(&lab, &diana(&[0.5; 4], params), 0, 1)
    };
    let usual = with(serde_json::json!({})).server.step;
    close(with(serde_json::json!({ "regime": "convex" })).server.step, usual / 4.0);
    // ω = 2: r = 6, η₀ = 2·3·7/4
    let square: f64 = lab.constants().iter().map(|c: &Constants| (0.25 * c.smoothness.unwrap()).powi(2)).sum::<f64>() / 4.0;
    let noise: f64 = 10.5;
    let step = (1.0 / (2.0 * noise.sqrt())).min(2.0 / ((1.0 + 8.0 * noise).sqrt() + 1.0)) / square.sqrt();
    close(with(serde_json::json!({ "regime": "non-convex" })).server.step, step);
    let Outcome::Failed { reason, .. } = with(serde_json::json!({ "beta": 0.5 })).outcome else { panic!("β is too large") };
    assert!(reason.contains("lower beta"), "{reason}");
}
