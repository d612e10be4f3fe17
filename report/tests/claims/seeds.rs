//! Rules about seeds, and the table of an experiment file.

use motet_core::{Merit, Vector};
use motet_records::Verdict;
use motet_report::claims::{Claims, Grade, NamedClaim, SeedRule, judge};
use serde_json::json;

use crate::made::Made;

/// Final losses of five seeds: mean 1.2, four of five at 1.
fn five(values: [f64; 5]) -> Made {
    let mut made = Made::new();
    for (seed, value) in (1..).zip(values) {
        made.run("a", json!({}), seed, 3, &[("loss", &move |_| value)]);
    }
    made.run("once", json!({}), 1, 3, &[("loss", &|_| 1.0)]);
    made
}

fn judged(made: &Made, text: &str, seeds: &str) -> Verdict {
    let claim = NamedClaim { name: "it".into(), text: text.into(), seeds: seeds.parse().expect("a rule"), ..NamedClaim::default() };
    judge(&[claim], &made.0).expect("can be judged").remove(0)
}

fn holds(made: &Made, text: &str, seeds: &str) -> bool {
    judged(made, text, seeds).holds
}

#[test]
fn the_general_rule_wants_the_mean_and_four_of_five() {
    let made = five([1.0, 1.0, 1.0, 1.0, 2.0]);
    made.table(&[("final(a, loss) <= 1.2", true), ("final(a, loss) <= 1.1", false), ("final(a, loss) == 1.2", false)]);
    let verdict = made.judge("final(a, loss) <= 0.5");
    assert_eq!(verdict.reason.as_deref(), Some("seed mean: 1.2 <= 0.5 is false; holds for 0 of 5 seeds, 4 needed"));
    // The mean holds beyond the noise, and one seed does not.
    let verdict = judged(&five([1.0, 1.0, 1.0, 1.22, 1.0]), "final(a, loss) <= 1.2", "mean and all");
    assert_eq!(verdict.reason.as_deref(), Some("seed 4: 1.22 <= 1.2 is false; holds for 4 of 5 seeds, 5 needed"));
    assert_eq!((verdict.value, verdict.word()), (Some(1.22), "FAILS"));
}

#[test]
fn what_the_noise_of_seeds_leaves_open_is_undecided_with_its_interval() {
    // Mean 1.2, s = 0.4472, n = 5: 2.776 s / sqrt 5 = 0.5552.
    let made = five([1.0, 1.0, 1.0, 1.0, 2.0]);
    for (text, word, interval) in [
        ("final(a, loss) <= 1.1", "undecided", [-0.4552, 0.6552]),
        ("final(a, loss) <= 1.3", "undecided", [-0.6552, 0.4552]),
        ("final(a, loss) <= 2", "holds", [-1.3552, -0.2448]),
        ("final(a, loss) <= 0.5", "FAILS", [0.1448, 1.2552]),
        ("final(a, loss) >= 0.5", "holds", [0.1448, 1.2552]),
        // An equality holds beyond the noise if the whole interval is within the tolerance.
        ("final(a, loss) == 1.2 +- 0.6", "holds", [-0.5552, 0.5552]),
        ("final(a, loss) == 1.2 +- 0.5", "undecided", [-0.5552, 0.5552]),
        ("final(a, loss) == 3 +- 0.5", "FAILS", [-2.3552, -1.2448]),
        // Paired: the noise that both sides share is none.
        ("final(a, loss) < 1.01 * final(a, loss)", "holds", [-0.017552, -0.006448]),
        ("not final(a, loss) > 1.1", "undecided", [-0.4552, 0.6552]),
        ("final(a, loss) <= 1.1 or final(a, loss) <= 2", "holds", [-1.3552, -0.2448]),
        ("final(a, loss) <= 1.1 and final(a, loss) <= 0.5", "FAILS", [0.1448, 1.2552]),
    ] {
        let verdict = made.judge(text);
        assert_eq!(verdict.word(), word, "{text}: {verdict:?}");
        let found = verdict.interval.unwrap();
        assert!(found.iter().zip(interval).all(|(a, b)| (a - b).abs() < 1e-4), "{text}: {found:?}");
    }
    let verdict = made.judge("final(a, loss) <= 1.1");
    let said = "seed mean: 1.2 <= 1.1 is within the noise of 5 seeds: the difference is from -0.45529 to 0.65529 (95 %); holds for 4 of 5 seeds, 4 needed";
    assert_eq!((verdict.holds, verdict.reason.as_deref()), (false, Some(said)));
    // Last digits do not make noise, and one seed has none.
    assert_eq!(five([1.0, 1.0 + 1e-15, 1.0, 1.0, 1.0]).judge("final(a, loss) <= 1").word(), "holds");
    assert_eq!((made.judge("final(once, loss) <= 1").word(), made.judge("final(once, loss) <= 1").interval), ("holds", None));
}

