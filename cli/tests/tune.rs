//! Values chosen by trials: by what they should be, without test data, and the same after a kill.

mod stage;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use stage::Stage;

/// Nine steps over four decades: the smallest crawl, the largest diverge.
const TUNED: &str = r#"
name  = "tuned"
seeds = [1, 2]

[problem]
source  = { kind = "synthetic", clients = 6, features = 5, examples = 30, heterogeneity = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1, intercept = true }

[run]
rounds     = 27
store      = { kind = "disk", memory = "1 kB" }
tune       = { step = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], by = "validation.loss", halving = 3 }

[[method]]
kind = "local"

[[method]]
kind  = "flix"
alpha = { grid = [1.0, 0.5] }

[[method]]
kind     = "scaffold"
server_step = 1.0
sampling = { clients = 3 }

[claims]
"more sharing, smaller steps" = "chosen(flix[alpha=1], step) < chosen(flix[alpha=0.5], step)"
"the tuned run"               = "final(flix, gap) <= 1e-6 * start(flix, gap)"
"#;

fn run(text: &str, out: &str) -> (Stage, Value) {
    let stage = Stage::new();
    stage.write("tuned.toml", text);
    let summary = stage.json(&["run", "tuned.toml", "--out", out]);
    (stage, summary)
}

fn lines(stage: &Stage, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(stage.path().join(name)).expect("it was written");
    text.lines().map(|line| serde_json::from_str(line).expect("it was written")).collect()
}

fn without_times(mut rows: Vec<Value>) -> Vec<Value> {
    rows.iter_mut().for_each(|row| drop(row.as_object_mut().expect("a row").remove("seconds")));
    rows
}

#[test]
fn the_best_on_validation_data_is_what_is_run_and_reported() {
    let (stage, summary) = run(TUNED, "out");
    assert!(summary["claims"].as_array().unwrap().iter().all(|claim| claim["holds"] == true), "{}", summary["claims"]);
    let manifest: Value = serde_json::from_str(&fs::read_to_string(stage.path().join("out/manifest.json")).unwrap()).unwrap();
    let (cards, rows) = (manifest["runs"].as_array().unwrap(), lines(&stage, "out/rows.jsonl"));
    for tuning in summary["tuning"].as_array().unwrap() {
        let trials = tuning["trials"].as_array().unwrap();
        assert_eq!(trials.len(), 9);
        // A third went on for three times the rounds, and the best of these was taken.
        let rounds: Vec<u64> = trials.iter().map(|t| t["rounds"].as_u64().unwrap()).collect();
        assert_eq!((rounds.iter().filter(|r| **r == 9).count(), rounds.iter().filter(|r| **r == 27).count()), (6, 3));
        let last: Vec<&Value> = trials.iter().filter(|t| t["rounds"] == 27).collect();
        let best = last.iter().min_by(|a, b| a["score"].as_f64().unwrap().total_cmp(&b["score"].as_f64().unwrap())).unwrap();
        assert_eq!(best["values"], tuning["chosen"]);
        let run = best["run"].as_u64().unwrap();
        let measured = rows.iter().rfind(|row| row["run"] == run).unwrap();
        assert_eq!(measured["metrics"]["validation.loss"], best["score"], "the score is what was measured last");
        // Both seeds were run with it.
        let label = &tuning["label"];
        let chosen = cards.iter().filter(|card| card["label"] == *label && card["trial"].is_null());
        let steps: Vec<Option<f64>> = chosen.map(|card| card["params"]["step"].as_f64()).collect();
        assert_eq!(steps, [tuning["chosen"]["step"].as_f64(); 2]);
    }
    assert_eq!(summary["tuning"].as_array().unwrap().len(), 3, "`local` has no step");
    // What trials measure cannot leak from test data, and leaves no models.
    let trial = |row: &&Value| !cards[row["run"].as_u64().unwrap() as usize]["trial"].is_null();
    assert!(rows.iter().filter(trial).all(|row| row["metrics"].as_object().unwrap().keys().all(|name| !name.starts_with("test."))));
    assert!(rows.iter().any(|row| !trial(&row) && row["metrics"]["test.loss"].is_number()));
    assert!(!lines(&stage, "out/clients.jsonl").iter().any(|row| trial(&row)));
    let page = fs::read_to_string(stage.path().join("out/report.html")).unwrap();
    assert!(page.contains("How values were chosen") && page.contains("chosen from 9 combinations"));
    assert!(stage.path().join("out/figures/tuning-1-step.svg").exists());
}

#[test]
fn a_trial_that_goes_on_ends_where_one_from_the_start_ends() {
    let (halved, summary) = run(TUNED, "out");
    let (whole, other) = run(&TUNED.replace(", halving = 3", ""), "out");
    let last = |stage: &Stage, run: &Value| lines(stage, "out/rows.jsonl").into_iter().rfind(|row| row["run"] == *run).unwrap();
    let mut compared = 0;
    for (a, b) in summary["tuning"].as_array().unwrap().iter().zip(other["tuning"].as_array().unwrap()) {
        for (a, b) in a["trials"].as_array().unwrap().iter().zip(b["trials"].as_array().unwrap()).filter(|(a, _)| a["rounds"] == 27) {
            let (a, b) = (last(&halved, &a["run"]), last(&whole, &b["run"]));
            assert_eq!((&a["metrics"], &a["bits"], &a["gradients"]), (&b["metrics"], &b["bits"], &b["gradients"]));
            compared += 1;
        }
    }
    assert_eq!(compared, 9);
}

