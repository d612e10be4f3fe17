//! A run survives being killed, interrupted and short of disk.

mod stage;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use stage::{SMALL, Stage};

/// FLIX without client state, Scafflix with some of it on disk, MeritFed with a ledger of merits.
const THREE: &str = r#"
name  = "three"
seeds = [1]

[problem]
source  = { kind = "synthetic", clients = 6, features = 20, examples = 40, heterogeneity = 1.0 }
holdout = { validation = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds     = 60
checkpoint = { rounds = 4 }
store      = { kind = "disk", memory = "1 kB" }

[[method]]
kind  = "flix"
alpha = 0.5

[[method]]
kind  = "scafflix"
alpha = 0.5
p     = 0.3

[[method]]
kind   = "meritfed"
step   = 0.5
target = 2
mirror = { kind = "md", rate = 3.5, steps = 5 }
"#;

/// For runs that nobody disturbs.
const SELDOM: &str = "run.checkpoint={ seconds = 1000 }";

/// Rows without times, and the digests of the final models.
fn traces(stage: &Stage, out: &str) -> (Vec<serde_json::Value>, Vec<String>) {
    let read = |name: &str| fs::read_to_string(stage.path().join(out).join(name)).expect("it was written");
    let line = |line: &str| {
        let mut row: serde_json::Value = serde_json::from_str(line).expect("it was written");
        row.as_object_mut().expect("it was written").remove("seconds");
        row
    };
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).expect("it was written");
    let digest = |run: &serde_json::Value| format!("{} {} {}", run["digest"], run["bits"], run["gradients"]);
    let rows = read("rows.jsonl").lines().chain(read("clients.jsonl").lines()).map(line).collect();
    (rows, summary["runs"].as_array().expect("it was written").iter().map(digest).collect())
}

fn start(stage: &Stage, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
    command.args(args).arg("--quiet").current_dir(stage.path()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the binary runs")
}

fn wait_for(mut holds: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing happened for ten seconds");
}

/// Bytes of rows so far.
fn written(stage: &Stage, out: &str) -> u64 {
    fs::metadata(stage.path().join(out).join("rows.jsonl")).map_or(0, |about| about.len())
}

#[test]
fn a_run_killed_again_and_again_ends_with_the_same_rows_and_models() {
    let stage = Stage::new();
    stage.write("three.toml", THREE);
    stage.json(&["run", "three.toml", "--out", "whole"]);
    let whole = traces(&stage, "whole");
    let merits = fs::read(stage.path().join("whole/merits.bin")).unwrap();
    // Kills are by what was written, not by the clock: some at each fifth of the rows.
    let (length, mut kills) = (written(&stage, "whole"), 0);
    let mut child = start(&stage, &["run", "three.toml", "--out", "cut"]);
    for part in 1..8 {
        let mut done = false;
        wait_for(|| {
            done = child.try_wait().unwrap().is_some();
            done || written(&stage, "cut") > part * length / 8
        });
        if done {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let threads = if part % 2 == 0 { "1" } else { "2" };
        child = start(&stage, &["run", "--resume", "cut", "--threads", threads]);
    }
    assert!(child.wait().unwrap().success());
    assert!(kills >= 4, "the program was killed {kills} times only");
    assert_eq!(traces(&stage, "cut"), whole);
    assert_eq!(fs::read(stage.path().join("cut/merits.bin")).unwrap(), merits);
    assert!(!stage.path().join("cut/resume").exists(), "nothing is left to go on from");
    let found = motet::records::verify(&stage.path().join("cut")).unwrap();
    assert!(found.is_sound() && found.behind.is_empty(), "kills leave checksums that fit: {found:?}");
}

/// A second start with --overwrite must not touch the folder of the first.
#[test]
fn a_running_experiment_is_not_overwritten() {
    let stage = Stage::new();
    stage.write("three.toml", THREE);
    // So many rounds that it still runs when the second one looks.
    let mut first =
        start(&stage, &["run", "three.toml", "--out", "busy", "--set", "run.rounds=1_000_000", "--set", "run.probe.every=1000"]);
    wait_for(|| written(&stage, "busy") > 0);
    let before = fs::read(stage.path().join("busy/rows.jsonl")).unwrap();
    for args in [&["run", "three.toml", "--out", "busy", "--overwrite"][..], &["run", "--resume", "busy"]] {
        let second = stage.motet(args);
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("another motet (process {}) is at work", first.id())), "{said}");
    }
    assert!(fs::read(stage.path().join("busy/rows.jsonl")).unwrap().starts_with(&before));
    assert!(first.try_wait().unwrap().is_none(), "it goes on");
    first.kill().unwrap();
    first.wait().unwrap();
    // Nobody holds it any more.
    stage.json(&["run", "three.toml", "--out", "busy", "--overwrite"]);
}

