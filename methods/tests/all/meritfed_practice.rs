//! MeritFed where clients are sampled, take local steps and compress, and where the target has few validation examples.

use motet_core::{Outcome, Seed, Study};
use serde_json::{Value, json};

use crate::meritfed_mean::{excess, meritfed, problem, run, seldom, total};

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
fn epochs_of_more_steps_than_a_round_can_have_are_refused_in_words() {
    // 200 examples one by one: 100,000 steps are 500 epochs.
    for changes in [json!({}), json!({ "compressor": { "kind": "identity" } })] {
        let mut long = json!({ "local_steps": { "epochs": 501 }, "batch": 1 });
        long.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let said = run(&meritfed(long), &problem(json!({}), 1), &seldom(1, 1), None).1.outcome.to_string();
        assert!(said.contains("100000 steps") && said.contains("fewer epochs"), "{said}");
    }
    // 10,000 epochs of a million examples do not fit into 32 bits.
    let most = motet_methods::parts::Amount::Epochs(10_000.try_into().unwrap());
    assert_eq!(most.steps(motet_methods::parts::BatchSize::Of(1), 1 << 20), Some(10_485_760_000));
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

/// What the guard changes in the target's excess risk: the mean over seeds, and the half-width of its 95 % interval.
/// The seeds are none that the guard's ρ was chosen on.
fn changed_by_the_guard(source: &Value, mirror: &Value) -> (f64, f64) {
    let seeds = 401..=416;
    let ends = |changes: Value, seed| {
        let (_, trained) = run(&meritfed(changes), &problem(source.clone(), seed), &seldom(400, seed), None);
        assert_eq!(trained.outcome, Outcome::Finished);
        excess(&trained.server.x)
    };
    let each = seeds.map(|seed| ends(json!({ "mirror": mirror, "guard": {} }), seed) - ends(json!({ "mirror": mirror }), seed));
    let each: Vec<f64> = each.collect();
    let (n, mean) = (each.len() as f64, each.iter().sum::<f64>() / each.len() as f64);
    let variance = each.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 2.131 * (variance / n).sqrt()) // Student's law, 15 degrees of freedom
}

#[test]
fn with_few_validation_examples_the_guard_lowers_the_risk() {
    let mirror = json!({ "rate": 50, "steps": 20 });
    for (validation, samples) in [(8, 1000), (8, 200), (32, 1000)] {
        let (mean, width) = changed_by_the_guard(&json!({ "validation": validation, "samples": samples }), &mirror);
        assert!(mean + width < 0.0, "{validation} validation and {samples} training examples: {mean:e} +- {width:e}");
    }
}

#[test]
fn with_many_validation_examples_or_few_training_examples_the_guard_does_no_harm() {
    let mirror = json!({ "rate": 50, "steps": 20 });
    // Excess risks are 0.01 and 0.03 there without a guard: a tenth of that would be harm.
    for (validation, samples, harm) in [(512, 1000, 1e-3), (128, 40, 3e-3)] {
        let (mean, width) = changed_by_the_guard(&json!({ "validation": validation, "samples": samples }), &mirror);
        assert!(mean - width < 0.0 && mean < harm, "{validation} validation and {samples} training examples: {mean:e} +- {width:e}");
    }
}

/// The target's training data come from elsewhere: only its validation data speak for it, and the guard sees that.
#[test]
fn training_data_that_contradict_the_validation_data_are_left_aside() {
    let mut source = problem(json!({ "validation": 400 }), 1);
    let mut shards = source.shards.to_vec();
    shards[0].train = shards[14].train.clone();
    source.population = std::sync::Arc::new(shards);
    let share = |guard: Value| {
        let (kept, _) = run(&meritfed(json!({ "guard": guard })), &source, &motet_core::Plan::new(5, Seed(1)), None);
        kept.rows.last().unwrap().notes["guard"]
    };
    // V = d/m and B = 1, up to the common factor: ρV/(ρV + B) = 0.006 with ρ = 1/4; 0.024 with ρ = 1.
    let (cautious, bold) = (share(json!({})), share(json!({ "follows": 1.0 })));
    assert!((0.004..0.009).contains(&cautious) && (0.016..0.035).contains(&bold), "{cautious} {bold}");
}

/// V and U of mean estimation are known: d/m each, up to the common factor of the loss.
#[test]
fn the_part_of_the_training_data_is_what_their_numbers_say() {
    let shares = (1..=20).map(|seed| {
        let source = problem(json!({ "validation": 64, "samples": 1000 }), seed);
        let (kept, _) = run(&meritfed(json!({ "guard": {} })), &source, &motet_core::Plan::new(1, Seed(seed)), None);
        kept.rows.last().unwrap().notes["guard"]
    });
    // θ = (1/4)/64 / ((1/4)/64 + 1/1000) = 0.80 where |v − t|² is small, and less where it happens to be large.
    let shares: Vec<f64> = shares.collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let mean = shares.iter().sum::<f64>() / 20.0;
    assert!((0.75..0.85).contains(&most) && (0.4..0.8).contains(&mean), "{most} {mean}");
}

#[test]
fn a_guard_that_has_nothing_to_weigh_is_refused() {
    let refused = |changes: Value| meritfed(changes).suits(Some(15)).unwrap_err().to_string();
    for kind in ["smd", "zeroth"] {
        assert!(refused(json!({ "guard": {}, "mirror": { "kind": kind, "rate": 1, "batch": 5 } })).contains("mirror.kind"));
    }
    assert!(refused(json!({ "guard": {}, "validation": "training" })).contains("held-out"));
    assert!(refused(json!({ "compressor": { "kind": "top-k", "k": 2 } })).contains("biased"));
    assert!(refused(json!({ "sampling": { "importance": { "clients": 2, "q": vec![1; 15] } } })).contains("equally probable"));
}

/// With inner products alone the guarded weights are the same, but for rounding.
#[test]
fn a_guarded_search_by_inner_products_ends_at_the_same_point() {
    let source = problem(json!({ "validation": 16 }), 3);
    let at = |gram: bool| {
        let changes = json!({ "guard": {}, "mirror": { "rate": 10, "steps": 5, "gram": gram } });
        run(&meritfed(changes), &source, &seldom(50, 3), None).1.server.x
    };
    assert!(at(true).distance2(&at(false)) < 1e-20, "{:e}", at(true).distance2(&at(false)));
}
