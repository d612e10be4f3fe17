//! MeritFed where clients are sampled, take local steps and compress, and where the target has few validation examples.

use motet_core::{Outcome, Seed, Study};
use motet_methods::sgd_full::SgdFull;
use serde_json::{Value, json};

use crate::meritfed::method;
use crate::meritfed_mean::{excess, meritfed, problem, run, seldom, total};

/// Mean excess risk of the target over some seeds.
fn ends_at(changes: &Value, source: &Value, rounds: u64) -> f64 {
    let seeds = 1..=4;
    let each = seeds.clone().map(|seed| {
        let (_, trained) = run(&meritfed(changes.clone()), &problem(source.clone(), seed), &seldom(rounds, seed), None);
        assert_eq!(trained.outcome, Outcome::Finished);
        excess(&trained.server.x)
    });
    each.sum::<f64>() / seeds.count() as f64
}

#[test]
fn sampled_clients_local_steps_and_compression_still_find_friends() {
    // Three like the target, six at a distance of 0.1, six far away.
    let (near, plan) = (json!({ "mu": 0.01 }), seldom(400, 1));
    for changes in [
        json!({ "sampling": { "clients": 5 } }),
        json!({ "local_steps": 4, "step": 0.0125, "server_step": 0.0125 }),
        json!({ "compressor": { "kind": "rand-k", "k": 0.3 } }),
        json!({ "sampling": { "bernoulli": 0.5 }, "local_steps": 2, "step": 0.025, "compressor": { "kind": "natural" } }),
    ] {
        let (_, trained) = run(&meritfed(changes.clone()), &problem(near.clone(), 1), &plan, None);
        let weights = trained.server.w.weights();
        assert!(total(&weights, 9..15) < 0.1, "{changes}: those far away have {}", total(&weights, 9..15));
        // A wrong mean of all is at a distance of 0.1 and more.
        assert!(excess(&trained.server.x) < 0.03, "{changes}: {}", excess(&trained.server.x));
    }
}

#[test]
fn the_target_is_in_every_cohort_and_those_who_are_not_drawn_keep_their_weight() {
    let method = meritfed(json!({ "sampling": { "clients": 2 } }));
    let source = problem(json!({}), 3);
    let mut before: Option<Vec<f64>> = None;
    for rounds in 1..8 {
        let (kept, trained) = run(&method, &source, &seldom(rounds, 3), None);
        assert_eq!(trained.outcome, Outcome::Finished);
        let asked = trained.ledger.entries().iter().filter(|e| e.kind == "Gradients").map(|e| e.count).sum::<u64>();
        assert!((2 * rounds..=3 * rounds).contains(&asked), "two are drawn, and the target: {asked} in {rounds} rounds");
        let weights = trained.server.w.weights();
        if let Some(before) = before {
            let moved = before.iter().zip(&weights).filter(|(a, b)| (*a - *b).abs() > 1e-15).count();
            assert!(moved <= 3, "{moved} weights moved in a round");
        }
        drop(kept);
        before = Some(weights);
    }
}

#[test]
fn one_local_step_with_everyone_is_the_paper_bit_by_bit() {
    let source = problem(json!({}), 2);
    let at = |changes: Value| run(&meritfed(changes), &source, &seldom(20, 2), None).1.server.x;
    let paper = at(json!({}));
    assert_eq!(at(json!({ "local_steps": 1, "server_step": 0.05, "sampling": "everyone" })), paper);
    assert_eq!(at(json!({ "compressor": { "kind": "identity" } })), paper);
    assert_ne!(at(json!({ "local_steps": 2 })), paper);
}

#[test]
fn a_round_is_not_worse_on_what_it_was_sought_with_than_the_target_alone() {
    // f̂ is the loss on the validation data; enough mirror steps on a quadratic of 15 weights come near its least value.
    let source = problem(json!({ "validation": 50 }), 4);
    let changes = json!({ "local_steps": 3, "compressor": { "kind": "rand-k", "k": 0.5 }, "mirror": { "rate": 300, "steps": 400 } });
    let x = |changes: Value| run(&meritfed(changes), &source, &seldom(1, 4), None).1.server.x;
    let f = |x: &motet_core::Vector| source.shards[0].validation.as_ref().unwrap().value(x, motet_core::Batch::all());
    let found = f(&x(changes.clone()));
    let alone = {
        let mut alone = changes;
        // With the target's gradient alone in the cohort there is nothing to weigh.
        alone["sampling"] = json!({ "bernoulli": 1e-9 });
        f(&x(alone))
    };
    assert!(found <= alone + 1e-6, "{found} against {alone}");
}

