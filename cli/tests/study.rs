//! Studies between processes: the digests of the simulation, whoever is killed; and who is told what.

mod stage;

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use stage::Stage;

const CLIENTS: usize = 5;

/// Client state that matters (Scafflix, DIANA), a method with two exchanges a round (MeritFed for all), and one without state.
const STUDY: &str = r#"
name  = "wards"
seeds = [3]

[problem]
source  = { kind = "synthetic", clients = 5, features = 6, examples = 60, heterogeneity = 1.0 }
holdout = { validation = 0.1, test = 0.4 }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds    = 25
probe     = { every = 5, gradient = false }
reference = "off"

[[method]]
kind  = "scafflix"
alpha = 0.5
p     = 0.3

[[method]]
kind       = "diana"
alpha      = 0.5
step       = 0.05
compressor = { kind = "rand-k", k = 2 }

[[method]]
kind   = "meritfed-all"
step   = 0.5
mirror = { kind = "md", rate = 3.5, steps = 5 }

[[method]]
kind = "fedavg"
step = 0.1
"#;

struct Hall {
    stage: Stage,
    port: u16,
}

/// A process that ends with the test.
struct Process(Child);

impl Process {
    fn kill(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it can be killed");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Hall {
    /// The tables of five clients and the study file, exported from a simulated problem.
    fn new(study: &str) -> Self {
        let stage = Stage::new();
        fs::write(stage.path().join("e.toml"), study).expect("it can be written");
        let port = TcpListener::bind("127.0.0.1:0").expect("there is a port").local_addr().expect("it has an address").port();
        let hall = Self { stage, port };
        succeeded(&hall.motet(&["data", "export", "e.toml", "--out", "tables"]));
        hall
    }

    fn path(&self, name: &str) -> PathBuf {
        self.stage.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_motet"));
        command.args(args).current_dir(self.stage.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn motet(&self, args: &[&str]) -> Output {
        self.command(args).stdout(Stdio::piped()).output().expect("motet starts")
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path("tables/clients"))
            .expect("it was exported")
            .map(|entry| entry.expect("it is there").path().file_stem().expect("it has a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names.len(), CLIENTS);
        names
    }

    /// A coordinator under a name of its own; one that goes on is told nothing but that.
    fn serving(&self, out: &str, resume: bool) -> Command {
        let (listen, invite) = (format!("127.0.0.1:{}", self.port), self.names().join(", "));
        let first = ["--name", "localhost", "--listen", &listen, "--invite", &invite];
        let more = if resume { &["--resume"][..] } else { &first };
        self.command(&[&["serve", "tables/study.toml", "--out", out, "--quiet"], more].concat())
    }

    fn serve(&self, out: &str, resume: bool) -> Process {
        Process(self.serving(out, resume).stderr(Stdio::null()).spawn().expect("motet starts"))
    }

    fn join(&self, out: &str, name: &str) -> Process {
        let invitation = format!("{out}/invitations/{name}.invite");
        let (data, dir) = (format!("tables/clients/{name}.csv"), format!("agent-{name}"));
        let args = ["join", &invitation, "--data", &data, "--dir", &dir, "--yes", "--quiet"];
        Process(self.command(&args).stderr(Stdio::null()).spawn().expect("motet starts"))
    }

    fn invited(&self, out: &str) {
        wait_until(|| self.names().iter().all(|name| self.path(&format!("{out}/invitations/{name}.invite")).exists()));
    }

    fn digests(&self, out: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(out).join("summary.json")).expect("it was written");
        let summary: serde_json::Value = serde_json::from_str(&text).expect("it was written");
        let digest = |run: &serde_json::Value| format!("{} {} {} {}", run["label"], run["digest"], run["bits"], run["gradients"]);
        summary["runs"].as_array().expect("it has runs").iter().map(digest).collect()
    }

    fn losses(&self, out: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(out).join("rows.jsonl")).expect("it was written");
        let loss = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).expect("it was written");
            format!("{} {} {} {}", row["run"], row["round"], row["metrics"]["loss"], row["metrics"]["test.accuracy"])
        };
        text.lines().map(loss).collect()
    }
}

fn wait_until(is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(120), "it takes too long");
        sleep(Duration::from_millis(20));
    }
}

