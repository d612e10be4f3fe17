//! Clients of files, read one by one: the same as all at once, and whatever happens to the file or its index is told.

use std::fs;
use std::path::Path;

use motet_core::ClientId;
use motet_problems::{Folders, Problem, ProblemConfig, ProblemError};
use serde_json::{Value, json};

use crate::population::assert_same_clients;

fn build(folder: &Path, source: &Value, model: &Value, more: Value) -> Result<Problem, ProblemError> {
    let mut whole = json!({"source": source, "model": model, "seed": 3});
    whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let config: ProblemConfig = serde_json::from_value(whole).unwrap();
    let folders = Folders { cache: Some(folder.join("cache")), ..Folders::new("nowhere".into(), Some(folder.to_path_buf())) };
    Problem::build_from(&config, &folders, 0)
}

/// Both ways, the second time with the index that the first has left.
fn same(folder: &Path, source: Value, model: Value) -> (Problem, Problem) {
    let holdout = json!({"validation": 0.2, "test": 0.2});
    let with =
        |hold: &str| build(folder, &source, &model, json!({"hold": hold, "holdout": holdout})).unwrap_or_else(|e| panic!("{source}: {e}"));
    let all = with("all");
    assert_same_clients(&all, &with("touched"), &format!("{source}, index made"));
    let touched = with("touched");
    assert_same_clients(&all, &touched, &format!("{source}, index kept"));
    assert_eq!(all.client_names(), touched.client_names(), "{source}");
    assert_eq!(all.prepared().unwrap(), touched.prepared().unwrap(), "{source}");
    (all, touched)
}

const TABLE: &str = "colour,who,age,height,sick\nred,b,3,,no\nblue,10,4.5,1.5,yes\nred,2,5,2,no\n\nblue,b,8,0,no\n?,2,7,3,yes\nred,b,1,4,yes\ngreen,10,2,1,no\n";

#[test]
fn clients_of_a_table_are_the_same_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    for (name, text) in [
        ("plain.csv", TABLE.to_owned()),
        ("windows.csv", format!("\u{feff}{}", TABLE.replace('\n', "\r\n"))),
        ("cut.csv", TABLE.trim_end().to_owned()),
    ] {
        fs::write(place.join(name), text).unwrap();
        let (_, touched) =
            same(place, json!({"kind": "table", "path": name, "client": "who", "target": "sick"}), json!({"kind": "logistic"}));
        // Some are no numbers, so that all go by their letters.
        assert_eq!(touched.client_names(), ["who 10", "who 2", "who b"]);
    }
    // Quantities, names of categories that are numbers in two spellings, columns left out, decimal commas.
    let text = "who;code;x;y\n1;1;0,5;1,25\n2;1.0;?;2\n1;2;1,5;0,5\n10;1;2,5;-3\n";
    fs::write(place.join("commas.csv"), text).unwrap();
    let source = json!({"kind": "table", "path": "commas.csv", "client": "who", "target": "y", "categories": ["code"], "decimal": ",", "standardise": false});
    let (_, touched) = same(place, source, json!({"kind": "ridge"}));
    assert_eq!((touched.client_names(), touched.start().len()), (["who 1", "who 2", "who 10"].map(String::from).to_vec(), 4));
}

#[test]
fn users_of_leaf_are_the_same_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    // The first user has bytes; the second ends that for everybody after it. Classes go by all labels.
    fs::write(
        place.join("train.json"),
        r#"{"users": ["b", "a"], "user_data": {"b": {"x": [[0.6000001, 1], [0, 0.2], [1, 1], [0, 1], [0.4, 1]], "y": [0, 1, 0, 1, 1]},
            "a" : {"y": [3, 0, 1], "x": [[0.6, 1], [0.123, -4], [0.6000001, 1]]} , "none": {"x": [], "y": []}}, "num_samples": [5, 3]}"#,
    )
    .unwrap();
    fs::write(place.join("test.json"), r#"{"user_data": {"b": {"x": [[0.2, 0.2]], "y": [2]}, "stranger": {"x": [[1, 1]], "y": [0]}}}"#)
        .unwrap();
    let source = json!({"kind": "leaf", "path": "train.json", "test": "test.json"});
    let (_, touched) = same(place, source, json!({"kind": "softmax"}));
    assert_eq!(touched.client_names(), ["a", "b"]);
    // All rows of a user may be k/255 and stand before the number that ends that.
    fs::write(
        place.join("first.json"),
        r#"{"user_data": {"a": {"x": [[0, 1], [1, 1], [1, 0], [0, 0], [0, 1]], "y": [0, 1, 0, 1, 1]}, "b": {"x": [[1, 0], [0.37, 1]], "y": [1, 0]}}}"#,
    )
    .unwrap();
    same(place, json!({"kind": "leaf", "path": "first.json"}), json!({"kind": "softmax"}));
    fs::write(
        place.join("plays.json"),
        r#"{"user_data": {"HAMLET": {"x": ["To b", "o be"], "y": ["e", "~"]}, "LEAR": {"x": ["Howl"], "y": [","]}}}"#,
    )
    .unwrap();
    let letters = json!({"kind": "char-lstm", "vocabulary": 81, "embedding": 3, "hidden": 4});
    let plays = json!({"kind": "leaf", "path": "plays.json"});
    let [all, touched] = ["all", "touched"].map(|hold| build(place, &plays, &letters, json!({"hold": hold})).unwrap());
    assert_same_clients(&all, &touched, "plays");
}

