//! Clients that lie: MeritFed and the usual robust rules.

use motet_core::Outcome;
use motet_methods::sgd_full::SgdFull;
use motet_methods::sgd_ideal::SgdIdeal;
use motet_runtime::{Attack, ByzantineClients};
use serde_json::{Value, json};

use crate::meritfed::method;
use crate::meritfed_mean::{excess, meritfed, problem, run, seldom, total};

fn liars(attack: Attack) -> Option<ByzantineClients> {
    Some(ByzantineClients { attack, first: 7, count: 2, scale: None })
}

#[test]
fn with_clipping_no_attack_gets_weight_and_the_model_stays_near_the_ideal() {
    let (rounds, seeds) = (1200, 3);
    let ideal: SgdIdeal = method(json!({ "step": 0.05, "batch": 20, "friends": [0, 1, 2] }));
    let best = (0..seeds).map(|s| excess(&run(&ideal, &problem(json!({}), s), &seldom(rounds, s), None).1.server)).sum::<f64>();
    for attack in [Attack::SignFlip, Attack::InnerProduct, Attack::Noise, Attack::Little, Attack::Nan, Attack::Huge] {
        let (mut error, mut weight) = (0.0, 0.0f64);
        for seed in 0..seeds {
            let merit = meritfed(json!({ "clip": "median", "mirror": { "rate": 50, "steps": 10 } }));
            let (_, trained) = run(&merit, &problem(json!({}), seed), &seldom(rounds, seed), liars(attack));
            assert_eq!(trained.outcome, Outcome::Finished, "{attack:?}");
            error += excess(&trained.server.x);
            weight = weight.max(total(&trained.server.w.weights(), 7..9));
        }
        assert!(error <= 2.0 * best, "{attack:?}: |x|² sums to {error}, the ideal's to {best}");
        assert!(weight < 0.05, "{attack:?}: the liars weigh {weight}");
    }
}

#[test]
fn without_clipping_huge_gradients_ruin_it() {
    let (_, trained) = run(&meritfed(json!({})), &problem(json!({}), 1), &seldom(300, 1), liars(Attack::Huge));
    let ruined = trained.outcome != Outcome::Finished || excess(&trained.server.x) > 10.0;
    assert!(ruined, "|x|² = {}", excess(&trained.server.x));
}

#[test]
fn a_mean_is_ruined_by_liars_and_robust_rules_are_not() {
    let problem = problem(json!({}), 1);
    let end = |aggregator: Value| {
        let full: SgdFull = method(json!({ "step": 0.05, "batch": 20, "aggregator": aggregator }));
        let (_, trained) = run(&full, &problem, &seldom(600, 1), liars(Attack::Huge));
        if trained.outcome == Outcome::Finished { excess(&trained.server) } else { f64::INFINITY }
    };
    assert!(end(json!({ "kind": "mean" })) > 1e3);
    for rule in [
        json!({ "kind": "median" }),
        json!({ "kind": "trimmed-mean", "liars": 2 }),
        json!({ "kind": "krum", "liars": 2 }),
        json!({ "kind": "geometric-median" }),
    ] {
        let error = end(rule.clone());
        // None of them is ruined; all of them average strangers, whose mean is 0.4 away.
        assert!(error < 1.2, "{rule}: {error}");
    }
}
