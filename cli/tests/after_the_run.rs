//! What can be done with the records: predictions, a page of results, and the list of what must be shown.

mod stage;

use std::fs;

use motet::bundled::{Bundled, EXPERIMENTS, REQUIRED};
use stage::{SMALL, Stage};

fn refused(stage: &Stage, args: &[&str]) -> String {
    let output = stage.motet(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

/// One feature decides the class: positive is 1.
fn line_of(k: i32) -> String {
    let x = f64::from(k) / 10.0;
    format!("{} 1:{x} 2:{}\n", if x > 0.0 { 1 } else { -1 }, f64::from(k % 3))
}

fn trained() -> (Stage, String) {
    let stage = Stage::new();
    stage.write("data.txt", &(-30..=30).filter(|k| *k != 0).map(line_of).collect::<String>());
    let text = SMALL
        .replace(
            "source  = { kind = \"synthetic\", clients = 6, features = 5, examples = 30, heterogeneity = 1.0 }",
            "source  = { kind = 'libsvm', path = 'data.txt' }\nsplit = { kind = 'iid', clients = 3 }",
        )
        .replace("rounds = 20", "rounds = 200");
    stage.write("e.toml", &text);
    stage.json(&["run", "e.toml", "--out", "out"]);
    let entries = fs::read_dir(stage.path().join("out/models")).expect("models were written");
    let mut models: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    models.sort();
    let model = models.iter().find(|p| p.to_string_lossy().contains("flix-alpha=0.5")).expect("a mixture").display().to_string();
    (stage, model)
}

#[test]
fn a_saved_model_predicts_from_csv_and_libsvm() {
    let (stage, model) = trained();
    stage.write("new.csv", "x,noise,name\n2.5,1,7\n-2.5,0,8\n");
    let output = stage.motet(&["predict", &model, "new.csv", "--client", "1", "--drop", "name"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines[0], lines.len()), ("class,p0,p1", 3), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(lines[1].starts_with("1,") && lines[2].starts_with("0,"), "{said}");
    let share: Vec<f64> = lines[1].split(',').map(|v| v.parse().unwrap()).collect();
    assert!((share[1] + share[2] - 1.0).abs() < 1e-12 && share[2] > 0.5);
    stage.write("new.txt", "1 1:2.5 2:1\n-1 1:-2.5\n");
    let json = stage.json(&["predict", &model, "new.txt", "--client", "1"]);
    assert_eq!((json[0]["class"].as_u64(), json[1]["class"].as_u64()), (Some(1), Some(0)));
    assert_eq!(json[0]["probabilities"][1].as_f64(), Some(share[2]), "the same example in another format");
}

#[test]
fn what_does_not_fit_a_model_is_said_in_one_line() {
    let (stage, model) = trained();
    stage.write("wide.csv", "1,2,3\n");
    stage.write("words.csv", "a,b\n1,two\n");
    stage.write("void.csv", "a,b\n");
    for (args, parts) in [
        (vec!["predict", &model, "wide.csv"], vec!["wide.csv", "line 1 has 3 numbers", "takes 2", "--drop"]),
        (vec!["predict", &model, "words.csv"], vec!["words.csv", "line 2, column 2", "two"]),
        (vec!["predict", &model, "void.csv"], vec!["void.csv", "no examples"]),
        (vec!["predict", &model, "wide.csv", "--client", "9"], vec!["no model of client 9", "there are 3"]),
        (vec!["predict", &model, "wide.csv", "--drop", "z"], vec!["--drop z", "no such column"]),
        (vec!["predict", "e.toml", "wide.csv"], vec!["e.toml", "not a file of models"]),
        (vec!["predict", "gone.safetensors", "wide.csv"], vec!["gone.safetensors"]),
    ] {
        let said = refused(&stage, &args);
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
}

#[test]
fn a_page_of_results_is_made_from_records() {
    let stage = Stage::new();
    let text = format!("entries = ['A5']\ndeviations = ['smaller | than the paper']\nabout = 'a small one'\n{SMALL}");
    stage.write("e.toml", &text);
    stage.json(&["run", "e.toml", "--out", "out"]);
    stage.json(&["results", "out", "--out", "docs/results.md"]);
    let page = fs::read_to_string(stage.path().join("docs/results.md")).unwrap();
    for part in [
        "## small",
        "a small one.",
        "6 clients",
        "A5",
        "smaller | than the paper",
        "falls",
        "final(flix, gap)",
        "holds (must)",
        "results/small.svg",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(fs::read_to_string(stage.path().join("docs/results/small.svg")).unwrap().starts_with("<svg"));
    assert!(refused(&stage, &["results", "nowhere"]).contains("nowhere"));
}

#[test]
fn entries_that_nothing_shows_are_known() {
    let missing = Bundled::missing();
    for entry in REQUIRED {
        let shown = EXPERIMENTS.iter().any(|b| b.entries().iter().any(|e| e == entry));
        assert_eq!(shown, !missing.contains(entry), "{entry}");
    }
    for (name, entry) in EXPERIMENTS.iter().flat_map(|b| b.entries().into_iter().map(|e| (b.name, e))) {
        let letter = entry.starts_with(['A', 'B', 'C', 'D']) && entry[1..].parse::<u32>().is_ok();
        assert!(letter, "{name}: {entry} is not an entry such as A5");
    }
    assert!(!missing.contains(&"A5"), "figure 4 of FLIX is bundled");
}

#[test]
fn the_privacy_page_names_every_method() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/privacy.md")).unwrap();
    for card in motet::methods::CARDS {
        assert!(page.contains(&format!("`{}`", card.name)), "{} is not in docs/privacy.md", card.name);
    }
}
