//! What people are told when a claim is wrong.

use motet_report::claims::{ClaimError, NamedClaim, Undecided, check, falsify, judge, parse};
use proptest::prelude::*;

use crate::made::flix_and_scafflix;

#[test]
fn the_mistake_is_marked_in_one_line() {
    let error = parse("round_to(flix, gap=1e-6) <= 3").unwrap_err();
    let expected = "column 1, >>round_to<<(flix, gap=1e-6) <= 3: unknown function `round_to`; did you mean `rounds_to`?";
    assert_eq!(error.to_string(), expected);
    let error = parse("final(flix, gap) <= § 3").unwrap_err();
    assert_eq!(error.to_string(), "column 21, final(flix, gap) <= >>§<< 3: `§` means nothing here");
    let error = parse("final(flix,\n gap) <= § 3").unwrap_err();
    assert_eq!(error.to_string(), "column 22, final(flix,  gap) <= >>§<< 3: `§` means nothing here");
}

#[test]
fn a_message_is_short_however_long_the_claim_is() {
    for text in ["x".repeat(100_000), format!("{} < §", "1 + ".repeat(100_000)), format!("final(flix, gap) < \"{}", "é".repeat(70_000))] {
        let said = parse(&text).unwrap_err().to_string();
        assert!(said.chars().count() < 1000 && said.lines().count() == 1, "{} characters: {said}", said.len());
    }
}

/// Quantifiers multiply: a line of some hundred characters asks for more than any machine can do.
#[test]
fn what_nobody_can_look_at_is_refused_and_not_begun() {
    let made = flix_and_scafflix();
    let named = |text: &str| [NamedClaim { name: "it".into(), text: text.into(), ..NamedClaim::default() }];
    let list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let binders: Vec<String> = ('a'..='h').filter(|c| !"dn".contains(*c)).map(|c| format!("q{c} in {list}")).collect();
    let lists = format!("for {}, z in {list}: final(flix, gap) < qa", binders.join(", "));
    // One fold in another, each over all rounds.
    let folds = (0..8).fold("final(flix, gap)".to_owned(), |inside, _| format!("min({inside}, over=round)"));
    for (text, before) in [(lists.clone(), true), (format!("{folds} < 1"), false)] {
        let claims = named(&text);
        let said = |result: Result<(), ClaimError>| result.unwrap_err().to_string();
        if before {
            assert!(said(check(&claims, &made.0.manifest, &[])).contains("more comparisons than can be made"));
        }
        assert!(said(judge(&claims, &made.0).map(|_| ())).contains("more comparisons than can be made"), "{text}");
    }
    let falsified = falsify(&named(&lists)[0], &made.0.manifest, &Undecided::default(), 1000).unwrap_err().to_string();
    assert!(falsified.contains("more comparisons than can be made"), "{falsified}");
}