#[test]
fn other_rules_are_the_mean_a_share_or_all() {
    let made = five([1.0, 1.0, 1.0, 1.0, 2.0]);
    for (text, rule, expected) in [
        ("final(a, loss) == 1.2", "mean", true),
        ("final(a, loss) <= 1", "4/5", true),
        ("final(a, loss) <= 1", "mean and 4/5", false),
        ("final(a, loss) <= 1", "9/10", false),
        ("final(a, loss) <= 1", "all", false),
        ("final(a, loss) <= 2", "all", true),
        ("final(a, loss) <= 2 * final(once, loss)", "all", true),
        ("final(a[seed=5], loss) == 2", "all", true),
    ] {
        assert_eq!(holds(&made, text, rule), expected, "{text} {rule}");
    }
}

#[test]
fn one_seed_that_never_gets_there_makes_the_mean_infinite() {
    let mut made = Made::new();
    for seed in 1..=5 {
        made.run("a", json!({}), seed, 30, &[("gap", &move |k| if seed == 3 { 1.0 } else { 10f64.powf(-k / 3.0) })]);
    }
    assert!(!made.judge("rounds_to(a, gap=1e-6) <= 18").holds);
    assert!(holds(&made, "rounds_to(a, gap=1e-6) <= 18", "4/5"));
}

#[test]
fn the_share_is_rounded_up() {
    let rule = SeedRule::default();
    assert_eq!([1, 2, 3, 5, 6, 10].map(|seeds| rule.needed(seeds)), [1, 2, 3, 4, 5, 8]);
}

#[test]
fn the_table_of_an_experiment_file_takes_texts_and_tables() {
    let file = r#"
        "A1.1" = "final(flix, gap) < 1"
        "A4.1" = { claim = "final(gd, gap) < 1", status = "P", seeds = "mean", note = "separable" }
    "#;
    let claims: Claims = toml::from_str(file).unwrap();
    assert_eq!(claims.0[0], NamedClaim { name: "A1.1".into(), text: "final(flix, gap) < 1".into(), ..NamedClaim::default() });
    assert_eq!(
        (claims.0[1].status, claims.0[1].seeds, claims.0[1].note.as_deref()),
        (Grade::P, "mean".parse().unwrap(), Some("separable"))
    );
    let back: Claims = serde_json::from_str(&serde_json::to_string(&claims).unwrap()).unwrap();
    assert_eq!(back, claims);
}

#[test]
fn a_wrong_table_says_what_would_be_right() {
    for (file, says) in [
        ("x = { claim = \"1 < 2\", seeds = \"4 of 5\" }", "write \"mean\", \"all\", a share like \"4/5\""),
        ("x = { claim = \"1 < 2\", seed = \"all\" }", "unknown field `seed`"),
        ("x = { claim = \"1 < 2\", status = \"Q\" }", "unknown variant `Q`"),
        ("x = { claim = \"1 < 2\", seeds = \"6/5\" }", "is not a rule"),
        ("x = 3", "a claim in quotes"),
    ] {
        let error = toml::from_str::<Claims>(file).unwrap_err().to_string();
        assert!(error.contains(says), "{file}: {error}");
    }
}

#[test]
fn a_problem_drawn_anew_for_each_seed_is_one_problem() {
    let mut made = five([1.0, 1.0, 1.0, 1.0, 2.0]);
    let drawn = made.0.manifest.problems[0].clone();
    made.0.manifest.problems = vec![drawn; 5];
    made.0.manifest.runs.iter_mut().for_each(|card| card.problem = card.seed as usize - 1);
    // The mean over five seeds, not five cases of one seed each.
    assert!(holds(&made, "final(a, loss) == 1.2", "mean"));
    assert!(holds(&made, "final(a[problem=0], loss) == 1.2", "mean"));
}

#[test]
fn weights_are_read_from_the_merit_ledger() {
    let mut made = Made::new();
    made.run("meritfed", json!({}), 1, 20, &[("loss", &|_| 1.0)]);
    for round in 0..=20 {
        let near = round as f64 / 20.0;
        made.0.merits.push(Merit::new(0, round, 0, &[near, 1.0 - near, 0.0]));
    }
    made.table(&[
        ("weight(meritfed, clients=0) == 1", true),
        ("weight(meritfed, clients=1..2) == 0", true),
        ("weight(meritfed, clients=0, from=10, to=10) == 0.5", true),
        ("weight(meritfed, clients=0, last=11) == 0.75 +- 1e-6", true),
        // Whom the ledger does not list has no weight.
        ("weight(meritfed, clients=0..99) == 1", true),
    ]);
}

#[test]
fn a_record_of_many_rounds_counts_for_all_of_them_where_the_window_holds_them() {
    let mut made = Made::new();
    made.run("fedadp", json!({}), 1, 30, &[("loss", &|_| 1.0)]);
    for round in [0, 10, 20, 30] {
        let mean = Some(Vector::from(vec![0.25f32, 0.75]));
        made.0.merits.push(Merit { rounds: 10, mean, ..Merit::new(0, round, 0, &[0.5, 0.5]) });
    }
    made.table(&[
        // The end is one round, and so is a window that cuts a record in two.
        ("weight(fedadp, clients=0) == 0.5", true),
        ("weight(fedadp, clients=0, from=20, to=20) == 0.5", true),
        ("weight(fedadp, clients=0, last=20) == 0.25", true),
        ("weight(fedadp, clients=0, from=15, to=30) == 3/11", true),
    ]);
}
