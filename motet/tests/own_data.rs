//! A program's own data in experiments: the same bits as from a file, on record by their digest, and no others when a run goes on.

// Helpers of tests are tests too.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::path::Path;

use motet::config::{Document, Experiment};
use motet::core::Vector;
use motet::predict::{How, SavedModel, saved_model};
use motet::problems::{DataFrame, LabelledRows, OwnData};
use motet::records::Records;
use motet::{Error, Event, Folder, InMemory, Observer, Simulation, Unobserved};

const AGES: [f64; 12] = [61.0, 48.0, 70.0, 33.0, 52.0, 45.0, 66.0, 58.0, 39.0, 71.0, 50.0, 64.0];
const DOSES: [f64; 12] = [1.5, 2.0, 0.25, 3.0, 1.0, 2.5, 0.75, 1.25, 2.25, 0.5, 1.75, 2.75];
const ILL: [&str; 12] = ["yes", "no", "yes", "no", "no", "yes", "yes", "no", "no", "yes", "no", "yes"];
const SMOKES: [&str; 12] = ["no", "yes", "", "no", "yes", "no", "yes", "yes", "no", "?", "no", "yes"];

fn ward(row: usize) -> String {
    (10 - row % 3).to_string()
}

/// The rows as a file: `smokes` is a column of words with gaps.
fn csv() -> String {
    let line = |row: usize| format!("{},{},{},{},{}\n", ward(row), AGES[row], DOSES[row], SMOKES[row], ILL[row]);
    (0..12).map(line).fold("ward,age,dose,smokes,ill\n".to_owned(), |text, line| text + &line)
}

fn frame() -> DataFrame {
    frame_of(AGES.to_vec())
}

fn frame_of(ages: Vec<f64>) -> DataFrame {
    DataFrame::new()
        .column("ward", (0..12).map(ward).collect::<Vec<_>>())
        .column("age", ages)
        .column("dose", DOSES.to_vec())
        .column("smokes", SMOKES.to_vec())
        .column("ill", ILL.to_vec())
        .client("ward")
        .target("ill")
        .named("patients")
}

fn rows() -> LabelledRows {
    let values = AGES.iter().zip(DOSES).flat_map(|(age, dose)| [*age, dose]).collect();
    LabelledRows::flat(2, values).classes(ILL.to_vec()).clients((0..12).map(ward).collect::<Vec<_>>()).named("patients")
}

const REST: &str = r#"
holdout = { test = 0.25 }
model   = { kind = "logistic", l2 = 0.1, intercept = true }

[run]
rounds = 12
models = true

[[method]]
kind  = "flix"
alpha = { grid = [1.0, 0.5] }

[[method]]
kind       = "diana"
alpha      = 0.5
compressor = { kind = "rand-k", k = 0.5 }
"#;

fn document(source: &str, folder: &Path) -> Document {
    Document::parse("e.toml", &format!("[problem]\nsource = {source}\n{REST}"), folder.into()).unwrap()
}

