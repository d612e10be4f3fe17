//! MeritFed with every client as a target.

use motet_methods::meritfed_all::MeritFedAll;
use serde_json::{Value, json};

use crate::meritfed::method;
use crate::meritfed_mean::{meritfed, problem, run, seldom, total};

fn everyone(friends: Value) -> MeritFedAll {
    method(json!({ "step": 0.05, "batch": 20, "mirror": { "rate": 20, "steps": 5 }, "friends": friends }))
}

#[test]
fn every_client_finds_its_own_friends_and_most_do_better_than_alone() {
    let problem = problem(json!({ "validated": "everyone" }), 4);
    let (kept, trained) = run(&everyone(Value::Null), &problem, &seldom(800, 4), None);
    assert_eq!(kept.merits.len(), 15, "a record per target");
    for k in 9..15 {
        let own = total(&trained.server.targets[k].w.weights(), 9..15);
        assert!(own > 0.8, "client {k} gives its own group {own}");
    }
    for k in 0..9 {
        let far = total(&trained.server.targets[k].w.weights(), 9..15);
        assert!(far < 0.1, "client {k} gives the far group {far}");
    }
    // Alone, |x − m|² is d/200 = 0.05 on average.
    let alone = 0.05;
    let better = kept.rows.last().unwrap().metrics["test.excess"];
    assert!(better < 0.7 * alone, "together {better}, alone {alone}");
}

#[test]
fn a_round_for_everyone_costs_at_most_n_models_and_n_gradients_per_client_and_friends_cut_it() {
    let problem = problem(json!({ "validated": "everyone" }), 4);
    let spent = |friends: Value, rounds: u64| {
        let (_, trained) = run(&everyone(friends), &problem, &seldom(rounds, 4), None);
        let bits = |kind: &str| trained.ledger.entries().iter().filter(|e| e.kind == kind).map(|e| e.bits).sum::<u64>();
        (bits("Differentiate"), bits("Gradients"), bits("Validate"), bits("Slope"))
    };
    let (n, vector) = (15, 10 * 64);
    assert_eq!(spent(Value::Null, 6), (6 * n * n * vector, 6 * n * n * vector, 6 * 5 * n * vector, 6 * 5 * n * vector));
    // Two scouting rounds, then four rounds with three friends each.
    let few = 2 * n * n * vector + 4 * n * 3 * vector;
    assert_eq!(spent(json!({ "keep": 3, "first": 2, "every": 100 }), 6), (few, few, 6 * 5 * n * vector, 6 * 5 * n * vector));
}

#[test]
fn few_friends_are_nearly_as_good_as_all() {
    let problem = problem(json!({ "validated": "everyone" }), 4);
    let end = |friends: Value| run(&everyone(friends), &problem, &seldom(600, 4), None).0.rows.last().unwrap().metrics["test.excess"];
    let (all, few) = (end(Value::Null), end(json!({ "keep": 5, "first": 100, "every": 50 })));
    assert!(few < 1.5 * all + 0.005, "with five friends {few}, with all {all}");
}

#[test]
fn one_target_of_many_walks_as_the_only_target_does() {
    // The same dice, the same batch: target 0 of all is MeritFed's target, but for the noise of the questions.
    let problem = problem(json!({ "validated": "everyone" }), 4);
    let one = meritfed(json!({ "mirror": { "rate": 20, "steps": 5 } }));
    let (_, single) = run(&one, &problem, &seldom(50, 4), None);
    let (_, all) = run(&everyone(Value::Null), &problem, &seldom(50, 4), None);
    assert_eq!(single.server.x, all.server.targets[0].x);
    assert_eq!(single.server.w, all.server.targets[0].w);
}
