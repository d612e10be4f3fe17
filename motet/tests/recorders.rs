//! A folder and memory leave the same records; a folder goes on, and is refused before anything in it is touched.

// Helpers of tests are tests too.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet::config::{Document, Experiment};
use motet::records::{EventKind, Manifest, Records, names, verify};
use motet::runtime::Pool;
use motet::{Catalogue, Error, Event, Folder, InMemory, Observer, Simulation};

const SMALL: &str = r#"
name  = "small"
seeds = [1, 2]

[problem]
source  = { kind = "synthetic", clients = 6, features = 5, examples = 30, heterogeneity = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1, intercept = true }

[run]
rounds = 20
models = true

[[method]]
kind = "local"

[[method]]
kind  = "flix"
alpha = { grid = [1.0, 0.5] }

[[method]]
kind   = "meritfed"
step   = 0.5
target = 2
mirror = { kind = "md", rate = 3.5, steps = 5 }

[claims]
"falls" = "final(flix, gap) <= 0.1 * start(flix, gap)"
"#;

/// Longer trials go on from the ends of shorter ones, of clients with states.
const TUNED: &str = r#"
name  = "tuned"
seeds = [1]

[problem]
source  = { kind = "synthetic", clients = 4, features = 3, examples = 30, heterogeneity = 1.0 }
holdout = { validation = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds = 16
tune   = { p = [0.9, 0.5, 0.3, 0.1], by = "validation.loss", halving = 2, rounds = 4 }

[[method]]
kind  = "scafflix"
alpha = 0.5
"#;

/// A method whose promise needs gradients at the minimum, and whose clients keep states.
const DIANA: &str = r#"
name  = "diana"
seeds = [1]

[problem]
source = { kind = "synthetic", clients = 4, features = 5, examples = 30, heterogeneity = 1.0 }
model  = { kind = "logistic", l2 = 0.1 }

[run]
rounds = 40

[[method]]
kind     = "diana"
alpha    = 0.5
compressor = { kind = "rand-k", k = 2 }
"#;

fn simulation(text: &str, changes: &[&str]) -> Simulation {
    let mut document = Document::parse("e.toml", text, PathBuf::new()).unwrap_or_else(|e| panic!("{e}"));
    changes.iter().for_each(|change| document.set(change, &Catalogue::standard()).unwrap_or_else(|e| panic!("{change}: {e}")));
    let experiment = Experiment::new(document).unwrap_or_else(|e| panic!("{e}"));
    Simulation::on(experiment, Arc::new(Pool::new(2))).unwrap_or_else(|e| panic!("{e}"))
}

fn create(folder: &Path, simulation: &Simulation) -> Folder {
    Folder::create(folder, false, &simulation.experiment().document).unwrap_or_else(|e| panic!("{e}"))
}

/// Without what a clock says.
fn timeless(mut records: Records) -> Records {
    records.manifest.started = None;
    records.rows.iter_mut().for_each(|row| row.seconds = None);
    if let Some(summary) = &mut records.summary {
        summary.finished = None;
        summary.runs.iter_mut().for_each(|run| run.seconds = 0.0);
    }
    records
}

/// Stops the experiment after so many rows.
struct StopAfter(Cell<usize>);

impl Observer for StopAfter {
    fn notice(&self, event: Event<'_>) {
        if matches!(event, Event::Row(_)) {
            self.0.set(self.0.get().saturating_sub(1));
        }
    }
    fn stop(&self) -> bool {
        self.0.get() == 0
    }
}

/// Says after so many rows that something has failed.
struct FailAfter(Cell<usize>);

impl Observer for FailAfter {
    fn notice(&self, event: Event<'_>) {
        if matches!(event, Event::Row(_)) {
            self.0.set(self.0.get().saturating_sub(1));
        }
    }
    fn stop(&self) -> bool {
        false
    }
    fn failure(&self) -> Option<String> {
        (self.0.get() == 0).then(|| "a function raised an exception".into())
    }
}

#[test]
fn of_what_failed_nothing_is_kept_and_the_run_goes_on_from_before() {
    let parent = tempfile::tempdir().unwrap();
    let often = &["run.checkpoint={ rounds = 3 }"];
    let undisturbed = simulation(DIANA, often).run(&mut InMemory::new()).unwrap();
    let last = undisturbed.rows.len();
    for rows in [1, 10, last] {
        let path = parent.path().join(rows.to_string());
        let begun = simulation(DIANA, often);
        let failed = begun.run_observed(&mut create(&path, &begun), &FailAfter(Cell::new(rows))).unwrap_err();
        assert!(matches!(failed, Error::Failed { .. }), "{failed}");
        assert_eq!(failed.to_string(), "run \"diana\", seed 1: a function raised an exception");
        assert!(Folder::is_unfinished(&path) && !Folder::is_finished(&path));
        assert_eq!(Records::read(&path).unwrap().rows.len(), rows, "no row after it");
        let again = simulation(DIANA, often);
        let resumed = again.run(&mut Folder::resume(&path, &again.manifest(), &|_| ()).unwrap()).unwrap();
        let digest = |records: &Records| records.summary.as_ref().unwrap().runs[0].digest.clone();
        assert_eq!(digest(&resumed), digest(&undisturbed));
        assert_eq!(resumed.clients, undisturbed.clients);
        assert_eq!(Folder::finished(&path, &again.manifest()).unwrap().rows.len(), last);
    }
}

#[test]
fn a_folder_and_memory_leave_the_same_records() {
    let disk = "run.store={ kind = 'disk', memory = '1 kB' }";
    for (text, changes) in [(SMALL, &[][..]), (TUNED, &[]), (TUNED, &[disk])] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        let simulation = simulation(text, changes);
        let returned = simulation.run(&mut create(&path, &simulation)).unwrap_or_else(|e| panic!("{e}"));
        let mut memory = InMemory::new();
        let values = simulation.run(&mut memory).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(memory.records(), &values, "what a program gets at the end is what was recorded on the way");
        let mut read = Records::read(&path).unwrap();
        assert_eq!(read, returned, "a folder's models stay on disk");
        read.read_models(&path).unwrap();
        assert_eq!(timeless(read), timeless(values));
        assert!(verify(&path).unwrap().is_sound());
        assert!(path.join("report.html").exists() && !path.join("resume").exists());
    }
}

