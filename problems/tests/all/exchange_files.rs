//! Sources in forms that other programs write: numpy's archives, LEAF's JSON.

use std::fs;
use std::path::{Path, PathBuf};

use motet_problems::{DataSummary, Folders, Matrix, ProblemConfig, ProblemError};
use serde_json::{Value, json};

use crate::forms::{npy, zipped};

fn census(folder: &Path, source: Value, extra: Value) -> Result<DataSummary, ProblemError> {
    let mut problem = json!({ "source": source });
    problem.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let config: ProblemConfig = serde_json::from_value(problem).unwrap();
    DataSummary::of(&config, &Folders::new(PathBuf::from("nowhere"), Some(folder.to_path_buf())), 0)
}

#[test]
fn numpy_archives_are_read_with_clients_and_parts() {
    let folder = tempfile::tempdir().unwrap();
    let write = |files: &[(&str, Vec<u8>)]| fs::write(folder.path().join("a.npz"), zipped(files)).unwrap();
    let x = || ("x.npy", npy("|u1", "(4, 2, 3)", &[7; 24]));
    let y = || ("y.npy", npy("<i8", "(4,)", &[0i64, 2, 1, 2].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()));
    let names = "bob\0ann\0bob\0ann\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>();
    let client = || ("client.npy", npy("<U4", "(4,)", &names));
    let part = || ("part.npy", npy("|u1", "(4,)", &[0, 0, 2, 1]));
    write(&[x(), y(), client(), part()]);
    let source = json!({"kind": "npz", "path": "a.npz"});
    let found = census(folder.path(), source.clone(), json!({})).unwrap();
    let clients: Vec<_> = found.clients.iter().map(|c| (c.name.as_deref().unwrap(), c.train, c.validation, c.test)).collect();
    assert_eq!((found.features, clients), (6, vec![("ann", 1, 1, 0), ("bob", 1, 0, 1)]));
    let floats = [1.0f32, f32::NAN, 0.0, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    type Entries<'a> = &'a [(&'a str, Vec<u8>)];
    let torn =
        [[97u32, 0xd800, 98], [97, 98, 0], [97, 98, 0], [97, 98, 0]].concat().iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let by_columns = npy("<f4", "(4, 1)", &floats[..16]).iter().map(|&byte| if byte == b'F' { b'f' } else { byte }).collect();
    let wrong: [(Entries<'_>, &str); 10] = [
        (&[x()], "archive: no array `y`"),
        (&[x(), y(), y()], "archive: two arrays are called `y`"),
        (&[x(), y(), ("client.npy", npy("<U3", "(4,)", &torn))], "client: row 0: a text with letters that Unicode does not have"),
        (&[("x.npy", by_columns), y()], "x: stored by columns"),
        (&[x(), ("y.npy", npy("<i8", "(3,)", &[0; 24]))], "y: shape [3] for 4 rows of `x`"),
        (&[("x.npy", npy("<f4", "(4, 1)", &floats)), y()], "x: row 1: not a finite number"),
        (&[("x.npy", npy("|u1", "(4, 2, 3)", &[7; 23])), y()], "x: 23 bytes for shape [4, 2, 3]"),
        (&[("x.npy", npy(">f4", "(4, 1)", &floats)), y()], "x: type \">f4\", which this program does not read"),
        (&[("x.npy", b"PNG".to_vec()), y()], "x: not a numpy array"),
        (&[x(), y(), ("part.npy", npy("|u1", "(4,)", &[0, 0, 3, 0]))], "part: row 2: 3 is none of"),
    ];
    for (files, message) in wrong {
        write(files);
        let error = census(folder.path(), source.clone(), json!({"split": {"kind": "iid", "clients": 1}})).unwrap_err().to_string();
        assert!(error.contains(&format!("a.npz, {message}")), "{error}");
    }
}

/// A flipped bit gives another number that is just as sound: only the archive's checksum tells.
#[test]
fn a_digit_that_changed_within_an_archive_is_no_digit_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a\0b", "ab\0", "a\0b", "ab\0"].concat().chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>();
    let whole = zipped(&[
        ("x.npy", npy("|u1", "(4, 1)", &[1, 2, 3, 77])),
        ("y.npy", npy("|u1", "(4,)", &[0, 1, 0, 1])),
        ("client.npy", npy("<U3", "(4,)", &names)),
    ]);
    let source = json!({"kind": "npz", "path": "a.npz"});
    fs::write(folder.path().join("a.npz"), &whole).unwrap();
    // A zero within a name is part of it, and at its end it is none.
    let found = census(folder.path(), source.clone(), json!({})).unwrap();
    assert_eq!(found.clients.iter().map(|c| c.name.as_deref().unwrap()).collect::<Vec<_>>(), ["a\0b", "ab"]);
    let mut other = whole;
    let at = other.iter().position(|&byte| byte == 77).unwrap();
    other[at] ^= 1;
    fs::write(folder.path().join("a.npz"), &other).unwrap();
    let error = census(folder.path(), source, json!({})).unwrap_err().to_string();
    assert_eq!(error, "a.npz, x: x.npy: its checksum does not fit: the archive is damaged");
}

fn leaf(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

#[test]
fn leaf_files_are_read_in_each_of_their_forms() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    leaf(
        place,
        "femnist.json",
        r#"{"users": ["b", "a"], "num_samples": [2, 1], "user_data": {"b": {"x": [[1.0, 0.2], [0, 0.4]], "y": [3, 1]}, "a": {"x": [[0.6, 1]], "y": [0]}}}"#,
    );
    leaf(place, "test.json", r#"{"users": ["a"], "num_samples": [1], "user_data": {"a": {"x": [[0.6, 1]], "y": [3]}}}"#);
    let found = census(place, json!({"kind": "leaf", "path": "femnist.json", "test": "test.json"}), json!({})).unwrap();
    let clients: Vec<_> = found.clients.iter().map(|c| (c.name.as_deref().unwrap(), c.train, c.test)).collect();
    assert_eq!((found.features, found.labels, clients), (2, vec![1, 1, 0, 2], vec![("a", 1, 1), ("b", 2, 0)]));
    leaf(place, "shakespeare.json", r#"{"user_data": {"HAMLET": {"x": ["To b", "o be"], "y": ["e", "~"]}}}"#);
    let source: motet_problems::Source = serde_json::from_value(json!({"kind": "leaf", "path": place.join("shakespeare.json")})).unwrap();
    let data = source.examples(0).unwrap();
    let Matrix::Bytes(tokens) = &data.features else { panic!("characters are bytes") };
    // T, o, space, b, e are characters 44, 67, 1, 54 and 57 of LEAF's eighty; ~ is none of them.
    assert_eq!((tokens.row(0), tokens.row(1)), (&[44, 67, 1, 54, 57][..], &[67, 1, 54, 57, 80][..]));
    leaf(
        place,
        "sent140.json",
        r#"{"user_data": {"u": {"x": [["1", "d", "q", "u", "Good good day"], ["2", "d", "q", "u", "bad day"]], "y": [1, 0]}}}"#,
    );
    let words = census(place, json!({"kind": "leaf", "path": "sent140.json", "words": 2}), json!({})).unwrap();
    assert_eq!((words.features, words.labels), (2, vec![1, 1]));
    fs::create_dir(place.join("many")).unwrap();
    leaf(&place.join("many"), "part_2.json", r#"{"user_data": {"v": {"x": [[0.123, -4]], "y": [0.5]}}}"#);
    leaf(&place.join("many"), "part_1.json", r#"{"user_data": {"w": {"x": [[0, 1]], "y": [1]}}}"#);
    let many = census(place, json!({"kind": "leaf", "path": "many"}), json!({})).unwrap();
    assert_eq!((many.clients.len(), many.labels.len()), (2, 0));
}

#[test]
fn damaged_leaf_files_are_named_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let trial = |text: &str| {
        leaf(folder.path(), "a.json", text);
        census(folder.path(), json!({"kind": "leaf", "path": "a.json"}), json!({})).unwrap_err().to_string()
    };
    for (text, message) in [
        ("{\"user_data\": {\"u\": {\"x\": [[1, 2]],\n \"y\": [1", "a.json, line 2, column"),
        (r#"{"users": []}"#, "missing field `user_data`"),
        (r#"{"user_data": {"u": {"x": [[1, 2]], "y": [1, 2]}}}"#, "user \"u\" has 1 examples and 2 targets"),
        (r#"{"user_data": {"u": {"x": [[1, 2], [1]], "y": [1, 2]}}}"#, "1 numbers after rows of 2"),
        (r#"{"user_data": {"u": {"x": [[1, "a"]], "y": [1]}}}"#, "numbers and texts in one list"),
        (r#"{"user_data": {"u": {"x": [[1], "a"], "y": [1, 1]}}}"#, "texts after numbers"),
        (r#"{"user_data": {"u": {"x": ["abc", "ab"], "y": ["d", "c"]}}}"#, "example 1 has 2 characters, the first has 3"),
        (r#"{"user_data": {"u": {"x": ["abc"], "y": ["long"]}}}"#, "neither a number nor one character"),
        (r#"{"user_data": {}}"#, "no examples"),
        ("[1, 2]", "LEAF's table"),
    ] {
        let error = trial(text);
        assert!(error.contains("a.json") && error.contains(message), "{error}");
    }
}
