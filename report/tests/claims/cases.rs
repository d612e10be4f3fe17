//! Arithmetic, comparisons, selectors, grids.

use motet_core::Outcome;
use motet_records::Status;
use serde_json::json;

use crate::made::{Made, flix_and_scafflix};

#[test]
fn arithmetic_binds_as_in_mathematics() {
    let mut made = Made::new();
    made.run("gd", json!({}), 1, 1, &[("x", &|_| 2.0)]);
    for (text, holds) in [
        ("final(gd, x) + 2 * 3 == 8", true),
        ("2 * 3 ^ 2 == 18", true),
        ("-2 ^ 2 == -4", true),
        ("2 ^ 3 ^ 2 == 512", true),
        ("2 ^ -1 == 0.5", true),
        ("8 / 2 / 2 == 2", true),
        ("8 - 2 - 2 == 4", true),
        ("(8 - 2) * 2 == 12", true),
        ("not 1 < 2 or 3 < 4", true),
        ("not (1 < 2 or 3 < 4)", false),
        ("1 < 2 or 3 < 4 and 5 < 4", true),
        ("(1 < 2 or 3 < 4) and 5 < 4", false),
        ("1 < 2 < 3 <= 3", true),
        ("1 < 2 < 3 < 3", false),
        ("abs(-2) == sqrt(4) and log10(100) == 2 and min(3, 1, 2) == 1 and max(3, 1) == 3", true),
        ("floor(0.2 * d) == 4 and ceil(0.21 * d) == 5 and n == 8", true),
        ("10 == 12 +- 2", true),
        ("10 == 12.1 +- 2", false),
        ("95 == 100 +- 5%", true),
        ("94 == 100 +- 5%", false),
        ("94 == 100 ± 1%", false),
        ("-100 == -95 +- 5.3%", true),
        ("12 <= 10 +- 2 and 8 >= 10 +- 2 and not 12.1 <= 10 +- 2", true),
        ("0.1 + 0.2 == 0.3 and 1 != 2", true),
    ] {
        // The first selector only says which runs; the others are sums.
        let verdict = made.judge(&format!("({text}) and rounds(gd) == 1"));
        assert_eq!(verdict.holds, holds, "{text}: {verdict:?}");
    }
}

#[test]
fn an_open_parameter_is_bound_to_the_same_value_everywhere() {
    let made = flix_and_scafflix();
    let verdict = made.judge("rounds_to(scafflix, gap=1e-6) <= rounds_to(flix, gap=1e-6) / 3");
    assert!(verdict.holds, "{verdict:?}");
    // The case with the least room is reported.
    let tight = made.judge("rounds_to(scafflix[alpha>=0.01], gap=1e-6) <= rounds_to(flix, gap=1e-6) / 3.5");
    assert!(tight.holds && tight.reason.is_none(), "{tight:?}");
    assert_eq!((tight.value, tight.bound), (Some(11.0), Some(41.0 / 3.5)));
    let verdict = made.judge("rounds_to(scafflix, gap=1e-7) <= rounds_to(flix, gap=1e-7) / 5");
    assert!(!verdict.holds);
    assert_eq!(verdict.reason.as_deref(), Some("alpha=0.01: 16 <= 12.2 is false; 4 of 4 cases fail"), "{verdict:?}");
    assert_eq!((verdict.value, verdict.bound), (Some(16.0), Some(12.2)));
}

#[test]
fn filters_pin_bound_and_exclude() {
    flix_and_scafflix().table(&[
        ("start(flix[alpha=1], gap) == 1", true),
        ("start(flix[alpha<1], gap) <= 0.01", true),
        ("start(flix[alpha!=1], gap) <= 0.01", true),
        ("start(flix[alpha>=0.01, alpha<=0.1], gap) >= 1e-4", true),
        ("start(\"flix alpha=0.1 step=theory\", gap) == 0.01", true),
        ("start(flix[alpha=0.1, step=\"theory\"], gap) == 0.01", true),
        ("start(*[alpha=1], gap) == 1", true),
        ("for m in method: start(*[method=m, alpha=0.1], gap) == 0.01", true),
        ("param(flix[alpha=0.1], alpha) == 0.1", true),
        ("final(flix[problem=\"mushrooms\", alpha=1, seed=1], gap) == 1e-10", true),
    ]);
}

