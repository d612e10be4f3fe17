//! The same binary under `mpirun`: the same records on any number of ranks, and a job that dies can go on.
#![cfg(feature = "mpi")]

mod stage;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use stage::Stage;

/// Clients with state on disk, without any, with local solves; replies that are added up and that are read one by one; trials.
const SEVERAL: &str = r#"
name  = "several"
seeds = [1]

[problem]
source  = { kind = "synthetic", clients = 7, features = 20, examples = 40, heterogeneity = 1.0, imbalance = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds     = 12
models     = true
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

[[method]]
kind     = "minibatch-sgd"
eta      = 0.1
sampling = { clients = 3 }
"#;

/// A grid, trials in two rungs, clients that pick their own α and runs that begin with what they picked.
const GRID: &str = r#"
name  = "grid"
seeds = [1, 2]

[problem]
source  = { kind = "synthetic", clients = 6, features = 10, examples = 30, heterogeneity = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds     = 12
checkpoint = { rounds = 4 }
tune       = { step = [0.01, 0.03, 0.1, 0.3, 0.5, 1.0], by = "validation.loss", rounds = 3, halving = 2 }

[[method]]
kind  = "flix"
alpha = { grid = [1.0, 0.5] }

[[method]]
kind  = "fedavg"
step  = 0.1
batch = 5

[[method]]
kind  = "flix"
alpha = { validation = { start = 0.5, retrain = true } }
tune  = false
"#;

/// Those of two ranks or more do runs side by side, and what they leave is what one program leaves.
#[test]
fn runs_side_by_side_leave_the_records_of_one_program() {
    let stage = Stage::new();
    stage.write("grid.toml", GRID);
    let alone = stage.motet(&["run", "grid.toml", "--out", "alone", "--quiet"]);
    assert!(alone.status.success(), "{}", said(&alone));
    let expected = traces(&stage, "alone");
    let manifest = |out: &str| {
        let text = fs::read_to_string(stage.path().join(out).join("manifest.json")).expect("a manifest");
        let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("a manifest");
        manifest.as_object_mut().expect("a manifest").remove("started");
        manifest
    };
    for ranks in [2, 4] {
        let out = format!("on-{ranks}");
        let output = mpirun(&stage, ranks, &["run", "grid.toml", "--out", &out]).output().expect("mpirun is installed");
        assert!(output.status.success(), "{ranks} ranks: {}", said(&output));
        assert!(traces(&stage, &out) == expected, "{ranks} ranks leave other records than one program");
        assert_eq!(manifest(&out), manifest("alone"));
        assert!(!stage.path().join(&out).join("resume").exists());
    }
}

#[test]
fn runs_side_by_side_go_on_where_they_were_killed() {
    let stage = Stage::new();
    let long = GRID.replace("rounds     = 12", "rounds     = 2000").replace("= { rounds = 4 }", "= { rounds = 20 }");
    stage.write("grid.toml", &long);
    assert!(stage.motet(&["run", "grid.toml", "--out", "alone", "--quiet"]).status.success());
    let alone = traces(&stage, "alone");
    for (began, victim, goes_on) in [(3, "2", 2), (4, "1", 0)] {
        let out = format!("cut-{began}");
        let mut job = mpirun(&stage, began, &["run", "grid.toml", "--out", &out]);
        let job = job.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("mpirun is installed");
        let kept = stage.path().join(&out).join("resume");
        // Another rank than the first has kept a round; which run it was depends on when somebody looks.
        wait_for(|| (1..20).any(|run| checkpoints(&kept.join(format!("aside-{run}/resume/run")))));
        kill(job.id(), victim);
        let output = job.wait_with_output().expect("mpirun ends");
        assert!(!output.status.success());
        assert!(said(&output).contains(&format!("go on with motet run --resume {out}")), "{}", said(&output));
        let resume = ["run", "--resume", &out];
        let output = match goes_on {
            0 => stage.motet(&[&resume[..], &["--quiet"]].concat()),
            ranks => mpirun(&stage, ranks, &resume).output().expect("mpirun is installed"),
        };
        assert!(output.status.success(), "{}", said(&output));
        assert!(traces(&stage, &out) == alone, "begun on {began} ranks, gone on with {goes_on}");
    }
}

fn mpirun(stage: &Stage, ranks: usize, args: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    // Whoever tests may be root, and has fewer cores than ranks.
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]).arg(env!("CARGO_BIN_EXE_motet"));
    command.args(args).arg("--quiet").current_dir(stage.path()).stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Rows without times, the digests of the final models, and the bytes of their files.
fn traces(stage: &Stage, out: &str) -> (Vec<serde_json::Value>, Vec<String>, Vec<Vec<u8>>) {
    let folder = stage.path().join(out);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{out}/{name}: {error}"));
    let line = |line: &str| {
        let mut row: serde_json::Value = serde_json::from_str(line).expect("a row");
        row.as_object_mut().expect("a row").remove("seconds");
        row
    };
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).expect("a summary");
    let digest = |run: &serde_json::Value| format!("{} {} {}", run["digest"], run["bits"], run["gradients"]);
    let rows = read("rows.jsonl").lines().chain(read("clients.jsonl").lines()).map(line).collect();
    let mut models: Vec<_> = fs::read_dir(folder.join("models")).into_iter().flatten().map(|entry| entry.expect("a file").path()).collect();
    models.sort();
    let models = models.iter().map(|file| fs::read(file).expect("a file of models")).collect();
    (rows, summary["runs"].as_array().expect("runs").iter().map(digest).collect(), models)
}

