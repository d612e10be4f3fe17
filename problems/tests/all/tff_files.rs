//! SQLite files in the forms of TensorFlow Federated and FedJAX, written here as their own programs write them.

use std::fs;
use std::path::{Path, PathBuf};

use motet_problems::{DataSummary, Dataset, Folders, Matrix, ProblemConfig, ProblemError, Source, Targets, Usage};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::forms::{Feature, array, fedjax, field, map, proto, texts, tff};

fn census(folder: &Path, source: Value) -> Result<DataSummary, ProblemError> {
    let config: ProblemConfig = serde_json::from_value(json!({ "source": source })).unwrap();
    DataSummary::of(&config, &Folders::new(PathBuf::from("nowhere"), Some(folder.to_path_buf())), 0)
}

fn examples(source: Value) -> Dataset {
    serde_json::from_value::<Source>(source).unwrap().examples(0).unwrap()
}

fn digit(pixels: &[f32], label: i64) -> Vec<u8> {
    proto(&[("pixels", Feature::Floats(pixels)), ("label", Feature::Whole(label))])
}

#[test]
fn emnist_of_tensorflow_federated_has_writers_and_named_splits() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("emnist_all.sqlite");
    let [paper, ink] = [[1.0, 0.2, 1.0], [0.0, 0.4, 0.6]];
    tff(
        &file,
        &[
            ("all_train", "f0002_41", digit(&paper, 61)),
            ("all_train", "f0001_41", digit(&ink, 3)),
            ("all_test", "f0001_41", digit(&paper, 3)),
            ("all_train", "f0002_41", digit(&ink, 0)),
            ("digits_only_train", "f0001_41", digit(&ink, 3)),
        ],
    );
    let source = json!({"kind": "tff", "path": "emnist_all.sqlite", "train": "all_train", "test": "all_test"});
    let found = census(folder.path(), source).unwrap();
    let clients: Vec<_> = found.clients.iter().map(|c| (c.name.as_deref().unwrap(), c.train, c.test)).collect();
    assert_eq!((found.features, found.labels.len(), clients), (3, 62, vec![("f0001_41", 1, 1), ("f0002_41", 2, 0)]));
    let data = examples(json!({"kind": "tff", "path": file, "train": "all_train"}));
    let Matrix::Bytes(pixels) = &data.features else { panic!("k/255 stay bytes") };
    // By client, as the file's index has them.
    assert_eq!((pixels.row(0), pixels.row(1)), (&[0, 102, 153][..], &[255, 51, 255][..]));
    assert_eq!((data.keys.as_deref(), data.usages), (Some(&[0, 1, 1][..]), None));
    // The first client by name alone.
    let one = census(folder.path(), json!({"kind": "tff", "path": "emnist_all.sqlite", "train": "all_train", "clients": 1})).unwrap();
    assert_eq!((one.clients.len(), one.clients[0].train), (1, 1));
    for (key, source) in [
        ("source.train", json!({"train": "train"})),
        ("source.train", json!({})),
        ("source.test", json!({"train": "all_train", "test": "test"})),
    ] {
        let mut whole = json!({"kind": "tff", "path": "emnist_all.sqlite"});
        whole.as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
        let error = census(folder.path(), whole).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("are \"all_test\", \"all_train\", \"digits_only_train\""), "{error}");
    }
}

#[test]
fn images_of_whole_numbers_are_pixels_and_other_features_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.sqlite");
    // Images of CIFAR-100 are int64, one after another; a file of one split needs no name of it.
    let image = field(1, &[field(1, b"image"), field(2, &field(3, &field(1, &[0, 255, 1, 51])))].concat());
    let rest = [("coarse_label", Feature::Whole(1)), ("label", Feature::Whole(7)), ("weight", Feature::Floats(&[0.123]))];
    let both = [field(1, &image), proto(&rest)].concat();
    tff(&file, &[("N/A", "0", both)]);
    let data = examples(json!({"kind": "tff", "path": file}));
    let Matrix::Bytes(pixels) = &data.features else { panic!("bytes stay bytes") };
    assert_eq!(pixels.row(0), [0, 255, 51]);
    let data = examples(json!({"kind": "tff", "path": file, "x": "weight", "y": "coarse_label"}));
    assert_eq!(data.features.to_dense().values, [f64::from(0.123f32)]);
    assert_eq!(data.targets, Targets::Classes { labels: vec![1], classes: 2 });
}