#[cfg(feature = "sqlite")]
#[test]
fn clients_of_sqlite_files_are_the_same_one_by_one() {
    use crate::forms::{Feature, array, fedjax, map, proto, tff};
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let digit = |pixels: &[f32], label: i64| proto(&[("pixels", Feature::Floats(pixels)), ("label", Feature::Whole(label))]);
    // Rows of the clients alternate, and one of them is no k/255.
    let mut rows: Vec<(&str, &str, Vec<u8>)> =
        (0..12).map(|k| ("train", ["f2", "f1", "f3"][k % 3], digit(&[0.2, k as f32 / 255.0], k as i64 % 4))).collect();
    rows.push(("train", "f2", digit(&[0.123, -1.0], 6)));
    rows.push(("test", "f1", digit(&[1.0, 0.0], 3)));
    rows.push(("test", "f9", digit(&[1.0, 0.0], 3)));
    tff(&place.join("digits.sqlite"), &rows);
    let (_, touched) = same(place, json!({"kind": "tff", "path": "digits.sqlite", "test": "test"}), json!({"kind": "softmax"}));
    assert_eq!(touched.client_names(), ["f1", "f2", "f3"]);
    // The same where all rows of a client stand before the first that is no k/255.
    let rows: Vec<_> =
        (0..8).map(|k: i64| ("train", ["f1", "f2"][k as usize / 4], digit(&[1.0, [0.0, 0.37][k as usize / 7]], k % 2))).collect();
    tff(&place.join("first.sqlite"), &rows);
    same(place, json!({"kind": "tff", "path": "first.sqlite"}), json!({"kind": "softmax"}));
    let snippet = |text: &str| proto(&[("snippets", Feature::Text(text))]);
    let said = [
        ("train", "LEAR", "Howl, howl, howl"),
        ("train", "HAMLET", "to be"),
        ("train", "LEAR", "O you"),
        ("train", "HAMLET", "or not to be"),
        ("test", "LEAR", "are"),
    ];
    tff(&place.join("plays.sqlite"), &said.map(|(split, who, text)| (split, who, snippet(text))));
    let model = json!({"kind": "char-lstm", "vocabulary": 90, "embedding": 3, "hidden": 4});
    let source = json!({"kind": "tff", "path": "plays.sqlite", "test": "test", "window": 5});
    let [all, touched] = ["all", "touched"].map(|hold| build(place, &source, &model, json!({"hold": hold})).unwrap());
    assert_same_clients(&all, &touched, "plays");
    let client = |count: u8, pixel: f32| {
        let pixels: Vec<u8> = (0..count).flat_map(|k| [pixel, f32::from(k) / 255.0]).flat_map(f32::to_le_bytes).collect();
        let labels: Vec<u8> = (0..i32::from(count)).flat_map(|k| (k % 2).to_le_bytes()).collect();
        map(&[("pixels", array(&[count, 1, 2], "float32", &pixels)), ("label", array(&[count], "int32", &labels))])
    };
    fedjax(&place.join("packed.sqlite"), &[("b", client(6, 1.0), 6), ("a", client(5, 0.2), 5)]);
    same(place, json!({"kind": "tff", "path": "packed.sqlite"}), json!({"kind": "softmax"}));
    let post = proto(&[("tokens", Feature::Text("use it")), ("title", Feature::Text("x")), ("tags", Feature::Text("a"))]);
    tff(&place.join("posts.sqlite"), &[("train", "7", post)]);
    let error =
        build(place, &json!({"kind": "tff", "path": "posts.sqlite"}), &json!({"kind": "tags"}), json!({"hold": "touched"})).err().unwrap();
    assert!(error.to_string().contains("words are numbered by what everybody wrote"), "{error}");
}

