//! What a participant agrees to, in words.

use motet_link::{RunTerms, StudySheet};
use serde_json::Value;

use crate::catalogue::Catalogue;

/// A study as it is shown before the first run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// One line each.
    pub lines: Vec<String>,
}

/// What the letters in the descriptions of methods stand for.
const LETTERS: &str = "words        x is the shared model, xᵢ* the model that you would find alone, αᵢ your share of x, mᵢ your number of training rows, \
                       Lᵢ and μᵢ how strongly and how weakly your loss bends";

impl Terms {
    /// `rows` counts all of the table, whatever they are held out for.
    pub(super) fn of(sheet: &StudySheet, catalogue: &Catalogue, scores: bool, rows: u64) -> Self {
        let experiment = &sheet.experiment;
        let listed = |key: &str| experiment[key].as_array().cloned().unwrap_or_default();
        let word = |value: &Value, key: &str| value[key].as_str().unwrap_or("?").to_owned();
        let schema = listed("problem").first().map(|problem| problem["schema"].clone()).unwrap_or_default();
        let model = listed("problem").first().map(|problem| word(&problem["model"], "kind")).unwrap_or_default();
        let columns = match schema["inputs"].as_u64() {
            Some(inputs) => format!("{inputs} columns of numbers"),
            None => {
                let names = schema["columns"].as_array().cloned().unwrap_or_default();
                names.iter().map(|column| word(column, "name")).collect::<Vec<_>>().join(", ")
            }
        };
        let mut lines = vec![
            format!("study        {} with {} participants", sheet.study, sheet.clients),
            format!("predicts     {} from {columns}", word(&schema, "target")),
            format!("model        {model} with {} numbers", sheet.dimension),
            format!("your data    {rows} rows; they stay here"),
        ];
        for (method, seeds) in methods(&sheet.runs) {
            let rounds = experiment["run"]["rounds"].as_u64().unwrap_or(0);
            lines.push(format!("method       {}: {}; {rounds} rounds at most, {seeds}", method.method, parameters(&method.parameters)));
            let leaves = catalogue.card(&method.method).map_or("nobody here knows what: this motet has no such method", |card| card.leaves);
            lines.push(format!("  leaves     {leaves}"));
        }
        lines.push(LETTERS.into());
        lines.push("leaves       with every reply how many gradients it took, from which your number of training rows follows".into());
        lines.push(match scores {
            true => "leaves       losses and metrics of your rows whenever models are measured, how many rows are behind them, and which test rows a model gets right \
                     (--no-scores keeps all of it here)"
                .into(),
            false => "stays        losses and metrics: this participant shows no scores".into(),
        });
        lines.push("runs         no others than these are worked for".into());
        lines.push(format!("sheet        SHA-256 {}", sheet.digest()));
        Self { lines }
    }
}

/// Each method with its parameters once, and the seeds of its runs in words.
fn methods(runs: &[RunTerms]) -> Vec<(&RunTerms, String)> {
    let same = |a: &RunTerms, b: &RunTerms| (&a.method, &a.parameters) == (&b.method, &b.parameters);
    let mut found: Vec<(&RunTerms, Vec<u64>)> = vec![];
    for run in runs {
        match found.iter_mut().find(|(other, _)| same(other, run)) {
            Some((_, seeds)) => seeds.push(run.seed),
            None => found.push((run, vec![run.seed])),
        }
    }
    let in_words = |seeds: Vec<u64>| match &seeds[..] {
        [seed] => format!("seed {seed}"),
        [first, .., last] => format!("{} runs with seeds from {first} to {last}", seeds.len()),
        [] => String::new(),
    };
    found.into_iter().map(|(run, seeds)| (run, in_words(seeds))).collect()
}

/// As an experiment file has them; what is not set is left out.
fn parameters(parameters: &Value) -> String {
    let set = parameters.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let set: Vec<String> = set.map(|(name, value)| format!("{name} = {value}")).collect();
    if set.is_empty() { "no parameters".into() } else { set.join(", ") }
}

#[cfg(test)]
mod tests {
    use motet_link::PROTOCOL;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_method_says_what_leaves_and_with_which_parameters() {
        let run = |method: &str, parameters: Value, seed| RunTerms { method: method.into(), parameters, problem: 0, seed };
        let runs = vec![
            run("l2gd", json!({ "lambda": 0.5, "p": 0.4 }), 1),
            run("l2gd", json!({ "lambda": 0.5, "p": 0.4 }), 2),
            run("flix", json!({ "start": "one-shot", "solve": null }), 1),
        ];
        let experiment =
            json!({ "run": { "rounds": 7 }, "problem": [{ "schema": { "target": "ill", "inputs": 3 }, "model": { "kind": "logistic" } }] });
        let (motet, study) = ("0".into(), "wards".into());
        let sheet = StudySheet { protocol: PROTOCOL, motet, study, clients: 3, dimension: 4, experiment, runs };
        let text = Terms::of(&sheet, &Catalogue::standard(), true, 61).lines.join("\n");
        assert!(text.contains("61 rows; they stay here\n"), "{text}");
        assert!(
            text.contains("l2gd: lambda = 0.5, p = 0.4; 7 rounds at most, 2 runs with seeds from 1 to 2\n  leaves     its own model xᵢ"),
            "{text}"
        );
        assert!(text.contains("flix: start = \"one-shot\"; 7 rounds at most, seed 1\n"), "{text}");
        assert!(text.contains("with `start = \"one-shot\"` its own model xᵢ* once"), "{text}");
        assert!(!text.contains("made for you alone"), "it is not promised that personal models stay: {text}");
    }
}
