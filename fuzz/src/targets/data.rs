//! Data files in every form that a source reads.

use std::path::PathBuf;

use motet::core::{Batch, ClientId, Population, Roster, Seed, Vector};
use motet::problems::{DataSummary, Folders, Holding, Material, Place, Problem, ProblemConfig, ProblemError};
use serde_json::{Value, json};

use super::folder::{Part, Wrap, corpus, replaced, with_input};
use crate::forms::{Feature, array, fedjax, gzip, idx, map, npy, pickled, png, proto, texts, tff, zipped};
use crate::plain::{self, Compare, Found, Opinion};
use crate::target::{Met, Reach, Target};

/// A source and the files it reads: the first byte of an input says which of them is damaged.
pub(super) struct Form {
    name: &'static str,
    problem: Value,
    parts: Vec<Part>,
    words: &'static [&'static str],
    /// The plain reader of the form, where there is one.
    plain: Option<Compare>,
}

/// Every form that is read.
pub(super) fn forms() -> Vec<Form> {
    [numbers(), tables(), pictures(), exchange(), plays(), posts()].concat()
}

impl Clone for Form {
    fn clone(&self) -> Self {
        Self { name: self.name, problem: self.problem.clone(), parts: self.parts.clone(), words: self.words, plain: self.plain }
    }
}

impl Form {
    fn new(name: &'static str, problem: Value, parts: Vec<Part>) -> Self {
        Self {
            name,
            problem,
            parts,
            words: &["0", "-1", "nan", "inf", "1e300", "\n", ",", "\t", ";", "\"", "\0", "\u{feff}", "1,5", "2020-01-01"],
            plain: None,
        }
    }

    fn compared(self, plain: Compare) -> Self {
        Self { plain: Some(plain), ..self }
    }