#[test]
fn rows_do_not_depend_on_where_states_sleep_and_how_often_they_are_kept() {
    let stage = Stage::new();
    stage.write("three.toml", THREE);
    let mut seen = vec![];
    for (k, (store, checkpoint)) in [
        ("{ kind = 'disk', memory = '0 B' }", "{ rounds = 1 }"),
        ("{ kind = 'memory' }", "{ seconds = 1000 }"),
        ("{ kind = 'auto' }", "{ rounds = 7, seconds = 0.01 }"),
    ]
    .iter()
    .enumerate()
    {
        let out = format!("out{k}");
        let (store, checkpoint) = (format!("run.store={store}"), format!("run.checkpoint={checkpoint}"));
        stage.json(&["run", "three.toml", "--out", &out, "--set", &store, "--set", &checkpoint, "--threads", &(k + 1).to_string()]);
        seen.push(traces(&stage, &out));
    }
    assert!(seen.windows(2).all(|w| w[0] == w[1]));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_stops_at_the_end_of_a_round_and_says_how_to_go_on() {
    let stage = Stage::new();
    stage.write("three.toml", THREE);
    stage.json(&["run", "three.toml", "--out", "whole", "--set", "run.rounds=300", "--set", SELDOM]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
    command.args(["run", "three.toml", "--out", "cut", "--set", "run.rounds=300"]).current_dir(stage.path());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| written(&stage, "cut") > 0);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("motet run --resume cut") && said.contains("stopped after round"), "{said}");
    // The form of the command with the experiment's file goes on too, and a changed experiment does not.
    let other = stage.motet(&["run", "three.toml", "--out", "cut", "--resume", "--set", "run.rounds=299"]);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(2), "{said}");
    assert!(said.contains("run.rounds was 300 and is now 299"), "{said}");
    stage.json(&["run", "three.toml", "--out", "cut", "--resume", "--set", "run.rounds=300"]);
    assert_eq!(traces(&stage, "cut"), traces(&stage, "whole"));
    let again = stage.motet(&["run", "--resume", "cut"]);
    assert!(again.status.success() && String::from_utf8_lossy(&again.stderr).contains("finished"));
}

/// Kills a run of Scafflix that has kept three moments and returns their files, oldest first.
fn cut_short(stage: &Stage) -> Vec<std::path::PathBuf> {
    let (flix, merit) = (
        THREE.find("[[method]]\nkind  = \"flix").expect("it was written"),
        THREE.find("[[method]]\nkind   = \"merit").expect("it was written"),
    );
    let scafflix = THREE[flix + 1..].find("[[method]]").expect("it was written") + flix + 1;
    stage.write("one.toml", &format!("{}{}", &THREE[..flix], &THREE[scafflix..merit]));
    let mut child = start(stage, &["run", "one.toml", "--out", "cut", "--set", "run.rounds=200"]);
    let kept = || {
        let entries = fs::read_dir(stage.path().join("cut/resume/run")).map(|entries| entries.flatten().collect()).unwrap_or(vec![]);
        let mut files: Vec<_> =
            entries.into_iter().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "checkpoint")).collect();
        files.sort();
        files
    };
    wait_for(|| kept().len() >= 3);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    kept()
}

