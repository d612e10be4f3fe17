//! Experiment files and `--set`: from text to a simulation, and through two rounds of it where it asks for little.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use motet::core::{Outcome, Seed};
use motet::problems::{Folders, Place, ProblemError};
use motet::report::claims;
use motet::runtime::Pool;
use motet::{Catalogue, Document, Experiment, InMemory, Simulation, bundled};
use serde_json::{Value, json};

use crate::target::{Met, Reach, Target};

/// Texts of experiments.
pub(super) struct Experiments;

/// What `--set` takes.
pub(super) struct Settings;

/// Everything there is to name.
pub(super) fn catalogue() -> &'static Catalogue {
    static ALL: OnceLock<Catalogue> = OnceLock::new();
    ALL.get_or_init(Catalogue::standard)
}

/// One thread for all inputs.
pub(super) fn pool() -> Arc<Pool> {
    static ONE: OnceLock<Arc<Pool>> = OnceLock::new();
    Arc::clone(ONE.get_or_init(|| Arc::new(Pool::new(1))))
}

const SYNTHETIC: &str = "source = { kind = \"synthetic\", clients = 4, features = 3, examples = 12, heterogeneity = 1.0 }";

/// What stands around a method: problems of every kind, and every section of `[run]`.
const PROBLEMS: [&str; 9] = [
    "holdout = { validation = 0.2, test = 0.2 }\nmodel = { kind = \"logistic\", l2 = 0.1, intercept = true }\n[run]\nrounds = 3\nmodels = true\n",
    "model = { kind = \"softmax\", l2 = 0.01 }\nunseen = { clients = 0.25, test = 0.5 }\nholdout = { test = 0.3 }\n[run]\nrounds = 3\nprobe = { every = 1, clients = 3, gradient = true }\n",
    "model = { kind = \"mlp\", sizes = [4] }\n[run]\nrounds = 2\nstop = { loss = 0.1 }\nquorum = 0.5\nattempts = 3\n",
    "model = { kind = \"one-vs-rest\", l2 = 0.1 }\ndevices = { available = 0.9, dropout = 0.05, speed = 2000, up = 1e6, down = 5e6, latency = 0.05, spread = 0.5, deadline = 30 }\n[run]\nrounds = 3\nquorum = 0.3\n",
    "split = { kind = \"dirichlet\", clients = 3, alpha = 0.5 }\nmodel = { kind = \"logistic\" }\nbyzantine = { first = 0, count = 1, attack = \"noise\" }\n[run]\nrounds = 3\nnot_finite = \"exclude\"\n",
    "split = { kind = \"label-shards\", clients = 2, shards = 2 }\nmodel = { kind = \"logistic\", l2 = 0.1 }\n[run]\nrounds = 3\nstore = { kind = \"disk\", memory = \"1 kB\" }\ncheckpoint = { rounds = 1, seconds = 60 }\n",
    "split = { kind = \"power-law\", clients = 3, exponent = 1.0 }\nmodel = { kind = \"mean\" }\n[run]\nrounds = 3\nprobe = { at = [1, 2], coordinates = 2 }\nreference = \"off\"\n",
    "split = { kind = \"label-mixtures\", groups = [{ clients = 2, mix = [{ labels = [0], share = 1.0 }] }, { clients = 1, mix = [{ labels = [1], share = 1.0 }] }] }\nmodel = { kind = \"logistic\", l2 = 0.1 }\n[run]\nrounds = 2\n",
    "split = { kind = \"iid\", clients = 4 }\nmodel = { kind = \"logistic\", l2 = 0.1 }\nholdout = { validation = 0.3 }\n[run]\nrounds = 3\nmodels = true\n",
];