#[test]
fn mistakes_in_the_text_are_named() {
    for (text, says) in [
        ("", "expected a number, a name, a function or `(`, found the end"),
        ("final(flix, gap)", "this is a number, but something true or false belongs here"),
        ("1 < (2 < 3)", "this is something true or false, but a number belongs here"),
        ("final(flix, gap) = 1", "expected an operator or the end, found `=`"),
        ("final(flix, gap < 1", "expected `,` or `)`, found `<`"),
        ("final(flix) < 1", "`final` needs a name after the selector, like gap"),
        ("rounds_to(flix, gap) < 1", "`rounds_to` needs a metric and the value to reach"),
        ("at(flix, gap) < 1", "`at` needs where to read"),
        ("at(flix, gap, rounds=3) < 1", "`at` needs where to read"),
        ("slope(flix, gap, form=3) < 1", "unknown option `form`; did you mean `from`?"),
        ("weight(flix) < 1", "`weight` needs clients=FIRST..LAST or group=NAME"),
        ("weight(flix, clients=1..x) < 1", "expected the number of a client"),
        ("a < 1", "unknown name `a`; there is n, d, inf"),
        ("for alpha_ in alpha: final(flix[alpha=alpa_], gap) < 1", "unknown name `alpa_`; did you mean `alpha_`?"),
        ("for a in alpha, a in p: a < 1", "`a` is already bound"),
        ("increasing(final(flix, gap)) ", "expected `over=PARAMETER`"),
        ("min(final(flix, gap)) < 1", "a second number, or `over=PARAMETER`"),
        ("final(flix[alpha], gap) < 1", "expected `=`, `!=`, `<`"),
        ("final(\"flix, gap) < 1", "the quotation is not closed"),
        ("1e999 < 1", "the number is out of range"),
        ("best(flix, x) < 1", "`x` is a coordinate of the model: no value of it is better than another"),
        ("worst(flix, x.3) < 1", "`x.3` is a coordinate of the model"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn mistakes_about_the_runs_are_named_with_what_exists() {
    let made = flix_and_scafflix();
    for (text, says) in [
        ("final(flux, gap) < 1", "unknown method `flux`; did you mean `flix`?"),
        ("final(diana, gap) < 1", "unknown method `diana`; there is flix, scafflix"),
        ("final(\"nothing\", gap) < 1", "unknown label `nothing`; there is flix alpha=0.001"),
        ("final(flix[alpa=1], gap) < 1", "unknown parameter `alpa`; did you mean `alpha`?"),
        ("final(flix[p=1], gap) < 1", "unknown parameter `p`"),
        (
            "final(flix[alpha=0.5], gap) < 1",
            "no run of `flix[alpha=0.5]` has alpha=0.5; there is alpha=0.001, alpha=0.01, alpha=0.1, alpha=1",
        ),
        ("final(flix, gpa) < 1", "unknown metric `gpa`; did you mean `gap`?"),
        ("final(flix, lots) < 1", "unknown metric `lots`; there is bits.down, bits.up"),
        ("min(final(scafflix, gap), over=p) < 1", "`p` does not vary here"),
        ("param(flix, step) < 1", "`step` is theory, not a number"),
        ("start(flix[alpha<=0.01], gap) < start(scafflix[alpha>=0.1], gap)", "no value in common for alpha"),
    ] {
        let error = made.try_judge(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn claims_are_checked_before_anything_is_run() {
    let manifest = flix_and_scafflix().0.manifest;
    let checked = |text: &str| {
        let claim = NamedClaim { name: "B1.1".into(), text: text.into(), ..NamedClaim::default() };
        check(&[claim], &manifest, &["gap".into(), "loss".into()]).map_err(|error| error.to_string())
    };
    assert_eq!(checked("rounds_to(scafflix, gap=1e-6) <= rounds_to(flix, gap=1e-6) / 3"), Ok(()));
    assert_eq!(checked("for a in alpha: final(flix[alpha=a/10], gap) <= a and final(flix, steps) < 1"), Ok(()));
    let error = checked("rounds_to(scaflix, gap=1e-6) <= 3").unwrap_err();
    let told = "claim \"B1.1\", column 11, rounds_to(>>scaflix<<, gap=1e-6) <= 3: unknown method `scaflix`; did you mean `scafflix`?";
    assert!(error.starts_with(told), "{error}");
    assert!(checked("final(flix, los) <= 3").unwrap_err().contains("did you mean `loss`?"));
    assert!(checked("for b in beta: final(flix[alpha=b], gap) <= 3").unwrap_err().contains("unknown parameter `beta`"));
}

#[test]
fn several_runs_where_one_is_meant_are_an_error() {
    let mut made = flix_and_scafflix();
    made.run("flix", serde_json::json!({"alpha": 1.0, "step": "theory"}), 1, 3, &[("gap", &|_| 1.0)]);
    let error = made.try_judge("final(flix, gap) < 1").unwrap_err().to_string();
    assert!(error.contains("this means several things at once"), "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        if let Err(error) = parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn no_sequence_of_the_language_makes_the_parser_or_the_judge_panic(
        words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..40),
    ) {
        let text = words.concat();
        let _ = flix_and_scafflix().try_judge(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn depth_is_an_error_and_not_a_crash(depth in 0usize..5000, open in prop::sample::select(vec!["(", "-", "not ", "abs(", "2^", "1+"])) {
        let _ = parse(&open.repeat(depth));
    }
}

const WORDS: [&str; 44] = [
    "for ",
    "a",
    " in ",
    "alpha",
    ":",
    "where ",
    "final(",
    "rounds_to(",
    "at(",
    "increasing(",
    "min(",
    "flix",
    "scafflix",
    "*",
    "[alpha=",
    "a/10",
    "]",
    ", gap",
    ", gap=",
    ", round=",
    ", over=alpha",
    ", over=round",
    "round",
    ")",
    "(",
    "1",
    "1e-6",
    "0.1",
    " < ",
    " <= ",
    " == ",
    " +- ",
    "%",
    " and ",
    " or ",
    "not ",
    "-",
    "+",
    "/",
    "^",
    "\"x\"",
    "inf",
    "..",
    "é",
];
