//! An experiment of a Python program, from what was written to its records.

use std::path::PathBuf;
use std::sync::Arc;

use motet::config::{Document, Experiment};
use motet::problems::Weights;
use motet::runtime::Pool;
use motet::{Error, Folder, InMemory, Simulation};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arrays::vector;
use crate::catalogue::CATALOGUE;
use crate::data::Data;
use crate::errors::{exception, wrong};
use crate::failures::Failures;
use crate::functions::{self, Given};
use crate::observer::Watcher;
use crate::records::Records;

/// Where and how an experiment runs.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    /// Folder for the records; in memory where there is none.
    out: Option<PathBuf>,
    /// Replace the records of an earlier experiment in that folder?
    overwrite: bool,
    /// Go on with what was begun in that folder?
    resume: bool,
    threads: Option<usize>,
    /// Key → value as JSON, put over what is written.
    set: Vec<(String, String)>,
}

/// What the program gives beside the text.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Gifts<'py> {
    data: Vec<PyRef<'py, Data>>,
    /// One for each client: see [`crate::functions`].
    clients: Option<Vec<Py<PyAny>>>,
    /// What records call these clients.
    name: String,
    /// Where every run starts.
    start: Option<Bound<'py, PyAny>>,
    observer: Option<Py<PyAny>>,
}

/// Runs an experiment: a `file`'s path, `toml` text, or `json` text.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, form: &str, text: &str, how: How, gifts: Gifts<'_>) -> PyResult<Records> {
    let mut document = document(form, text, &how)?;
    let data: Vec<_> = gifts.data.iter().map(|data| data.held()).collect();
    let failures = Arc::new(Failures::default());
    let given = match gifts.clients {
        Some(clients) => Some(Given::check(py, &gifts.name, clients, &failures)?),
        None => None,
    };
    name_source(&mut document, data.first().map(|data| data.name()), given.as_ref().map(Given::name)).map_err(|error| exception(&error))?;
    let start = gifts.start.map(|start| vector(&start)).transpose()?;
    let observer = gifts.observer;
    let done = py.detach(|| -> Result<Records, Error> {
        let (_here, watcher) = (failures.enter(), Watcher::new(observer, Arc::clone(&failures)));
        let mut experiment = Experiment::of(document, &CATALOGUE)?;
        for data in &data {
            experiment = experiment.give(data)?;
        }
        if let Some(given) = &given {
            functions::give(&mut experiment, given)?;
        }
        if let Some(start) = start {
            experiment = experiment.start_at(Weights::from(start));
        }
        carry_out(experiment, &how, &watcher)
    });
    // What the program itself raised is the cause of whatever came after it.
    match (failures.take(), done) {
        (Some(raised), _) => Err(raised),
        (None, done) => done.map_err(|error| exception(&error)),
    }
}

/// What was written, with what was put over it.
pub(crate) fn document(form: &str, text: &str, how: &How) -> PyResult<Document> {
    let mut document = match form {
        "file" => Document::read(text.as_ref()).map_err(Error::from),
        "toml" => Document::parse("experiment", text, PathBuf::new()).map_err(Error::from),
        "json" => of_json(text),
        _ => return Err(PyTypeError::new_err("an experiment is a file, TOML or JSON")),
    }
    .map_err(|error| exception(&error))?;
    for (key, value) in &how.set {
        let value: Value = serde_json::from_str(value).map_err(wrong)?;
        document.assign(key, &value).map_err(|error| exception(&error.into()))?;
    }
    Ok(document)
}

fn carry_out(experiment: Experiment, how: &How, watcher: &Watcher) -> Result<Records, Error> {
    let pool = Arc::new(how.threads.map_or_else(Pool::all_cores, |threads| Pool::new(threads.max(1))));
    let simulation = Simulation::on(experiment, pool)?;
    let Some(out) = how.out.as_deref().filter(|out| how.resume && Folder::is_finished(out)) else {
        return record(&simulation, how, watcher);
    };
    let records = Folder::finished(out, &simulation.manifest())?;
    Folder::sweep(out);
    Ok(Records::new(records, Some(out.to_path_buf())))
}

/// Runs what is planned, in memory or into a folder.
pub(crate) fn record(simulation: &Simulation, how: &How, watcher: &Watcher) -> Result<Records, Error> {
    let Some(out) = how.out.as_deref() else {
        return Ok(Records::new(simulation.run_observed(&mut InMemory::new(), watcher)?, None));
    };
    let mut folder = if how.resume && Folder::is_unfinished(out) {
        Folder::resume(out, &simulation.manifest(), &|text| watcher.say(text))?
    } else {
        Folder::create(out, how.overwrite, &simulation.experiment().document)?
    };
    let records = simulation.run_observed(&mut folder, watcher)?;
    Ok(Records::new(records, Some(out.to_path_buf())))
}

/// An experiment out of a dictionary. What its folder keeps is the same as TOML.
fn of_json(text: &str) -> Result<Document, Error> {
    let wrong = |message: String| motet::config::ConfigError::Syntax { file: "experiment".into(), line: 1, message };
    let root = match serde_json::from_str(text) {
        Ok(root @ Value::Object(_)) => root,
        Ok(_) => return Err(wrong("an experiment is a table".into()).into()),
        Err(error) => return Err(wrong(error.to_string()).into()),
    };
    if let Some(key) = empty_at(&root, "") {
        return Err(motet::config::ConfigError::Value { file: "experiment".into(), key, message: "is None: leave it out".into() }.into());
    }
    let Value::Object(root) = root else { unreachable!("it was looked at above") };
    let text = toml::to_string(&root).map_err(|error| wrong(error.to_string()))?;
    Ok(Document { file: "experiment".into(), folder: PathBuf::new(), text, root })
}

/// The key of a value that is none: TOML has no such thing.
fn empty_at(value: &Value, key: &str) -> Option<String> {
    let join = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        Value::Null => Some(key.to_owned()),
        Value::Array(list) => list.iter().enumerate().find_map(|(k, one)| empty_at(one, &format!("{key}[{}]", k + 1))),
        Value::Object(table) => table.iter().find_map(|(name, one)| empty_at(one, &join(name))),
        _ => None,
    }
}

/// A program that gives data or clients need not say in the experiment that it does.
pub(crate) fn name_source(document: &mut Document, data: Option<&str>, clients: Option<&str>) -> Result<(), Error> {
    if document.root.get("problem").is_some_and(|problem| problem.get("source").is_some()) {
        return Ok(());
    }
    if let Some(name) = clients {
        document.assign("problem.source", &json!({ "kind": "python", "name": name }))?;
    } else if let Some(name) = data {
        document.assign("problem.source", &json!({ "kind": "given", "name": name }))?;
    }
    Ok(())
}
