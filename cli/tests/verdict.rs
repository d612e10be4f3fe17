//! What people are told at the end: the verdict in the terminal and in JSON, cautions, and an exit code where all diverged.

mod stage;

use stage::Stage;

const HOSPITALS: &str = r#"
name  = "hospitals"
seeds = [1, 2, 3, 4]
[problem]
seed    = "run"
source  = { kind = "synthetic", clients = 4, features = 8, examples = 60, heterogeneity = 0.2, truth = 3 }
holdout = { validation = 0.2, test = 0.5 }
model   = { kind = "logistic", l2 = 1e-2 }
[run]
rounds = 40
probe  = { every = 40 }
[[method]]
kind = "local"
[[method]]
kind  = "flix"
alpha = { grid = [0.2, 0.5, 0.8] }
"#;

#[test]
fn the_verdict_is_in_the_terminal_in_json_and_on_the_page_and_all_say_the_same() {
    let stage = Stage::new();
    stage.write("e.toml", HOSPITALS);
    let summary = stage.json(&["run", "e.toml", "--out", "out"]);
    let verdict = &summary["verdict"][0];
    assert_eq!((verdict["metric"].as_str(), verdict["draws"].as_u64()), (Some("test.loss"), Some(4)));
    assert_eq!(verdict["design"]["kind"], "independent", "another seed draws new rows of the same clients");
    assert_eq!(verdict["design"]["same_clients"], true);
    assert_eq!(verdict["choice"], "validation");
    let clients = verdict["joining"]["clients"].as_array().unwrap();
    assert_eq!(clients.len(), 4, "clients are counted once, whatever the seeds");
    let page = std::fs::read_to_string(stage.path().join("out/report.html")).unwrap();
    let text = String::from_utf8(stage.motet(&["run", "--resume", "out"]).stdout).unwrap();
    let joins = clients.iter().filter(|client| client["advice"] == "join").count();
    let said = match joins {
        0 => "is it clear whether it should join.".to_owned(),
        4 => "All 4 clients should join.".to_owned(),
        some => format!("Of 4 clients, {some} should join"),
    };
    assert!(text.contains(&said) && page.contains(&said), "{said}\n{text}");
    // The best of three values at an end of them is told in all three places.
    let edge = summary["cautions"].as_array().unwrap().iter().filter_map(|c| c.as_str()).find(|c| c.contains("of its grid"));
    let edge = edge.expect("0.8 of 0.2, 0.5 and 0.8 is best where clients hardly differ");
    assert!(text.contains(edge) && page.contains(edge), "{edge}");
}

#[test]
fn seeds_that_give_identical_runs_are_told_to_be_one() {
    let stage = Stage::new();
    stage.write("e.toml", &HOSPITALS.replace("seed    = \"run\"\n", ""));
    let summary = stage.json(&["run", "e.toml", "--out", "out"]);
    let cautions = summary["cautions"].as_array().unwrap();
    let told = |c: &serde_json::Value| c.as_str().is_some_and(|c| c.contains("Seeds 1, 2, 3, 4 give identical runs of every method"));
    assert!(cautions.iter().any(told), "{cautions:?}");
    // One split: 30 test rows each are too few for a client, and four clients have 120 together.
    let by_accuracy = &summary["verdict"][0];
    assert_eq!((by_accuracy["metric"].as_str(), by_accuracy["draws"].as_u64()), (Some("test.accuracy"), Some(1)));
    assert!(by_accuracy["joining"]["gain"]["interval"].is_array(), "{by_accuracy}");
    assert_eq!(by_accuracy["joining"]["clients"][0]["gain"]["missing"], "too-few-rows");
}

#[test]
fn where_every_run_diverged_the_exit_code_is_one_and_the_place_is_named() {
    let stage = Stage::new();
    let wild =
        HOSPITALS.replace("kind = \"local\"\n[[method]]\n", "").replace("alpha = { grid = [0.2, 0.5, 0.8] }", "alpha = 0.5\nstep = 1e300");
    stage.write("e.toml", &wild);
    let output = stage.motet(&["run", "e.toml", "--out", "out"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("seed 1: diverged in round") && error.contains("every run diverged"), "{error}");
    // Beside others it is a result.
    stage.write("f.toml", &wild.replace("[[method]]", "[[method]]\nkind = \"local\"\n[[method]]"));
    let output = stage.motet(&["run", "f.toml", "--out", "beside"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(stage.path().join("beside/summary.json")).unwrap()).unwrap();
    let excluded = summary["verdict"][0]["excluded"].to_string();
    assert!(excluded.contains("diverged in round"), "{excluded}");
}
