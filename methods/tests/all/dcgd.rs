//! DCGD against its specification (ALGORITHMS 6).

use std::sync::Arc;

use crate::lab::{Lab, all_close, close, flix};
use motet_core::{Algorithm, Batch, ClientId, Objective, Outcome, Plan, Rng, Seed, Study, Trained, Vector};
use motet_methods::dcgd::Dcgd;
use motet_methods::parts::compress::{COMPRESSORS, Compress, Key, Mask, Packed, Sends};
use motet_problems::synthetic::formula::lrs;

fn dcgd(alpha: &[f64], more: serde_json::Value) -> Dcgd {
    let mut params = serde_json::json!({
        "alpha": { "per_client": alpha }, "start": "ones",
        "solve": { "kind": "newton", "to": 1e-14, "steps": 200 },
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(params).unwrap()
}

fn run(lab: &Lab, method: &Dcgd, rounds: u64, seed: u64) -> Trained<Dcgd> {
    lab.run(method, lab.zeros(), &Plan::new(rounds, Seed(seed))).1
}

#[test]
fn fixed_masks_walk_as_the_specification_says() {
    let lab = Lab::new(lrs(4, 6, 3));
    let trained = run(&lab, &dcgd(&[0.5; 4], serde_json::json!({ "compressor": { "kind": "cyclic", "k": 1 } })), 4, 1);
    close(trained.server.step, 4.422813887819);
    all_close(&trained.server.at.x, &[0.678372407930, -0.402778180350, 0.586611011400]);
}

#[test]
fn random_masks_end_where_the_specification_says() {
    let lab = Lab::new(lrs(10, 20, 12));
    let best = lab.optimum(&flix(&[1.0; 10], "ones"));
    close(best.value, 0.687300500323);
    let best = best.x.unwrap();
    for (k, step, low, high) in [(1, 0.331725542, 0.042, 0.25), (3, 0.664792269, 0.026, 0.172), (6, 0.887585880, 0.012, 0.051)] {
        let method = dcgd(&[1.0; 10], serde_json::json!({ "compressor": { "kind": "rand-k", "k": k } }));
        for seed in 0..20 {
            let server = run(&lab, &method, 300, seed).server;
            assert!((server.step - step).abs() < 1e-9);
            let distance = server.at.x.distance2(&best);
            assert!(distance > low / 2.0 && distance < high * 2.0, "k = {k}, seed {seed}: {distance}");
        }
    }
    let whole = dcgd(&[1.0; 10], serde_json::json!({ "compressor": { "kind": "rand-k", "k": 12 } }));
    assert!(run(&lab, &whole, 300, 1).server.at.x.distance2(&best) < 1e-26);
}

#[test]
fn without_compression_it_is_flix_bit_by_bit() {
    let lab = Lab::new(lrs(4, 6, 3));
    for start in ["ones", "one-shot"] {
        let alpha = [0.1, 0.0, 0.7, 1.0];
        let method = dcgd(&alpha, serde_json::json!({ "compressor": { "kind": "identity" }, "start": start }));
        assert_eq!(run(&lab, &method, 30, 1).server.at.x, lab.iterate(&flix(&alpha, start), 30), "{start}");
    }
}

/// Everything, but the other way round in memory: a compressor that is not in the list.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, motet_core::Documented)]
#[serde(deny_unknown_fields)]
struct Backwards {}

impl motet_core::Kind for Backwards {
    const NAME: &'static str = "backwards";
}

impl Compress for Backwards {
    fn omega(&self, _: usize) -> Option<f64> {
        Some(0.0)
    }
    fn mask(&self, dim: usize, _: &Key) -> Option<Mask> {
        Some(Mask::new(|kept| kept.extend((0..dim as u32).rev())))
    }
    fn sends(&self, dim: usize, _: &Key) -> Sends {
        Sends::Some(dim)
    }
    fn pack(&self, v: &Vector, mask: Option<&[u32]>, _: &mut Rng) -> Packed {
        Packed::seeded(v.len(), v.gather(mask.unwrap_or_default(), 1.0))
    }
}

#[test]
fn a_compressor_of_ones_own_is_used_like_the_others() {
    let mut compressors = COMPRESSORS.clone();
    compressors.add::<Backwards>().unwrap();
    let lab = Lab::new(lrs(4, 6, 3));
    let alpha = [0.1, 0.0, 0.7, 1.0];
    let method = {
        let _here = compressors.enter();
        dcgd(&alpha, serde_json::json!({ "compressor": { "kind": "backwards" } }))
    };
    assert_eq!(serde_json::to_value(&method).unwrap()["compressor"], serde_json::json!({ "kind": "backwards" }));
    assert_eq!(run(&lab, &method, 30, 1).server.at.x, lab.iterate(&flix(&alpha, "ones"), 30));
}

/// |αᵢ ∇fᵢ(Tᵢ(x))|² of every client.
fn gradients(lab: &Lab, alpha: &[f64], x: &Vector) -> Vec<f64> {
    let models = lab.deployed(&flix(alpha, "ones"), x);
    let of = |i: usize| {
        let mut g = x.zeros_like();
        lab.clients[i].gradient(&models[i], Batch::all(), &mut g);
        alpha[i] * alpha[i] * g.norm2()
    };
    (0..alpha.len()).map(of).collect()
}

#[test]
fn in_the_convex_regime_the_model_is_the_average_and_theorem_6_holds() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (alpha, compressor) = ([1.0; 4], serde_json::json!({ "kind": "rand-k", "k": 1 }));
    let (usual, convex) = (
        dcgd(&alpha, serde_json::json!({ "compressor": compressor })),
        dcgd(&alpha, serde_json::json!({ "compressor": compressor, "regime": "convex" })),
    );
    close(run(&lab, &convex, 1, 1).server.step, run(&lab, &usual, 1, 1).server.step / 4.0);
    let best = lab.optimum(&flix(&alpha, "ones"));
    let x = best.x.unwrap();
    let mut sum = lab.zeros();
    (1..=20).for_each(|k| sum.axpy(1.0 / 20.0, &run(&lab, &convex, k, 3).server.at.x));
    let server = run(&lab, &convex, 20, 3).server;
    assert!(convex.shared(&server, ClientId(0)).distance2(&sum) < 1e-24, "the average of x¹ … xᵏ");
    let value = |x: &Vector| lab.clients.iter().map(|f| f.value(x, Batch::all())).sum::<f64>() / 4.0;
    let sigma = 2.0 / 16.0 * gradients(&lab, &alpha, &x).iter().map(|g| 2.0 * g).sum::<f64>();
    let ones = Vector::from(vec![1.0; 3]);
    for rounds in [5, 50, 200] {
        let mean: f64 = (0..20).map(|seed| value(run(&lab, &convex, rounds, seed).server.at.model()) - best.value).sum::<f64>() / 20.0;
        let k = rounds as f64;
        let bound = 2.0 * (value(&ones) - best.value) / k + ones.distance2(&x) / (server.step * k) + 2.0 * server.step * sigma;
        assert!(mean <= bound, "{mean} is above {bound} after {rounds} rounds");
    }
}

#[test]
fn a_round_costs_k_numbers_up_and_the_model_and_the_turn_down() {
    let lab = Lab::new(lrs(4, 6, 3));
    let method = dcgd(&[0.0, 0.5, 0.5, 1.0], serde_json::json!({ "compressor": { "kind": "rand-k", "k": 2 } }));
    let (rows, trained) = lab.run(&method, lab.zeros(), &Plan::new(5, Seed(1)));
    for pair in rows.windows(2) {
        assert_eq!(pair[1].bits.up - pair[0].bits.up, 3 * 2 * 64, "those with α = 0 are not asked");
        assert_eq!(pair[1].bits.down - pair[0].bits.down, 3 * (3 * 64 + 128));
    }
    assert!(trained.heard.of(ClientId(0)).is_none());
}

/// A function whose gradient has one coordinate that is not a number.
struct Faulty(Arc<dyn Objective>);

impl Objective for Faulty {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn samples(&self) -> usize {
        self.0.samples()
    }
    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        self.0.value(x, batch)
    }
    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        self.0.gradient(x, batch, g);
        g.f64s_mut()[1] = f64::NAN;
    }
}

#[test]
fn a_gradient_that_is_not_finite_names_its_client_whatever_is_kept() {
    let mut clients = lrs(4, 6, 3);
    clients[2] = Arc::new(Faulty(Arc::clone(&clients[2])));
    let lab = Lab::new(clients);
    for kind in [r#"{"kind":"rand-k","k":1}"#, r#"{"kind":"natural"}"#, r#"{"kind":"qsgd","levels":4}"#] {
        let compressor: serde_json::Value = serde_json::from_str(kind).unwrap();
        let method = dcgd(&[1.0; 4], serde_json::json!({ "compressor": compressor, "step": 1.0 }));
        assert_eq!(run(&lab, &method, 3, 1).outcome, Outcome::Diverged { round: 1, client: Some(2) }, "{kind}");
    }
}

#[test]
fn biased_compressors_are_refused_with_advice() {
    let method = dcgd(&[1.0; 4], serde_json::json!({ "compressor": { "kind": "top-k", "k": 1 } }));
    assert!(method.suits(Some(4)).err().map(|e| e.to_string()).unwrap().contains("ef21"));
}