#[test]
fn what_happens_to_a_file_or_its_index_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let file = place.join("a.csv");
    fs::write(&file, TABLE).unwrap();
    let source = json!({"kind": "table", "path": "a.csv", "client": "who", "target": "sick"});
    let touched = || build(place, &source, &json!({"kind": "logistic"}), json!({"hold": "touched"}));
    let ask = |problem: &Problem| problem.population.shard(ClientId(1)).map(|_| ()).map_err(|error| error.to_string());
    let problem = touched().unwrap();
    assert_eq!(ask(&problem), Ok(()));
    let index = fs::read_dir(place.join("cache")).unwrap().next().unwrap().unwrap().path();
    let sound = fs::read(&index).unwrap();
    // Cut off, one letter changed, something else: made again, and said.
    let mut bent = sound.clone();
    let at = bent.len() - 20;
    bent[at] ^= 1;
    for damaged in [&sound[..sound.len() / 2], &bent[..], b"", b"motet-index-1 0\n{}"] {
        fs::write(&index, damaged).unwrap();
        let again = touched().unwrap();
        assert!(again.about.contains("was damaged, and was made again"), "{}", again.about);
        assert_eq!((ask(&again), fs::read(&index).unwrap() == sound), (Ok(()), true));
    }
    // An index that is whole and wrong: no panic, and no other client's rows.
    let text = String::from_utf8(sound[sound.iter().position(|&b| b == b'\n').unwrap() + 1..].to_vec()).unwrap();
    for (from, to) in [("\"train\":3", "\"train\":2"), ("[[0,", "[[0,9"), ("\"name\":\"2\"", "\"name\":\"3\"")] {
        assert!(text.contains(from), "{from} in {text}");
        let other = text.replace(from, to);
        use sha2::Digest;
        let sum: String = sha2::Sha256::digest(&other).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&index, format!("motet-index-1 {sum}\n{other}")).unwrap();
        let problem = touched().unwrap();
        let said: Vec<String> = (0..3).filter_map(|k| problem.population.shard(ClientId(k)).err()).map(|e| e.to_string()).collect();
        assert!(said.iter().any(|said| said.contains("is not where the index says")), "{to}: {said:?}");
    }
    fs::write(&index, &sound).unwrap();
    // The file changes, then goes, while a run asks for clients.
    let problem = touched().unwrap();
    fs::write(&file, TABLE.replace("red,b,3", "red,b,39")).unwrap();
    assert!(ask(&problem).unwrap_err().contains("changed while clients were read from it"));
    // One as long and as old as the one before is another file all the same.
    #[cfg(unix)]
    {
        let problem = touched().unwrap();
        let about = fs::metadata(&file).unwrap();
        let other = place.join("other.csv");
        fs::write(&other, TABLE.replace("red,b,3", "red,b,38")).unwrap();
        fs::File::options().write(true).open(&other).unwrap().set_modified(about.modified().unwrap()).unwrap();
        fs::rename(&other, &file).unwrap();
        assert_eq!(about.len(), fs::metadata(&file).unwrap().len());
        assert!(ask(&problem).unwrap_err().contains("changed while clients were read from it"));
    }
    let (new, old) = (touched().unwrap(), TABLE.len());
    assert_eq!((ask(&new), fs::metadata(&file).unwrap().len() as usize), (Ok(()), old + 1), "another file has an index of its own");
    fs::remove_file(&file).unwrap();
    let gone = ask(&new).unwrap_err();
    assert!(gone.contains("its data cannot be read: cannot read") && gone.contains("a.csv"), "{gone}");
}

#[test]
fn what_cannot_be_read_one_by_one_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::write(place.join("a.csv"), TABLE).unwrap();
    fs::write(place.join("b.csv.gz"), crate::forms::gzip(TABLE.as_bytes())).unwrap();
    fs::write(place.join("sent.json"), r#"{"user_data": {"u": {"x": [["1", "d", "q", "u", "so good"]], "y": [1]}}}"#).unwrap();
    let said = |source: Value, more: Value| build(place, &source, &json!({"kind": "logistic"}), more).err().map(|error| error.to_string());
    let table = |path: &str| json!({"kind": "table", "path": path, "client": "who", "target": "sick"});
    let touched = || json!({"hold": "touched"});
    for (source, more, part) in [
        (table("b.csv"), touched(), "it is packed; unpack it first"),
        (
            json!({"kind": "table", "path": "a.csv", "client": "who", "target": "sick", "least_rows": 2}),
            touched(),
            "`least_rows` counts everybody's rows",
        ),
        (json!({"kind": "leaf", "path": "sent.json"}), touched(), "words are numbered by what everybody wrote"),
        (json!({"kind": "table", "path": "a.csv", "target": "sick"}), touched(), "the source `table` reads all its clients at once"),
        (table("a.csv"), json!({"hold": "touched", "split": {"kind": "iid", "clients": 2}}), "each keeps its own examples"),
        (
            json!({"kind": "table", "path": "a.csv", "client": "who", "target": "age", "targets": "numbers", "drop": ["weight"]}),
            touched(),
            "source.drop",
        ),
    ] {
        let error = said(source.clone(), more).unwrap_or_default();
        assert!(error.contains(part), "{source}: {error}");
    }
    // A small file is read at once where nothing is said, and so is what a split deals anew.
    assert_eq!(build(place, &table("a.csv"), &json!({"kind": "logistic"}), json!({})).unwrap().shards.len(), 3);
}