fn ended(process: &mut Process) {
    let began = Instant::now();
    loop {
        if let Some(status) = process.0.try_wait().expect("it can be waited for") {
            return assert!(status.success(), "{status}");
        }
        assert!(began.elapsed() < Duration::from_secs(240), "it takes too long");
        sleep(Duration::from_millis(20));
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn refused(output: &Output, with: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(with), "{said}");
}

#[test]
fn a_study_ends_in_the_bits_of_the_simulation_and_models_stay_where_they_are_made() {
    let hall = Hall::new(STUDY);
    succeeded(&hall.motet(&["run", "tables/study.toml", "--out", "simulated", "--quiet"]));
    let mut coordinator = hall.serve("served", false);
    hall.invited("served");
    let mut agents: Vec<Process> = hall.names().iter().map(|name| hall.join("served", name)).collect();
    ended(&mut coordinator);
    agents.iter_mut().for_each(ended);
    assert_eq!(hall.digests("served"), hall.digests("simulated"));
    assert_eq!(hall.losses("served"), hall.losses("simulated"), "what agents show is what a simulation measures");
    assert!(hall.path("served/report.html").exists());
    let events = fs::read_to_string(hall.path("served/events.jsonl")).expect("it was written");
    assert!(events.matches("\"joined\"").count() >= CLIENTS, "{events}");

    let name = &hall.names()[0];
    let home = hall.path(&format!("agent-{name}"));
    let log = fs::read_to_string(home.join("sent.log")).expect("it was written");
    assert!(log.contains("(scafflix, seed 3), round 1: reply of ") && log.contains("losses and metrics, "), "{log}");
    let model = home.join("models/0-scafflix-seed-3");
    let table = format!("tables/clients/{name}.csv");
    let predicted = hall.motet(&["predict", &model.display().to_string(), &table]);
    succeeded(&predicted);
    assert_eq!(String::from_utf8_lossy(&predicted.stdout).lines().count(), 61, "a header and sixty rows");
    assert!(only_shared(&hall.path("served")), "the coordinator has no personal model");
    assert!(!hall.path("served/serve/spool").exists(), "the coordinator has no single replies");
    assert_eq!(fs::read_dir(home.join("runs")).expect("it has worked for runs").count(), 0, "what a run left is removed when it is over");
}

/// No file of models of the coordinator has another tensor than the shared model.
fn only_shared(folder: &Path) -> bool {
    let entries = fs::read_dir(folder.join("models")).expect("models are written");
    entries.flatten().all(|entry| {
        let bytes = fs::read(entry.path()).expect("it is a file");
        let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        let head: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).expect("a head of safetensors");
        head.as_object().expect("a table").keys().all(|name| name == "__metadata__" || name == "shared")
    })
}

#[test]
fn killed_coordinators_and_agents_change_no_bit() {
    let hall = Hall::new(STUDY);
    succeeded(&hall.motet(&["run", "tables/study.toml", "--out", "simulated", "--quiet"]));
    let mut coordinator = hall.serve("served", false);
    hall.invited("served");
    let names = hall.names();
    let mut agents: Vec<Process> = names.iter().map(|name| hall.join("served", name)).collect();
    // Fixed dice, at times that the machine decides.
    let mut dice = 12345u64;
    let mut next = |below: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % below
    };
    let mut kills = (0, 0);
    while coordinator.0.try_wait().expect("it can be waited for").is_none() && kills.0 + kills.1 < 16 {
        sleep(Duration::from_millis(60 + next(240)));
        if next(4) == 0 {
            coordinator.kill();
            coordinator = hall.serve("served", true);
            kills.0 += 1;
        } else {
            let who = next(CLIENTS as u64) as usize;
            agents[who].kill();
            agents[who] = hall.join("served", &names[who]);
            kills.1 += 1;
        }
    }
    ended(&mut coordinator);
    // An agent that was started again after the end looks for its coordinator until one tells it.
    let mut farewell = hall.serve("served", true);
    agents.iter_mut().for_each(ended);
    farewell.kill();
    assert!(kills.0 > 0 && kills.1 > 0, "{kills:?}");
    assert_eq!(hall.digests("served"), hall.digests("simulated"), "{kills:?}");
}