#[test]
fn a_damaged_checkpoint_is_noticed_and_the_one_before_it_used() {
    let stage = Stage::new();
    let kept = cut_short(&stage);
    let newest = kept.last().unwrap();
    let mut bytes = fs::read(newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(newest, bytes).unwrap();
    let resumed = stage.motet(&["run", "--resume", "cut"]);
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(resumed.status.success(), "{said}");
    assert!(said.contains(&*newest.file_name().unwrap().to_string_lossy()) && said.contains("damaged"), "{said}");
    assert!(said.contains("going on after round"), "{said}");
    stage.json(&["run", "one.toml", "--out", "whole", "--set", "run.rounds=200", "--set", SELDOM]);
    assert_eq!(traces(&stage, "cut"), traces(&stage, "whole"));
}

#[test]
fn a_damaged_store_of_client_states_stops_the_run_and_names_the_client() {
    let stage = Stage::new();
    cut_short(&stage);
    let path = stage.path().join("cut/resume/run/states");
    let mut bytes = fs::read(&path).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(&path, bytes).unwrap();
    let resumed = stage.motet(&["run", "--resume", "cut"]);
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert_eq!(resumed.status.code(), Some(1), "{said}");
    assert!(said.contains("state of client") && said.contains("damaged on disk") && !said.contains("panicked"), "{said}");
}

#[test]
fn what_cannot_go_on_is_refused() {
    let stage = Stage::new();
    stage.write("small.toml", SMALL);
    for args in [&["run", "--resume", "nowhere"][..], &["run", "small.toml", "--resume"], &["run"]] {
        let output = stage.motet(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    for wrong in ["run.store={ kind = 'disk', memory = '2 pounds' }", "run.checkpoint={ rounds = 0 }", "run.checkpoint={ secnds = 3 }"] {
        let output = stage.motet(&["run", "small.toml", "--set", wrong]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{wrong}: {said}");
        assert!(said.contains("run.store") || said.contains("run.checkpoint"), "{said}");
    }
}

/// Clients 0 and 1 send NaN.
fn with_nan(stage: &Stage, extra: &str) {
    let liars = "byzantine = { first = 0, count = 2, attack = \"nan\" }";
    let text = SMALL.replace("[run]", &format!("{liars}\n\n[run]\n{extra}"));
    stage.write("nan.toml", &text[..text.find("[claims]").expect("claims")]);
}

#[test]
fn replies_that_are_no_numbers_end_the_run_or_are_left_out_and_recorded() {
    let stage = Stage::new();
    with_nan(&stage, "");
    let fatal = stage.json(&["run", "nan.toml", "--out", "fatal"]);
    let flix = &fatal["runs"][2];
    assert_eq!(flix["outcome"]["kind"], "diverged");
    assert_eq!(flix["outcome"]["client"], 0, "divergence is an outcome with its client: {flix}");
    with_nan(&stage, "not_finite = \"exclude\"");
    let excluded = stage.json(&["run", "nan.toml", "--out", "excluded", "--set", "method[2].kind=flix-sgd"]);
    assert_eq!(excluded["runs"][2]["outcome"]["kind"], "finished", "{}", excluded["runs"][2]);
    let rows = fs::read_to_string(stage.path().join("excluded/rows.jsonl")).unwrap();
    let row: serde_json::Value = serde_json::from_str(rows.lines().find(|line| line.contains("excluded")).unwrap()).unwrap();
    assert_eq!((&row["excluded"][0]["client"], &row["excluded"][1]["client"]), (&0.into(), &1.into()), "{row}");
    assert_eq!(row["excluded"][0]["round"], row["round"]);
}

/// The first Ctrl-C waits for the end of a round that takes minutes; the second does not.
#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_the_program_at_once_and_what_was_kept_is_there() {
    let stage = Stage::new();
    // Local solves of a million steps: no round ends while this test looks.
    let slow = SMALL.replace("[run]", "[run]\ncheckpoint = { rounds = 1 }");
    let slow = slow[..slow.find("[[method]]").unwrap()].to_owned()
        + "[[method]]\nkind = \"flix\"\nalpha = 0.5\nsolve = { kind = \"gd\", to = 1e-300, step = 1e-9, steps = 1_000_000_000 }\n";
    stage.write("slow.toml", &slow);
    let mut child = start(&stage, &["run", "slow.toml", "--out", "slow"]);
    wait_for(|| stage.path().join("slow/manifest.json").exists());
    let interrupt = |child: &Child| Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "one interrupt waits for the end of the round");
    interrupt(&child);
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(130));
    assert!(stage.path().join("slow/resume/experiment.json").exists());
}

/// A run that cannot write any more ends with exit code 1, says how to go on, and goes on when there is room.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_to_file_sizes_stops_the_run_and_more_room_lets_it_go_on() {
    let stage = Stage::new();
    stage.write("three.toml", THREE);
    stage.json(&["run", "three.toml", "--out", "whole", "--set", SELDOM]);
    // A limit to the size of files: writing beyond it fails as on a full disk. In blocks of 1024 bytes.
    let script = "trap '' XFSZ; ulimit -f 20; exec \"$0\" run three.toml --out cut";
    let output =
        Command::new("bash").args(["-c", script, env!("CARGO_BIN_EXE_motet")]).current_dir(stage.path()).output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("motet run --resume cut") && said.contains("too large") && !said.contains("panicked"), "{said}");
    let rows = fs::read_to_string(stage.path().join("cut/rows.jsonl")).unwrap();
    assert!(rows.ends_with('\n') && rows.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    stage.json(&["run", "--resume", "cut"]);
    assert_eq!(traces(&stage, "cut"), traces(&stage, "whole"));
}

