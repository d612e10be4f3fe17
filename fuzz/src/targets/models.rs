//! `motet predict`: files of models, and examples for them.

use std::fs;
use std::sync::OnceLock;

use motet::predict::SavedModel;
use motet::{Document, Experiment, Folder, Simulation};

use super::experiments::{catalogue, pool};
use super::folder::{Part, corpus, with_input};
use crate::target::{Met, Reach, Target};

/// A model with rows in CSV and in LIBSVM: the first byte of an input says which file is damaged.
#[derive(Default)]
pub(super) struct Predicted {
    parts: OnceLock<Vec<Part>>,
}

const EXPERIMENT: &str = r#"
[problem]
source = { kind = "synthetic", clients = 2, features = 3, examples = 10, heterogeneity = 1.0 }
model  = { kind = "softmax", l2 = 0.1, intercept = true }
[run]
rounds = 2
models = true
[[method]]
kind  = "flix"
alpha = 0.5
"#;

impl Predicted {
    fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| {
            let parent = tempfile::tempdir().expect("a temporary folder");
            let folder = parent.path().join("run");
            let document = Document::parse("models.toml", EXPERIMENT, "nowhere".into()).expect("an experiment");
            let simulation =
                Simulation::on(Experiment::of(document.clone(), catalogue()).expect("an experiment"), pool()).expect("a problem");
            let mut output = Folder::create(&folder, false, &document).expect("a new folder");
            simulation.run(&mut output).expect("it runs");
            let model = fs::read_dir(folder.join("models")).expect("models").next().expect("a model").expect("a file").path();
            vec![
                Part::plain("model.safetensors", fs::read(model).expect("a model")),
                Part::plain("rows.csv", "a,b,c\n1,2,3\n0.5,-1e3,0\n"),
                Part::plain("rows.svm", "0 1:1 2:2 3:3\n0 2:-1e3\n"),
            ]
        })
    }
}

impl Target for Predicted {
    fn name(&self) -> String {
        "predict".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        corpus(self.parts())
    }

    fn words(&self) -> Vec<String> {
        ["\"dtype\":\"F64\"", "\"shape\":[", "\"data_offsets\":[0,", "__metadata__", "nan", ",,", "1e308"].map(str::to_owned).to_vec()
    }

    fn head(&self) -> usize {
        1
    }

    fn run(&self, input: &[u8], _: Reach) -> Met {
        with_input("predict", self.parts(), input, |folder| {
            let open = |client| SavedModel::open(&folder.join("model.safetensors"), client);
            let (shared, own) = match (open(None), open(Some(1))) {
                (Ok(shared), Ok(own)) => (shared, own),
                (Err(error), _) | (_, Err(error)) => return Met::of(Err::<(), _>(error)),
            };
            let rows = shared.predict(&folder.join("rows.csv"), &[], &|_| ());
            Met::of(rows.and_then(|_| own.predict(&folder.join("rows.svm"), &[], &|_| ())))
        })
    }
}