fn given() -> Document {
    document(r#"{ kind = "given", name = "patients" }"#, Path::new(""))
}

fn experiment(data: &OwnData) -> Experiment {
    Experiment::new(given()).unwrap().give(data).unwrap()
}

fn in_memory(experiment: Experiment) -> Records {
    Simulation::new(experiment).unwrap().run(&mut InMemory::new()).unwrap()
}

/// How every run ended, and every row.
fn ends(records: &Records) -> (Vec<String>, String) {
    let digests = records.summary.as_ref().unwrap().runs.iter().map(|run| run.digest.clone()).collect();
    (digests, serde_json::to_string(&records.rows.iter().map(|row| (&row.metrics, row.bits)).collect::<Vec<_>>()).unwrap())
}

#[test]
fn given_rows_and_columns_end_at_the_bits_of_the_same_rows_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), csv()).unwrap();
    let from_file = |more: &str| {
        let source = format!(r#"{{ kind = "table", path = "t.csv", target = "ill", client = "ward"{more} }}"#);
        in_memory(Experiment::new(document(&source, folder.path())).unwrap())
    };
    let columns = in_memory(experiment(&frame().check().unwrap()));
    assert_eq!(ends(&columns), ends(&from_file("")));
    let dense = in_memory(experiment(&rows().check().unwrap()));
    assert_eq!(ends(&dense), ends(&from_file(r#", drop = ["smokes"], standardise = false"#)));
    assert_ne!(ends(&dense).0, ends(&columns).0);
}

#[test]
fn the_manifest_says_what_the_data_were() {
    let data = frame().check().unwrap();
    let manifest = in_memory(experiment(&data)).manifest;
    assert_eq!(manifest.inputs, [data.input().clone()]);
    let source = &manifest.resolved["problem"][0]["source"];
    assert_eq!((&source["kind"], &source["name"]), (&"given".into(), &"patients".into()));
    assert_eq!((source["rows"].as_u64(), source["features"].as_u64()), (Some(12), Some(4)));
    assert_eq!(source["sha256"].as_str(), Some(data.input().sha256.as_str()));
    assert_eq!(manifest.problems[0].about, "patients (given), natural split, logistic");
}

#[test]
fn data_that_nobody_asked_for_and_data_that_nobody_gave_are_refused() {
    let text = |outcome: Result<Experiment, Error>| outcome.unwrap_err().to_string();
    let other = rows().named("shops").check().unwrap();
    let refused = text(Experiment::new(given()).unwrap().give(&other));
    assert_eq!(refused, "e.toml: problem.source: the program gives data called \"shops\", but it asks for \"patients\"");
    let file = Experiment::new(document(r#"{ kind = "lrs", clients = 2, examples = 3, dim = 2 }"#, Path::new(""))).unwrap();
    assert!(text(file.give(&other)).contains("but it has no source = { kind = \"given\", name = \"shops\" }"));
    let sized = document(r#"{ kind = "given", name = "shops", rows = 13 }"#, Path::new(""));
    let refused = text(Experiment::new(sized).unwrap().give(&other));
    assert_eq!(refused, "e.toml: problem: [problem] source.rows = 13: the program gives data with 12");
    let Err(error) = Simulation::new(Experiment::new(given()).unwrap()) else { panic!("there are no data") };
    assert!(error.to_string().starts_with("e.toml: problem: the data `patients` come from a program"), "{error}");
}

/// Stops an experiment after some rows.
struct Stopping(Cell<u32>);

impl Observer for Stopping {
    fn notice(&self, event: Event<'_>) {
        if let Event::Row(_) = event {
            self.0.set(self.0.get().saturating_sub(1));
        }
    }
    fn stop(&self) -> bool {
        self.0.get() == 0
    }
}

#[test]
fn a_run_goes_on_with_the_same_data_and_with_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let data = frame().check().unwrap();
    let simulation = Simulation::new(experiment(&data)).unwrap();
    let mut records = Folder::create(&out, false, &given()).unwrap();
    let stopped = simulation.run_observed(&mut records, &Stopping(Cell::new(20)));
    assert!(matches!(stopped, Err(Error::Interrupted { .. })));
    drop(records);

    let mut ages = AGES.to_vec();
    ages[7] += 1.0;
    let changed = frame_of(ages).check().unwrap();
    let begun = || Experiment::new(Folder::begun(&out).unwrap()).unwrap();
    let other = Simulation::new(begun().give(&changed).unwrap()).unwrap();
    let refused = Folder::resume(&out, &other.manifest(), &|_| {}).err().unwrap().to_string();
    assert!(refused.contains("cannot go on with another experiment: problem[1].source.sha256 was"), "{refused}");

    let same = Simulation::new(begun().give(&data).unwrap()).unwrap();
    let mut records = Folder::resume(&out, &same.manifest(), &|_| {}).unwrap();
    let resumed = same.run_observed(&mut records, &Unobserved).unwrap();
    assert_eq!(ends(&resumed), ends(&in_memory(experiment(&data))));
}

#[test]
fn what_was_trained_on_columns_predicts_for_rows_of_a_file_and_starts_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let (out, table) = (folder.path().join("out"), folder.path().join("t.csv"));
    std::fs::write(&table, csv()).unwrap();
    let data = frame().check().unwrap();
    let simulation = Simulation::new(experiment(&data)).unwrap();
    simulation.run(&mut Folder::create(&out, false, &given()).unwrap()).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(out.join("models")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 3);
    let predictions =
        SavedModel::open(&files[0], Some("9")).unwrap().predict(&table, &How { any_client: true, ..How::default() }, &|_| {}).unwrap();
    assert_eq!(predictions.rows.len(), 12);
    let others = SavedModel::open(&files[0], Some("ward 9")).unwrap().predict(&table, &How::default(), &|_| {}).unwrap_err().to_string();
    assert!(others.contains("t.csv, line 2: column `ward` says \"10\", and the model is that of ward 9"), "{others}");

    let (shared, own) = (saved_model(&files[1], None).unwrap(), saved_model(&files[1], Some(2)).unwrap());
    assert_ne!(shared, own);
    assert!(saved_model(&files[1], Some(3)).unwrap_err().to_string().contains("has no model of client 3: there are 3"));
    assert!(saved_model(&table, None).unwrap_err().to_string().contains("not a file of models"));
    let (first, next) = (in_memory(experiment(&data)), in_memory(experiment(&data).start_at(shared)));
    let loss = |records: &Records| records.rows.iter().find(|row| row.run == 0).unwrap().metrics["loss"];
    assert!(loss(&next) < loss(&first), "{} {}", loss(&next), loss(&first));
    assert_eq!(next.manifest.inputs.last().unwrap().name, "start");
    let misfit = Simulation::new(experiment(&data).start_at(Vector::from(vec![0.0; 2])));
    assert!(misfit.err().unwrap().to_string().contains("the start has 2 numbers of 64 bits, the clients' functions take 5 of 64"));
}
