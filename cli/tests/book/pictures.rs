//! The pictures of the explanations are made from real runs, and are still what these runs give.
//!
//! `WRITE=1 cargo test --workspace --test book pictures` draws them anew.

use std::fs;
use std::process::Command;

use super::pages::root;

/// The experiment beside the page, and which of its figures is the picture.
const PICTURES: &[(&str, &str)] = &[
    ("personalisation", "over-alpha-test-loss"),
    ("flix", "gap-rounds"),
    ("scafflix", "gap-rounds"),
    ("meritfed", "test-excess-rounds"),
    ("local-update", "gap-rounds"),
];

#[test]
fn pictures_are_what_the_runs_give_and_their_claims_hold() {
    for (name, figure) in PICTURES {
        let out = tempfile::tempdir().unwrap();
        let records = out.path().join("records");
        let file = root().join(format!("docs/explanation/{name}.toml"));
        let output =
            Command::new(env!("CARGO_BIN_EXE_motet")).arg("run").arg(&file).arg("--quiet").arg("--out").arg(&records).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&fs::read(records.join("summary.json")).unwrap()).unwrap();
        for claim in summary["claims"].as_array().into_iter().flatten() {
            assert_eq!(claim["holds"], true, "{name}: {}", claim["claim"]);
        }
        let drawn = fs::read_to_string(records.join(format!("figures/{figure}.svg"))).unwrap();
        let picture = root().join(format!("docs/pictures/{name}.svg"));
        if std::env::var_os("WRITE").is_some() {
            fs::write(&picture, &drawn).unwrap();
        }
        let shown = fs::read_to_string(&picture).unwrap_or_default();
        assert!(shown == drawn, "docs/pictures/{name}.svg is old: WRITE=1 cargo test --workspace --test book pictures");
    }
}
