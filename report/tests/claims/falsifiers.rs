//! Claims that cannot fail are told from those that can.

use motet_records::{Manifest, RunCard};
use motet_report::claims::{NamedClaim, falsify};
use serde_json::json;

/// A grid of α and a grid of steps, and one other method.
fn planned() -> Manifest {
    let mut runs = vec![];
    for (method, alpha, step) in
        [("flix", 0.1, 1.0), ("flix", 0.3, 1.0), ("flix", 0.9, 1.0), ("tuned", 1.0, 0.01), ("tuned", 1.0, 0.03), ("other", 1.0, 1.0)]
    {
        let serde_json::Value::Object(params) = json!({ "alpha": alpha, "step": step }) else { unreachable!("a table") };
        let label = format!("{method} {alpha} {step}");
        runs.push(RunCard { run: runs.len(), label, method: method.into(), params, seed: 1, ..RunCard::default() });
    }
    Manifest { runs, ..Manifest::default() }
}

fn found(text: &str) -> (bool, bool) {
    let claim = NamedClaim { name: "it".into(), text: text.into(), ..NamedClaim::default() };
    let found = falsify(&claim, &planned(), 100).unwrap_or_else(|error| panic!("{error}"));
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
        "param(flix[alpha=0.1], step) < param(other, step)",
        "final(other, bits.up) < 0.25 * final(flix[alpha=0.1], bits.up)",
        "at(other, e, round=10) == 0.29 +- 10% and at(other, e, round=20) == 0.158 +- 5% and at(other, e, round=50) == 1.17e-4 +- 5%",
        "share(at(other, loss, round=round) < at(flix[alpha=0.1], loss, round=round), over=round) > 0.5",
        "not final(other, loss) > final(flix[alpha=0.3], loss)",
    ] {
        assert_eq!(found(text), (true, true), "{text}");
    }
}