#[test]
fn values_computed_from_others_find_the_grid_and_absent_ones_are_passed_over() {
    let made = flix_and_scafflix();
    made.table(&[
        ("for a in alpha, e in [1e-5, 1e-6]: rounds_to(flix[alpha=a/10], gap=e) == rounds_to(flix[alpha=a], gap=100*e) +- 2", true),
        ("for a in alpha where a > 0.5: start(flix[alpha=a], gap) == 1", true),
        ("for a in alpha where a < 0.5: start(flix[alpha=a], gap) == 1", false),
    ]);
    let error = made.try_judge("for a in alpha: start(flix[alpha=a/7], gap) > 0").unwrap_err().to_string();
    assert!(error.contains("nothing to judge: there is no run of `flix[alpha=a/7]` with a=1"), "{error}");
}

#[test]
fn nested_parameters_have_dotted_names_and_short_ones() {
    let mut made = Made::new();
    for k in [4, 8, 20] {
        made.run(
            "diana",
            json!({"compressor": {"kind": "rand-k", "k": k}, "averaged": true}),
            1,
            10,
            &[("gap", &move |_| 1.0 / f64::from(k))],
        );
    }
    made.table(&[
        ("final(diana[compressor.k=8], gap) == 1/8", true),
        ("final(diana[k=0.4*d, kind=\"rand-k\", averaged=true], gap) == 1/8", true),
        ("nonincreasing(final(diana, gap), over=k)", true),
        ("decreasing(final(diana, gap) * k^2, over=compressor.k)", false),
        ("min(final(diana[k<d], gap), over=k) > final(diana[k=d], gap)", true),
    ]);
}

#[test]
fn a_parameter_that_follows_from_another_is_not_a_second_grid() {
    let mut made = Made::new();
    for (alpha, slow, quick) in [(1.0, 0.5, 0.25), (0.1, 5.0, 2.5)] {
        made.run("flix", json!({"alpha": alpha, "step": slow}), 1, 3, &[("gap", &move |_| alpha)]);
        made.run("scafflix", json!({"alpha": alpha, "step": quick}), 1, 3, &[("gap", &move |_| alpha / 2.0)]);
    }
    let verdict = made.judge("final(scafflix, gap) == final(flix, gap) / 3");
    assert_eq!(verdict.reason.as_deref(), Some("alpha=0.1: 0.05 == 0.033333 is false; 2 of 2 cases fail"));
    made.table(&[("final(scafflix, gap) == final(flix, gap) / 2", true), ("increasing(final(flix, gap), over=alpha)", true)]);
}

#[test]
fn what_is_never_reached_takes_forever_and_two_such_show_nothing() {
    let made = flix_and_scafflix();
    made.table(&[
        ("rounds_to(scafflix[alpha=1], gap=1e-11) < inf", true),
        ("rounds_to(scafflix[alpha=1], gap=1e-11) < rounds_to(flix[alpha=1], gap=1e-11)", true),
        ("rounds_to(flix[alpha=1], gap=1e-11) > 5", true),
    ]);
    let verdict = made.judge("rounds_to(flix[alpha=1], gap=1e-11) <= rounds_to(scafflix[alpha=1], gap=1e-11)");
    assert_eq!((verdict.value, verdict.bound), (None, Some(55.0)));
    assert_eq!(verdict.reason.as_deref(), Some("infinity <= 55 is false (infinity: never reached)"));
    let verdict = made.judge("not rounds_to(flix[alpha=1], gap=1e-11) <= rounds_to(flix[alpha=1], gap=1e-11) / 3");
    assert!(!verdict.holds && verdict.reason.is_some_and(|r| r.contains("cannot be decided")));
}

#[test]
fn gaps_below_the_floor_are_equal() {
    let mut made = Made::new();
    made.run("a", json!({}), 1, 1, &[("gap", &|_| 1e-15), ("loss", &|_| 1e-15)]);
    made.run("b", json!({}), 1, 1, &[("gap", &|_| -1e-16), ("loss", &|_| 1e-16)]);
    made.table(&[
        ("final(a, gap) == final(b, gap)", true),
        ("final(a, loss) == final(b, loss)", false),
        ("rounds_to(b, gap=1e-20) == 0", true),
        ("increasing(final(*, gap), over=method)", true),
    ]);
}

