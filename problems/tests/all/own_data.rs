//! Data that a program gives: what they become, and everything that can be wrong with them.

use std::num::NonZeroU32;
use std::path::Path;

use motet_core::{Batch, Fraction, Vector};
use motet_problems::source::{Given, TargetKind};
use motet_problems::{
    Bytes, Column, DataError, DataFrame, DatasetError, Holdout, LabelledRows, Matrix, MatrixError, ModelConfig, Names, OwnData, Problem,
    ProblemConfig, ProblemError, Single, Source, Targets, Usage, Weights,
};

use crate::files::folder_with;

fn model(text: &str) -> ModelConfig {
    serde_json::from_str(text).unwrap()
}

fn ridge() -> ModelConfig {
    model(r#"{"kind": "ridge"}"#)
}

/// Four rows of two features.
fn rows() -> LabelledRows {
    LabelledRows::flat(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
}

fn good() -> LabelledRows {
    rows().numbers(vec![0.5, 1.5, 2.5, 3.5]).clients(vec!["b", "a", "b", "a"])
}

/// Value and slope of every client at some point.
fn numbers(problem: &Problem) -> Vec<(usize, f64, Vec<f64>)> {
    let x = Vector::from((0..problem.start().len()).map(|k| 0.25 + k as f64).collect::<Vec<f64>>());
    let of = |shard: &motet_core::Shard| {
        let mut g = Vector::from(vec![0.0; x.len()]);
        shard.train.gradient(&x, Batch::all(), &mut g);
        (shard.train.samples(), shard.train.value(&x, Batch::all()), g.f64s().to_vec())
    };
    problem.shards.iter().map(of).collect()
}

#[test]
fn however_rows_are_given_they_are_the_same_problem() {
    let nested = vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0], vec![7.0, 8.0]];
    let sparse = Matrix::sparse(2, vec![0, 2, 4, 6, 8], vec![0, 1, 0, 1, 0, 1, 0, 1], (1..9).map(f64::from).collect()).unwrap();
    let single = Matrix::Single(Single { cols: 2, values: (1u8..9).map(f32::from).collect() });
    let bytes = Matrix::Bytes(Bytes::tokens(2, (1..9).collect()));
    let label = |rows: LabelledRows| rows.numbers(vec![0.5, 1.5, 2.5, 3.5]).clients(vec!["b", "a", "b", "a"]).check().unwrap();
    let problem = |data: OwnData| data.problem(ridge(), Holdout::default(), 0).unwrap();
    let first = problem(label(rows()));
    assert_eq!(first.census.clients.iter().map(|client| client.name.as_deref()).collect::<Vec<_>>(), [Some("a"), Some("b")]);
    assert_eq!(first.about, "data (given), natural split, ridge");
    for other in [LabelledRows::dense(nested), LabelledRows::of(sparse), LabelledRows::of(bytes)] {
        assert_eq!(numbers(&problem(label(other))), numbers(&first));
    }
    assert_eq!(label(LabelledRows::of(single)).rows(), 4);
}