#[test]
fn tuning_killed_again_and_again_goes_on_to_the_same_bits() {
    let (stage, whole) = run(TUNED, "whole");
    let length = fs::metadata(stage.path().join("whole/rows.jsonl")).unwrap().len();
    let start = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
        command.args(args).arg("--quiet").current_dir(stage.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the binary runs")
    };
    let written = || fs::metadata(stage.path().join("cut/rows.jsonl")).map_or(0, |about| about.len());
    let (mut child, mut kills) = (start(&["run", "tuned.toml", "--out", "cut", "--set", "run.checkpoint={ rounds = 4 }"]), 0);
    for part in 1..12 {
        let mut done = false;
        while !done && written() <= part * length / 12 {
            done = child.try_wait().unwrap().is_some();
            std::thread::sleep(Duration::from_micros(200));
        }
        if done {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        child = start(&["run", "--resume", "cut", "--threads", if part % 2 == 0 { "1" } else { "2" }]);
    }
    assert!(child.wait().unwrap().success());
    assert!(kills >= 6, "the program was killed {kills} times only");
    assert_eq!(without_times(lines(&stage, "cut/rows.jsonl")), without_times(lines(&stage, "whole/rows.jsonl")));
    let cut: Value = serde_json::from_str(&fs::read_to_string(stage.path().join("cut/summary.json")).unwrap()).unwrap();
    assert_eq!(cut["tuning"], whole["tuning"]);
    assert!(!stage.path().join("cut/resume").exists(), "nothing is left to go on from");
}

#[test]
fn the_largest_stable_value_is_the_largest_that_did_not_diverge() {
    let stable = TUNED.replace("halving = 3", "stable = true, rounds = 9").replace("validation.loss", "loss");
    let (_stage, summary) = run(&stable, "out");
    let chosen: Vec<f64> = summary["tuning"].as_array().unwrap().iter().map(|t| t["chosen"]["step"].as_f64().unwrap()).collect();
    // 1/L is 2.7 for alpha = 1 and four times that for alpha = 1/2: beyond twice that, gradient descent diverges.
    assert_eq!(chosen[..2], [3.0, 10.0]);
    for tuning in summary["tuning"].as_array().unwrap() {
        let beyond = |t: &&Value| t["values"]["step"].as_f64() > tuning["chosen"]["step"].as_f64();
        assert!(tuning["trials"].as_array().unwrap().iter().filter(beyond).all(|t| t["stable"] == false));
    }
}

#[test]
fn two_parameters_are_a_heat_map_and_each_split_is_tuned_for_itself() {
    let text = TUNED
        .replace("tune       = { step = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], by = \"validation.loss\", halving = 3 }", "")
        .replace("[problem]", "[problem]\nseed = \"run\"")
        .replace("server_step = 1.0", "tune = { step = [0.1, 1], server_step = [0.5, 1.0, 2.0], rounds = 5 }");
    let text = &text[..text.find("[claims]").unwrap()];
    let (stage, summary) = run(text, "out");
    let tunings = summary["tuning"].as_array().unwrap();
    assert_eq!(tunings.iter().map(|t| t["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert!(tunings.iter().all(|t| t["trials"].as_array().unwrap().len() == 6 && t["method"] == "scaffold"));
    assert!(fs::read_to_string(stage.path().join("out/report.html")).unwrap().contains("class=\"cells\""));
    assert!(fs::read_to_string(stage.path().join("out/figures/tuning-1-map.svg")).unwrap().starts_with("<svg xmlns"));
}

#[test]
fn what_cannot_be_tuned_is_said_in_one_line() {
    let tune = "step = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], by = \"validation.loss\", halving = 3";
    for (wrong, parts) in [
        ("stepp = [1]", vec!["run.tune.stepp", "no method here has this parameter", "did you mean \"step\"?"]),
        ("step = []", vec!["run.tune", "step = []", "at least one value"]),
        ("step = [1, -1]", vec!["run.tune", "step=-1", "method[2]"]),
        ("step = [1], by = \"validation.lozz\"", vec!["run.tune.by", "not measured", "validation.loss"]),
        ("step = [1], by = \"test.loss\"", vec!["run.tune", "test data"]),
        ("by = \"loss\"", vec!["run.tune", "no parameter"]),
    ] {
        let stage = Stage::new();
        stage.write("e.toml", &TUNED.replace(tune, wrong));
        let output = stage.motet(&["run", "e.toml"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{wrong}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{wrong}: {said}");
    }
    let stage = Stage::new();
    stage.write("e.toml", &TUNED.replace("validation = 0.2, ", ""));
    let output = stage.motet(&["run", "e.toml"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("holdout = { validation = 0.2 }"), "{said}");
}
