//! The experiment that advice rests on: a file that anybody can change and run again.

use std::path::PathBuf;

use motet_problems::Source;
use motet_report::verdict::Worth;
use serde_json::{Map, Value};

use super::Held;
use crate::config::Document;
use crate::error::Error;

/// A way to get a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The label in the experiment, and what people call it.
    pub(super) name: &'static str,
    /// Does the client use its own rows only?
    pub(super) alone: bool,
    /// Do clients pick their share of the common model? Then the run that was trained with it counts.
    pub(super) picks: bool,
    /// Does training itself need validation rows?
    pub(super) validates: bool,
}

const fn way(name: &'static str) -> Way {
    Way { name, alone: false, picks: false, validates: false }
}

/// What is compared, in the order of the experiment.
pub(super) const WAYS: [Way; 6] = [
    Way { alone: true, ..way("own model") },
    way("one model for all"),
    Way { picks: true, ..way("FLIX mixture") },
    Way { picks: true, ..way("Scafflix mixture") },
    Way { validates: true, ..way("MeritFed") },
    way("FedAvg and fine-tuning"),
];

/// What follows the label of a run that was trained again with the shares that clients picked.
pub(super) const RETRAINED: &str = " retrained";

/// Strengths of the regulariser, of which every client chooses.
pub(super) const STRENGTHS: [f64; 3] = [0.001, 0.01, 0.1];

/// Shares that are kept away from training.
pub(super) const VALIDATION: f64 = 0.2;
pub(super) const TEST: f64 = 0.2;

/// A client with fewer rows has none to choose by or to be judged on.
pub(super) const LEAST_ROWS: u64 = 5;

const ROUNDS: u64 = 100;

/// The experiment, and what is known of the data.
pub(super) struct Draft {
    /// Of one split; [`Draft::document`] has as many as there are.
    text: String,
    /// What clients are called, by number.
    pub(super) clients: Vec<String>,
    /// Their rows.
    pub(super) rows: Vec<u64>,
    /// The smallest difference that matters.
    pub(super) worth: Worth,
    /// What models are judged by.
    pub(super) metric: &'static str,
    /// The file, and its SHA-256.
    pub(super) input: motet_records::Input,
    /// What people should know of how the data were read.
    pub(super) notes: Vec<String>,
}

impl Draft {
    /// Looks at the data and writes the experiment.
    pub(super) fn of(data: &Held, worth: Worth) -> Result<Self, Error> {
        let kind = match data.classes {
            Some(0 | 1) => {
                return Err(Error::Unknown("the target is of one class in all rows: there is nothing to tell apart".into()));
            }
            Some(2) => "logistic",
            Some(_) => "softmax",
            None => "ridge",
        };
        let first = document(&Self::written(data, kind, 1.0), &[1], Held::out(false))?;
        let (_, problem) = data.problem(&first)?;
        let names = |k: usize| problem.census.clients[k].name.clone().unwrap_or_else(|| format!("client {k}"));
        let clients: Vec<String> = (0..problem.census.clients.len()).map(names).collect();
        let rows: Vec<u64> = problem.census.clients.iter().map(|client| client.train).collect();
        if clients.len() < 2 {
            return Err(Error::Unknown(format!(
                "there is only {}: whether to join is a question for at least two clients with {LEAST_ROWS} rows or more{}",
                clients.first().map_or("nobody", String::as_str),
                problem.census.notes.iter().map(|note| format!(" ({note})")).collect::<String>()
            )));
        }
        if let Some(k) = rows.iter().position(|&rows| rows < LEAST_ROWS.max(data.least_rows)) {
            return Err(Error::Unknown(format!(
                "{} has {} row(s), and advice needs at least {LEAST_ROWS}, to train, to choose and to judge on: leave it out, or wait for more",
                clients[k], rows[k]
            )));
        }
        let mut notes = problem.census.notes.clone();
        let knows_one = |k: &usize| problem.census.clients[*k].labels.iter().filter(|count| **count > 0).count() == 1;
        notes.extend(
            (0..clients.len()).filter(|k| data.classes.is_some() && knows_one(k)).map(|k| {
                format!("all rows of {} are of one class: they cannot show what joining does for telling classes apart", clients[k])
            }),
        );
        let smoothness = problem.shards.iter().filter_map(|shard| shard.train.constants().smoothness).fold(1e-9, f64::max);
        Ok(Self {
            text: Self::written(data, kind, 1.0 / smoothness) + &asked(worth),
            worth,
            clients,
            rows,
            metric: if data.classes.is_some() { "brier" } else { "rmse" },
            input: problem.inputs.first().cloned().unwrap_or_else(|| motet_records::Input {
                name: String::new(),
                bytes: 0,
                sha256: String::new(),
            }),
            notes,
        })
    }

    /// The experiment with these splits.
    pub(super) fn document(&self, seeds: &[u64]) -> Result<Document, Error> {
        document(&self.text, seeds, None)
    }