/// All clients have the target's distribution, and the target sixteen validation examples: to follow them is to over-fit.
#[test]
fn with_few_validation_examples_the_guard_keeps_weights_that_are_as_good_as_any() {
    let source = json!({ "groups": [15, 0, 0], "validation": 16, "samples": 2000, "mu": 0.0 });
    let mirror = json!({ "rate": 50, "steps": 20 });
    let bare = ends_at(&json!({ "mirror": mirror }), &source, 300);
    let guarded = ends_at(&json!({ "mirror": mirror, "guard": {} }), &source, 300);
    let full: f64 = (1..=4)
        .map(|seed| {
            excess(
                &run(&method::<SgdFull>(json!({ "step": 0.05, "batch": 20 })), &problem(source.clone(), seed), &seldom(300, seed), None)
                    .1
                    .server,
            )
        })
        .sum::<f64>()
        / 4.0;
    eprintln!("few: {bare:e} without, {guarded:e} with the guard, {full:e} averaging");
    assert!(guarded < 0.8 * bare && guarded < 1.2 * full, "{bare:e} without, {guarded:e} with the guard, {full:e} averaging");
}

/// Where there is something to find and data to see it, the guard lets it be found.
#[test]
fn with_evidence_the_guard_does_not_stand_in_the_way() {
    let source = json!({ "mu": 0.01, "validation": 400 });
    let guarded = meritfed(json!({ "guard": { "share": 0.5, "z": 3 } }));
    let (kept, trained) = run(&guarded, &problem(source, 1), &motet_core::Plan::new(400, Seed(1)), None);
    let weights = trained.server.w.weights();
    assert!(total(&weights, 9..15) < 0.1, "those far away have {}", total(&weights, 9..15));
    let believed: f64 = kept.rows.iter().filter_map(|row| row.notes.get("believed")).sum();
    assert!(believed > 5.0 && believed < 400.0, "{believed} rounds were believed");
}

/// On fresh validation data, weights that are no better are believed as seldom as the normal law says.
#[test]
fn without_anything_to_find_new_weights_are_seldom_believed() {
    let (mut rounds, mut believed) = (0.0, 0.0);
    for seed in 1..=60 {
        let source = problem(json!({ "groups": [15, 0, 0], "validation": 100, "samples": 60, "mu": 0.0 }), seed);
        // One round from the truth itself: the gradients are noise.
        let method = meritfed(json!({ "guard": { "z": 2 }, "mirror": { "rate": 50, "steps": 20 } }));
        let started = motet_core::Plan { ..motet_core::Plan::new(1, Seed(seed)) };
        let mut source = source;
        source.start = motet_core::Vector::zeros(10, source.start.precision());
        let (kept, _) = run(&method, &source, &started, None);
        rounds += 1.0;
        believed += kept.rows.last().unwrap().notes["believed"];
    }
    // 1 − Φ(2) = 0.023: among 60 it is 1.4 on average, and more than 6 with probability 0.002.
    assert!(believed <= 6.0, "{believed} of {rounds}");
}

#[test]
fn a_guard_without_data_to_decide_with_is_refused_or_believes_nothing() {
    for share in [0.0, 1.0] {
        assert!(meritfed(json!({ "guard": { "share": share } })).suits(Some(15)).unwrap_err().to_string().contains("guard.share"));
    }
    assert!(meritfed(json!({ "compressor": { "kind": "top-k", "k": 2 } })).suits(Some(15)).unwrap_err().to_string().contains("biased"));
    let chances = meritfed(json!({ "sampling": { "importance": { "clients": 2, "q": vec![1; 15] } } }));
    assert!(chances.suits(Some(15)).unwrap_err().to_string().contains("equally probable"));
    // Of ten validation examples five decide: too few to tell their noise.
    let (kept, trained) =
        run(&meritfed(json!({ "guard": {} })), &problem(json!({ "validation": 10 }), 1), &motet_core::Plan::new(5, Seed(1)), None);
    assert_eq!(trained.outcome, Outcome::Finished);
    assert_eq!(kept.rows.iter().filter_map(|row| row.notes.get("believed")).sum::<f64>(), 0.0);
}
