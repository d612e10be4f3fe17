//! The names that `[run] stop` and `[report] over` may have: with a misspelt one nothing would stop a run, or be drawn.

use serde_json::{Value, json};

use super::document::{ConfigError, Document, closest};
use super::experiment::Experiment;
use crate::catalogue::Catalogue;

/// What a run may stop at beside what it measures.
const COSTS: [&str; 3] = ["bits_up", "gradients", "iterations"];

/// Measured for all clients together.
const COMMON: [&str; 4] = ["gap", "distance", "grad_norm2", "x"];

/// Measured for each client, on examples to train with, to choose with and to test with; and the share that a client picks.
const SCORES: [&str; 11] =
    ["alpha", "loss", "excess", "accuracy", "balanced_accuracy", "brier", "auc", "top_5", "recall_at_5", "rmse", "mae"];

/// What methods note of their rounds.
const NOTES: [&str; 11] = ["cohort_loss", "eta", "gamma", "guard", "noise", "p", "q_norm", "share", "sigma_a", "sigma_c", "slow"];

/// Also a note, and what `iterations` counts.
const STEPS: &str = "steps";

/// Does a row have something of this name, or may it, where source, model and methods are ours?
pub fn is_measured(name: &str) -> bool {
    let coordinate = name.strip_prefix("x.").is_some_and(|number| number.parse::<u32>().is_ok());
    coordinate || others().any(|known| known == name) || SCORES.contains(&score(name))
}

fn others() -> impl Iterator<Item = &'static str> {
    COSTS.into_iter().chain(COMMON).chain(NOTES).chain([STEPS])
}

/// `accuracy` of `unseen.test.accuracy.worst`.
fn score(name: &str) -> &str {
    let name = name.strip_prefix("unseen.").unwrap_or(name);
    let name = ["validation.", "test."].iter().find_map(|rows| name.strip_prefix(rows)).unwrap_or(name);
    [".weighted", ".worst"].iter().find_map(|mean| name.strip_suffix(mean)).unwrap_or(name)
}

/// Refuses names of which nobody knows anything.
pub(super) fn check(experiment: &Experiment, catalogue: &Catalogue) -> Result<(), ConfigError> {
    if !brings_its_own(experiment)
        && let Some(unknown) = experiment.run.stop.keys().find(|name| !is_measured(name))
    {
        return Err(unmeasured(&experiment.document, unknown));
    }
    let strange = experiment.report.over.iter().find(|name| !varies(experiment, catalogue, name));
    strange.map_or(Ok(()), |name| Err(unvaried(experiment, name)))
}

/// Does a program add a source, a model or a method, which may measure what only the program knows?
fn brings_its_own(experiment: &Experiment) -> bool {
    let ours = Catalogue::standard();
    let problem = |variant: &super::Variant<motet_problems::ProblemConfig>| {
        let written = json!(variant.config);
        let [source, model] = ["source", "model"].map(|part| written[part]["kind"].as_str());
        ours.sources().any(|card| Some(card.name) == source) && (model.is_none() || ours.models().any(|card| Some(card.name) == model))
    };
    !(experiment.problems.iter().all(problem) && experiment.methods.iter().all(|entry| ours.card(entry.kind()).is_some()))
}

fn unmeasured(document: &Document, name: &str) -> ConfigError {
    let near = match closest(name, others()) {
        Some(near) => Some(near.to_owned()),
        None => closest(score(name), SCORES.into_iter()).map(|near| name.replacen(score(name), near, 1)),
    };
    let hint = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
    let known = [&COSTS[..], &COMMON[..3], &SCORES[..]].concat().join(", ");
    let message =
        format!("nothing of this name is measured{hint} There are {known}; scores also as \"test.loss\" or \"validation.auc.worst\"");
    document.wrong(&format!("run.stop.{name}"), message)
}

/// Has a method this parameter, or the problem this value?
fn varies(experiment: &Experiment, catalogue: &Catalogue, name: &str) -> bool {
    let pointer = |name: &str| format!("/{}", name.replace('.', "/"));
    let in_method = |entry: &super::MethodEntry| {
        let Some(name) = catalogue.canonical(entry.kind(), name) else { return false };
        !name.contains('.') || Value::Object(entry.method.params()).pointer(&pointer(&name)).is_some()
    };
    let problem = experiment.document.root.get("problem").and_then(|problem| problem.pointer(&pointer(name)));
    problem.is_some() || experiment.methods.iter().any(in_method) || grids(experiment).any(|known| known == name)
}

/// Values that differ between runs, as labels name them.
fn grids(experiment: &Experiment) -> impl Iterator<Item = &str> {
    let labels = experiment.methods.iter().map(|entry| &entry.label).chain(experiment.problems.iter().map(|variant| &variant.label));
    labels.flat_map(|label| label.split(' ')).filter_map(|word| Some(word.split_once('=')?.0))
}

fn unvaried(experiment: &Experiment, name: &str) -> ConfigError {
    let inside = grids(experiment).find(|known| known.ends_with(&format!(".{name}")));
    let parameters = experiment.methods.iter().flat_map(|entry| entry.method.card().parameters.names());
    let mut known: Vec<&str> = grids(experiment).collect();
    parameters.for_each(|parameter| known.push(parameter));
    let near = inside.or_else(|| closest(name, known.into_iter()));
    let hint = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
    experiment.document.wrong("report.over", format!("no method here has a parameter \"{name}\", and the problem has no such value{hint}"))
}
