//! Every command runs, every experiment is accepted.
//!
//! | block | what is done with it |
//! | --- | --- |
//! | `sh` | the blocks of a page run one after the other in a folder of their own, with the built `motet`; tables and experiments that lie beside the page, and those of the tutorials, are there |
//! | `toml` | a whole experiment: `motet check` accepts it |
//! | `toml part`, `toml part=scafflix` | a piece: put into a small experiment (its method is `flix`, or the one that is named), which `motet check` accepts |
//! | `rust` | a doctest: the page must be in the list of `cli/src/lib.rs` |
//! | `python` | the blocks of a page are one script for the interpreter that `MOTET_PYTHON` names, which has the wheel; without it they wait |
//! | `text`, `json` | shown, not run; the keys of a `json` block with `of` or `file` are compared in `shapes.rs` |
//!
//! The mark `data` is for blocks that need the files of `MOTET_DATA`, `norun="why"` for what a test cannot do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use toml::{Table, Value};

use super::blocks::{self, Block};
use super::pages::{Page, root, tried};

/// What a piece of an experiment is put into.
const SMALL: &str = r#"
name  = "small"
seeds = [1, 2]
[problem]
source  = { kind = "synthetic", clients = 6, features = 5, examples = 60, heterogeneity = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1, intercept = true }
[run]
rounds = 20
"#;

/// More blocks than these must not be left out.
const MOST_LEFT_OUT: usize = 17;

#[test]
fn every_command_runs() {
    let mut seen = 0;
    for page in tried() {
        let blocks: Vec<Block> = blocks::of(&page).into_iter().filter(|b| b.language == "sh" && wanted(b)).collect();
        if blocks.is_empty() {
            continue;
        }
        let folder = sandbox(&page);
        for block in blocks {
            let output = Command::new("bash")
                .args(["-euo", "pipefail", "-c", &block.text])
                .current_dir(folder.path())
                .env("PATH", format!("{}:{}", folder.path().join(".bin").display(), std::env::var("PATH").unwrap()))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {}\n{}{said}", block.place(), output.status, String::from_utf8_lossy(&output.stdout));
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} blocks ran");
}

#[test]
fn every_experiment_is_accepted() {
    let mut seen = 0;
    for page in tried() {
        for block in blocks::of(&page).iter().filter(|b| b.language == "toml" && wanted(b)) {
            let text = match block.mark("part") {
                Some(method) => complete(block, method),
                None => block.text.clone(),
            };
            let folder = sandbox(&page);
            fs::write(folder.path().join("experiment.toml"), &text).unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
            let output = command.args(["check", "experiment.toml", "--quiet"]).current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {said}\n{text}", block.place());
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} experiments were seen");
}

#[test]
fn every_block_says_what_it_is_and_few_are_left_out() {
    let mut left_out = Vec::new();
    let modules = fs::read_to_string(root().join("cli/src/lib.rs")).unwrap();
    for page in tried() {
        for block in blocks::of(&page) {
            let known = ["sh", "toml", "rust", "python", "text", "json"].contains(&block.language.as_str());
            assert!(known, "{}: a block of `{}`", block.place(), block.language);
            if let Some(reason) = block.mark("norun") {
                assert!(reason.split_whitespace().count() >= 3, "{}: norun needs a reason", block.place());
                left_out.push(format!("{}: {reason}", block.place()));
            }
            if block.language == "rust" {
                assert!(modules.contains(&page.name()), "{}: {} is not among the doctests of cli/src/lib.rs", block.place(), page.name());
            }
        }
    }
    assert!(left_out.len() <= MOST_LEFT_OUT, "{} blocks are left out:\n{}", left_out.len(), left_out.join("\n"));
}

#[test]
fn every_python_block_runs_where_the_wheel_is() {
    let Some(python) = std::env::var_os("MOTET_PYTHON") else {
        eprintln!("MOTET_PYTHON is not set: blocks of Python wait for `tools/python`");
        return;
    };
    for page in tried() {
        let blocks: Vec<Block> = blocks::of(&page).into_iter().filter(|b| b.language == "python" && wanted(b)).collect();
        if blocks.is_empty() {
            continue;
        }
        let folder = sandbox(&page);
        // A block that needs a library which is not installed, such as PyTorch, is passed over.
        let texts = serde_json::to_string(&blocks.iter().map(|b| &b.text).collect::<Vec<_>>()).unwrap();
        let script = format!(
            "import json\nnames = {{'__name__': 'page'}}\nfor text in json.loads({}):\n    try:\n        exec(text, names)\n    \
             except ModuleNotFoundError as error:\n        assert error.name != 'motet'\n",
            serde_json::to_string(&texts).unwrap()
        );
        fs::write(folder.path().join("page.py"), script).unwrap();
        let output = Command::new(&python).arg("page.py").current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}: {}", page.name(), String::from_utf8_lossy(&output.stderr));
    }
}

/// Is the block to be tried here?
fn wanted(block: &Block) -> bool {
    // Claims are tried by `report/tests/claims/manual.rs`.
    if block.mark("norun").is_some() || block.mark("claims").is_some() {
        return false;
    }
    if block.mark("data").is_some() && std::env::var_os("MOTET_DATA").is_none() {
        eprintln!("{}: MOTET_DATA is not set", block.place());
        return false;
    }
    true
}

/// A folder with what lies beside the page, and commands that stand for a reader's: `motet`, and `cargo run -- …`, which is `motet …`.
fn sandbox(page: &Page) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join(".bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_motet"), bin.join("motet")).unwrap();
    let cargo = "#!/bin/sh\n[ \"$1\" = run ] || { echo \"cargo $1 is not for a test\" >&2; exit 1; }\n\
                 while [ \"$1\" != -- ]; do shift; done\nshift\nexec motet \"$@\"\n";
    fs::write(bin.join("cargo"), cargo).unwrap();
    fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut folders = vec![root().join("docs/tutorials")];
    if page.place.starts_with("docs") {
        folders.push(root().join(page.place.parent().unwrap_or(Path::new(""))));
    }
    for entry in folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(Result::unwrap) {
        if entry.path().extension().is_some_and(|e| e == "csv" || e == "toml") {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    folder
}

/// A small experiment with the piece in it.
fn complete(block: &Block, method: &str) -> String {
    let piece: Table = block.text.parse().unwrap_or_else(|error| panic!("{}: {error}", block.place()));
    let mut whole: Table = SMALL.parse().unwrap();
    let mut own = Table::new();
    own.insert("kind".into(), Value::String(if method.is_empty() { "flix" } else { method }.into()));
    for (key, value) in piece {
        match (key.as_str(), value) {
            ("problem" | "run", Value::Table(values)) => {
                let table = whole[&key].as_table_mut().unwrap();
                // Another source brings a split and a model of its own, or none.
                if values.contains_key("source") {
                    table.remove("holdout");
                    table.remove("model");
                }
                table.extend(values);
            }
            ("method" | "claims" | "report" | "seeds" | "name" | "seed" | "about", value) => {
                whole.insert(key, value);
            }
            (_, value) => {
                own.insert(key, value);
            }
        }
    }
    if !whole.contains_key("method") {
        if own.len() == 1 && method.is_empty() {
            own.insert("alpha".into(), Value::Float(0.5));
        }
        whole.insert("method".into(), Value::Array(vec![Value::Table(own)]));
    }
    whole.to_string()
}