#[test]
fn models_in_memory_are_found_by_client() {
    let records = simulation(SMALL, &[]).run(&mut InMemory::new()).unwrap();
    let flix = records.manifest.runs.iter().position(|card| card.method == "flix").unwrap();
    let (shared, own) = (records.model(flix, None).unwrap(), records.model(flix, Some(motet::core::ClientId(3))).unwrap());
    assert_eq!((shared.len(), own.len()), (6, 6));
    assert_eq!(records.model(flix, Some(motet::core::ClientId(6))), None);
    assert_eq!(records.models.len(), records.manifest.runs.len());
}

#[test]
fn an_experiment_in_memory_that_is_stopped_leaves_what_was_reached() {
    let (simulation, mut memory) = (simulation(SMALL, &[]), InMemory::new());
    let stopped = simulation.run_observed(&mut memory, &StopAfter(Cell::new(30))).unwrap_err();
    assert!(matches!(stopped, Error::Interrupted { folder: None, .. }), "{stopped}");
    assert!(!stopped.to_string().contains("--resume"), "{stopped}");
    assert_eq!(memory.records().rows.len(), 30);
    let records = simulation.run(&mut memory).unwrap();
    assert_eq!(records.rows.len(), memory.records().rows.len(), "the next go begins anew");
}

#[test]
fn a_promise_is_the_same_after_a_resume_and_the_folder_can_be_read() {
    let parent = tempfile::tempdir().unwrap();
    let (whole, cut) = (parent.path().join("whole"), parent.path().join("cut"));
    let begun = simulation(DIANA, &[]);
    let undisturbed = begun.run(&mut create(&whole, &begun)).unwrap();
    assert!(undisturbed.manifest.runs[0].promise.as_ref().is_some_and(|promise| promise.extra.is_finite()));
    let stopped = begun.run_observed(&mut create(&cut, &begun), &StopAfter(Cell::new(10))).unwrap_err();
    assert!(stopped.to_string().contains("go on with: motet run --resume"), "{stopped}");
    assert!(verify(&cut).unwrap().damaged.is_empty());
    // As another process would: nothing of the first go is in memory.
    let again = simulation(DIANA, &[]);
    let mut folder = Folder::resume(&cut, &again.manifest(), &|_| ()).unwrap();
    let resumed = again.run(&mut folder).unwrap();
    let read = Records::read(&cut).unwrap();
    assert_eq!(read, resumed);
    assert_eq!(read.events.iter().map(|e| (e.kind, e.run)).collect::<Vec<_>>(), [(EventKind::Resumed, Some(0))]);
    assert_eq!(timeless(Records { events: vec![], ..read }), timeless(undisturbed));
    assert!(verify(&cut).unwrap().is_sound());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { fs::copy(entry.path(), to).map(|_| ()).unwrap() }
    }
}

/// Every file but the lock, whose content only says who looked last.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = vec![];
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("lock")) {
        if path.is_dir() { all.extend(content(&path)) } else { all.push((path.clone(), fs::read(&path).unwrap())) }
    }
    all.sort();
    all
}

fn older(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/tests/format1").join(name)
}

#[test]
fn an_unfinished_folder_of_format_1_is_refused_before_anything_is_touched() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("begun");
    copy(&older("begun"), &folder);
    let simulation = Simulation::new(Experiment::new(Folder::begun(&folder).unwrap()).unwrap()).unwrap();
    let resume = || Folder::resume(&folder, &simulation.manifest(), &|_| ()).err().expect("it is of format 1").to_string();
    let before = content(&folder);
    let said = resume();
    assert!(said.contains("record format 1") && said.contains("format 3"), "{said}");
    assert_eq!(content(&folder), before);
    // A checkpoint has a number of its own, should only the records be of this format.
    let manifest = Manifest { format: motet::records::Format::CURRENT, ..simulation.manifest() };
    fs::write(folder.join(names::MANIFEST), serde_json::to_vec(&manifest).unwrap()).unwrap();
    let before = content(&folder);
    let said = resume();
    assert!(said.contains("checkpoint format 1"), "{said}");
    assert_eq!(content(&folder), before);
}

#[test]
fn a_finished_folder_of_format_1_is_reported() {
    let records = Records::read(&older("done")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let named = [("tiny".to_owned(), records)];
    assert!(motet::report::table(&named).contains("meritfed"));
    let written = motet::report::render(&named, out.path()).unwrap();
    assert!(written.iter().any(|path| path.ends_with("report.html")));
}
