//! `alpha = "validation"`: each client's own share, picked on its validation data when training is over.

mod stage;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use stage::Stage;

const PICKED: &str = r#"
name  = "picked"
seeds = [1, 2]

[problem]
source  = { kind = "synthetic", clients = 8, features = 6, examples = 60, heterogeneity = 1.0 }
holdout = { validation = 0.3, test = 0.3, redraw = true }
model   = { kind = "logistic", l2 = 0.01, intercept = true }

[run]
rounds = 30

[[method]]
kind  = "METHOD"
alpha = { validation = { start = 0.5, retrain = true } }
"#;

fn lines(stage: &Stage, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(stage.path().join(name)).expect("it was written");
    text.lines().map(|line| serde_json::from_str(line).expect("it was written")).collect()
}

#[test]
fn every_method_of_the_family_picks_without_a_bit_sent_and_trains_again_with_what_was_picked() {
    for (method, extra) in [
        ("flix", ""),
        ("flix-sgd", "batch = 5"),
        ("flix-fedavg", "client_step = 0.5"),
        ("scafflix", "p = 0.3"),
        ("dcgd", "compressor = { kind = 'rand-k', k = 2 }"),
        ("diana", "compressor = { kind = 'rand-k', k = 2 }"),
        ("ef", "compressor = { kind = 'top-k', k = 2 }\nstep = 0.1"),
        ("ef21", "compressor = { kind = 'top-k', k = 2 }"),
        ("one-shot", ""),
    ] {
        let stage = Stage::new();
        stage.write("e.toml", &format!("{}{extra}\n", PICKED.replace("METHOD", method)));
        let summary = stage.json(&["run", "e.toml", "--out", "out"]);
        let (rows, clients) = (lines(&stage, "out/rows.jsonl"), lines(&stage, "out/clients.jsonl"));
        for run in [0, 2] {
            let mine: Vec<&Value> = rows.iter().filter(|row| row["run"] == run).collect();
            let [.., before, after] = mine.as_slice() else { panic!("{method}: two rows at least") };
            assert_eq!(after["round"].as_u64(), before["round"].as_u64().map(|r| r + 1), "{method}");
            assert_eq!((&after["bits"], &after["gradients"]), (&before["bits"], &before["gradients"]), "{method}: picking costs nothing");
            let loss = |row: &Value| row["metrics"]["validation.loss"].as_f64().unwrap();
            assert!(loss(after) <= loss(before), "{method}: {} after {}", loss(after), loss(before));
            let picked: Vec<&Value> = clients.iter().filter(|c| c["run"] == run).map(|c| &c["metrics"]["alpha"]).collect();
            assert!(picked.len() == 8 && picked.iter().all(|a| (0.0..=1.0).contains(&a.as_f64().unwrap())), "{method}: {picked:?}");
            assert!(picked.iter().any(|a| *a != picked[0]), "{method}: clients differ");
            let again = &summary["runs"][run + 1];
            assert!(again["label"].as_str().unwrap().ends_with("alpha=validation retrained"), "{method}");
            let used: Vec<&Value> = again["params"]["alpha"]["per_client"].as_array().unwrap().iter().collect();
            assert_eq!(used, picked, "{method}: what was picked is what is trained with");
        }
    }
}

#[test]
fn the_report_shows_how_the_shares_are_spread_and_what_they_bought() {
    let stage = Stage::new();
    stage.write("e.toml", &PICKED.replace("METHOD", "flix"));
    stage.json(&["run", "e.toml", "--out", "out"]);
    let page = fs::read_to_string(stage.path().join("out/report.html")).unwrap();
    assert!(
        page.contains("α as each client picked it") && page.contains("8 clients: median α") && page.contains("trained again with them")
    );
}

#[test]
fn a_run_that_picks_is_the_same_after_kills_and_on_any_threads() {
    let stage = Stage::new();
    stage.write(
        "e.toml",
        &PICKED.replace("METHOD", "scafflix").replace("alpha =", "p = 0.3\nalpha =").replace("rounds = 30", "rounds = 300"),
    );
    let one = stage.json(&["run", "e.toml", "--out", "one", "--threads", "1"]);
    let length = fs::metadata(stage.path().join("one/rows.jsonl")).unwrap().len();
    let start = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
        command.args(args).arg("--quiet").current_dir(stage.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the binary runs")
    };
    let mut child = start(&["run", "e.toml", "--out", "cut", "--set", "run.checkpoint={ rounds = 20 }"]);
    let mut kills = 0;
    // In the first run, while it is trained again, and in the second seed.
    for part in [1, 3, 5] {
        let written = || fs::metadata(stage.path().join("cut/rows.jsonl")).map_or(0, |about| about.len());
        while written() <= part * length / 8 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        child = start(&["run", "--resume", "cut", "--threads", "3"]);
    }
    assert!(child.wait().unwrap().success() && kills >= 2, "killed {kills} times");
    let without_times = |name: &str| {
        let mut rows = lines(&stage, name);
        rows.iter_mut().for_each(|row| drop(row.as_object_mut().expect("a row").remove("seconds")));
        rows
    };
    assert_eq!(without_times("cut/rows.jsonl"), without_times("one/rows.jsonl"));
    assert_eq!(without_times("cut/clients.jsonl"), without_times("one/clients.jsonl"));
    let cut: Value = serde_json::from_str(&fs::read_to_string(stage.path().join("cut/summary.json")).unwrap()).unwrap();
    let digests = |s: &Value| s["runs"].as_array().unwrap().iter().map(|r| r["digest"].clone()).collect::<Vec<_>>();
    assert_eq!(digests(&one), digests(&cut));
}

#[test]
fn what_cannot_be_picked_is_said_in_one_line() {
    let flix = PICKED.replace("METHOD", "flix");
    for (text, parts) in [
        (flix.replace("validation = 0.3, ", ""), vec!["method[1].alpha", "needs validation data", "holdout = { validation = 0.2 }"]),
        (PICKED.replace("METHOD", "apfl").replace("[[method]]", "[[method]]\nstep = 0.1"), vec!["method[1].own_share", "validation"]),
        (flix.replace("start = 0.5", "start = 1.0"), vec!["method[1].alpha.validation.start", "below 1"]),
        (flix.replace("retrain = true", "again = true"), vec!["method[1].alpha.validation", "again"]),
        (flix.replace("{ validation = { start = 0.5, retrain = true } }", "\"valid\""), vec!["method[1].alpha", "\"valid\""]),
    ] {
        let stage = Stage::new();
        stage.write("e.toml", &text);
        let output = stage.motet(&["run", "e.toml"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    }
}
