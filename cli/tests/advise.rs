//! From a table to the answer, and from the answer to predictions.

#[cfg(feature = "parquet")]
mod parquet;
mod stage;

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use stage::Stage;

fn refused(stage: &Stage, args: &[&str]) -> String {
    let output = stage.motet(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

/// Numbers from −1 to 1, always the same.
fn dice() -> impl FnMut() -> f64 {
    let mut state = 7u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / 2f64.powi(30) - 1.0
    }
}

const COLOURS: [&str; 3] = ["blue", "green", "red"];

/// Rows of hospitals, each with its own column of patients: who is ill depends on `x1 + x2` and a colour, the same everywhere.
fn table(hospitals: &[(&str, usize)], with_name: bool) -> String {
    let mut roll = dice();
    let mut text = String::from(if with_name { "hospital,x1,x2,colour,diagnosis\n" } else { "x1,x2,colour,diagnosis\n" });
    for (name, rows) in hospitals {
        for row in 0..*rows {
            let (a, b) = (roll(), roll());
            let colour = COLOURS[row % 3];
            let ill = a + b + if colour == "red" { 0.5 } else { 0.0 } + 0.2 * roll() > 0.1;
            let gap = if row % 11 == 5 { String::new() } else { format!("{:.3}", 10.0 * a + 50.0) };
            let name = if with_name { format!("{name},") } else { String::new() };
            let _ = writeln!(text, "{name}{gap},{b:.4},{colour},{}", if ill { "ill" } else { "well" });
        }
    }
    text
}

const FOUR: [(&str, usize); 4] = [("1", 40), ("2", 30), ("3", 24), ("10", 30)];

/// All twenty splits of the little tables take seconds, and an hour is enough for them whatever the machine is doing.
const SPLITS: u64 = 20;
const HOUR: [&str; 2] = ["--minutes", "60"];

fn advised(stage: &Stage, more: &[&str]) -> Value {
    let words = ["advise", "t.csv", "--client", "hospital", "--target", "diagnosis", "--out", "out"];
    let advice = stage.json(&[&words[..], &HOUR, more].concat());
    assert_eq!(advice["splits"], SPLITS);
    advice
}

#[test]
fn a_table_becomes_an_answer_and_bundles_that_predict_safely() {
    let stage = Stage::new();
    stage.write("t.csv", &table(&FOUR, true));
    let advice = advised(&stage, &[]);
    let clients = advice["clients"].as_array().unwrap();
    let names: Vec<&str> = clients.iter().map(|c| c["client"].as_str().unwrap()).collect();
    assert_eq!(names, ["hospital 1", "hospital 2", "hospital 3", "hospital 10"]);
    for client in clients {
        assert!(["join", "stay", "unclear"].contains(&client["advice"].as_str().unwrap()));
        assert!(client["gain"].is_number() && client["metric"] == "test.brier" && client["method"].is_string());
        assert!(stage.path().join(client["bundle"].as_str().unwrap()).is_dir());
    }
    for file in ["advice.html", "advice.json", "experiment.toml", "experiment/summary.json", "experiment/report.html"] {
        assert!(stage.path().join("out").join(file).exists(), "{file}");
    }
    assert_eq!(advice["notes"], serde_json::json!([]));
    let page = fs::read_to_string(stage.path().join("out/advice.html")).unwrap();
    assert!(page.contains("href=\"experiment/report.html\""));

    // The card says what the model takes, and nothing of others.
    let folder = stage.path().join("out/models/hospital-3");
    let card: Value = serde_json::from_slice(&fs::read(folder.join("card.json")).unwrap()).unwrap();
    assert_eq!(
        (&card["client"], &card["target"], &card["classes"]),
        (&"hospital 3".into(), &"diagnosis".into(), &serde_json::json!(["ill", "well"]))
    );
    let columns: Vec<&str> = card["features"].as_array().unwrap().iter().map(|f| f["column"].as_str().unwrap()).collect();
    assert_eq!(columns, ["x1", "x2", "colour"]);
    assert!((card["features"][0]["fill"].as_f64().unwrap() - 50.0).abs() < 5.0);
    assert_eq!(card["data"]["rows"], 24);
    assert!(card["expect"].as_array().unwrap().iter().any(|e| e["metric"] == "test.accuracy" && e["interval"].is_array()));
    let bytes = fs::read(folder.join("model.safetensors")).unwrap();
    let seen = format!("{}{}", String::from_utf8_lossy(&bytes), fs::read_to_string(folder.join("card.json")).unwrap());
    for other in ["hospital 1\"", "hospital 2", "hospital 10", "\"10\"", "per_client"] {
        assert!(!seen.contains(other), "a bundle tells of {other}");
    }

    // Columns by name in any order, a gap, classes by name, contributions that add up.
    let model = "out/models/hospital-3";
    stage.write("new.csv", "colour,name,x2,x1\nred,ann,0.9,59\nblue,bob,-0.9,41\ngreen,eve,0.1,\n");
    let said = stage.json(&["predict", model, "new.csv", "--explain"]);
    let classes: Vec<&str> = said.as_array().unwrap().iter().map(|line| line["class"].as_str().unwrap()).collect();
    assert_eq!(&classes[..2], ["ill", "well"]);
    for line in said.as_array().unwrap() {
        let because = &line["because"];
        let total: f64 =
            because["columns"].as_object().unwrap().values().map(|v| v.as_f64().unwrap()).sum::<f64>() + because["base"].as_f64().unwrap();
        let share = |class: &str| line["probabilities"][class].as_f64().unwrap();
        assert!((total - (share("well") / share("ill")).ln()).abs() < 1e-9, "{line}");
    }
    stage.write("new.jsonl", "{\"colour\": \"red\", \"x2\": 0.9, \"x1\": 59}\n{\"colour\": \"blue\", \"x2\": -0.9, \"x1\": 41}\n");
    let lines = stage.motet(&["predict", model, "new.jsonl", "--as", "jsonl"]);
    let lines: Vec<Value> = String::from_utf8_lossy(&lines.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["probabilities"], &lines[1]["class"]), (&said[0]["probabilities"], &said[1]["class"]));
    let csv = stage.motet(&["predict", model, "new.csv"]);
    assert!(String::from_utf8_lossy(&csv.stdout).starts_with("class,p(ill),p(well)\nill,"));

    // Rows of somebody else, and what is missing.
    stage.write("others.csv", "hospital,x1,x2,colour\n3,50,0,red\n1,50,0,red\n");
    stage.write("own.csv", "hospital,x1,x2,colour\n3.0,50,0,red\n");
    stage.write("short.csv", "x2\n1\n");
    assert_eq!(stage.json(&["predict", model, "own.csv"]).as_array().unwrap().len(), 1);
    assert_eq!(stage.json(&["predict", model, "others.csv", "--any-client"]).as_array().unwrap().len(), 2);
    for (args, parts) in [
        (vec!["others.csv"], vec!["others.csv, line 3", "column `hospital` says \"1\"", "hospital 3", "--any-client"]),
        (vec!["short.csv"], vec!["no columns `x1`, `colour`", "the model takes `x1`, `x2`, `colour`"]),
        (vec!["own.csv", "--client", "1"], vec!["no model of client \"1\": there are \"3\""]),
    ] {
        let said = refused(&stage, &[&["predict", model], &args[..]].concat());
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
    // A model that is not the one of its card.
    fs::copy(stage.path().join("out/models/hospital-1/model.safetensors"), folder.join("model.safetensors")).unwrap();
    assert!(refused(&stage, &["predict", model, "own.csv"]).contains("is not the model that card.json beside it describes"));
    // A card that is there and cannot be read is not a card that is absent.
    fs::write(folder.join("card.json"), b"{\"client\": \"\xff\"}").unwrap();
    assert!(refused(&stage, &["predict", model, "own.csv"]).contains("card.json beside it cannot be read: byte 12 is not UTF-8 text"));
}

#[test]
fn the_experiment_that_is_left_gives_the_same_numbers() {
    let stage = Stage::new();
    stage.write("t.csv", &table(&FOUR, true));
    advised(&stage, &["--threads", "1"]);
    stage.json(&["run", "out/experiment.toml", "--out", "again"]);
    let ends = |folder: &str| {
        let path = stage.path().join(folder).join("summary.json");
        let summary: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let key = |run: &Value| format!("{} {} {} {}", run["label"], run["seed"], run["digest"], run["final"]["test.brier"]);
        let mut all: Vec<String> = summary["runs"].as_array().unwrap().iter().map(key).collect();
        all.sort();
        all
    };
    assert_eq!(ends("out/experiment"), ends("again"));
}

#[test]
fn folders_quantities_budgets_and_small_clients() {
    let stage = Stage::new();
    fs::create_dir(stage.path().join("wards")).unwrap();
    for (name, rows) in [("north", 30), ("south", 25), ("tiny", 2)] {
        stage.write(&format!("wards/{name}.csv"), &table(&[("", rows)], false).replace("well", "0.5").replace("ill", "1.5"));
    }
    let advice = stage.json(&[&["advise", "wards", "--target", "diagnosis", "--budget", "100kB", "--out", "out"][..], &HOUR].concat());
    let names: Vec<&str> = advice["clients"].as_array().unwrap().iter().map(|c| c["client"].as_str().unwrap()).collect();
    assert_eq!((names, advice["clients"][0]["metric"].as_str()), (vec!["client north", "client south"], Some("test.rmse")));
    let notes = advice["notes"].to_string();
    assert!(notes.contains("left out, with fewer than 5 rows: client tiny (2)"), "{notes}");
    stage.write("new.csv", "x1,x2,colour\n55,0.5,red\n");
    let said = stage.json(&["predict", "out/models/client-north", "new.csv"]);
    assert!((said[0]["prediction"].as_f64().unwrap() - 1.0).abs() < 1.5, "{said}");

    stage.write("t.csv", &table(&FOUR, true));
    let words = ["advise", "t.csv", "--client", "hospital", "--target", "diagnosis", "--budget", "9kB", "--out", "dear"];
    let dear = stage.json(&[&words[..], &HOUR].concat());
    assert!(dear["notes"].to_string().contains("MeritFed is left out"), "{}", dear["notes"]);
    let offers = dear["clients"].as_array().unwrap().iter().map(|client| (&client["offer"], client["sent_bytes"].as_u64().unwrap()));
    offers.for_each(|(offer, sent)| assert!(offer != "MeritFed" && sent <= 9000, "{offer} sends {sent}"));
}

/// However little time there is: an answer that is whole and says what is missing, or one line that says what to do.
#[test]
fn too_little_time_is_said() {
    let stage = Stage::new();
    stage.write("t.csv", &table(&FOUR, true));
    for (k, minutes) in ["0.0001", "0.002", "0.005", "0.01", "0.02"].into_iter().enumerate() {
        let out = format!("out-{k}");
        let args =
            ["advise", "t.csv", "--client", "hospital", "--target", "diagnosis", "--minutes", minutes, "--quiet", "--format", "json"];
        let output = stage.motet(&[&args[..], &["--threads", "1", "--out", &out]].concat());
        if output.status.code() == Some(2) {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("no split of the data could be tried") && said.contains("--minutes"), "{said}");
            assert!(!stage.path().join(&out).exists(), "nothing is left");
            continue;
        }
        assert!(
            output.status.success() && minutes != "0.0001",
            "six milliseconds are too few: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let advice: Value = serde_json::from_slice(&output.stdout).unwrap();
        let (splits, notes) = (advice["splits"].as_u64().unwrap(), advice["notes"].to_string());
        assert!((1..=SPLITS).contains(&splits));
        // One split has no interval, and no client is told anything on the strength of it.
        assert_eq!(splits == 1, notes.contains("there was time for one split only"), "{notes}");
        for client in advice["clients"].as_array().unwrap() {
            assert_eq!(client["interval"].is_array(), splits > 1);
            assert!(splits > 1 || client["advice"] == "unclear");
        }
        // The report of the splits is there, or what there was no time for is said.
        let drawn = stage.path().join(&out).join("experiment/report.html").exists();
        assert_eq!(drawn, !notes.contains("no time to draw the report"), "{notes}");
        let page = fs::read_to_string(stage.path().join(&out).join("advice.html")).unwrap();
        assert_eq!(page.contains("experiment/report.html"), drawn, "no dead link");
    }
}

#[test]
fn a_spreadsheet_of_western_europe_is_read_as_it_was_saved() {
    let stage = Stage::new();
    let text = table(&[("Süd", 30), ("Köln", 24)], true).replace("green", "grün");
    let numbered: Vec<String> =
        text.lines().enumerate().map(|(k, line)| if k == 0 { format!("nr,{line}") } else { format!("{k},{line}") }).collect();
    let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<_>>();
    fs::write(stage.path().join("t.csv"), latin(&numbered.join("\r\n"))).unwrap();
    let asked = ["advise", "t.csv", "--client", "hospital", "--target", "diagnosis", "--minutes", "1", "--out", "out"];
    assert!(refused(&stage, &asked).contains("--encoding latin-1"));
    let advice = stage.json(&[&asked[..], &["--encoding", "latin-1"]].concat());
    assert_eq!(advice["clients"][1]["client"], "hospital Süd");
    assert!(advice["notes"].to_string().contains("column `nr` looks like the number of a row"), "{}", advice["notes"]);
    fs::write(stage.path().join("new.csv"), latin("nr,x1,x2,colour\n7,55,0.5,grün\n")).unwrap();
    let said = stage.json(&["predict", "out/models/hospital-Sued", "new.csv", "--encoding", "latin-1"]);
    assert!(["ill", "well"].contains(&said[0]["class"].as_str().unwrap()), "{said}");
    let unknown = stage.motet(&["predict", "out/models/hospital-Sued", "new.csv", "--encoding", "ansi"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("\"ansi\" is not utf-8, utf-16 or latin-1"));
}

#[test]
fn clients_of_one_class_or_one_row_are_served_or_named() {
    let stage = Stage::new();
    let mut text = table(&FOUR, true);
    (0..12).for_each(|k| text += &format!("well,{},0.{k},red,well\n", 40 + k));
    text += "alone,50,0.5,red,ill\n";
    stage.write("t.csv", &text);
    let advice = advised(&stage, &[]);
    let notes = advice["notes"].to_string();
    for part in ["left out, with fewer than 5 rows: hospital alone (1)", "all rows of hospital well are of one class"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert_eq!(advice["clients"].as_array().unwrap().len(), 5);
    stage.write("new.csv", "x1,x2,colour\n55,0.5,red\n");
    let said = stage.json(&["predict", "out/models/hospital-well", "new.csv"]);
    assert_eq!(said[0]["class"], "well", "{said}");
    stage.write("few.csv", "hospital,x1,diagnosis\n1,2,ill\n1,3,well\n2,4,ill\n");
    let said = refused(&stage, &["advise", "few.csv", "--client", "hospital", "--target", "diagnosis"]);
    assert!(said.contains("no client has so many rows; those of hospital have fewer: 1 (2), 2 (1)"), "{said}");
}

#[test]
fn what_cannot_be_advised_is_said_in_one_line() {
    let stage = Stage::new();
    stage.write("t.csv", &table(&FOUR, true));
    stage.write("one.csv", &table(&[("1", 40), ("2", 3)], true));
    stage.write("same.csv", "hospital,x,diagnosis\n1,1,a\n1,2,a\n1,3,a\n1,4,a\n1,5,a\n2,1,a\n2,2,a\n2,3,a\n2,4,a\n2,5,a\n");
    fs::create_dir(stage.path().join("full")).unwrap();
    stage.write("full/precious.txt", "thesis");
    let of = |table, target| vec!["advise", table, "--client", "hospital", "--target", target];
    for (args, parts) in [
        (of("t.csv", "diagnose"), vec!["target", "\"diagnose\"", "`diagnosis`"]),
        (of("gone.csv", "diagnosis"), vec!["gone.csv"]),
        (of("one.csv", "diagnosis"), vec!["only hospital 1", "at least two clients", "hospital 2 (3)"]),
        (of("same.csv", "diagnosis"), vec!["one class", "nothing to tell apart"]),
        (vec!["advise", "t.csv", "--target", "diagnosis"], vec!["t.csv", "--client"]),
        ([of("t.csv", "diagnosis"), vec!["--minutes", "0"]].concat(), vec!["minutes = 0", "above 0"]),
        (
            [of("t.csv", "diagnosis"), vec!["--out", "full"]].concat(),
            vec!["full exists and is not empty: choose another folder with --out"],
        ),
    ] {
        let said = refused(&stage, &args);
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
        assert!(!said.contains("--overwrite"), "advice has no such flag: {said}");
    }
    assert_eq!(fs::read_dir(stage.path().join("full")).unwrap().count(), 1);
}

/// A CSV as columns: those of numbers, gaps as NaN, and those of words.
#[cfg(feature = "parquet")]
fn as_parquet(text: &str) -> Vec<u8> {
    use parquet::Column;
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("a header");
    let rows: Vec<Vec<&str>> = lines.collect();
    let column = |k: usize| {
        let cells = || rows.iter().map(move |row| row[k]);
        let number = |cell: &str| if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() };
        match cells().map(number).collect::<Option<Vec<f64>>>().filter(|_| names[k] != "hospital") {
            Some(numbers) => Column::Numbers(numbers),
            None => Column::Words(cells().map(str::to_owned).collect()),
        }
    };
    parquet::parquet(&names.iter().enumerate().map(|(k, name)| (*name, column(k))).collect::<Vec<_>>())
}

/// Whatever a table is written in, the answer is the same: CSV, TSV, Parquet, and a folder of one table for each client.
#[test]
fn every_form_of_a_table_has_the_same_answer() {
    let stage = Stage::new();
    let text = table(&FOUR, true);
    let answer = |path: &str, column: &[&str]| {
        let out = format!("of-{}", path.replace('.', "-"));
        let advice = stage.json(&[&["advise", path, "--target", "diagnosis", "--out", &out][..], &HOUR, column].concat());
        let told = |client: &Value| {
            let name = client["client"].as_str().unwrap().split(' ').next_back().unwrap().to_owned();
            let numbers = ["rows", "advice", "way", "gain", "interval", "own", "joined", "sent_bytes"].map(|key| client[key].clone());
            (name, numbers, client["bundle"].is_string())
        };
        stage.write("new.csv", "x1,x2,colour\n55,0.5,red\n");
        let bundle = stage.path().join(&out).join("models");
        let first = fs::read_dir(bundle).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
        let said = stage.json(&["predict", first.to_str().unwrap(), "new.csv"]);
        assert!(["ill", "well"].contains(&said[0]["class"].as_str().unwrap()), "{said}");
        advice["clients"].as_array().unwrap().iter().map(told).collect::<Vec<_>>()
    };
    stage.write("t.csv", &text);
    stage.write("t.tsv", &text.replace(',', "\t"));
    let of_csv = answer("t.csv", &["--client", "hospital"]);
    assert_eq!(of_csv.len(), 4);
    assert_eq!(answer("t.tsv", &["--client", "hospital"]), of_csv);
    fs::create_dir(stage.path().join("wards")).unwrap();
    for (name, _) in FOUR {
        let own = text.lines().filter_map(|line| line.strip_prefix(&format!("{name},"))).collect::<Vec<_>>().join("\n");
        stage.write(&format!("wards/{name}.tsv"), &format!("x1,x2,colour,diagnosis\n{own}\n").replace(',', "\t"));
    }
    assert_eq!(answer("wards", &[]), of_csv);
    #[cfg(feature = "parquet")]
    {
        fs::write(stage.path().join("t.parquet"), as_parquet(&text)).unwrap();
        assert_eq!(answer("t.parquet", &["--client", "hospital"]), of_csv);
    }
}