#[test]
fn shakespeare_and_stack_overflow_become_what_their_own_sources_make_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shakespeare.sqlite");
    let snippet = |text: &str| proto(&[("snippets", Feature::Text(text))]);
    tff(&file, &[("train", "HAMLET", snippet("to")), ("test", "HAMLET", snippet("d~")), ("train", "HAMLET", snippet("d"))]);
    let data = examples(json!({"kind": "tff", "path": file, "test": "test", "window": 4}));
    // Tokens: 88 begin, 89 end, 87 unknown; `d`, `t` and `o` are the first, the fifth and the 24th of the 86.
    let [d, t, o] = [1.0, 5.0, 24.0];
    let rows = [88.0, t, o, 89.0, 88.0, 88.0, d, 89.0, 0.0, 0.0, 88.0, d, 87.0, 89.0, 0.0];
    assert_eq!((data.features.to_dense().values.into_vec(), data.features.cols()), (rows.to_vec(), 5));
    assert_eq!(data.usages, Some(vec![Usage::Train, Usage::Train, Usage::Test]));
    let file = folder.path().join("stackoverflow.sqlite");
    let post =
        |tokens, title, tags| proto(&[("tokens", Feature::Text(tokens)), ("title", Feature::Text(title)), ("tags", Feature::Text(tags))]);
    tff(
        &file,
        &[
            ("train", "7", post("use the index .", "slow join", "mysql|join")),
            ("train", "12", post("the index", "the join", "join")),
            ("test", "7", post("the new index", "join", "new|join")),
            ("train", "12", post("no tag known", "", "rare")),
        ],
    );
    let bag = examples(json!({"kind": "tff", "path": file, "test": "test", "words": 3, "tags": 2, "weigh": "share"}));
    // Most frequent to train on: the (3), index and join (2 each); tags join, then mysql by the alphabet.
    let expected = [0.5, 0.25, 0.25, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.25, 0.25, 0.25];
    assert_eq!(bag.features.to_dense().values, expected);
    assert_eq!(bag.targets, Targets::Tags { starts: vec![0, 1, 3, 4], tags: vec![0, 0, 1, 0], classes: 2 });
    assert_eq!((bag.names, bag.keys), (vec!["12".to_owned(), "7".to_owned()], Some(vec![0, 1, 1])));
    let sentences = examples(json!({"kind": "tff", "path": file, "form": "sentences", "words": 2, "length": 2}));
    // Titles are no sentences: the (2), index (2); 3 unknown, 4 begin, 5 end.
    assert_eq!(sentences.features.to_dense().values[..8], [4.0, 2.0, 1.0, 5.0, 4.0, 3.0, 3.0, 5.0]);
}

#[test]
fn files_of_fedjax_hold_clients_as_packed_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let floats = |all: &[f32]| all.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let client = |pixels: &[f32], labels: &[i32]| {
        let bytes: Vec<u8> = labels.iter().flat_map(|v| v.to_le_bytes()).collect();
        let count = labels.len() as u8;
        map(&[("pixels", array(&[count, 1, 2], "float32", &floats(pixels))), ("label", array(&[count], "int32", &bytes))])
    };
    let [train, test] = ["train.sqlite", "test.sqlite"].map(|name| folder.path().join(name));
    fedjax(&train, &[("b:f2", client(&[1.0, 0.0, 0.2, 0.4], &[2, 0]), 2), ("a:f1", client(&[0.6, 0.8], &[1]), 1)]);
    fedjax(&test, &[("a:f1", client(&[0.0, 0.0], &[1]), 1)]);
    let source = json!({"kind": "tff", "path": "train.sqlite", "test_path": "test.sqlite"});
    let found = census(folder.path(), source).unwrap();
    let clients: Vec<_> = found.clients.iter().map(|c| (c.name.as_deref().unwrap(), c.train, c.test)).collect();
    assert_eq!((found.features, found.labels, clients), (2, vec![1, 2, 1], vec![("a:f1", 1, 1), ("b:f2", 2, 0)]));
    let error = census(folder.path(), json!({"kind": "tff", "path": "train.sqlite", "train": "train"})).unwrap_err().to_string();
    assert!(error.contains("files of FedJAX have no splits"), "{error}");
    let plays = folder.path().join("plays.sqlite");
    fedjax(&plays, &[("HAMLET", map(&[("snippets", texts(&["to", "d"]))]), 2)]);
    let data = examples(json!({"kind": "tff", "path": plays, "window": 6}));
    assert_eq!(data.features.to_dense().values, [88.0, 5.0, 24.0, 89.0, 88.0, 1.0, 89.0]);
}