    /// One method with one strength, on all rows: those for validation are set apart where training itself asks for them.
    pub(super) fn refit(&self, way: Way, strength: f64, method: Map<String, Value>) -> Result<Document, Error> {
        let mut document = document(&self.text, &[1], Held::out(way.validates))?;
        document.root.insert("method".into(), Value::Array(vec![Value::Object(method)]));
        document.assign("problem.model.l2", &strength.into())?;
        document.assign("run.models", &true.into())?;
        Ok(document)
    }

    fn written(data: &Held, kind: &str, step: f64) -> String {
        let steps = [1.0, 2.5].map(|times| rounded(times * step));
        let tune = format!("{{ step = [{}, {}], by = \"validation.loss\", rounds = 20 }}", steps[0], steps[1]);
        let [own, all, flix, scafflix, merit, fine] = WAYS.map(|way| way.name);
        let strengths = STRENGTHS.map(|l2| l2.to_string()).join(", ");
        let source = &data.written;
        format!(
            r#"# Who should join, and what does it gain? Written by motet advise: change it, and run it with motet run.
name  = "advice"
about = "Own models, one for all, mixtures, friends and fine-tuning on repeated splits of the same rows"
seeds = [1]

[problem]
source  = {source}
holdout = {{ validation = {VALIDATION}, test = {TEST}, redraw = true }}   # cut anew for every seed
model   = {{ kind = "{kind}", l2 = {{ grid = [{strengths}] }}, intercept = true }}

[run]
rounds    = {ROUNDS}
probe     = {{ every = 0, gradient = false }}                     # only at the end
reference = "off"
models    = false

[[method]]
kind  = "local"
label = "{own}"
solve = {{ kind = "newton", to = 1e-5, steps = 50 }}

[[method]]
kind  = "flix"
label = "{all}"
alpha = 1.0

[[method]]
kind  = "flix"
label = "{flix}"
alpha = {{ validation = {{ start = 0.5, retrain = true }} }}
solve = {{ kind = "newton", to = 1e-5, steps = 50 }}

[[method]]
kind  = "scafflix"
label = "{scafflix}"
alpha = {{ validation = {{ start = 0.5, retrain = true }} }}
p     = 0.3
solve = {{ kind = "newton", to = 1e-5, steps = 50 }}

[[method]]
kind   = "meritfed-all"
label  = "{merit}"
step   = {step}
tune   = {tune}
mirror = {{ kind = "md", rate = 0.3, steps = 1 }}

[[method]]
kind  = "finetune"
label = "{fine}"
step  = {{ grid = [{step}, {larger}] }}
steps = 3
tune  = 10                                                     # local steps before the model is deployed
"#,
            step = steps[0],
            larger = steps[1],
        )
    }
}

impl Held {
    /// What is held out when everything is trained on.
    fn out(validates: bool) -> Option<Value> {
        Some(if validates { serde_json::json!({ "validation": VALIDATION }) } else { Value::Null })
    }
}

/// The text with these seeds and, if it is told, another hold-out; none if that is nothing.
fn document(text: &str, seeds: &[u64], holdout: Option<Value>) -> Result<Document, Error> {
    let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let text = text.replacen("seeds = [1]", &format!("seeds = [{seeds}]"), 1);
    let mut document = Document::parse("motet advise", &text, PathBuf::new())?;
    if let (Some(holdout), Some(Value::Object(problem))) = (holdout, document.root.get_mut("problem")) {
        problem.shift_remove("holdout");
        if !holdout.is_null() {
            problem.insert("holdout".into(), holdout);
        }
    }
    Ok(document)
}

/// What the experiment says of the smallest difference that matters: nothing, if it is the usual one.
fn asked(worth: Worth) -> String {
    if worth == Worth::default() { String::new() } else { format!("\n[report]\nworth = {:?}\n", worth.share()) }
}

/// Three digits: a step is no constant of nature.
fn rounded(step: f64) -> f64 {
    format!("{step:.2e}").parse().unwrap_or(step)
}

/// Text as a TOML file has it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A source as an experiment file has it, in one line.
pub(super) fn table_of(source: &Source) -> String {
    let value = serde_json::to_value(source).expect("a source has text keys, as it was read with");
    let written = |value: &Value| toml::Value::try_from(value).map_or_else(|_| quoted(&value.to_string()), |value| value.to_string());
    // A default need not be written.
    let dull = |(name, value): &(&String, &Value)| {
        matches!((name.as_str(), value), ("targets", Value::String(auto)) if auto == "auto")
            || matches!((name.as_str(), value), ("standardise", Value::Bool(true)))
            || (name.as_str() == "most_categories" && **value == 100)
    };
    let keys = value.as_object().into_iter().flatten().filter(|entry| !dull(entry));
    format!("{{ {} }}", keys.map(|(name, value)| format!("{name} = {}", written(value))).collect::<Vec<_>>().join(", "))
}