#[test]
fn a_folder_that_cannot_be_written_is_one_clear_error() {
    let stage = Stage::new();
    stage.write("small.toml", SMALL);
    stage.write("file", "not a folder");
    for out in ["file/out", "/proc/motet"] {
        let output = stage.motet(&["run", "small.toml", "--out", out]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(out) && !said.contains("panicked") && said.trim_end().lines().count() == 1, "{said}");
    }
}

#[test]
fn devices_give_the_rows_a_clock_of_the_deployment_that_survives_a_resume() {
    let stage = Stage::new();
    let devices =
        "devices = { available = 0.9, dropout = 0.1, speed = 1000, up = 1e4, down = 1e5, latency = 0.01, spread = 0.5, deadline = 2 }";
    let text = SMALL.replace("[run]", &format!("{devices}\n\n[run]\nquorum = 0.3\ncheckpoint = {{ rounds = 1 }}"));
    let text = text[..text.find("[claims]").unwrap()].replace("kind  = \"flix\"", "kind  = \"flix-sgd\"");
    stage.write("devices.toml", &text);
    stage.json(&["run", "devices.toml", "--out", "one", "--threads", "1"]);
    let (rows, digests) = traces(&stage, "one");
    let clock: Vec<f64> = rows.iter().filter(|row| row["run"] == 2).filter_map(|row| row["deployed"].as_f64()).collect();
    assert!(clock.len() >= 20 && clock.windows(2).all(|w| w[1] > w[0]), "{clock:?}");
    // Twenty rounds and the opening, each of at least twice the latency and, since somebody is mostly away, about the deadline.
    assert!(clock.last().unwrap() > &(20.0 * 0.02) && clock.last().unwrap() < &(2.0 * 2.0 * 100.0), "{clock:?}");
    let mut child = start(&stage, &["run", "devices.toml", "--out", "two"]);
    wait_for(|| written(&stage, "two") > 2000);
    child.kill().unwrap();
    child.wait().unwrap();
    stage.json(&["run", "--resume", "two", "--threads", "3"]);
    assert_eq!(traces(&stage, "two"), (rows, digests));
    let page = fs::read_to_string(stage.path().join("two/report.html")).unwrap();
    assert!(page.contains("seconds of the deployment"));
}

#[test]
fn check_estimates_memory_and_disk_and_refuses_what_cannot_fit() {
    let stage = Stage::new();
    stage.write("three.toml", THREE);
    let check = stage.json(&["check", "three.toml"]);
    let needs = &check["methods"][1]["needs"];
    assert_eq!(needs["clients"], 6);
    // h and what was sent, 20 numbers of 8 bytes each, in up to three versions.
    assert!((300..2000).contains(&needs["state_bytes"].as_u64().unwrap()), "{needs}");
    assert_eq!(needs["solve_bytes"], 20 * 8 + 4);
    assert_eq!(check["methods"][2]["needs"]["solve_bytes"], 0);
    // Ten million clients who each keep a model of five million numbers.
    let huge = r#"
[problem]
source = { kind = "synthetic-posts", clients = 10_000_000, posts = 1 }
[run]
rounds = 1_000_000_000
probe = { every = 0 }
[[method]]
kind = "scaffold"
step = 0.1
server_step = 1.0
sampling = { clients = 1 }
"#;
    stage.write("huge.toml", huge);
    let refused = stage.motet(&["check", "huge.toml"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("needs about") && said.contains("are free"), "{said}");
}