/// Experiments that a machine takes a moment for: every method, problems and sections of all kinds.
pub(super) fn small() -> Vec<String> {
    let method = |k: usize, card: &motet::methods::Card| {
        let mut example: Value = serde_json::from_str(card.example).expect("a card's example is JSON");
        example["kind"] = json!(card.name);
        let table = toml::to_string(&json!({ "method": [example] })).expect("a card's example is a table");
        let (name, problem) = (card.name, PROBLEMS[k % PROBLEMS.len()]);
        let claims = "[claims]\n\"falls\" = \"final(all, loss) <= 2 * start(all, loss)\"\n";
        format!("name = \"{name}\"\nseeds = [1, 2]\n[problem]\n{SYNTHETIC}\n{problem}\n{table}\n{claims}")
    };
    let mut all: Vec<String> = catalogue().methods().enumerate().map(|(k, card)| method(k, card)).collect();
    all.extend(PROBLEMS.map(|problem| {
        format!("[problem]\n{SYNTHETIC}\n{problem}\n[[method]]\nkind = \"flix\"\nalpha = {{ grid = [1.0, 0.5] }}\ntune = {{ step = [0.1, 0.5], by = \"loss\", halving = 2, rounds = 1 }}\n\n[[method]]\nkind = \"local\"\n")
    }));
    for source in [
        "quadratics\", clients = 3, dim = 4, smoothness = [1.0, 9.0], convexity = [0.1, 0.9], heterogeneity = 1.0",
        "lrs\", clients = 3, examples = 4, dim = 5",
        "q2\"",
        "curvatures\", clients = 9",
        "mean-estimation\", groups = [1, 1, 1], mu = 0.1, dim = 3, samples = 5",
        "synthetic-posts\", clients = 20, words = 30, tags = 5, posts = 4",
    ] {
        all.push(format!("[problem]\nsource = {{ kind = \"{source} }}\n[run]\nrounds = 3\nprobe = {{ clients = 3 }}\n[[method]]\nkind = \"local-update\"\ngamma = 0.1\neta = 0.1\nsampling = {{ clients = 2 }}\n"));
    }
    all
}

impl Target for Experiments {
    fn name(&self) -> String {
        "experiment".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        // Those of the largest problems take as long as an input may, damaged or not.
        let bundled = bundled::EXPERIMENTS.iter().filter(|bundled| !bundled.name.starts_with("scale/"));
        let bundled = bundled.map(|bundled| bundled.text.as_bytes().to_vec());
        // Small ones twice: most damage to them is run.
        small().into_iter().map(String::into_bytes).cycle().take(2 * small().len()).chain(bundled).collect()
    }

    fn words(&self) -> Vec<String> {
        let kinds = catalogue().sources().chain(catalogue().splits()).chain(catalogue().models()).chain(catalogue().compressors());
        let mut words: Vec<String> =
            kinds.flat_map(|card| [card.name].into_iter().chain(card.parameters.names())).map(str::to_owned).collect();
        words.extend(catalogue().methods().flat_map(|card| [card.name].into_iter().chain(card.parameters.names())).map(str::to_owned));
        let written = [
            "{ grid = [0, 1, 1e9] }",
            "{ per_client = [0.1, 0.2] }",
            "{ budget = { rounds = 5, eps = 1e-4 } }",
            "\"theory\"",
            "\"tune\"",
            "\"validation\"",
            "{ clients = 2 }",
            "{ replacement = 3 }",
            "{ chance = 0.5 }",
            "{ epochs = 2 }",
            "\"all\"",
            "[[method]]",
            "[problem]",
            "[run]",
            "[report]\ncsv = true\n",
            "= []",
            "= {}",
            "= true",
            "= \"\"",
            "= [[]]",
            "seeds = [1, 1]\n",
            "# ",
            "é",
            "\u{0}",
            "'''",
            "\"\"\"",
        ];
        words.extend(written.map(str::to_owned));
        words
    }

    fn head(&self) -> usize {
        0
    }