    fn knowing(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

/// A problem of a source, dealt to one client.
fn of(source: Value, model: Value) -> Value {
    json!({ "source": source, "split": {"kind": "iid", "clients": 1}, "model": model })
}

/// A problem of a source that knows its clients.
fn by_client(source: Value, model: Value) -> Value {
    json!({ "source": source, "model": model })
}

fn softmax() -> Value {
    json!({"kind": "softmax", "l2": 0.1})
}

const ROWS: &str = "1 1:0.5 3:-2\n-1 2:1e-3\n1 1:1 2:1 3:1\n-1\n";

fn numbers() -> Vec<Form> {
    let libsvm = |path: &str| of(json!({"kind": "libsvm", "path": path}), json!({"kind": "logistic", "l2": 0.1}));
    let packed = |name, path, pack: Wrap| Form::new(name, libsvm(path), vec![Part::plain(path, pack(ROWS.as_bytes()))]);
    let list = json!({"files": [{"name": "other.svm", "bytes": 3, "sha256": "0".repeat(64)}]}).to_string();
    vec![
        Form::new("libsvm", libsvm("a.svm"), vec![Part::plain("a.svm", ROWS), Part::plain("motet-import.json", list)])
            .compared(plain::libsvm),
        packed("libsvm-gz", "a.svm.gz", gzip).compared(plain::libsvm_gz),
        Form::new(
            "libsvm-numbers",
            of(json!({"kind": "libsvm", "path": "a.svm", "labels": "numbers", "features": 9}), json!({"kind": "ridge", "l2": 0.1})),
            vec![Part::plain("a.svm", ROWS.replace("-1", "2.5"))],
        )
        .compared(plain::libsvm),
        Form::new(
            "npz",
            by_client(json!({"kind": "npz", "path": "a.npz"}), softmax()),
            vec![Part { name: "a.npz", bytes: array_of_numpy(), wrap: in_npz }, Part::plain("b.npz", in_npz(&array_of_numpy()))],
        )
        .compared(plain::npy),
        Form::new(
            "npz-archive",
            by_client(json!({"kind": "npz", "path": "b.npz"}), softmax()),
            vec![Part::plain("b.npz", in_npz(&array_of_numpy()))],
        )
        .compared(plain::archive),
    ]
}

fn array_of_numpy() -> Vec<u8> {
    npy("<f4", "(4, 3)", &[1.0f32, 2.0, -3.0, 0.5].iter().cycle().take(12).flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// An archive with this array of features.
fn in_npz(x: &[u8]) -> Vec<u8> {
    let y = npy("<i8", "(4,)", &[0i64, 2, 1, 2].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let names = "bob\0ann\0bob\0ann\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>();
    zipped(&[
        ("x.npy", x.to_vec()),
        ("y.npy", y),
        ("client.npy", npy("<U4", "(4,)", &names)),
        ("part.npy", npy("|u1", "(4,)", &[0, 0, 2, 1])),
    ])
}

fn tables() -> Vec<Form> {
    let text = "who,height,colour,when,grade\na,1.0,red,1,2.5\nb,2.0,blue,2,1.5\na,?,red,3,0.5\nb,4.0,,4,3.5\na,3.0,blue,5,4.5\n";
    let table = |path: &str, more: Value| {
        let mut source = json!({"kind": "table", "path": path, "target": "grade", "client": "who"});
        source.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        by_client(source, json!({"kind": "ridge", "l2": 0.1}))
    };
    let european = text.replace(',', ";").replace('.', ",");
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let patient =
        "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n67.0,1.0,4.0,160.0,286.0,0.0,2.0,108.0,1.0,1.5,2.0,?,3.0,2\n";
    vec![
        Form::new("table-csv", table("t.csv", json!({})), vec![Part::plain("t.csv", text)]).compared(plain::table),
        Form::new("table-tsv", table("t.tsv", json!({"categories": ["when"]})), vec![Part::plain("t.tsv", text.replace(',', "\t"))])
            .compared(plain::table),
        Form::new("table-european", table("t.csv", json!({})), vec![Part::plain("t.csv", european)]).compared(plain::table),
        Form::new("table-utf16", table("t.csv", json!({"encoding": "utf-16"})), vec![Part::plain("t.csv", wide)])
            .compared(plain::table_utf16),
        Form::new(
            "table-latin1",
            table("t.csv", json!({"encoding": "latin-1"})),
            vec![Part::plain("t.csv", text.replace("red", "gr\u{fc}n").chars().map(|c| c as u8).collect::<Vec<_>>())],
        )
        .compared(plain::table_latin1),
        Form::new(
            "heart-disease",
            by_client(json!({"kind": "heart-disease", "hospitals": ["a", "b"]}), json!({"kind": "logistic", "l2": 0.1})),
            vec![Part::plain("heart-disease/processed.a.data", patient), Part::plain("heart-disease/processed.b.data", patient)],
        )
        .compared(plain::heart),
    ]
}

fn pictures() -> Vec<Form> {
    let images = || Part::plain("train-images-idx3-ubyte", idx(8, &[3, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255]));
    let labels = || Part::plain("train-labels-idx1-ubyte", idx(8, &[3], &[1, 0, 2]));
    let row = |digit: u32, series: u32, writer: u32| [digit, series, writer, 0, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
    let writers = idx(12, &[3, 8], &[row(1, 0, 7), row(0, 4, 3), row(2, 0, 7)].concat());
    let planes = |red: u8| [[red; 1024], [2; 1024], [3; 1024]].concat();
    let binary = [&[4][..], &planes(10), &[9], &planes(20)].concat();
    let python = pickled("labels", &[4, 9], &[planes(10), planes(20)].concat());
    let cifar = |path: &str| of(json!({"kind": "cifar", "path": path}), json!({"kind": "mlp", "sizes": [2]}));
    let omniglot = json!({"source": {"kind": "omniglot", "paths": ["o.zip"], "side": 4}, "model": {"kind": "mlp", "sizes": [2]}});
    vec![
        Form::new("idx", of(json!({"kind": "idx", "path": ""}), softmax()), vec![images(), labels()]).compared(plain::idx),
        Form::new(
            "idx-writers",
            by_client(json!({"kind": "idx", "path": "", "writers": true}), softmax()),
            vec![images(), labels(), Part::plain("qmnist-train-labels-idx2-int", writers)],
        )
        .compared(plain::idx_writers),
        Form::new("cifar-binary", cifar("c"), vec![Part::plain("c/data_batch_1.bin", binary.clone())]).compared(plain::cifar),
        Form::new("cifar-python", cifar("c"), vec![Part::plain("c/data_batch_1", python.clone())]).compared(plain::pickle),
        Form::new("cifar-tar", cifar("c.tar"), vec![Part { name: "c.tar", bytes: python, wrap: in_tar }]).compared(plain::pickle),
        Form::new("cifar-archive", cifar("c.tar"), vec![Part::plain("c.tar", in_tar(&binary))]).compared(plain::cifar_tar),
        Form::new("pictures", cifar("p"), vec![Part::plain("p/cat/1.png", png(8, 8)), Part::plain("p/dog/1.jpg", jpeg())])
            .compared(plain::pictures),
        Form::new("pictures-png", cifar("p"), vec![Part { name: "p/cat/1.png", bytes: png(8, 8), wrap: with_sums }]).compared(plain::png),
        Form::new("omniglot", omniglot, vec![Part { name: "o.zip", bytes: png(8, 8), wrap: in_zip }]).compared(plain::omniglot),
    ]
}

fn in_tar(bytes: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(vec![]);
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    let name = if bytes.first() == Some(&0x80) { "cifar/data_batch_1" } else { "cifar/data_batch_1.bin" };
    archive.append_data(&mut header, name, bytes).expect("memory can be written");
    archive.into_inner().expect("memory can be written")
}

fn in_zip(bytes: &[u8]) -> Vec<u8> {
    let bytes = with_sums(bytes);
    zipped(&[("o/Latin/character01/0001_01.png", bytes.clone()), ("o/Latin/character02/0002_02.png", bytes)])
}

/// The same PNG with checksums that fit what is in its chunks, so that more than the checksum is tried.
fn with_sums(png: &[u8]) -> Vec<u8> {
    let mut whole = png.to_vec();
    let mut at = 8;
    while let Some(length) = whole.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize) {
        let Some(end) = (at + 8).checked_add(length).filter(|end| end + 4 <= whole.len()) else { break };
        let mut sum = flate2::Crc::new();
        sum.update(&whole[at + 4..end]);
        whole[end..end + 4].copy_from_slice(&sum.sum().to_be_bytes());
        at = end + 4;
    }
    whole
}

/// Eight by eight grey pixels: one block, whose only code is one bit long.
fn jpeg() -> Vec<u8> {
    let table = |class: u8| [&[0xff, 0xc4, 0, 20, class, 1][..], &[0; 15], &[0]].concat();
    [
        &[0xff, 0xd8, 0xff, 0xdb, 0, 67, 0][..],
        &[1; 64],
        &[0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0],
        &table(0),
        &table(0x10),
        &[0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0b0011_1111, 0xff, 0xd9],
    ]
    .concat()
}

fn exchange() -> Vec<Form> {
    let digit = proto(&[("pixels", Feature::Floats(&[1.0, 0.2, 0.0])), ("label", Feature::Whole(3))]);
    let arrays = map(&[("x", array(&[2, 2], "uint8", &[1, 2, 3, 4])), ("y", array(&[2], "uint8", &[0, 1]))]);
    let snippets = map(&[("snippets", texts(&["to be", "or not"]))]);
    let tff_of = |model: Value| by_client(json!({"kind": "tff", "path": "t.sqlite"}), model);
    let snippet_model = json!({"kind": "char-lstm", "embedding": 2, "hidden": 2});
    let numbers = r#"{"users": ["b", "a"], "num_samples": [2, 1], "user_data": {"b": {"x": [[1.0, 0.2], [0, 0.4]], "y": [3, 1]}, "a": {"x": [[0.6, 1]], "y": [0]}}}"#;
    let leaf = |model: Value| by_client(json!({"kind": "leaf", "path": "l.json", "words": 4}), model);
    vec![
        Form::new("tff-example", tff_of(softmax()), vec![Part { name: "t.sqlite", bytes: digit.clone(), wrap: in_tff }])
            .compared(plain::tff_example),
        Form::new("tff-file", tff_of(softmax()), vec![Part::plain("t.sqlite", in_tff(&digit))]).compared(plain::tff_file),
        Form::new("fedjax-arrays", tff_of(softmax()), vec![Part { name: "t.sqlite", bytes: arrays, wrap: in_fedjax }])
            .compared(plain::fedjax_arrays),
        Form::new("fedjax-texts", tff_of(snippet_model.clone()), vec![Part { name: "t.sqlite", bytes: snippets, wrap: in_fedjax }]),
        Form::new("leaf-numbers", leaf(softmax()), vec![Part::plain("l.json", numbers)]).compared(plain::leaf),
        Form::new(
            "leaf-text",
            leaf(snippet_model),
            vec![Part::plain("l.json", r#"{"user_data": {"HAMLET": {"x": ["To b", "o be"], "y": ["e", "~"]}}}"#)],
        )
        .compared(plain::leaf_texts),
        Form::new(
            "leaf-words",
            leaf(softmax()),
            vec![Part::plain(
                "l.json",
                r#"{"user_data": {"u": {"x": [["1", "d", "q", "u", "Good good day"], ["2", "d", "q", "u", "bad day"]], "y": [1, 0]}}}"#,
            )],
        )
        .compared(plain::leaf_words),
    ]
    .into_iter()
    .map(|form| {
        form.knowing(&["\"users\"", "\"user_data\"", "\"x\":", "\"y\":", "[", "]", "{", "}", "null", "1e999", "\"\\ud800\"", "\"", ","])
    })
    .collect()
}

/// A database, read back as bytes.
fn database(fill: impl FnOnce(&std::path::Path)) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.sqlite");
    fill(&path);
    std::fs::read(path).expect("a database")
}

fn in_tff(example: &[u8]) -> Vec<u8> {
    database(|path| tff(path, &[("train", "ann", example.to_vec()), ("train", "bob", example.to_vec())]))
}

fn in_fedjax(arrays: &[u8]) -> Vec<u8> {
    database(|path| fedjax(path, &[("ann", arrays.to_vec(), 2), ("bob", arrays.to_vec(), 2)]))
}

const PLAY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<play variant="ps" unique="play"><act num="1"><scene>
  <sp><speaker long="First">FIRST.</speaker><l n="1">Who&#8217;s there&#8212;<stage><dir>Aside.</dir></stage> caf&#233;?</l>
    <l n="2"><foreign>Swear &amp; go.</foreign></l></sp>
  <sp><speaker long="Second">SECOND.</speaker><l>O, speak, and say what you have seen tonight.</l></sp>
</scene></act></play>"#;

fn plays() -> Vec<Form> {
    let shakespeare = |path: &str| {
        let source = json!({"kind": "shakespeare", "path": path, "window": 4, "characters": 1});
        by_client(source, json!({"kind": "char-lstm", "embedding": 2, "hidden": 2, "padding": 0}))
    };
    let speeches = "{\"play\": \"x\", \"role\": \"A\", \"text\": \"One\\ntwo\"}\n{\"play\": \"x\", \"role\": \"B\", \"text\": \"Three\"}\n";
    vec![
        Form::new("plays-xml", shakespeare("p.xml"), vec![Part::plain("p.xml", PLAY)]),
        Form::new("plays-jsonl", shakespeare("s.jsonl"), vec![Part::plain("s.jsonl", speeches)]).compared(plain::play_lines),
        Form::new("plays-text", shakespeare("t.txt"), vec![Part::plain("t.txt", "A:\nOne\ntwo\n\nB:\nThree\n\nSILENT:\n\nA:\nFour\n")])
            .compared(plain::play_blocks),
    ]
    .into_iter()
    .map(|form| {
        form.knowing(&[
            "<sp>",
            "</sp>",
            "<speaker long=\"",
            "<l>",
            "&amp;",
            "&#0;",
            "&#1114112;",
            "<!--",
            "<![CDATA[",
            "\"role\":",
            ":\n",
            "\n\n",
        ])
    })
    .collect()
}

const POSTS: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" OwnerUserId="7" Title="What is tea?" Body="&lt;p&gt;Tea is tea. Leaves &amp;amp; water!&lt;/p&gt;" Tags="&lt;tea&gt;&lt;water&gt;" />
  <row Id="2" PostTypeId="2" ParentId="1" OwnerUserId="9" Body="&lt;p&gt;Water tea&lt;/p&gt;" />
  <row Id="5" PostTypeId="1" OwnerUserId="9" Title="Rare" Body="" Tags="|tea|" />
</posts>"#;

fn posts() -> Vec<Form> {
    let exchange = |form: &str, model: Value| {
        by_client(json!({"kind": "stackexchange", "paths": ["P.xml"], "words": 4, "tags": 2, "form": form, "length": 3}), model)
    };
    let comments = json!({"kind": "goemotions", "words": 3, "length": 4, "form": "bag"});
    let pieces = json!({"kind": "goemotions", "length": 4, "vocabulary": "vocab.txt", "labels": "ekman"});
    let files = || {
        vec![
            Part::plain("goemotions/train.tsv", "So happy, so so\t1\ta\nlove and joy\t1,2\tb\nlove it\t2\tc\nok\t3\tf\n"),
            Part::plain("goemotions/dev.tsv", "so angry\t0\td\n"),
            Part::plain("goemotions/test.tsv", "never seen\t3\te\n"),
            Part::plain("goemotions/emotions.txt", "anger\njoy\nlove\nneutral\n"),
            Part::plain("goemotions/ekman_mapping.json", r#"{"joy": ["joy", "love"], "anger": ["anger"]}"#),
            Part::plain("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nso\nhappy\nang\n##ry\n"),
        ]
    };
    let bert = json!({"kind": "bert", "vocabulary": 8, "hidden": 4, "layers": 1, "heads": 2, "inner": 4});
    let word_lstm = json!({"kind": "word-lstm", "vocabulary": 8, "embedding": 2, "hidden": 2});
    let markup: &[&str] =
        &["<row ", "/>", "Id=\"", "PostTypeId=\"1\"", "Body=\"", "&lt;", "&amp;", "&#x110000;", "Tags=\"&lt;a&gt;\"", "\"", "4294967296"];
    vec![
        Form::new("posts-bags", exchange("bag", json!({"kind": "tags"})), vec![Part::plain("P.xml", POSTS)]).knowing(markup),
        Form::new("posts-sentences", exchange("sentences", word_lstm), vec![Part::plain("P.xml", POSTS)]).knowing(markup),
        Form::new("comments-bags", of(comments, softmax()), files()).compared(plain::comments),
        Form::new("comments-pieces", of(pieces, bert), files()),
    ]
}

impl Target for Form {
    fn name(&self) -> String {
        format!("data/{}", self.name)
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        corpus(&self.parts)
    }

    fn words(&self) -> Vec<String> {
        self.words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn head(&self) -> usize {
        1
    }

    fn run(&self, input: &[u8], reach: Reach) -> Met {
        let config: ProblemConfig = serde_json::from_value(self.problem.clone()).expect("a problem of a form");
        with_input(self.name, &self.parts, input, |folder| {
            let folders = Folders::new(PathBuf::from("nowhere"), Some(folder.to_path_buf()));
            let census = match DataSummary::with_albums(&config, &folders, 0) {
                Ok((census, _)) => census,
                Err(error) => return Met::of(Err::<(), _>(error)),
            };
            // A model of a hundred million numbers is what was asked for, and takes its time.
            if reach == Reach::Quick && census.features > 100_000 {
                return Met::Taken;
            }
            let built = Problem::build_from(&config, &folders, 0);
            one_by_one(&config, &folders, built.as_ref());
            match built {
                Ok(problem) => {
                    let opinion = self.opinion(&config, &folders, input);
                    assert!(!matches!(opinion, Opinion::Different(_)), "a plain reader reads something else: {opinion:?}");
                    judged(&problem)
                }
                Err(error) => Met::of(Err::<(), _>(error)),
            }
        })
    }
}

impl Form {
    /// What the plain reader of the form thinks of what we make of files that were taken, one of which is in the input.
    fn opinion(&self, config: &ProblemConfig, folders: &Folders, input: &[u8]) -> Opinion {
        let Some(compare) = self.plain else { return Opinion::None };
        let mut files: Vec<Vec<u8>> = self.parts.iter().map(|part| part.bytes.clone()).collect();
        let (at, bytes) = replaced(&self.parts, input);
        files[at] = bytes.to_vec();
        match config.source.load(&Place { folders, seed: Seed(config.seed_of(0)), hold: None }) {
            Ok(Material::Examples { dataset, .. }) => compare(&files, &Found { dataset: &dataset, fields: &[] }),
            Ok(Material::Table { dataset, fields, .. }) => compare(&files, &Found { dataset: &dataset, fields: &fields }),
            Ok(_) => Opinion::None,
            Err(error) => Opinion::Different(format!("it was read once, and not again: {error}")),
        }
    }
}

/// Clients who are read one by one are those who are read at once, and none where reading at once is refused.
fn one_by_one(config: &ProblemConfig, folders: &Folders, at_once: Result<&Problem, &ProblemError>) {
    // Where a split deals examples anew, everybody's are needed.
    let touched = ProblemConfig { hold: Some(Holding::Touched), ..config.clone() };
    let (None, Ok(problem)) = (&config.split, Problem::build_from(&touched, folders, 0)) else { return };
    let start = problem.start();
    let x = Vector::with_precision((0..start.len()).map(|k| 0.1 + k as f64 / 7.0), start.precision());
    let loss = |population: &dyn Population, client: u32| -> Result<u64, String> {
        let shard = population.shard(ClientId(client)).map_err(|e| e.to_string())?;
        Ok(shard.train.value(&x, Batch { buffers: shard.train.buffers().as_mut(), ..Batch::all() }).to_bits())
    };
    let Roster::Counted(clients) = problem.population.roster() else { return };
    let found: Result<Vec<u64>, String> = (0..clients).map(|client| loss(&*problem.population, client)).collect();
    match (at_once, found) {
        (Ok(whole), found) => {
            let wanted: Result<Vec<u64>, String> = (0..whole.shards.len() as u32).map(|client| loss(&*whole.population, client)).collect();
            assert_eq!(found, wanted, "clients one by one are others");
        }
        (Err(error), Ok(_)) => panic!("clients one by one are taken, and refused at once: {error}"),
        (Err(_), Err(_)) => {}
    }
}

/// What was read must give numbers: every client's loss at the start.
fn judged(problem: &Problem) -> Met {
    for (client, shard) in problem.shards.iter().enumerate() {
        let loss = shard.train.value(&problem.start(), Batch { buffers: shard.train.buffers().as_mut(), ..Batch::all() });
        assert!(loss.is_finite(), "client {client} has a loss of {loss} where it begins");
    }
    Met::Taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a form's plain reader thinks of `shown`, where its files are as `written` says.
    fn thinks(form: &Form, written: &[u8], shown: &[u8]) -> Opinion {
        let config: ProblemConfig = serde_json::from_value(form.problem.clone()).unwrap();
        with_input(form.name, &form.parts, written, |folder| {
            form.opinion(&config, &Folders::new(PathBuf::from("nowhere"), Some(folder.to_path_buf())), shown)
        })
    }

    #[test]
    fn plain_readers_agree_on_sound_files_and_notice_other_numbers() {
        let compared: Vec<Form> = forms().into_iter().filter(|form| form.plain.is_some()).collect();
        assert_eq!(compared.len(), 29, "forms with a plain reader");
        for form in compared {
            let sound = corpus(&form.parts).swap_remove(0);
            assert_eq!(thinks(&form, &sound, &sound), Opinion::Same, "{}", form.name);
            // Not every byte is a number's: frames and names are not looked at, and a degree of illness is only told from none.
            let noticed = (1..=1024).any(|part| {
                let (mut other, at) = (sound.clone(), part * sound.len() / 1025);
                other[at] = if other[at].is_ascii_digit() && other[at] != b'0' { b'0' } else { other[at] ^ 1 };
                matches!(thinks(&form, &sound, &other), Opinion::Different(_))
            });
            // A PNG packs its pixels under a checksum: with one byte changed it is not a picture, of which nobody has an opinion.
            let packed = ["pictures", "pictures-png", "omniglot"].contains(&form.name);
            assert!(noticed || packed, "{}", form.name);
        }
    }
}
