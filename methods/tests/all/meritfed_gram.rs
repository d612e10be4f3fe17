//! Weights by inner products alone, where the target's loss bends alike in every direction.

use motet_core::{Outcome, Plan, Seed, Study};
use motet_methods::meritfed::MeritFed;
use motet_methods::meritfed_all::MeritFedAll;
use serde_json::{Value, json};

use crate::meritfed::{method, shards};
use crate::meritfed_mean::{meritfed, problem, run, seldom};

fn asked(gram: bool, kind: &str) -> Value {
    let batch = if kind == "smd" { json!(100) } else { json!("all") };
    json!({ "mirror": { "kind": kind, "rate": 50, "steps": 10, "batch": batch, "gram": gram } })
}

#[test]
fn inner_products_walk_as_slopes_do_with_fewer_questions() {
    let problem = problem(json!({}), 2);
    for (kind, questions) in [("md", 1), ("smd", 10)] {
        let (_, slow) = run(&meritfed(asked(false, kind)), &problem, &seldom(60, 2), None);
        let (_, fast) = run(&meritfed(asked(true, kind)), &problem, &seldom(60, 2), None);
        // The same numbers in another order, 600 mirror steps in a row.
        assert!(slow.server.x.distance2(&fast.server.x) < 1e-24, "{kind}");
        slow.server.w.weights().iter().zip(fast.server.w.weights()).for_each(|(s, f)| assert!((s - f).abs() < 1e-9, "{kind}: {s}, {f}"));
        let count = |kind: &str| fast.ledger.entries().iter().filter(|e| e.kind == kind).map(|e| e.count).sum::<u64>();
        assert_eq!((count("Describe"), count("Shape"), count("Validate")), (60 * questions, 60 * questions, 0), "{kind}");
    }
}

#[test]
fn everyone_at_once_may_use_inner_products_too() {
    let problem = problem(json!({ "validated": "everyone" }), 4);
    let all =
        |gram: bool| -> MeritFedAll { method(json!({ "step": 0.05, "batch": 20, "mirror": { "rate": 20, "steps": 5, "gram": gram } })) };
    let (_, slow) = run(&all(false), &problem, &seldom(30, 4), None);
    let (_, fast) = run(&all(true), &problem, &seldom(30, 4), None);
    for (slow, fast) in slow.server.targets.iter().zip(&fast.server.targets) {
        assert!(slow.x.distance2(&fast.x) < 1e-24);
    }
}

#[test]
fn a_loss_that_bends_otherwise_is_refused_in_words() {
    let merit: MeritFed = method(json!({ "step": 0.1, "mirror": { "rate": 5, "gram": true } }));
    let (_, trained) = crate::meritfed::run(&merit, shards(), vec![1.0, 2.0], &Plan::new(2, Seed(1)));
    let Outcome::Failed { round: 1, reason } = trained.outcome else { panic!("{}", trained.outcome) };
    assert!(reason.contains("leave mirror.gram out"), "{reason}");
    let zeroth: MeritFed = method(json!({ "step": 0.1, "mirror": { "kind": "zeroth", "rate": 5, "gram": true } }));
    assert!(zeroth.suits(Some(3)).err().map(|e| e.to_string()).is_some_and(|why| why.contains("asks for values")));
}
