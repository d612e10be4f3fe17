//! `alpha = { budget = … }`: what a number of rounds affords, in runs and in `motet check`.

mod stage;

use serde_json::Value;
use stage::Stage;

/// LRS(4, 6, 3) of the specification, α as given.
fn lrs(alpha: &str, rounds: u64) -> String {
    format!(
        r#"
[problem]
source = {{ kind = "lrs", clients = 4, examples = 6, dim = 3, l2 = 0.1 }}

[run]
rounds = {rounds}

[[method]]
kind  = "flix"
start = "one-shot"
solve = {{ kind = "newton", to = 1e-13, steps = 100 }}
alpha = {alpha}
"#
    )
}

fn run(alpha: &str, rounds: u64) -> Value {
    let stage = Stage::new();
    stage.write("e.toml", &lrs(alpha, rounds));
    stage.json(&["run", "e.toml"])["runs"][0].clone()
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().expect("a number");
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn a_budget_of_rounds_becomes_the_alpha_of_the_specification() {
    for (rounds, eps, alpha) in
        [(2, 1e-2, 0.297379919138), (5, 1e-3, 0.140844469696), (10, 1e-3, 0.276134115371), (20, 1e-4, 0.335645321890)]
    {
        let run = run(&format!("{{ budget = {{ rounds = {rounds}, eps = {eps} }} }}"), rounds - 1);
        close(&run["params"]["alpha"], alpha);
        let gap = run["final"]["gap"].as_f64().expect("a gap");
        assert!(gap <= eps, "{rounds} rounds at alpha = {alpha} left a gap of {gap}, above {eps}");
    }
}

#[test]
fn no_rounds_afford_no_sharing_and_many_afford_all_of_it() {
    close(&run("{ budget = { rounds = 0, eps = 1e-3 } }", 1)["params"]["alpha"], 0.0);
    close(&run("{ budget = { rounds = 1000, eps = 1e-3 } }", 1)["params"]["alpha"], 1.0);
}

#[test]
fn a_profile_keeps_its_proportions_and_the_guarantee() {
    for (rounds, eps) in [(1, 1e-2), (5, 1e-2), (10, 1e-3)] {
        let run = run(&format!("{{ budget = {{ rounds = {rounds}, eps = {eps}, profile = [0.1, 0.4, 0.7, 1.0] }} }}"), rounds - 1);
        let alpha: Vec<f64> = serde_json::from_value(run["params"]["alpha"]["per_client"].clone()).expect("a list");
        assert!(alpha[3] > 0.0 && alpha[3] <= 1.0);
        for (a, part) in alpha.iter().zip([0.1, 0.4, 0.7, 1.0]) {
            assert!((a / alpha[3] - part).abs() < 1e-12, "{alpha:?}");
        }
        assert!(run["final"]["gap"].as_f64().expect("a gap") <= eps);
    }
}

#[test]
fn check_tells_the_rule_both_ways() {
    let stage = Stage::new();
    stage.write("e.toml", &lrs("0.3", 5).replace("rounds = 5", "rounds = 5\nstop = { gap = 1e-3 }"));
    let checked = stage.json(&["check", "e.toml"]);
    let budget = &checked["methods"][0]["budget"];
    assert_eq!(budget["rounds"], 11);
    let five = budget["affords"].as_array().expect("a list").iter().find(|pair| pair[0] == 5).expect("five rounds");
    close(&five[1], 0.140844469696);
    let page = stage.motet(&["check", "e.toml"]);
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("with alpha = 0.300 you need 11 rounds") && page.contains("with 5 0.141"), "{page}");
}

#[test]
fn a_budget_that_cannot_be_kept_is_refused_in_one_line() {
    for (alpha, words) in [
        ("{ budget = { rounds = 5 } }", vec!["method[1].alpha.budget", "eps"]),
        ("{ budget = { rounds = 5, eps = -1.0 } }", vec!["method[1].alpha.budget.eps", "positive"]),
        ("{ budget = { rounds = 5, eps = 1e-3 }, per_client = [1.0] }", vec!["method[1].alpha.per_client", "beside a budget"]),
        ("{ budget = { rounds = 5, eps = 1e-3, profile = [0.0, 0.0, 0.0, 0.0] } }", vec!["profile", "above 0"]),
        ("{ budget = { rounds = 5, eps = 1e-3, profile = [0.5, 1.0] } }", vec!["method[1]", "2 clients, the problem has 4"]),
    ] {
        let stage = Stage::new();
        stage.write("e.toml", &lrs(alpha, 5));
        let output = stage.motet(&["run", "e.toml"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{alpha} said {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "\"{word}\" is not in: {said}"));
    }
}
