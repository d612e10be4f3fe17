//! The LIBSVM reader: what it accepts, and what it says about what it does not.

use std::fs;
use std::io::Write;
use std::path::Path;

use motet_problems::source::{LabelMode, Libsvm};
use motet_problems::{Dataset, Folders, Indices, Matrix, Targets};
use tempfile::TempDir;

fn folder_with(name: &str, bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, bytes).unwrap();
    folder
}

fn beside(folder: &Path) -> Folders {
    Folders::new(folder.to_path_buf(), None)
}

fn config(json: &str) -> Libsvm {
    serde_json::from_str(json).unwrap()
}

fn read_as(text: &str, json: &str) -> Result<Dataset, String> {
    let folder = folder_with("data", text.as_bytes());
    config(json).open(&beside(folder.path())).map(|(dataset, _)| dataset).map_err(|error| error.to_string())
}

fn read(text: &str) -> Result<Dataset, String> {
    read_as(text, r#"{"path": "data"}"#)
}

fn labels(text: &str) -> (Vec<u32>, u32) {
    match read(text).unwrap().targets {
        Targets::Classes { labels, classes } => (labels, classes),
        other => panic!("no classes but {other:?}"),
    }
}

fn dense(dataset: &Dataset) -> (usize, Vec<f64>) {
    let dense = dataset.features.to_dense();
    (dense.cols, dense.values.into_vec())
}

#[test]
fn comments_blank_lines_tabs_and_missing_features_are_understood() {
    let text = "# a file\n+1 1:0.5 3:-2e1 # tail\n\n-1\t2:1\r\n   \n-1\n+1 4:0";
    let data = read(text).unwrap();
    assert_eq!(data.len(), 4);
    assert_eq!(dense(&data), (4, vec![0.5, 0.0, -20.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(data.features.stored(), 3, "an explicit zero is not stored");
    assert!(data.features.check().is_ok());
}

#[test]
fn the_number_of_features_may_be_given() {
    let data = read_as("1 2:1\n-1 1:1\n", r#"{"path": "data", "features": 5}"#).unwrap();
    assert_eq!(data.features.cols(), 5);
    assert_eq!(read("1 2:1\n-1 1:1\n").unwrap().features.cols(), 2);
}

#[test]
fn values_that_are_all_one_are_not_stored_and_narrow_indices_suffice() {
    let Matrix::Sparse(ones) = read("1 1:1 3:1.0\n-1 65536:1\n").unwrap().features else { panic!("sparse") };
    assert_eq!((ones.indices, ones.values), (Indices::U16(vec![0, 2, 65535]), None));
    let Matrix::Sparse(wide) = read("1 1:1 3:1.0\n-1 2:7 65537:1\n").unwrap().features else { panic!("sparse") };
    assert_eq!((wide.indices, wide.values), (Indices::U32(vec![0, 2, 1, 65536]), Some(vec![1.0, 1.0, 7.0, 1.0])));
}

#[test]
fn the_one_is_the_positive_class_of_every_binary_convention() {
    assert_eq!(labels("-1\n+1\n-1.0\n"), (vec![0, 1, 0], 2));
    assert_eq!(labels("0\n1\n0\n"), (vec![0, 1, 0], 2));
    assert_eq!(labels("1\n2\n1\n"), (vec![1, 0, 1], 2));
    assert_eq!(labels("1\n1\n"), (vec![1, 1], 2));
}

#[test]
fn other_whole_numbers_are_classes_in_ascending_order_and_fractions_are_quantities() {
    assert_eq!(labels("7\n-3\n0\n7\n"), (vec![2, 0, 1, 2], 3));
    assert_eq!(labels("5\n3\n"), (vec![1, 0], 2));
    assert_eq!(read("1\n0.5\n-1\n").unwrap().targets, Targets::Numbers(vec![1.0, 0.5, -1.0]));
    let whole = read_as("1\n2\n", r#"{"path": "data", "labels": "numbers"}"#).unwrap();
    assert_eq!(whole.targets, Targets::Numbers(vec![1.0, 2.0]));
}

#[test]
fn the_authors_reading_is_positive_unless_minus_one() {
    let data = read_as("1\n2\n-1\n0\n", r#"{"path": "data", "labels": "author"}"#).unwrap();
    assert_eq!(data.targets, Targets::Classes { labels: vec![1, 1, 0, 1], classes: 2 });
    assert_eq!(config(r#"{"path": "data"}"#).labels, LabelMode::Auto);
}

#[test]
fn every_fault_names_file_line_and_what_is_wrong() {
    let long = format!("1 1:{}", "x".repeat(100));
    let cases = [
        ("1 1:1\nabc 1:1\n", "data, line 2: label `abc` is not a number"),
        ("1 1:1\n\n# comment\n1 2:1 hello\n", "data, line 4: `hello` is not index:value"),
        ("1 one:1\n", "data, line 1: index `one` is not a whole number from 1 to 134217728"),
        ("1 -1:1\n", "data, line 1: index `-1` is not a whole number from 1 to 134217728"),
        ("1 99999999999:1\n", "data, line 1: index `99999999999` is not a whole number from 1 to 134217728"),
        ("1 :1\n", "data, line 1: index `` is not a whole number from 1 to 134217728"),
        ("1 1:1\n1 0:1\n", "data, line 2: index 0: indices count from 1"),
        ("1 2:1 2:3\n", "data, line 1: index 2 appears twice"),
        ("1 5:1 2:3\n", "data, line 1: index 2 comes after 5: indices must ascend"),
        ("1 1:x2\n", "data, line 1: value `x2` of index 1 is not a finite number"),
        ("1 1:\n", "data, line 1: value `` of index 1 is not a finite number"),
        ("1 1:nan\n", "data, line 1: value `nan` of index 1 is not a finite number"),
        ("inf 1:1\n", "data, line 1: label `inf` is not a number"),
        ("1:1 2:1\n", "data, line 1: label `1:1` is not a number"),
        ("1,2 2:1\n", "data, line 1: label `1,2` is not a number"),
        ("1 qid:3 2:1\n", "data, line 1: index `qid` is not a whole number from 1 to 134217728"),
        (
            "1 100000000:1\n",
            "data, line 1: index 100000000 in a file of 14 bytes: if there are so many features, `features = 100000000` says it",
        ),
        ("", "data: no examples in this file"),
        ("# nothing\n\n", "data: no examples in this file"),
        (&long, &format!("data, line 1: value `{}…` of index 1 is not a finite number", "x".repeat(40))),
    ];
    for (text, message) in cases {
        assert_eq!(read(text).unwrap_err(), message);
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_on_one_line() {
    let folder = folder_with("data", b"1 1:1\n\xff\x00\x07 1:1\n");
    let error = config(r#"{"path": "data"}"#).open(&beside(folder.path())).unwrap_err().to_string();
    assert!(error.starts_with("data, line 2: label `") && !error.contains(char::is_control), "{error}");
}

#[test]
fn a_wrong_number_of_labels_or_features_names_the_line() {
    let two = r#"{"path": "data", "classes": 2}"#;
    assert_eq!(read_as("1\n2\n1\n3\n", two).unwrap_err(), "data, line 4: label 3 is one too many: classes = 2, and 1, 2 came before");
    assert_eq!(read_as("1\n1\n", two).unwrap_err(), "data: 1 distinct label(s) in the whole file, but classes = 2");
    let fractional = read_as("1\n0.5\n", two).unwrap_err();
    assert!(fractional.starts_with("data, line 2: label 0.5 is not a whole number"), "{fractional}");
    let few = read_as("1 1:1\n1 4:1\n", r#"{"path": "data", "features": 3}"#).unwrap_err();
    assert_eq!(few, "data, line 2: index 4 is larger than features = 3");
    assert!(read_as("1\n2\n1\n2\n", two).is_ok());
}

#[test]
fn all_three_compressions_and_plain_text_give_the_same_data_and_their_own_fingerprint() {
    let text = b"1 1:0.25 7:3\n-1 2:1\n".repeat(500);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&text).unwrap();
    let mut bzip = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip.write_all(&text).unwrap();
    let mut xz = xz2::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(&text).unwrap();
    let packed = [
        ("data", text.clone()),
        ("data.gz", gzip.finish().unwrap()),
        ("data.bz2", bzip.finish().unwrap()),
        ("data.xz", xz.finish().unwrap()),
    ];
    let reference = read(std::str::from_utf8(&text).unwrap()).unwrap();
    let mut prints = std::collections::BTreeSet::new();
    for (name, bytes) in packed {
        let folder = folder_with(name, &bytes);
        let (dataset, input) = config(r#"{"path": "data"}"#).open(&beside(folder.path())).unwrap();
        assert_eq!(dataset, reference, "{name}");
        assert_eq!((input.name.as_str(), input.bytes), (name, bytes.len() as u64));
        assert!(prints.insert(input.sha256));
    }
    let known = folder_with("abc", b"1\n");
    let (_, input) = config(r#"{"path": "abc"}"#).open(&beside(known.path())).unwrap();
    assert_eq!(input.sha256, "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865");
}

#[test]
fn a_damaged_archive_is_an_error_that_names_the_file() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&b"1 1:1\n".repeat(1000)).unwrap();
    let bytes = gzip.finish().unwrap();
    let folder = folder_with("cut.gz", &bytes[..bytes.len() / 2]);
    let error = config(r#"{"path": "cut.gz"}"#).open(&beside(folder.path())).unwrap_err().to_string();
    assert!(error.starts_with("cannot read `") && error.contains("cut.gz`: "), "{error}");
}

#[test]
fn files_are_found_beside_the_experiment_first_then_in_the_data_folder_and_one_level_down() {
    let (here, data) = (tempfile::tempdir().unwrap(), folder_with("libsvm/mushrooms", b"1 1:1\n"));
    let folders = Folders::new(here.path().into(), Some(data.path().into()));
    let find = |path: &str| folders.find(Path::new(path));
    assert_eq!(find("mushrooms").unwrap(), data.path().join("libsvm/mushrooms"));
    assert_eq!(find("libsvm/mushrooms").unwrap(), data.path().join("libsvm/mushrooms"));
    fs::write(data.path().join("mushrooms.gz"), b"").unwrap();
    assert_eq!(find("mushrooms").unwrap(), data.path().join("mushrooms.gz"));
    fs::write(here.path().join("mushrooms.xz"), b"").unwrap();
    assert_eq!(find("mushrooms").unwrap(), here.path().join("mushrooms.xz"));
    let names: Vec<_> = motet_problems::data_files(data.path()).unwrap().into_iter().map(|file| file.path).collect();
    assert_eq!(names, [Path::new("libsvm/mushrooms"), Path::new("mushrooms.gz")]);
}

#[test]
fn a_missing_file_says_where_it_was_looked_for() {
    let (here, data) = (tempfile::tempdir().unwrap(), folder_with("sub/other", b""));
    let folders = Folders::new(here.path().into(), Some(data.path().into()));
    let error = config(r#"{"path": "nowhere"}"#).open(&folders).unwrap_err().to_string();
    let expect = format!(
        "no file `nowhere` (plain, .gz, .bz2 or .xz); looked in `{}`, `{}`, `{}`. Set MOTET_DATA to the folder that has it, or bring it in with `motet data import`",
        here.path().display(),
        data.path().display(),
        data.path().join("sub").display()
    );
    assert_eq!(error, expect);
    std::fs::write(data.path().join("sub/mushrooms.gz"), b"").unwrap();
    let misspelt = config(r#"{"path": "mushroms"}"#).open(&folders).unwrap_err().to_string();
    assert!(misspelt.contains("; did you mean `mushrooms`? Set MOTET_DATA"), "{misspelt}");
}
