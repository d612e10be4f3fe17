//! What an experiment left, without the checksums that would tell: readers, verdicts and pages get what is in the files.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use motet::records::{Records, verify};
use motet::report::{render, render_as, results};
use motet::{Document, Experiment, Folder, Simulation};

use super::experiments::{catalogue, pool};
use crate::target::{Met, Reach, Target};

/// A folder of records: the first byte of an input says which file is damaged.
#[derive(Default)]
pub(super) struct Recorded {
    files: OnceLock<Vec<(String, Vec<u8>)>>,
}

const EXPERIMENT: &str = r#"
name  = "records"
seeds = [1, 2]
[problem]
source  = { kind = "synthetic", clients = 3, features = 2, examples = 10, heterogeneity = 1.0 }
holdout = { validation = 0.2, test = 0.2 }
model   = { kind = "logistic", l2 = 0.1 }
[run]
rounds = 3
models = true
[[method]]
kind = "local"
[[method]]
kind  = "flix"
alpha = { grid = [1.0, 0.5] }
[[method]]
kind  = "scafflix"
alpha = "validation"
tune  = { p = [0.9, 0.5], by = "validation.loss", rounds = 1 }
[[method]]
kind   = "meritfed"
step   = 0.5
target = 1
mirror = { kind = "md", rate = 3.5, steps = 2 }
[claims]
"falls" = "final(flix, gap) <= start(flix, gap)"
"#;

impl Recorded {
    fn files(&self) -> &[(String, Vec<u8>)] {
        self.files.get_or_init(|| {
            let parent = tempfile::tempdir().expect("a temporary folder");
            let folder = parent.path().join("run");
            let document = Document::parse("records.toml", EXPERIMENT, "nowhere".into()).expect("an experiment");
            let simulation =
                Simulation::on(Experiment::of(document.clone(), catalogue()).expect("an experiment"), pool()).expect("a problem");
            let mut output = Folder::create(&folder, false, &document).expect("a new folder");
            simulation.run(&mut output).expect("it runs");
            let mut all = vec![];
            for name in ["manifest.json", "rows.jsonl", "clients.jsonl", "merits.bin", "summary.json", "events.jsonl"] {
                all.extend(fs::read(folder.join(name)).ok().map(|bytes| (name.to_owned(), bytes)));
            }
            let models = fs::read_dir(folder.join("models")).expect("models").map(|entry| entry.expect("a file").file_name());
            let first = models.map(|name| format!("models/{}", name.to_string_lossy())).min().expect("a model");
            // Format 1 has no checksums, so that nothing is refused before it is read.
            let manifest = String::from_utf8(all[0].1.clone()).expect("a manifest is text");
            all[0].1 = manifest.replacen(&format!("\"format\": {}", motet::records::Format::CURRENT), "\"format\": 1", 1).into_bytes();
            assert_ne!(all[0].1, manifest.into_bytes(), "a manifest says its format");
            all.push((first.clone(), fs::read(folder.join(first)).expect("a model")));
            all
        })
    }
}

impl Target for Recorded {
    fn name(&self) -> String {
        "records".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        self.files().iter().enumerate().map(|(k, (_, bytes))| [&[k as u8][..], bytes].concat()).collect()
    }

    fn words(&self) -> Vec<String> {
        let words = [
            "\"nan\"",
            "\"inf\"",
            "\"-inf\"",
            "null",
            "\"run\":",
            "\"round\":",
            "\"metrics\":",
            "\"loss\":",
            "\"seed\":",
            "\"label\":",
            "\"alpha\":",
            "<script>",
            "\\u0000",
            "[]",
            "{}",
            "1e308",
            "\"format\":",
        ];
        words.map(str::to_owned).to_vec()
    }

    fn head(&self) -> usize {
        1
    }

    fn run(&self, input: &[u8], _: Reach) -> Met {
        let (Some((at, bytes)), files) = (input.split_first(), self.files()) else { return Met::nothing() };
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("models")).expect("a folder");
        for (k, (name, sound)) in files.iter().enumerate() {
            let bytes = if k == *at as usize % files.len() { bytes } else { sound };
            fs::write(folder.path().join(name), bytes).expect("a file");
        }
        let _ = Met::of(verify(folder.path()));
        match Records::read(folder.path()) {
            Ok(records) => shown(records, folder.path()),
            Err(error) => Met::of(Err::<(), _>(error)),
        }
    }
}

/// Everything that is made of records.
fn shown(mut records: Records, folder: &Path) -> Met {
    let models = records.read_models(folder);
    let named = [("records".to_owned(), records)];
    let pages = folder.join("pages");
    fs::create_dir(&pages).expect("a folder");
    let drawn = render(&named, &pages).and_then(|_| render_as("csv", &named, &pages));
    let _ = results(&named, "every page");
    match models {
        Ok(()) => Met::of(drawn),
        Err(error) => Met::of(Err::<(), _>(error)),
    }
}