#[test]
fn a_run_that_diverged_ends_with_the_worst_there_is() {
    let mut made = Made::new();
    made.run("a", json!({}), 1, 5, &[("loss", &|k| 1.0 - k / 100.0), ("accuracy", &|_| 0.5)]);
    made.ended(Outcome::Diverged { round: 6, client: None });
    made.run("b", json!({}), 1, 5, &[("loss", &|k| if k < 3.0 { 1.0 } else { f64::NAN })]);
    made.table(&[
        ("final(a, loss) > start(a, loss)", true),
        ("at(a, loss, round=5) < 1 and at(a, loss, round=6) == 3", false),
        ("final(a, accuracy) < 0", true),
        ("best(a, loss) == 0.95", true),
        ("final(b, loss) > start(b, loss)", true),
    ]);
    let reason = made.judge("final(a, loss) < 1").reason.unwrap();
    assert_eq!(reason, "infinity < 1 is false (infinity: diverged)");
}

#[test]
fn curves_are_read_at_rounds_bits_floats_and_gradients() {
    let mut made = Made::new();
    made.run("gd", json!({}), 1, 100, &[("loss", &|k| 100.0 - k), ("accuracy", &|k| k / 100.0)]);
    made.table(&[
        ("at(gd, loss, round=10) == 90", true),
        ("at(gd, loss, bits=64*20*10) == 90", true),
        ("at(gd, loss, floats=219) == 90", true),
        ("at(gd, loss, gradients=1000) == 90", true),
        ("bits_to(gd, loss=90) == 12800 and floats_to(gd, loss=90) == 200 and gradients_to(gd, loss=90) == 1000", true),
        ("rounds_to(gd, accuracy=0.3) == 30", true),
        ("best(gd, accuracy) == 1 and worst(gd, accuracy) == 0 and best(gd, loss) == 0 and worst(gd, loss) == 100", true),
        ("average(gd, loss, from=10, to=20) == 85 and average(gd, loss, last=11) == 5", true),
        ("deviation(gd, loss, from=1, to=3) == sqrt(2/3)", true),
        ("envelope(gd, loss) == 2500 and envelope(gd, loss, to=10) == 900", true),
        ("final(gd, bits.up) == 128000 and final(gd, gradients) == 10000", true),
        ("share(at(gd, loss, round=round) < 50.5, over=round) == 51/101", true),
        ("max(round * at(gd, loss, round=round), over=round) == envelope(gd, loss)", true),
    ]);
    let error = made.try_judge("at(gd, loss, round=101) < 1").unwrap_err().to_string();
    assert!(error.contains("gd ends before round 101"), "{error}");
    made.ended(Outcome::Stopped { rule: "gap".into() });
    made.table(&[("at(gd, loss, round=101) < 1", true)]);
}

#[test]
fn only_rounds_that_all_runs_measured_are_compared() {
    let mut made = Made::new();
    made.run("flix", json!({"alpha": 1.0}), 1, 10, &[("gap", &|k| 1.0 - k / 20.0)]);
    made.run("flix", json!({"alpha": 0.1}), 1, 4, &[("gap", &|k| 0.9 - k / 20.0)]).ended(Outcome::Stopped { rule: "gap".into() });
    made.table(&[
        ("for k in round: increasing(at(flix, gap, round=k), over=alpha)", true),
        ("increasing(at(flix, gap, round=10), over=alpha)", false),
    ]);
}

#[test]
fn the_status_of_a_claim_goes_into_its_verdict() {
    use motet_report::claims::{Grade, NamedClaim, judge};
    let made = flix_and_scafflix();
    let text = "final(flix[alpha=1], gap) < 0".to_string();
    let claim = NamedClaim { name: "x".into(), text, status: Grade::P, note: Some("lambda is 0 here".into()), ..NamedClaim::default() };
    let verdict = judge(&[claim], &made.0).unwrap().remove(0);
    assert_eq!((verdict.holds, verdict.status), (false, Status::May));
    assert_eq!(verdict.reason.as_deref(), Some("1e-10 < 0 is false; lambda is 0 here"));
}
