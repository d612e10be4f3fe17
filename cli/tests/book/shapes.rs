//! The shapes that `docs/reference/json.md` shows are those of real output: the same keys, at every depth.
//!
//! A block with `of="a command"` is compared with what the command prints with `--format json`, one with `file="a file"` with what the file holds
//! then. Commands run one after the other in one folder. `{}` stands for keys that depend on the experiment.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::blocks::{self, Block};
use super::pages::Page;

const SMALL: &str = r#"
name  = "small"
seeds = [1, 2]
[problem]
source  = { kind = "synthetic", clients = 4, features = 3, examples = 60, heterogeneity = 0.5 }
holdout = { validation = 0.2, test = 0.3, redraw = true }
model   = { kind = "logistic", l2 = 0.1 }
[run]
rounds = 5
[[method]]
kind = "local"
[[method]]
kind  = "flix"
alpha = 0.5
[claims]
"five rounds are enough" = "final(flix, gap) < 0.1"
"#;

#[test]
fn shown_shapes_are_those_of_real_output() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    fs::write(folder.path().join("wards.csv"), wards()).unwrap();
    let mut seen = 0;
    for block in blocks::of(&Page::read("docs/reference/json.md")) {
        let shown: Value = serde_json::from_str(&block.text).unwrap_or_else(|error| panic!("{}: {error}", block.place()));
        let Some(real) = real(&block, folder.path()) else { continue };
        let open: Vec<String> = paths(&shown).into_iter().filter(|path| path.ends_with(ANY)).collect();
        let is_open = |path: &String| open.iter().any(|any| path.starts_with(any.trim_end_matches('*')));
        let keys = |value: &Value| -> BTreeSet<String> { paths(value).into_iter().filter(|path| !is_open(path)).collect() };
        assert_eq!(keys(&shown), keys(&real), "{}: the keys shown, and those of real output", block.place());
        seen += 1;
    }
    assert!(seen > 10, "only {seen} shapes were compared");
}

/// What the block is compared with.
fn real(block: &Block, folder: &Path) -> Option<Value> {
    if let Some(file) = block.mark("file") {
        return Some(serde_json::from_slice(&fs::read(folder.join(file)).unwrap()).unwrap());
    }
    let command = block.mark("of")?;
    let mut motet = Command::new(env!("CARGO_BIN_EXE_motet"));
    motet.args(command.split(' ')).args(["--format", "json"]).current_dir(folder).env("MOTET_DATA", folder.join("data"));
    let output = motet.output().unwrap();
    assert!(output.status.success(), "{}: {}", block.place(), String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Ends the path of an object whose keys are left open.
const ANY: &str = ".*";

/// The paths of all keys; the elements of a list count together.
fn paths(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    gather(value, "", &mut found);
    found
}

fn gather(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(keys) if keys.is_empty() => {
            found.insert(format!("{path}{ANY}"));
        }
        Value::Object(keys) => {
            for (key, inner) in keys {
                let path = format!("{path}.{key}");
                gather(inner, &path, found);
                found.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, path, found)),
        _ => {}
    }
}

/// Two wards of thirty patients, whose illness follows from two signs.
fn wards() -> String {
    let mut table = String::from("ward,age,pulse,ill\n");
    for k in 0..60 {
        let (age, pulse) = (40 + k * 7 % 23, 60 + k * 11 % 19);
        let (ward, ill) = (if k < 30 { "a" } else { "b" }, if 4 * age + 5 * pulse > 548 + k % 40 { "yes" } else { "no" });
        writeln!(table, "{ward},{age},{pulse},{ill}").unwrap();
    }
    table
}
