//! What a participant agrees to, in words.

use motet_link::StudySheet;
use serde_json::Value;

/// A study as it is shown before the first run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// One line each.
    pub lines: Vec<String>,
}

impl Terms {
    pub(super) fn of(sheet: &StudySheet, (scores, vectors): (bool, bool), rows: usize) -> Self {
        let experiment = &sheet.experiment;
        let listed = |key: &str| experiment[key].as_array().cloned().unwrap_or_default();
        let word = |value: &Value, key: &str| value[key].as_str().unwrap_or("?").to_owned();
        let methods: Vec<String> = listed("method").iter().map(|method| word(method, "kind")).collect();
        let schema = listed("problem").first().map(|problem| problem["schema"].clone()).unwrap_or_default();
        let model = listed("problem").first().map(|problem| word(&problem["model"], "kind")).unwrap_or_default();
        let columns = match schema["inputs"].as_u64() {
            Some(inputs) => format!("{inputs} columns of numbers"),
            None => {
                let names = schema["columns"].as_array().cloned().unwrap_or_default();
                names.iter().map(|column| word(column, "name")).collect::<Vec<_>>().join(", ")
            }
        };
        let (seeds, rounds) = (listed("seeds").len(), experiment["run"]["rounds"].as_u64().unwrap_or(0));
        let mut lines = vec![
            format!("study        {} with {} participants", sheet.study, sheet.clients),
            format!("predicts     {} from {columns}", word(&schema, "target")),
            format!("model        {model} with {} numbers", sheet.dimension),
            format!("methods      {}, {seeds} seed(s) of {rounds} rounds each", methods.join(", ")),
            format!("your data    {rows} rows; they stay here, and so do the models made for you alone"),
            "leaves       in every round a reply of the method: gradients, models or differences of models of the size above".into(),
        ];
        lines.push(match scores {
            true => "leaves       losses and metrics of your rows whenever models are measured (--no-scores keeps them here)".into(),
            false => "stays        losses and metrics: this participant shows no scores".into(),
        });
        if vectors {
            lines.push("leaves       gradients and your own model whenever models are measured, since you allow it".into());
        }
        lines.push(format!("sheet        SHA-256 {}", sheet.digest()));
        Self { lines }
    }
}