#[test]
fn what_does_not_fit_is_said_before_anything_is_sent() {
    let hall = Hall::new(STUDY);
    let _coordinator = hall.serve("served", false);
    hall.invited("served");
    let name = &hall.names()[0];
    let invitation = format!("served/invitations/{name}.invite");
    let table = fs::read_to_string(hall.path(&format!("tables/clients/{name}.csv"))).expect("it was exported");
    fs::write(hall.path("renamed.csv"), table.replacen("x3", "height", 1)).expect("it can be written");
    let join = |data: &str| hall.motet(&["join", &invitation, "--data", data, "--dir", "a", "--yes", "--quiet"]);
    refused(&join("renamed.csv"), "no column `x3`");
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    lines[3] = lines[3].rsplit_once(',').expect("it has columns").0.to_owned() + ",maybe";
    fs::write(hall.path("other.csv"), lines.join("\n")).expect("it can be written");
    refused(&join("other.csv"), "line 4: `maybe` of column `target` is none of the classes `0`, `1`");
    let log = fs::read_to_string(hall.path("a/sent.log")).expect("it was written");
    assert_eq!(log.lines().count(), 1, "nothing that depends on the table was sent: {log}");
    assert!(log.contains(" enrolment: the token of the invitation, and a certificate request of "), "{log}");
    let output = hall.motet(&["join", &invitation, "--data", &format!("tables/clients/{name}.csv"), "--dir", "a", "--quiet"]);
    refused(&output, "nothing was agreed to");

    for order in [&["status", "x"][..], &["revoke", "x", "a"], &["stop", "x"]] {
        refused(&hall.motet(&[&["study"], order].concat()), "x: there is no study in this folder");
    }
    let without = STUDY.replace("name  = \"wards\"", "name = \"without\"");
    fs::write(hall.path("without.toml"), without).expect("it can be written");
    refused(&hall.motet(&["serve", "without.toml", "--invite", "a", "--out", "x"]), "motet data schema TABLE");
    let study = fs::read_to_string(hall.path("tables/study.toml")).expect("it was exported");
    fs::write(hall.path("tuned.toml"), study.replace("step = 0.5", "step = \"tune\"")).expect("it can be written");
    refused(&hall.motet(&["serve", "tuned.toml", "--invite", "a", "--out", "x"]), "write the value itself");
    refused(&hall.motet(&["serve", "tables/study.toml", "--invite", "../a", "--out", "x"]), "a name has");
    refused(&hall.motet(&["serve", "tables/study.toml", "--out", "x"]), "--invite NAME,NAME");
    assert!(!hall.path("x").exists());
    if Command::new("mkfifo").arg(hall.path("pipe")).status().is_ok_and(|made| made.success()) {
        let certificates = ["--cert", "pipe", "--key", "pipe", "--ca", "pipe"];
        let serve = ["serve", "tables/study.toml", "--invite", "a", "--out", "piped"];
        refused(&hall.motet(&[&serve[..], &certificates].concat()), "is a pipe (FIFO): only regular files are read");
    }
}

#[test]
fn an_operator_sees_who_is_there_refuses_one_and_stops_a_study_that_goes_on_later() {
    // Scafflix asks all of its cohort, and a quorum of 1 needs everyone: neither may ask for one who was refused.
    let fedavg = &STUDY[STUDY.find("[[method]]\nkind = \"fedavg\"").expect("it is there")..];
    let scafflix = &STUDY[..STUDY.find("[[method]]\nkind       = \"diana\"").expect("it is there")];
    let hall = Hall::new(&format!("{scafflix}{fedavg}").replace("rounds    = 25", "rounds    = 600"));
    let mut coordinator = Process(hall.serving("served", false).spawn().expect("motet starts"));
    hall.invited("served");
    let certificate = || fs::read(hall.path("served/serve/cert.pem")).expect("it was made");
    let first = certificate();
    let mut agents: Vec<Process> = hall.names().iter().map(|name| hall.join("served", name)).collect();
    let status = || String::from_utf8_lossy(&hall.motet(&["study", "status", "served"]).stdout).into_owned();
    wait_until(|| status().contains("round 5"));
    assert_eq!(status().matches("enrolled").count(), CLIENTS);
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&hall.motet(&[args, &["--format", "json"]].concat()).stdout).expect("one JSON value")
    };
    let member = &json(&["study", "status", "served"])["members"][0];
    assert_eq!((member["name"].is_string(), &member["enrolled"], &member["revoked"]), (true, &true.into(), &false.into()));
    assert_eq!(json(&["study", "stop", "served"])["ordered"], "stop");
    let mut said = String::new();
    coordinator.0.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    assert_eq!(coordinator.0.wait().expect("it can be waited for").code(), Some(1), "{said}");
    assert!(said.contains("go on with: motet serve tables/study.toml --out served --resume"), "{said}");
    let nobody = hall.motet(&["study", "stop", "served"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("there is nothing to stop"));
    let name = &hall.names()[1];
    for order in ["revoke", "invite"] {
        refused(&hall.motet(&["study", order, "served", "nobody"]), "nobody is called");
    }
    assert_eq!(json(&["study", "revoke", "served", name])["name"], name.as_str());
    let mut coordinator = hall.serve("served", true);
    let told = agents[1].0.wait().expect("it can be waited for");
    assert_eq!(told.code(), Some(2), "the agent is told and ends");
    assert!(status().contains(&format!("revoked   {name}")), "{}", status());
    refused(&hall.motet(&["study", "invite", "served", name]), "was revoked");
    assert_eq!(certificate(), first, "the name that the coordinator had is not forgotten");
    ended(&mut coordinator);
    let text = fs::read_to_string(hall.path("served/summary.json")).expect("it was written");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("it was written");
    let outcomes: Vec<&serde_json::Value> =
        summary["runs"].as_array().expect("it has runs").iter().map(|run| &run["outcome"]["kind"]).collect();
    assert_eq!(outcomes, ["finished", "finished"], "the others go on");
    agents.iter_mut().enumerate().filter(|(k, _)| *k != 1).for_each(|(_, agent)| ended(agent));
    let events = fs::read_to_string(hall.path("served/events.jsonl")).expect("it was written");
    assert!(events.lines().any(|line| line.contains("was revoked")), "{events}");
}