#[test]
fn records_are_equal_on_one_to_four_ranks() {
    let stage = Stage::new();
    stage.write("several.toml", SEVERAL);
    assert!(stage.motet(&["run", "several.toml", "--out", "alone", "--quiet"]).status.success());
    let alone = traces(&stage, "alone");
    for ranks in 1..=4 {
        let out = format!("on-{ranks}");
        let output = mpirun(&stage, ranks, &["run", "several.toml", "--out", &out]).output().expect("mpirun is installed");
        assert!(output.status.success(), "{ranks} ranks: {}", said(&output));
        assert!(traces(&stage, &out) == alone, "{ranks} ranks leave other records than one program");
    }
    // States in memory, too.
    let memory = ["run", "several.toml", "--out", "memory", "--set", "run.store={ kind = \"memory\" }"];
    let output = mpirun(&stage, 3, &memory).output().expect("mpirun is installed");
    assert!(output.status.success(), "{}", said(&output));
    assert!(traces(&stage, "memory") == alone);
}

#[test]
fn a_rank_that_dies_ends_the_job_and_it_goes_on_with_others() {
    let stage = Stage::new();
    stage.write("several.toml", &SEVERAL.replace("rounds     = 12", "rounds     = 300").replace("= { rounds = 4 }", "= { rounds = 20 }"));
    assert!(stage.motet(&["run", "several.toml", "--out", "alone", "--quiet"]).status.success());
    let alone = traces(&stage, "alone");
    for (began, victim, goes_on) in [(3, "2", 2), (2, "0", 0)] {
        let out = format!("cut-{began}");
        let mut job = mpirun(&stage, began, &["run", "several.toml", "--out", &out]);
        let job = job.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("mpirun is installed");
        // Runs that are done side by side have theirs each in a folder of its own.
        let resume = stage.path().join(&out).join("resume");
        let kept: Vec<_> = (0..8).map(|run| resume.join(format!("aside-{run}/resume/run"))).chain([resume.join("run")]).collect();
        wait_for(|| kept.iter().any(|folder| checkpoints(folder)));
        kill(job.id(), victim);
        let output = job.wait_with_output().expect("mpirun ends");
        assert!(!output.status.success());
        // Also where the one that died is the one that says it otherwise.
        assert_eq!(said(&output).matches(&format!("go on with motet run --resume {out}")).count(), 1, "{}", said(&output));
        assert!(!said(&output).contains("panicked"), "{}", said(&output));
        let resume = ["run", "--resume", &out];
        let output = match goes_on {
            0 => stage.motet(&[&resume[..], &["--quiet"]].concat()),
            ranks => mpirun(&stage, ranks, &resume).output().expect("mpirun is installed"),
        };
        assert!(output.status.success(), "{}", said(&output));
        assert!(traces(&stage, &out) == alone, "begun on {began} ranks, gone on with {goes_on}");
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let stage = Stage::new();
    stage.write("several.toml", &SEVERAL.replace("alpha = 0.5", "alpha = 1.5"));
    let output = mpirun(&stage, 3, &["run", "several.toml", "--out", "wrong"]).output().expect("mpirun is installed");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!(said(&output).matches("motet: ").count(), 1, "{}", said(&output));
    // Commands that need nobody's help are rank 0's.
    let output = mpirun(&stage, 2, &["list", "methods"]).output().expect("mpirun is installed");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("scafflix ").count(), 1);
    let output = mpirun(&stage, 2, &["demo", "--out", "demo"]).output().expect("mpirun is installed");
    assert!(output.status.success(), "{}", said(&output));
    assert!(stage.path().join("demo/summary.json").exists());
    // So is a line that is misspelt.
    let output = mpirun(&stage, 3, &["run", "several.toml", "--ot", "wrong"]).output().expect("mpirun is installed");
    assert_eq!((output.status.code(), said(&output).matches("unexpected argument").count()), (Some(2), 1), "{}", said(&output));
}