#[test]
fn names_are_words_whole_numbers_or_codes() {
    let clients = |names: Names| rows().numbers(vec![0.0; 4]).clients(names).check().map(|data| data.clients().to_vec());
    assert_eq!(clients(vec!["10", "9", "10", "9"].into()).unwrap(), ["9", "10"], "by value, since all are numbers");
    assert_eq!(clients(vec!["10", "9", "x", "9"].into()).unwrap(), ["10", "9", "x"]);
    assert_eq!(clients(vec![10i64, -9, 10, 2].into()).unwrap(), ["-9", "2", "10"]);
    assert_eq!(clients(vec![true, false, true, true].into()).unwrap(), ["0", "1"]);
    let coded = |codes: &[u32], names: &[&str]| {
        clients(Names::Coded { codes: codes.to_vec(), names: names.iter().map(|name| (*name).to_owned()).collect() })
    };
    assert_eq!(coded(&[1, 0, 1, 0], &["z", "a"]).unwrap(), ["z", "a"], "codes keep their order");
    assert_eq!(coded(&[1, 0, 2, 0], &["z", "a"]), Err(DataError::Code { row: 2, code: 2, names: 2 }));
    assert_eq!(coded(&[0, 0, 0, 0], &["z", "a"]), Err(DataError::Unused { name: "a".into() }));
    assert_eq!(coded(&[0, 1, 0, 1], &["z", "z"]), Err(DataError::SameName { name: "z".into() }));
    let labels = |names: Names| rows().classes(names).clients(vec![1, 1, 2, 2]).check().unwrap();
    let problem = labels(vec![-1, 1, 1, 1].into()).problem(model(r#"{"kind": "logistic"}"#), Holdout::default(), 0).unwrap();
    assert_eq!(problem.census.labels, [1, 3]);
}

#[test]
fn rows_for_validation_and_test_stay_out_of_training_and_a_hold_out_is_cut_from_the_rest() {
    let usage = vec![Usage::Train, Usage::Train, Usage::Test, Usage::Validation];
    let problem = good().usage(usage).check().unwrap().problem(ridge(), Holdout::default(), 0).unwrap();
    let sizes: Vec<_> = problem.census.clients.iter().map(|client| (client.train, client.validation, client.test)).collect();
    assert_eq!(sizes, [(1, 1, 0), (1, 0, 1)]);
    let half = Holdout { test: Fraction::new(0.5).unwrap(), ..Holdout::default() };
    let problem = good().check().unwrap().problem(ridge(), half, 0).unwrap();
    assert!(problem.shards.iter().all(|shard| shard.train.samples() == 1 && shard.test_evaluator.is_some()));

    let untrained = good().usage(vec![Usage::Train, Usage::Test, Usage::Train, Usage::Test]).check().unwrap();
    let error = untrained.problem(ridge(), Holdout::default(), 0).err().unwrap();
    assert!(matches!(error, ProblemError::Data(DataError::Untrained { client }) if client == "a"));
    assert_eq!(good().usage(vec![Usage::Test; 4]).check(), Err(DataError::NothingToTrain));
    assert_eq!(good().usage(vec![Usage::Train; 3]).check(), Err(DataError::Count { what: "usages", found: 3, rows: 4 }));
}

#[test]
fn bad_rows_are_told_by_their_number() {
    let nested = |rows: &[&[f64]]| LabelledRows::dense(rows.iter().map(|row| row.to_vec()).collect()).numbers(vec![1.0; 3]).check();
    assert_eq!(nested(&[]), Err(DataError::Empty));
    assert_eq!(nested(&[&[], &[], &[]]), Err(DataError::NoFeatures));
    assert_eq!(nested(&[&[1.0], &[1.0], &[1.0, 2.0]]), Err(DataError::Width { row: 2, found: 2, wanted: 1 }));
    assert_eq!(LabelledRows::flat(2, vec![]).numbers(vec![]).check(), Err(DataError::Empty));
    assert_eq!(LabelledRows::flat(0, vec![]).numbers(vec![]).check(), Err(DataError::Empty));
    let ragged = DatasetError::Features(MatrixError::Ragged { values: 3, cols: 2 });
    assert_eq!(LabelledRows::flat(2, vec![0.0; 3]).numbers(vec![0.0]).check(), Err(ragged.into()));
    let infinite = nested(&[&[1.0, 1.0], &[1.0, f64::INFINITY], &[1.0, 1.0]]);
    assert_eq!(infinite, Err(DataError::Feature { row: 1, column: 1, value: f64::INFINITY }));
    let gap = nested(&[&[1.0], &[1.0], &[f64::NAN]]).unwrap_err().to_string();
    assert_eq!(gap, "row 2, column 0: NaN is not a finite number; a data frame may have gaps");
    let single = Matrix::Single(Single { cols: 2, values: vec![0.0, 0.0, f32::NEG_INFINITY, 0.0].into() });
    let found = LabelledRows::of(single).numbers(vec![0.0; 2]).check();
    assert_eq!(found, Err(DataError::Feature { row: 1, column: 0, value: f64::NEG_INFINITY }));
    // Row 1 is empty: the second number of the list is row 2's.
    let sparse = Matrix::sparse(9, vec![0, 1, 1, 2], vec![4, 7], vec![2.0, f64::INFINITY]).unwrap();
    let found = LabelledRows::of(sparse).numbers(vec![0.0; 3]).check();
    assert_eq!(found, Err(DataError::Feature { row: 2, column: 7, value: f64::INFINITY }));
    let pixels = Matrix::Bytes(Bytes { scale: f32::INFINITY, ..Bytes::pixels(2, vec![0; 4]) });
    assert!(matches!(LabelledRows::of(pixels).numbers(vec![0.0; 2]).check(), Err(DataError::Feature { .. })));
}

#[test]
fn bad_labels_and_clients_are_told() {
    assert_eq!(rows().clients(vec![1, 1, 2, 2]).check(), Err(DataError::Unlabelled));
    assert_eq!(rows().classes(vec!["a"; 3]).check(), Err(DataError::Count { what: "labels", found: 3, rows: 4 }));
    assert_eq!(rows().numbers(vec![0.0; 5]).check(), Err(DataError::Count { what: "labels", found: 5, rows: 4 }));
    assert_eq!(good().clients(vec!["a"; 5]).check(), Err(DataError::Count { what: "clients", found: 5, rows: 4 }));
    assert_eq!(rows().classes(vec!["a"; 4]).check(), Err(DataError::OneClass { classes: 1 }));
    let error = rows().numbers(vec![0.0, 1.0, f64::NEG_INFINITY, 0.0]).check();
    assert_eq!(error, Err(DataError::Label { row: 2, value: f64::NEG_INFINITY }));
    assert!(rows().numbers(vec![0.0, f64::NAN, 0.0, 0.0]).check().unwrap_err().to_string().starts_with("row 1: the label NaN"));
    let beyond = DatasetError::Label { example: 3, label: 3, classes: 3 };
    assert_eq!(rows().targets(Targets::Classes { labels: vec![0, 1, 2, 3], classes: 3 }).check(), Err(beyond.into()));
    let torn = Targets::Tags { starts: vec![0, 2, 1, 2, 2], tags: vec![0, 1], classes: 2 };
    assert_eq!(rows().targets(torn).check(), Err(DatasetError::Tags { tags: 2 }.into()));
    let nobody = rows().numbers(vec![0.0; 4]).check().unwrap().problem(ridge(), Holdout::default(), 0).err().unwrap();
    assert!(matches!(nobody, ProblemError::Data(DataError::NoClients)));
}

/// Clients 9 and 10; heights with a gap, colours with a gap.
fn frame() -> DataFrame {
    DataFrame::new()
        .column("who", vec![10, 9, 10, 9, 10])
        .column("height", vec![Some(1.0), Some(2.0), None, Some(4.0), Some(3.0)])
        .column("colour", vec![Some("red"), Some("blue"), Some(" red"), None, Some("blue")])
        .column("grade", vec![2.5, 1.5, 0.5, 3.5, 4.5])
        .client("who")
        .target("grade")
}

const TABLE: &str = "who,height,colour,grade\n10,1,red,2.5\n9,2,blue,1.5\n10,?,red,0.5\n9,4,,3.5\n10,3,blue,4.5\n";

#[test]
fn a_data_frame_is_the_problem_that_its_table_is() {
    let folder = folder_with(&[("t.csv", TABLE.as_bytes())]);
    for (more, frame) in [
        ("", frame()),
        (r#", "standardise": false"#, frame().unscaled()),
        (r#", "categories": ["height"]"#, frame().categories(&["height"])),
        (r#", "targets": "classes""#, frame().targets(TargetKind::Classes)),
    ] {
        let kind = if more.contains("classes") { "softmax" } else { "ridge" };
        let text = format!(
            r#"{{"source": {{"kind": "table", "path": "t.csv", "target": "grade", "client": "who"{more}}}, "model": {{"kind": "{kind}"}}}}"#
        );
        let table = Problem::build(&serde_json::from_str(&text).unwrap(), folder.path(), 0).unwrap();
        let given = frame.check().unwrap().problem(model(&format!(r#"{{"kind": "{kind}"}}"#)), Holdout::default(), 0).unwrap();
        assert_eq!(numbers(&given), numbers(&table), "{more}");
        assert_eq!(given.preparation, table.preparation, "{more}");
        assert_eq!(given.census, table.census, "{more}");
    }
}

#[test]
fn numbers_of_a_data_frame_are_clients_and_classes_in_their_order() {
    let frame = DataFrame::new()
        .column("x", vec![1.0, 2.0, 3.0])
        .column("who", vec![10.0, -0.0, 0.0])
        .column("kind", vec![3.0, -1.0, 3.0])
        .client("who");
    let data = frame.target("kind").check().unwrap();
    assert_eq!(data.clients(), ["who 0", "who 10"]);
    let problem = data.problem(model(r#"{"kind": "logistic"}"#), Holdout::default(), 0).unwrap();
    assert_eq!(problem.census.labels, [1, 2]);
}

#[test]
fn bad_data_frames_are_told_by_row_and_column() {
    let told = |frame: DataFrame| frame.check().unwrap_err().to_string();
    let cases = [
        (DataFrame::new().target("x"), "there are no rows"),
        (DataFrame::new().column("x", Vec::<f64>::new()).target("x"), "there are no rows"),
        (frame().column("short", vec![1.0]), "column `short` has 1 rows, but `who` has 5"),
        (frame().column("height", vec![1.0; 5]), "two columns are called `height`"),
        (frame().column("far", vec![0.0, f64::INFINITY, 0.0, 0.0, 0.0]), "column `far`, row 1: inf is neither a number nor a gap"),
        (frame().target("grades"), "there is no column `grades`; there are `who`, `height`, `colour`, `grade`"),
        (frame().client("whom"), "there is no column `whom`"),
        (frame().categories(&["hue"]), "there is no column `hue`"),
        (DataFrame::new().column("x", vec![1.0]), "the data frame has no target"),
        (frame().target("height"), "data, row 2: column `height` has no value"),
        (frame().client("colour"), "data, row 3: column `colour` has no value"),
        (frame().most_categories(NonZeroU32::MIN), "data, column `colour`: 2 different words, more than most_categories = 1"),
        (
            DataFrame::new().column("x", vec![1.0, 2.0]).column("y", vec!["1", "b"]).target("y").targets(TargetKind::Numbers),
            "data, row 1: `b` of column `y` is not a number",
        ),
        (DataFrame::new().column("who", vec!["a", "b"]).column("y", vec![0.5, 1.5]).client("who").target("y"), "the rows have no features"),
        (DataFrame::new().column("x", vec![1.0, 2.0]).column("y", vec!["b", "b"]).target("y"), "all labels are of 1 class"),
        (frame().usage(vec![Usage::Train]), "there are 5 rows, but 1 usages"),
    ];
    for (frame, message) in cases {
        let error = told(frame);
        assert!(error.starts_with(message), "{error}");
    }
    assert_eq!(Column::from(vec![Some(1.0), None]).len(), 2);
}

#[test]
fn the_digest_knows_every_value_and_nothing_else() {
    let digest = |rows: LabelledRows| rows.check().unwrap().input().sha256.clone();
    let first = digest(good());
    assert_eq!(first, digest(good().named("another name")), "a name is no value");
    let sold = vec![0.5, 1.5, 2.5, 3.5];
    let other = [
        LabelledRows::flat(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5]).numbers(sold.clone()).clients(vec!["b", "a", "b", "a"]),
        good().numbers(vec![0.5, 1.5, 2.5, 3.75]),
        good().clients(vec!["b", "a", "b", "b"]),
        good().clients(vec!["b", "c", "b", "c"]),
        good().usage(vec![Usage::Train, Usage::Train, Usage::Train, Usage::Test]),
        rows().numbers(sold),
    ];
    let digests: std::collections::BTreeSet<String> = other.map(digest).into_iter().chain([first]).collect();
    assert_eq!(digests.len(), 7);
    let scaled = frame().check().unwrap().input().sha256.clone();
    assert_ne!(scaled, frame().unscaled().check().unwrap().input().sha256, "what is done to columns belongs to the data");
}

#[test]
fn an_experiment_says_what_data_it_wants_and_is_written_with_what_it_got() {
    let data = good().named("mine").check().unwrap();
    let source = |text: &str| serde_json::from_str::<Source>(text).unwrap();
    let asks = |text: &str| source(text).downcast::<Given>().unwrap().filled(data.clone()).map_err(|error| error.to_string());
    let filled = Source::new(asks(r#"{"kind": "given", "name": "mine"}"#).unwrap());
    let text = serde_json::to_string(&filled).unwrap();
    assert_eq!(text, format!(r#"{{"kind":"given","name":"mine","rows":4,"features":2,"sha256":"{}"}}"#, data.input().sha256));
    assert!(asks(&text).is_ok(), "what was written can be read and filled again");
    let refused = |text: &str| asks(text).unwrap_err();
    assert_eq!(refused(r#"{"kind": "given"}"#), "[problem] source.name = data: the program gives data with mine");
    assert!(
        refused(r#"{"kind": "given", "name": "mine", "rows": 5}"#).starts_with("[problem] source.rows = 5: the program gives data with 4")
    );
    assert!(refused(r#"{"kind": "given", "name": "mine", "features": 1}"#).starts_with("[problem] source.features = 1"));
    assert!(refused(r#"{"kind": "given", "name": "mine", "sha256": "00"}"#).starts_with("[problem] source.sha256 = 00"));

    let without = ProblemConfig { model: Some(ridge()), ..ProblemConfig::new(source(r#"{"kind": "given", "name": "mine"}"#)) };
    let error = Problem::build(&without, Path::new(""), 0).err().unwrap().to_string();
    assert!(error.starts_with("the data `mine` come from a program, which has to give them"), "{error}");
    let with = ProblemConfig { source: filled, ..without };
    let problem = Problem::build(&with, Path::new(""), 0).unwrap();
    assert_eq!(problem.inputs, [data.input().clone()]);
    assert_eq!(numbers(&problem), numbers(&data.problem(ridge(), Holdout::default(), 0).unwrap()));
}

#[test]
fn rows_without_clients_are_dealt_by_the_split_of_an_experiment() {
    let data = rows().numbers(vec![0.5, 1.5, 2.5, 3.5]).check().unwrap();
    let split = serde_json::from_str(r#"{"kind": "contiguous", "clients": 2}"#).unwrap();
    let config = ProblemConfig { split: Some(split), model: Some(ridge()), ..ProblemConfig::new(Source::new(Given::of(data.clone()))) };
    assert_eq!(Problem::build(&config, Path::new(""), 0).unwrap().shards.len(), 2);
    let error = Problem::build(&ProblemConfig { split: None, ..config }, Path::new(""), 0).err().unwrap();
    assert!(matches!(error, ProblemError::Missing { section: "split", kind: "given" }));
}

#[test]
fn a_start_is_a_vector_that_fits_or_the_bytes_of_a_file() {
    let source = Source::new(Given::of(good().check().unwrap()));
    let config = ProblemConfig { model: Some(ridge()), ..ProblemConfig::new(source) };
    let build = |weights: Weights| Problem::build(&ProblemConfig { weights: Some(weights), ..config.clone() }, Path::new(""), 0);
    let started = build(Vector::from(vec![3.0, 4.0]).into()).unwrap();
    assert_eq!(started.start().f64s(), [3.0, 4.0]);
    assert_eq!(started.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), ["data", "start"]);
    let refused = |weights: Weights| build(weights).err().unwrap();
    let wrong = refused(Vector::from(vec![3.0f32, 4.0]).into());
    assert!(matches!(wrong, ProblemError::Start { found: 2, found_bits: 32, wanted: 2, wanted_bits: 64 }), "{wrong}");
    assert!(matches!(refused(Vector::from(vec![3.0]).into()), ProblemError::Start { found: 1, wanted: 2, .. }));
    assert!(matches!(refused(Vector::from(vec![3.0, f64::NAN]).into()), ProblemError::StartNotFinite { at: 1, .. }));
    assert!(refused(vec![1u8, 2, 3].into()).to_string().contains("`weights` is for networks"));
    let functions = ProblemConfig::new(serde_json::from_str(r#"{"kind": "lrs", "clients": 2, "examples": 3, "dim": 2}"#).unwrap());
    let start = Vector::from(vec![0.5; 2]);
    let started = Problem::build(&ProblemConfig { weights: Some(start.into()), ..functions.clone() }, Path::new(""), 0).unwrap();
    assert_eq!(started.start().at(0), 0.5, "functions of a source start at vectors, too");
    let bytes = ProblemConfig { weights: Some(vec![0u8].into()), ..functions };
    assert!(matches!(Problem::build(&bytes, Path::new(""), 0), Err(ProblemError::Superfluous { section: "weights", .. })));
    let text = serde_json::to_string(&ProblemConfig { weights: Some(vec![7u8; 3].into()), ..config.clone() }).unwrap();
    assert!(text.contains(r#""weights":{"given":"weights","bytes":3,"sha256":""#), "{text}");
    assert!(serde_json::from_str::<ProblemConfig>(&text).is_err(), "only a program can give them again");
}
