//! Claims that cannot fail are told from those that can.

use motet_records::{Manifest, RunCard};
use motet_report::claims::{NamedClaim, Undecided, falsify};
use serde_json::json;

/// The steps that trials choose from.
const TRIED: [f64; 2] = [0.01, 0.03];

/// A grid of α and a grid of steps, one other method, and two whose steps trials choose.
fn planned() -> Manifest {
    let mut runs = vec![];
    for (method, alpha, step) in
        [("flix", 0.1, 1.0), ("flix", 0.3, 1.0), ("flix", 0.9, 1.0), ("tuned", 1.0, 0.01), ("tuned", 1.0, 0.03), ("other", 1.0, 1.0)]
    {
        let serde_json::Value::Object(params) = json!({ "alpha": alpha, "step": step }) else { unreachable!("a table") };
        let label = format!("{method} {alpha} {step}");
        runs.push(RunCard { run: runs.len(), label, method: method.into(), params, seed: 1, ..RunCard::default() });
    }
    for method in ["a", "b"] {
        let serde_json::Value::Object(params) = json!({ "step": TRIED[0] }) else { unreachable!("a table") };
        runs.push(RunCard {
            run: runs.len(),
            label: method.into(),
            method: method.into(),
            chosen: params.clone(),
            params,
            seed: 1,
            ..RunCard::default()
        });
    }
    Manifest { runs, ..Manifest::default() }
}

/// What these plans leave open: the steps of trials, and α of one of the methods, which a budget decides.
fn undecided() -> Undecided {
    let mut undecided = Undecided::default();
    ["a", "b"].iter().for_each(|label| undecided.may_be(label, "step", TRIED.to_vec()));
    undecided.may_be("other 1 1", "alpha", vec![]);
    undecided
}

fn found(text: &str) -> (bool, bool) {
    let claim = NamedClaim { name: "it".into(), text: text.into(), ..NamedClaim::default() };
    let found = falsify(&claim, &planned(), &undecided(), 100).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.bend.is_some(), found.fails.is_some());
    (found.holds.is_some(), found.fails.is_some())
}

#[test]
fn what_the_maximum_includes_is_never_above_it() {
    assert_eq!(found("max(final(flix, accuracy), over=alpha) >= final(flix[alpha=0.9], accuracy)"), (true, false));
    assert_eq!(found("max(final(flix[alpha<0.9], accuracy), over=alpha) >= final(flix[alpha=0.9], accuracy)"), (true, true));
}

#[test]
fn a_grid_within_a_decade_cannot_leave_it() {
    assert_eq!(found("0.099 <= argmin(final(tuned, loss), over=step) / 0.03 <= 10.1"), (true, false));
    assert_eq!(found("argmin(final(tuned, loss), over=step) == 0.03"), (true, true));
}

#[test]
fn trials_choose_among_what_they_try() {
    assert_eq!(found("0.099 <= chosen(a, step) / chosen(b, step) <= 10.1"), (true, false));
    assert_eq!(found("chosen(a, step) <= 2 * chosen(b, step)"), (true, true));
}

#[test]
fn accuracies_and_weights_end_at_one() {
    assert_eq!(found("final(flix, test.accuracy) <= 1"), (true, false));
    assert_eq!(found("final(flix, test.accuracy) <= 0.99"), (true, true));
    assert_eq!(found("final(other, test.accuracy, clients=0..3) <= 1"), (true, false));
    assert_eq!(found("weight(other, clients=3) <= 1"), (true, false));
    assert_eq!(found("weight(other, clients=3) <= 0.9"), (true, true));
}

#[test]
fn what_was_given_stays_and_what_a_budget_decides_does_not() {
    assert_eq!(found("param(flix[alpha=0.1], step) <= param(other, step)"), (true, false));
    assert_eq!(found("param(other, alpha) >= 0.5"), (true, true));
    assert_eq!(found("param(other, alpha) <= 1"), (true, false));
}

#[test]
fn what_is_compared_with_itself_cannot_differ() {
    assert_eq!(found("final(other, loss) <= final(other, loss)"), (true, false));
    assert_eq!(found("final(other, loss) < final(other, loss)"), (false, true));
    assert_eq!(found("final(other, loss) <= 0 or final(other, loss) > 0"), (true, false));
}

#[test]
fn every_kind_of_measure_can_be_bent() {
    for text in [
        "rounds_to(flix, gap=1e-8) < inf",
        "bits_to(flix, gap=1e-3) <= bits_to(other, gap=1e-3) / 2",
        "for k in round: increasing(at(flix, gap, round=k), over=alpha)",
        "slope(flix[alpha=0.1], gap) == slope(flix[alpha=0.9], gap) +- 5%",
        "envelope(other, gap, from=10) <= 3 * 10 * at(other, gap, round=10)",
        "deviation(other, x, from=50) > 0.1",
        "final(other, test.accuracy, clients=0..3) >= final(flix[alpha=0.1], test.accuracy, clients=0..3) - 0.01",
        "weight(other, clients=0..4) / 5 > 10 * weight(other, clients=5..9) / 5",
        "note(other, steps, last=10) < 50",
        "param(flix[alpha=0.1], alpha) <= param(other, alpha)",
        "chosen(a, step) <= chosen(b, step)",
        "final(other, bits.up) < 0.25 * final(flix[alpha=0.1], bits.up)",
        "at(other, e, round=10) == 0.29 +- 10% and at(other, e, round=20) == 0.158 +- 5% and at(other, e, round=50) == 1.17e-4 +- 5%",
        "share(at(other, loss, round=round) < at(flix[alpha=0.1], loss, round=round), over=round) > 0.5",
        "not final(other, loss) > final(flix[alpha=0.3], loss)",
    ] {
        assert_eq!(found(text), (true, true), "{text}");
    }
}