#[test]
fn one_who_leaves_a_study_with_a_deadline_is_waited_for_neither_in_this_run_nor_in_the_next() {
    let fedavg = &STUDY[STUDY.find("[[method]]\nkind = \"fedavg\"").expect("it is there")..];
    let scafflix = &STUDY[..STUDY.find("[[method]]\nkind       = \"diana\"").expect("it is there")];
    let again = fedavg.replace("step = 0.1", "step = 0.2");
    let hall = Hall::new(&format!("{scafflix}{fedavg}\n{again}").replace("rounds    = 25", "rounds    = 200\nquorum    = 0.8"));
    succeeded(&hall.motet(&["run", "tables/study.toml", "--out", "simulated", "--quiet"]));
    let (listen, invite) = (format!("127.0.0.1:{}", hall.port), hall.names().join(","));
    let args = ["serve", "tables/study.toml", "--listen", &listen, "--invite", &invite, "--out", "served", "--deadline", "3600"];
    let said = fs::File::create(hall.path("said")).expect("it can be written");
    let mut coordinator = Process(hall.command(&args).stderr(said).spawn().expect("motet starts"));
    hall.invited("served");
    let mut agents: Vec<Process> = hall.names().iter().map(|name| hall.join("served", name)).collect();
    wait_until(|| fs::read_to_string(hall.path("served/rows.jsonl")).unwrap_or_default().contains("\"run\":1"));
    let sent = Command::new("kill").args(["-INT", &agents[4].0.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
    agents[4].0.wait().expect("it can be waited for");
    wait_until(|| hall.path("served/summary.json").exists());
    let (served, simulated) = (hall.losses("served"), hall.losses("simulated"));
    assert_eq!(served.len(), 3 * 41, "all rounds of all runs were measured");
    assert_eq!(served[..41], simulated[..41], "a deadline changes nothing while everyone is there");
    let said = fs::read_to_string(hall.path("said")).expect("it was written");
    assert!(said.contains(&format!("the run begins without {}", hall.names()[4])), "{said}");
    coordinator.kill();
    agents.iter_mut().for_each(Process::kill);
}

#[test]
fn a_study_that_waits_for_one_says_for_whom_writes_it_down_and_can_be_stopped() {
    let fedavg = &STUDY[STUDY.find("[[method]]\nkind = \"fedavg\"").expect("it is there")..];
    let before = &STUDY[..STUDY.find("[[method]]").expect("it is there")];
    let hall = Hall::new(&format!("{before}{fedavg}").replace("rounds    = 25", "rounds    = 1000000"));
    let mut coordinator = hall.serve("served", false);
    hall.invited("served");
    let mut agents: Vec<Process> = hall.names().iter().map(|name| hall.join("served", name)).collect();
    let rows = || fs::read_to_string(hall.path("served/rows.jsonl")).unwrap_or_default().lines().count();
    wait_until(|| rows() > 2);
    // One says goodbye: without a deadline the round under way waits for it.
    let sent = Command::new("kill").args(["-INT", &agents[2].0.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
    agents[2].0.wait().expect("it can be waited for");
    let events = || fs::read_to_string(hall.path("served/events.jsonl")).unwrap_or_default();
    wait_until(|| events().contains("left, and may come back"));
    let left = events().lines().find(|line| line.contains("may come back")).expect("it is there").to_owned();
    let event: serde_json::Value = serde_json::from_str(&left).expect("it is an event");
    assert!(event["client"] == 2 && event["run"] == 0 && event["round"].as_u64().is_some_and(|round| round > 2), "{left}");
    succeeded(&hall.motet(&["study", "stop", "served"]));
    let began = Instant::now();
    let stopped = coordinator.0.wait().expect("it can be waited for");
    assert_eq!(stopped.code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(20), "a stop is heard while a round waits");
}

#[test]
fn a_damaged_checkpoint_costs_a_round_and_no_client_has_forgotten_what_it_names() {
    let one = STUDY.replace("rounds    = 25", "rounds    = 150");
    let one = &one[..one.find("[[method]]\nkind       = \"diana\"").expect("it is there")];
    let hall = Hall::new(one);
    succeeded(&hall.motet(&["run", "tables/study.toml", "--out", "simulated", "--quiet"]));
    let mut coordinator = hall.serve("served", false);
    hall.invited("served");
    let mut agents: Vec<Process> = hall.names().iter().map(|name| hall.join("served", name)).collect();
    let checkpoints = || -> Vec<PathBuf> {
        let entries = fs::read_dir(hall.path("served/resume/run")).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "checkpoint")).collect();
        found.sort_by_key(|path| path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok()));
        found
    };
    wait_until(|| checkpoints().len() >= 3);
    coordinator.kill();
    let newest = checkpoints().pop().expect("there are three");
    let mut bytes = fs::read(&newest).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&newest, bytes).expect("it can be written");
    let mut coordinator = hall.serve("served", true);
    ended(&mut coordinator);
    agents.iter_mut().for_each(ended);
    assert_eq!(hall.digests("served"), hall.digests("simulated"));
}

