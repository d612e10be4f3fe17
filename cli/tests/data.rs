//! `motet data`: files brought in under a name, and a look at who has what.

mod stage;

use std::fs;
use std::process::{Command, Output};

use stage::Stage;

const TABLE: &str = "who,x,kind\nann,1,yes\nbob,2,no\nann,3,no\nbob,5,no\n";
const EXPERIMENT: &str = r#"
[problem]
source = { kind = "table", path = "visits/t.csv", client = "who", target = "kind" }
model  = { kind = "logistic" }
[run]
rounds = 1
[[method]]
kind = "local"
"#;

/// Runs a command with a data folder of its own.
fn with_data(stage: &Stage, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
    command.args(args).current_dir(stage.path()).env("MOTET_DATA", stage.path().join("data")).output().expect("the binary runs")
}

#[test]
fn imported_files_are_found_by_name_checked_on_use_and_never_overwritten() {
    let stage = Stage::new();
    stage.write("t.csv", TABLE);
    stage.write("e.toml", EXPERIMENT);
    let import = |name: &str| with_data(&stage, &["data", "import", "t.csv", "--name", name]);
    let show = || with_data(&stage, &["data", "show", "e.toml"]);
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(show().status.code(), Some(2), "not there yet");
    let first = import("visits");
    assert_eq!(first.status.code(), Some(0), "{}", words(&first.stderr));
    let list = fs::read_to_string(stage.path().join("data/visits/motet-import.json")).unwrap();
    assert!(list.contains("\"sha256\"") && list.contains("\"t.csv\"") && list.contains(&format!("\"bytes\": {}", TABLE.len())), "{list}");
    let shown = show();
    assert_eq!(shown.status.code(), Some(0), "{}", words(&shown.stderr));
    assert!(words(&shown.stdout).contains("who ann"), "{}", words(&shown.stdout));
    let again = import("visits");
    assert_eq!(again.status.code(), Some(2));
    assert!(words(&again.stderr).contains("is there already, and nothing is overwritten"), "{}", words(&again.stderr));
    fs::write(stage.path().join("data/visits/t.csv"), TABLE.replace("yes", "no")).unwrap();
    let changed = show();
    assert_eq!(changed.status.code(), Some(2));
    assert!(words(&changed.stderr).contains("changed since it was imported"), "{}", words(&changed.stderr));
    let bad = import("../elsewhere");
    assert_eq!(bad.status.code(), Some(2));
    assert!(words(&bad.stderr).contains("cannot be the name of an import"), "{}", words(&bad.stderr));
    assert!(!stage.path().join("elsewhere").exists());
}

#[test]
fn an_export_replaces_nothing() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path().join("visits")).unwrap();
    stage.write("visits/t.csv", TABLE);
    stage.write("e.toml", EXPERIMENT);
    fs::create_dir(stage.path().join("mine")).unwrap();
    stage.write("mine/study.toml", "my own");
    for attempt in 0..2 {
        let refused = stage.motet(&["data", "export", "e.toml", "--out", "mine"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("mine exists and is not empty: choose another folder with --out"), "{said}");
        match attempt {
            0 => assert_eq!(fs::read_to_string(stage.path().join("mine/study.toml")).unwrap(), "my own"),
            _ => assert!(!stage.path().join("mine/study.toml").exists()),
        }
        assert_eq!(stage.path().join("mine/clients").exists(), attempt == 1);
        // The second time there are only tables.
        fs::remove_file(stage.path().join("mine/study.toml")).ok();
        fs::create_dir_all(stage.path().join("mine/clients")).unwrap();
    }
    stage.json(&["data", "export", "e.toml", "--out", "new"]);
    assert!(stage.path().join("new/study.toml").exists());
    assert_eq!(fs::read_dir(stage.path().join("new/clients")).unwrap().count(), 2);
}

#[test]
fn a_picture_shows_every_client_by_name() {
    let stage = Stage::new();
    fs::create_dir(stage.path().join("visits")).unwrap();
    stage.write("visits/t.csv", TABLE);
    stage.write("e.toml", EXPERIMENT);
    stage.json(&["data", "show", "e.toml", "--picture", "who.html"]);
    let page = fs::read_to_string(stage.path().join("who.html")).unwrap();
    assert!(page.contains("who ann") && page.contains("who bob") && page.contains("<svg"));
    stage.json(&["data", "show", "e.toml", "--picture", "who.svg"]);
    let picture = fs::read_to_string(stage.path().join("who.svg")).unwrap();
    // Half of ann's are no, and all of bob's.
    assert!(picture.starts_with("<svg") && picture.contains("fill-opacity=\"1.00\"") && picture.contains("fill-opacity=\"0.75\""));
    let wrong = stage.motet(&["data", "show", "e.toml", "--picture", "who.png"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[cfg(feature = "images")]
#[test]
fn a_page_about_images_shows_some_of_each_client() {
    let stage = Stage::new();
    let images = EXPERIMENT.replace(
        r#"source = { kind = "table", path = "visits/t.csv", client = "who", target = "kind" }"#,
        r#"source = { kind = "handwriting", writers = 3, examples = 20 }"#,
    );
    stage.write("hands.toml", &images.replace("logistic", "softmax"));
    stage.json(&["data", "show", "hands.toml", "--picture", "hands.html"]);
    let page = fs::read_to_string(stage.path().join("hands.html")).unwrap();
    assert_eq!(page.matches("<img src=\"data:image/png;base64,iVBORw0KGgo").count(), 3 * 12, "twelve images of each of three writers");
    assert!(page.contains("alt=\"label "));
    // A table has nothing to be looked at.
    fs::create_dir(stage.path().join("visits")).unwrap();
    stage.write("visits/t.csv", TABLE);
    stage.write("e.toml", EXPERIMENT);
    stage.json(&["data", "show", "e.toml", "--picture", "who.html"]);
    assert!(!fs::read_to_string(stage.path().join("who.html")).unwrap().contains("<img"));
}

#[test]
fn the_name_of_the_list_of_an_import_is_refused_and_names_cannot_steer_a_terminal() {
    let stage = Stage::new();
    stage.write("motet-import.json", "{}");
    let refused = with_data(&stage, &["data", "import", "motet-import.json", "--name", "mine"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("`motet-import.json` is where an import keeps the list of its files"), "{said}");
    assert!(!stage.path().join("data/mine").exists());
    fs::create_dir(stage.path().join("visits")).unwrap();
    stage.write("visits/t.csv", &TABLE.replace("ann", "ann\u{1b}]0;owned\u{7}"));
    stage.write("e.toml", EXPERIMENT);
    for format in ["text", "json"] {
        let shown = stage.motet(&["data", "show", "e.toml", "--format", format]);
        let text = String::from_utf8(shown.stdout).unwrap();
        assert!(text.contains("ann") && !text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}
