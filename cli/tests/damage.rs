//! What is damaged is named, and never goes into a result.

mod stage;

use std::fs;
use std::path::{Path, PathBuf};

use stage::{SMALL, Stage};

/// A finished experiment with everything that one can leave: rows, clients, merits, models.
fn folder(stage: &Stage) -> PathBuf {
    let merit = "[[method]]\nkind = \"meritfed\"\nstep = 0.5\ntarget = 2\nmirror = { kind = \"md\", rate = 3.5, steps = 5 }\n\n[claims]";
    let text = SMALL.replace("rounds = 20", "rounds = 4\nmodels = true").replace("[claims]", merit);
    stage.write("all.toml", &text);
    stage.json(&["run", "all.toml", "--out", "all"]);
    stage.path().join("all")
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("it was written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("it was written");
}

/// Exit code and what was said on standard error, which is no panic and at most one line.
fn said(stage: &Stage, args: &[&str]) -> (Option<i32>, String) {
    let output = stage.motet(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked") && said.trim_end().lines().count() <= 1, "{args:?}: {said}");
    (output.status.code(), said)
}

#[test]
fn every_damaged_file_is_named_by_every_command_that_reads_it() {
    let stage = Stage::new();
    let folder = folder(&stage);
    let model = fs::read_dir(folder.join("models")).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    let model = format!("models/{model}");
    let csv = stage.write("new.csv", "1,2,3,4,5\n");
    let predict = format!("all/{model}");
    let whole = stage.motet(&["check", "all", "--format", "json"]);
    assert_eq!((whole.status.code(), whole.stdout.as_slice()), (Some(0), &b"{\"whole\":true,\"damaged\":[]}\n"[..]));
    assert_eq!(said(&stage, &["predict", &predict, csv.to_str().unwrap()]).0, Some(0));
    for file in ["rows.jsonl", "clients.jsonl", "merits.bin", "manifest.json", "summary.json", "experiment.toml", &model] {
        let path = folder.join(file);
        let before = fs::read(&path).unwrap();
        flip(&path);
        let check = stage.motet(&["check", "all", "--format", "json"]);
        assert_eq!(check.status.code(), Some(1), "{file}");
        let found: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
        assert_eq!(found, serde_json::json!({ "whole": false, "damaged": [file] }));
        let text = String::from_utf8(stage.motet(&["check", "all"]).stdout).unwrap();
        assert!(text.starts_with(&format!("{file}, bytes ")) && text.ends_with(": is not what was written\n"), "{text}");
        let readers: &[&[&str]] = if file == model {
            &[&["predict", &predict, "new.csv"]]
        } else {
            &[&["report", "all"], &["report", "all", "all"], &["results", "all"], &["run", "--resume", "all"]]
        };
        for args in readers {
            let (code, said) = said(&stage, args);
            assert_eq!(code, Some(2), "{args:?} with {file}: {said}");
            assert!(said.contains(&format!("all: {file}, bytes ")), "{args:?}: {said}");
        }
        fs::write(&path, before).unwrap();
    }
    assert_eq!(said(&stage, &["report", "all"]).0, Some(0), "nothing is damaged any more");
    // A model that was taken elsewhere has no checksums beside it.
    let elsewhere = stage.path().join("mine.safetensors");
    fs::copy(folder.join(&model), &elsewhere).unwrap();
    assert_eq!(said(&stage, &["predict", "mine.safetensors", "new.csv"]).0, Some(0));
}

#[test]
fn what_is_no_folder_of_records_is_neither_whole_nor_damaged() {
    let stage = Stage::new();
    fs::create_dir(stage.path().join("empty")).unwrap();
    let (code, said_empty) = said(&stage, &["check", "empty"]);
    assert_eq!(code, Some(2), "{said_empty}");
    assert!(said_empty.contains("empty: there are no records in this folder"), "{said_empty}");
    folder(&stage);
    let (code, said_set) = said(&stage, &["check", "all", "--set", "run.rounds=3"]);
    assert_eq!(code, Some(2), "{said_set}");
    assert!(said_set.contains("all is a folder of records"), "{said_set}");
}

/// Kills a run with checkpoints in the middle; returns its folder.
#[cfg(unix)]
fn killed(stage: &Stage) -> PathBuf {
    use std::process::{Command, Stdio};
    let text = SMALL.replace("rounds = 20", "rounds = 100000\ncheckpoint = { rounds = 5 }");
    stage.write("long.toml", &text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
    command.args(["run", "long.toml", "--out", "cut", "--quiet"]).current_dir(stage.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary runs");
    let folder = stage.path().join("cut");
    let reached = || fs::read(folder.join("checksums.jsonl")).is_ok_and(|b| b.windows(10).filter(|w| w == b"rows.jsonl").count() >= 3);
    for _ in 0..10_000 {
        if reached() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(reached(), "there were no checkpoints in ten seconds");
    folder
}

#[cfg(unix)]
#[test]
fn an_unfinished_experiment_is_whole_and_goes_on_only_with_records_as_they_were_written() {
    let stage = Stage::new();
    let folder = killed(&stage);
    assert_eq!(said(&stage, &["check", "cut"]).0, Some(0), "a kill damages nothing");
    assert_eq!(said(&stage, &["report", "cut"]).0, Some(0));
    let shorter = ["run", "--resume", "cut"];
    for file in ["rows.jsonl", "manifest.json", "checksums.jsonl"] {
        let path = folder.join(file);
        let before = fs::read(&path).unwrap();
        let mut bad = before.clone();
        bad[40] ^= 1;
        fs::write(&path, bad).unwrap();
        let (code, said) = said(&stage, &shorter);
        assert_eq!(code, Some(2), "{file}: {said}");
        assert!(said.contains(&format!("cut: {file}, bytes ")), "{said}");
        fs::write(&path, before).unwrap();
    }
    fs::remove_file(folder.join("checksums.jsonl")).unwrap();
    let (code, said) = said(&stage, &shorter);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cut: checksums.jsonl, bytes 0 to 0: the file is missing"), "{said}");
}

/// Constants of a problem that are no numbers reach the manifest, and come back.
#[test]
fn records_of_problems_without_finite_constants_can_be_read() {
    let stage = Stage::new();
    let zero: String = (0..24).map(|k| format!("{} 1:0 2:0 3:0\n", k % 2)).collect();
    let huge: String = (0..24).map(|k| format!("{} 1:{}e90 2:1e90 3:{k}\n", k % 2, k % 5 - 2)).collect();
    for (name, rows) in [("zero", zero), ("huge", huge)] {
        stage.write(&format!("{name}.svm"), &rows);
        let text = format!(
            "[problem]\nsource = {{ kind = \"libsvm\", path = \"{name}.svm\" }}\nsplit = {{ kind = \"contiguous\", clients = 3 }}\n\
             model = {{ kind = \"logistic\" }}\n[run]\nrounds = 4\n[[method]]\nkind = \"diana\"\nalpha = 0.5\n\
             compressor = {{ kind = \"rand-k\", k = 1 }}\n[[method]]\nkind = \"flix\"\nalpha = 0.5\n"
        );
        stage.write(&format!("{name}.toml"), &text);
        let run = stage.motet(&["run", &format!("{name}.toml"), "--out", name, "--quiet"]);
        assert!(run.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&run.stderr));
        assert_eq!(said(&stage, &["report", name]), (Some(0), String::new()));
        assert_eq!(said(&stage, &["check", name]), (Some(0), String::new()));
    }
}
