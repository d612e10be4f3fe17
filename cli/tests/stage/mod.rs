//! A folder of its own for each test, and the binary run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary folder to run commands in.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    #[allow(dead_code)] // not every test file writes
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn motet(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_motet")).args(args).current_dir(self.path()).output().expect("the binary runs")
    }

    /// Runs a command that must succeed and reads its JSON.
    #[allow(dead_code)] // not every test file reads JSON
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.motet(&[args, &["--format", "json", "--quiet"]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("one JSON value on standard output")
    }
}

/// A small experiment that runs in milliseconds.
#[allow(dead_code)] // not every test file runs it
pub(crate) const SMALL: &str = r#"
name  = "small"
seeds = [1, 2]

[problem]
source  = { kind = "synthetic", clients = 6, features = 5, examples = 30, heterogeneity = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1, intercept = true }

[run]
rounds = 20

[[method]]
kind = "local"

[[method]]
kind  = "flix"
alpha = { grid = [1.0, 0.5] }

[claims]
"falls" = "final(flix, gap) <= start(flix, gap)"
"#;