/// Data are read by the first rank of a machine, held once, and give the records of one program.
#[test]
fn ranks_of_one_machine_share_their_data() {
    let stage = Stage::new();
    let number = |row: usize, k: usize| ((row * 37 + k * 101) % 997) as f64 / 997.0;
    let line = |row: usize| (0..20).map(|k| number(row, k).to_string()).collect::<Vec<_>>().join(",") + &format!(",p{}\n", row % 9);
    let header = (0..20).map(|k| format!("f{k},")).collect::<String>() + "who\n";
    stage.write("big.csv", &(header + &(0..12_000).map(line).collect::<String>()));
    let text = r#"
name  = "big"
seeds = [1]
[problem]
source  = { kind = "table", path = "big.csv", client = "who", target = "f0" }
holdout = { test = 0.2 }
model   = { kind = "ridge" }
[run]
rounds = 5
[[method]]
kind  = "flix"
alpha = 0.5
step  = 0.01
"#;
    stage.write("big.toml", text);
    assert!(stage.motet(&["run", "big.toml", "--out", "alone", "--quiet"]).status.success());
    // Only the first rank has the table.
    let elsewhere = stage.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("big.toml"), text).expect("a file");
    let out = stage.path().join("on-3").display().to_string();
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe"]).current_dir(stage.path());
    for (ranks, folder, then) in [("1", stage.path(), &[":"][..]), ("2", &elsewhere, &[])] {
        command.args(["-n", ranks, "--wdir"]).arg(folder).arg(env!("CARGO_BIN_EXE_motet"));
        command.args(["run", "big.toml", "--quiet", "--out", &out]).args(then);
    }
    let output = command.output().expect("mpirun is installed");
    assert!(output.status.success(), "{}", said(&output));
    assert!(traces(&stage, "on-3") == traces(&stage, "alone"));
}

fn checkpoints(folder: &Path) -> bool {
    let is_one = |file: &Path| file.extension().is_some_and(|ending| ending == "checkpoint");
    fs::read_dir(folder).is_ok_and(|mut files| files.any(|file| file.is_ok_and(|file| is_one(&file.path()))))
}

fn wait_for(mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing happened for a minute");
}

/// Kills one rank of the job that this mpirun started: found by its parent and the rank that its surroundings name.
fn kill(mpirun: u32, rank: &str) {
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<u32>().ok());
        let surroundings = fs::read(entry.path().join("environ")).unwrap_or_default();
        let named = format!("OMPI_COMM_WORLD_RANK={rank}");
        if parent == Some(mpirun) && surroundings.split(|byte| *byte == 0).any(|line| line == named.as_bytes()) {
            let pid = entry.file_name().to_string_lossy().into_owned();
            assert!(Command::new("kill").args(["-9", &pid]).status().expect("kill runs").success());
            return;
        }
    }
    panic!("rank {rank} is not there");
}