#[test]
fn who_was_away_when_a_study_ended_is_told_so_when_it_comes_back() {
    let only = &STUDY[STUDY.find("[[method]]\nkind = \"fedavg\"").expect("it is there")..];
    let before = &STUDY[..STUDY.find("[[method]]").expect("it is there")];
    let hall = Hall::new(&format!("{before}{only}").replace("rounds    = 25", "rounds    = 3\nquorum    = 0.8"));
    let (listen, invite) = (format!("127.0.0.1:{}", hall.port), hall.names().join(","));
    let args = ["serve", "tables/study.toml", "--listen", &listen, "--invite", &invite, "--out", "served", "--quiet", "--deadline", "2"];
    let mut coordinator = Process(hall.command(&args).stderr(Stdio::null()).spawn().expect("motet starts"));
    hall.invited("served");
    let names = hall.names();
    let mut agents = vec![hall.join("served", &names[0])];
    wait_until(|| hall.path(&format!("agent-{}/runs", names[0])).exists());
    // By then it has asked for something to do.
    sleep(Duration::from_secs(2));
    let signal = |which: &str, process: &Process| {
        let sent = Command::new("kill").args([which, &process.0.id().to_string()]).status().expect("kill is there");
        assert!(sent.success());
    };
    signal("-STOP", &agents[0]);
    agents.extend(names[1..].iter().map(|name| hall.join("served", name)));
    wait_until(|| hall.path("served/summary.json").exists());
    sleep(Duration::from_millis(1500));
    assert!(coordinator.0.try_wait().expect("it can be waited for").is_none(), "it waits for the one that does not know");
    signal("-CONT", &agents[0]);
    ended(&mut coordinator);
    agents.iter_mut().for_each(ended);
    let report = fs::read_to_string(hall.path("served/report.html")).expect("it was written");
    assert!(report.contains("Who was there") && report.contains("Over the wire went"), "the page tells who was there");
    let events = fs::read_to_string(hall.path("served/events.jsonl")).expect("it was written");
    assert_eq!(events.matches("\"attended\"").count(), CLIENTS + 1, "{events}");
}
