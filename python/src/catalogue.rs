//! What experiments can name, for Python classes and their signatures.

use std::sync::LazyLock;

use motet::Catalogue;
use motet::config::{Document, Experiment};
use motet::core::{Card, Parameters};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{exception, wrong};
use crate::functions::Functions;
use crate::methods::PythonMethod;

/// Everything of ours, and what Python programs bring.
pub(crate) static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::standard().method::<PythonMethod>().source::<Functions>());

/// Names, texts and parameters of all methods, sources, splits, models and compressors, as JSON.
#[pyfunction]
pub(crate) fn catalogue() -> String {
    let all = Catalogue::standard();
    let methods: Vec<Value> = all
        .methods()
        .map(|card| json!({ "name": card.name, "about": card.about, "paper": card.paper, "example": card.example, "parameters": listed(card.parameters) }))
        .collect();
    json!({
        "method": methods,
        "source": all.sources().map(described).collect::<Vec<_>>(),
        "split": all.splits().map(described).collect::<Vec<_>>(),
        "model": all.models().map(described).collect::<Vec<_>>(),
        "compressor": all.compressors().map(described).collect::<Vec<_>>(),
    })
    .to_string()
}

fn described(card: &Card) -> Value {
    json!({ "name": card.name, "about": card.about, "parameters": listed(card.parameters) })
}

fn listed(parameters: Parameters) -> Vec<Value> {
    parameters.iter().map(|parameter| json!(parameter)).collect()
}

/// Refuses the table of a method, as JSON, that no experiment can have.
#[pyfunction]
pub(crate) fn check_method(table: &str) -> PyResult<()> {
    let table: Value = serde_json::from_str(table).map_err(wrong)?;
    let file = table.get("kind").and_then(Value::as_str).unwrap_or("method").to_owned();
    // Any problem will do: methods are read before problems are made.
    let root = json!({ "problem": { "source": { "kind": "given" } }, "run": { "rounds": 1 }, "method": [table] });
    let Value::Object(root) = root else { unreachable!("a literal table") };
    let document = Document { file, folder: ".".into(), text: String::new(), root };
    Experiment::of(document, &CATALOGUE).map(drop).map_err(|error| exception(&error))
}