    fn run(&self, input: &[u8], reach: Reach) -> Met {
        let Ok(text) = std::str::from_utf8(input) else { return Met::no_text() };
        let folder = PathBuf::from("nowhere");
        let mut document = match Document::parse("fuzz.toml", text, folder) {
            Ok(document) => document,
            Err(error) => return Met::of(Err::<(), _>(error)),
        };
        let experiment = match Experiment::of(document.clone(), catalogue()) {
            Ok(experiment) => experiment,
            Err(error) => return Met::of(Err::<(), _>(error)),
        };
        let little = asks_for_little(&experiment.resolved()) && makes_its_data(&experiment);
        if !little && reach == Reach::Quick {
            return Met::Taken;
        }
        // Two rounds say what a thousand would, but for the time.
        if little && document.assign("run.rounds", &json!(2)).is_err() {
            return Met::Taken;
        }
        let built = Experiment::of(document, catalogue()).and_then(|experiment| Simulation::on(experiment, pool()));
        let simulation = match built {
            Ok(simulation) => simulation,
            Err(error) => return Met::of(Err::<(), _>(error)),
        };
        let _ = Met::of(claims::check(&simulation.experiment().claims.0, &simulation.manifest(), &[]));
        if !little {
            return Met::Taken;
        }
        match simulation.run(&mut InMemory::new()) {
            Ok(records) => {
                for run in records.summary.iter().flat_map(|summary| &summary.runs) {
                    let lost = run.last.get("loss").is_some_and(|loss| !loss.is_finite());
                    assert!(!(lost && run.outcome == Outcome::Finished), "a loss that is no number in a run that is finished: {run:?}");
                }
                Met::Taken
            }
            Err(error) => Met::of(Err::<(), _>(error)),
        }
    }
}

/// Do its sources make their data? Real files, where they are there, take as long as they are large, whatever an experiment says.
fn makes_its_data(experiment: &Experiment) -> bool {
    let nowhere = Folders::new("nowhere".into(), None);
    experiment.problems.iter().all(|problem| {
        let place = Place { folders: &nowhere, seed: Seed(problem.config.seed_of(experiment.seeds[0])), hold: None };
        // Whatever else is wrong with a source is told when its problem is built.
        !matches!(problem.config.source.load(&place), Err(ProblemError::MissingFile { .. }))
    })
}

/// Is it a matter of a moment? Judged by the whole numbers in it, most of which are sizes.
fn asks_for_little(resolved: &Value) -> bool {
    let product = |part: &str| sizes(&resolved[part]).into_iter().fold(1.0, |product: f64, size| product * size.max(1.0));
    let (problem, method) = (product("problem"), product("method"));
    let runs = resolved["seeds"].as_array().map_or(1, Vec::len) * resolved["method"].as_array().map_or(1, Vec::len);
    problem <= 1e6 && method <= 1e9 && runs <= 24 && resolved["problem"].as_array().is_none_or(|problems| problems.len() <= 3)
}

/// The whole numbers of a value, but for seeds and limits that are seldom reached.
fn sizes(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => number.as_f64().filter(|n| n.fract() == 0.0).into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(sizes).collect(),
        Value::Object(table) => {
            let counted = table.iter().filter(|(key, _)| !["seed", "solve", "window", "words", "length"].contains(&key.as_str()));
            counted.flat_map(|(_, value)| sizes(value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::String(_) => vec![],
    }
}

impl Target for Settings {
    fn name(&self) -> String {
        "set".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        let all =
            ["run.rounds=50", "method[1].alpha=0.3", "method.alpha={ grid = [0.1, 0.2] }", "problem.holdout={ test = 0.2 }", "name=\"x\""];
        all.map(|text| text.as_bytes().to_vec()).to_vec()
    }

    fn words(&self) -> Vec<String> {
        [".", "[", "]", "=", "method", "problem.source", "run.tune", "[999999999999]", "[0]", "[-1]"].map(str::to_owned).to_vec()
    }

    fn head(&self) -> usize {
        0
    }

    fn run(&self, input: &[u8], _: Reach) -> Met {
        let Ok(text) = std::str::from_utf8(input) else { return Met::no_text() };
        let base = small().swap_remove(4);
        let mut document = Document::parse("fuzz.toml", &base, PathBuf::from("nowhere")).expect("a small experiment is one");
        let set = document.set(text, catalogue());
        let read = set.map_err(motet::Error::from).and_then(|()| Experiment::of(document, catalogue()));
        Met::of(read)
    }
}