#[test]
fn damaged_and_foreign_files_are_named_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let source = || json!({"kind": "tff", "path": "a.sqlite"});
    let whole: Vec<_> = (0..200).map(|k| ("train", ["ann", "bob"][k % 2], digit(&[0.5; 40], k as i64 % 3))).collect();
    let fresh = |rows: &[(&str, &str, Vec<u8>)]| {
        let _ = fs::remove_file(place.join("a.sqlite"));
        tff(&place.join("a.sqlite"), rows);
    };
    fresh(&whole);
    assert!(census(place, source()).is_ok());
    let bytes = fs::read(place.join("a.sqlite")).unwrap();
    let trial = |bytes: &[u8]| {
        fs::write(place.join("a.sqlite"), bytes).unwrap();
        census(place, source()).unwrap_err().to_string()
    };
    // Cut off anywhere, or a page overwritten: an error, never a smaller data set.
    for cut in [20, 1000, bytes.len() / 3, bytes.len() / 2, bytes.len() - 4096] {
        let error = trial(&bytes[..cut]);
        assert!(error.contains("a.sqlite, "), "{error}");
    }
    let mut bent = bytes.clone();
    let page = bent.len() / 2 / 4096 * 4096;
    bent[page..page + 200].fill(0xee);
    assert!(trial(&bent).contains("a.sqlite, "));
    for (first, message) in [
        (&b"\xfd7zXZ\0"[..], "unpack it first (xz --decompress)"),
        (b"]\0\0\x80\0", "unpack it first (xz --decompress)"),
        (b"\x1f\x8b\x08", "unpack it first (gunzip)"),
        (b"\x89HDF\r\n", "this is HDF5"),
        (b"hello", "not an SQLite file"),
        (b"", "not an SQLite file"),
    ] {
        let error = trial(first);
        assert!(error.contains("a.sqlite, first bytes: ") && error.contains(message), "{error}");
    }
    for (rows, message) in [
        (vec![("train", "ann", b"\x0a\xff".to_vec())], "row 1, client `ann`: cut off"),
        (
            vec![("train", "ann", digit(&[0.5], 1)), ("train", "ann", digit(&[0.5, 1.0], 1))],
            "row 2, client `ann`: feature `pixels`: 2 numbers after rows of 1",
        ),
        (vec![("train", "ann", digit(&[f32::NAN], 1))], "feature `pixels`: a number that is not finite"),
        (vec![("train", "ann", proto(&[("pixels", Feature::Text("a")), ("label", Feature::Whole(1))]))], "texts where numbers should be"),
        (vec![("train", "ann", proto(&[("pixels", Feature::Whole(256)), ("label", Feature::Whole(1))]))], "not from 0 to 255"),
        (vec![("train", "ann", proto(&[("age", Feature::Whole(256))]))], "the features are `age`: name one of them in x"),
        (vec![("train", "ann", digit(&[0.5], 1)), ("train", "ann", proto(&[("label", Feature::Whole(1))]))], "no feature `pixels`"),
        (vec![], "no examples in this file"),
    ] {
        fresh(&rows);
        let error = census(place, source()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    fresh(&whole);
    Connection::open(place.join("a.sqlite")).unwrap().execute_batch("DELETE FROM examples WHERE rowid = 7").unwrap();
    let error = census(place, source()).unwrap_err().to_string();
    assert!(error.contains("client `ann`: 99 examples, but the file's own count says 100"), "{error}");
    // Whoever is in the examples and not in the list would be left out of every result.
    fresh(&[("train", "ann", digit(&[0.5], 1)), ("train", "bob", digit(&[0.5], 1))]);
    Connection::open(place.join("a.sqlite")).unwrap().execute_batch("DELETE FROM client_metadata WHERE client_id = 'bob'").unwrap();
    let error = census(place, source()).unwrap_err().to_string();
    assert!(error.contains("client `bob`: is not in the file's own list of clients"), "{error}");
    Connection::open(place.join("a.sqlite")).unwrap().execute_batch("DROP TABLE examples").unwrap();
    let error = census(place, source()).unwrap_err().to_string();
    assert!(error.contains("the tables are `client_metadata`: neither examples"), "{error}");
    let packed = map(&[("snippets", texts(&["to"]))]);
    fs::remove_file(place.join("a.sqlite")).unwrap();
    fedjax(&place.join("a.sqlite"), &[("ann", packed.clone(), 2)]);
    let error = census(place, source()).unwrap_err().to_string();
    assert!(error.contains("client `ann`: 1 examples, but the file's own count says 2"), "{error}");
    Connection::open(place.join("a.sqlite")).unwrap().execute("UPDATE federated_data SET data = ?1", [packed]).unwrap();
    let error = census(place, source()).unwrap_err().to_string();
    assert!(error.contains("row 1, client `ann`: zlib: "), "{error}");
}
