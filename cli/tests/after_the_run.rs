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
    let text = format!("deviations = ['smaller | than the paper']\nabout = 'a small one'\n{SMALL}");
    stage.write("e.toml", &text);
    stage.json(&["run", "e.toml", "--out", "out"]);
    stage.json(&["results", "out", "--out", "docs/results.md"]);
    let page = fs::read_to_string(stage.path().join("docs/results.md")).unwrap();
    for part in [
        "## small",
        "a small one.",
        "6 clients",
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
    for (entry, place) in REQUIRED {
        let shown = EXPERIMENTS.iter().any(|b| b.entries().iter().any(|e| e == entry));
        assert_eq!(shown, !missing.contains(place), "{entry}");
    }
    for (name, entry) in EXPERIMENTS.iter().flat_map(|b| b.entries().into_iter().map(|e| (b.name, e))) {
        let letter = entry.starts_with(['A', 'B', 'C', 'D']) && entry[1..].parse::<u32>().is_ok();
        assert!(letter, "{name}: {entry} is not an entry such as A5");
    }
    assert!(!missing.contains(&"FLIX, figure 4"), "figure 4 of FLIX is bundled");
}

#[test]
fn the_privacy_page_says_of_every_method_what_its_card_says() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/how-to/privacy.md")).unwrap();
    for card in motet::methods::CARDS {
        let row = page
            .lines()
            .find(|line| line.starts_with('|') && line[..line[1..].find('|').unwrap_or(0) + 1].contains(&format!("`{}`", card.name)));
        let row = row.unwrap_or_else(|| panic!("{} is not in the table of docs/how-to/privacy.md", card.name));
        assert_eq!(row.split('|').nth(2).map(str::trim), Some(card.leaves), "what leaves a client of {}", card.name);
    }
}

/// Two hospitals: what is tall in one is small in the other; y = 3 standard heights, and one more for red.
const HOSPITALS: &str = "where,height,colour,y\n\
    a,1,red,-2\na,3,blue,3\na,1,blue,-3\na,3,red,4\na,,red,1\n\
    b,100,red,-2\nb,300,blue,3\nb,100,blue,-3\nb,300,red,4\nb,,red,1\n";

#[test]
fn a_model_of_a_table_fills_gaps_and_scales_as_its_client_did() {
    let stage = Stage::new();
    stage.write("t.csv", HOSPITALS);
    stage.write(
        "e.toml",
        "[problem]\nsource = { kind = \"table\", path = \"t.csv\", client = \"where\", target = \"y\", targets = \"numbers\" }\n\
         model = { kind = \"ridge\" }\n[run]\nrounds = 2000\nmodels = true\n[[method]]\nkind = \"flix\"\nalpha = 1.0\n",
    );
    stage.json(&["run", "e.toml", "--out", "out"]);
    let model = fs::read_dir(stage.path().join("out/models")).unwrap().flatten().next().unwrap().path().display().to_string();
    let predict = |args: &[&str]| -> Vec<f64> {
        let said = stage.json(&[&["predict", &model], args].concat());
        said.as_array().unwrap().iter().map(|line| line["prediction"].as_f64().unwrap()).collect()
    };
    // The columns in another order, one more that is nobody's field, a gap. 2 and 200 are the two hospitals' means.
    stage.write("new.csv", "colour,name,height\nblue,ann,3\nred,bob,?\n");
    stage.write("large.csv", "colour;height\nblue;300\nred;\n");
    for (file, client) in [("new.csv", "a"), ("large.csv", "where b")] {
        let found = predict(&[file, "--client", client]);
        assert!((found[0] - 3.0).abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6, "{file}: {found:?}");
    }
    // A third hospital has means of its own.
    stage.write("third.csv", "colour,height\nblue,7\nblue,9\n");
    let found = predict(&["third.csv"]);
    assert!((found[0] + 3.0).abs() < 1e-6 && (found[1] - 3.0).abs() < 1e-6, "{found:?}");
    stage.write("one.csv", "colour,height\nblue,7\n");
    stage.write("green.csv", "colour,height\ngreen,7\n");
    stage.write("tall.csv", "colour,height\nred,tall\n");
    stage.write("short.csv", "colour\nred\n");
    stage.write("new.txt", "1 1:2\n1 1:3\n");
    for (args, parts) in [
        (vec!["one.csv"], vec!["one example alone", "--client"]),
        (vec!["one.csv", "--client", "0"], vec!["no model of client \"0\": there are \"a\", \"b\""]),
        (vec!["green.csv", "--client", "a"], vec!["green.csv, line 2", "`green` of column `colour` is none of `blue`, `red`"]),
        (vec!["tall.csv", "--client", "a"], vec!["tall.csv, line 2", "`tall` of column `height` is not a number"]),
        (vec!["short.csv", "--client", "a"], vec!["short.csv, line 1", "no column `height`; the model takes `height`, `colour`"]),
        (vec!["new.txt", "--client", "a"], vec!["new.txt", "no columns `height`, `colour`"]),
    ] {
        let said = refused(&stage, &[&["predict", &model], &args[..]].concat());
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
}

#[test]
fn networks_with_running_statistics_are_refused_with_what_to_do() {
    let stage = Stage::new();
    stage.write(
        "e.toml",
        "[problem]\nsource = { kind = \"synthetic-images\", clients = 2, examples = 4, side = 8 }\n\
         model = { kind = \"resnet18\", width = 2, norm = \"batch\" }\n[run]\nrounds = 1\nmodels = true\n\
         [[method]]\nkind = \"fedavg\"\nsteps = 1\ngamma = 0.01\n",
    );
    stage.json(&["run", "e.toml", "--out", "out"]);
    let model = fs::read_dir(stage.path().join("out/models")).unwrap().flatten().next().unwrap().path().display().to_string();
    stage.write("new.csv", &vec!["0.5"; 64].join(","));
    let said = refused(&stage, &["predict", &model, "new.csv", "--client", "0"]);
    assert!(said.contains("running statistics") && said.contains("norm = \"group\""), "{said}");
}
