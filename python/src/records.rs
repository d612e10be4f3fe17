//! What an experiment left, as columns of NumPy arrays and as JSON.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use motet::Error;
use motet::core::Metrics;
use motet::records::{Models, Records as Held};
use motet::report::{render, render_as, table, tensorboard};
use numpy::{Element, PyArray1};
use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::array;
use crate::errors::exception;

/// The records of an experiment.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Records {
    held: Held,
    folder: Option<PathBuf>,
    /// Those of a folder are read when they are first asked for.
    models: Mutex<Option<Vec<Arc<Models>>>>,
}

/// Run, shared model, client → its model.
type RunModels<'py> = (usize, Bound<'py, PyAny>, Bound<'py, PyDict>);

/// Reads the folder of an experiment.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Records> {
    py.detach(|| Records::of_folder(folder)).map_err(|error| exception(&error))
}

impl Records {
    pub(crate) fn new(held: Held, folder: Option<PathBuf>) -> Self {
        Self { held, folder, models: Mutex::new(None) }
    }

    fn of_folder(folder: PathBuf) -> Result<Self, Error> {
        Ok(Self::new(Held::read(&folder)?, Some(folder)))
    }

    fn named(&self) -> [(String, Held); 1] {
        [(self.held.manifest.experiment.clone(), self.held.clone())]
    }

    fn models_held(&self) -> Result<Vec<Arc<Models>>, Error> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(models) = &*models {
            return Ok(models.clone());
        }
        let read = match &self.folder {
            Some(folder) if self.held.models.is_empty() => {
                let mut copy = Held { manifest: self.held.manifest.clone(), ..Held::default() };
                copy.read_models(folder)?;
                copy.models
            }
            _ => self.held.models.clone(),
        };
        Ok(models.insert(read).clone())
    }
}

#[pymethods]
impl Records {
    /// The folder, where there is one.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// `manifest` or `summary` as JSON; nothing where there is no summary.
    fn json(&self, what: &str) -> PyResult<Option<String>> {
        match what {
            "manifest" => Ok(Some(text(&self.held.manifest))),
            "summary" => Ok(self.held.summary.as_ref().map(text)),
            _ => Err(PyKeyError::new_err(what.to_owned())),
        }
    }

    /// `rows`, `clients` or `events` as JSON, one a line: what a folder holds.
    fn lines(&self, what: &str) -> PyResult<String> {
        match what {
            "rows" => Ok(lines(&self.held.rows)),
            "clients" => Ok(lines(&self.held.clients)),
            "events" => Ok(lines(&self.held.events)),
            _ => Err(PyKeyError::new_err(what.to_owned())),
        }
    }

    /// One array for each column of the measured rounds.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = &self.held.rows;
        let columns = PyDict::new(py);
        put(&columns, "run", rows.iter().map(|row| row.run as u64))?;
        put(&columns, "round", rows.iter().map(|row| row.round))?;
        put(&columns, "bits_up", rows.iter().map(|row| row.bits.up))?;
        put(&columns, "bits_down", rows.iter().map(|row| row.bits.down))?;
        put(&columns, "bytes_up", rows.iter().map(|row| row.bytes.up))?;
        put(&columns, "bytes_down", rows.iter().map(|row| row.bytes.down))?;
        put(&columns, "gradients", rows.iter().map(|row| row.gradients))?;
        put(&columns, "attempts", rows.iter().map(|row| row.attempts))?;
        put(&columns, "seconds", rows.iter().map(|row| row.seconds.unwrap_or(f64::NAN)))?;
        if rows.iter().any(|row| row.deployed.is_some()) {
            put(&columns, "deployed", rows.iter().map(|row| row.deployed.unwrap_or(f64::NAN)))?;
        }
        put_all(&columns, "", rows.iter().map(|row| &row.metrics))?;
        put_all(&columns, "note.", rows.iter().map(|row| &row.notes))?;
        put_all(&columns, "total.", rows.iter().map(|row| &row.totals))?;
        Ok(columns)
    }

    /// One array for each column of the clients at the end of their runs; names are a list.
    fn clients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = &self.held.clients;
        let columns = PyDict::new(py);
        put(&columns, "run", rows.iter().map(|row| row.run as u64))?;
        put(&columns, "client", rows.iter().map(|row| u64::from(row.client)))?;
        columns.set_item("name", rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>())?;
        put(&columns, "examples", rows.iter().map(|row| row.examples))?;
        put(&columns, "tested", rows.iter().map(|row| row.tested))?;
        put_all(&columns, "", rows.iter().map(|row| &row.metrics))?;
        Ok(columns)
    }

    /// (run, shared model, client → its model) of every run that left models.
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Vec<RunModels<'py>>> {
        let models = py.detach(|| self.models_held()).map_err(|error| exception(&error))?;
        let of_run = |models: &Arc<Models>| {
            let personal = PyDict::new(py);
            for (client, x) in &models.personal {
                personal.set_item(client.0, array(py, x))?;
            }
            Ok((models.run, array(py, &models.shared), personal))
        };
        models.iter().map(of_run).collect()
    }

    /// (run, round, target, weights averaged since the record before) of methods that weigh clients.
    fn merits<'py>(&self, py: Python<'py>) -> Vec<(u32, u64, u32, Bound<'py, PyAny>)> {
        let weights = |merit: &motet::core::Merit| array(py, merit.mean.as_ref().unwrap_or(&merit.weights));
        self.held.merits.iter().map(|merit| (merit.run, merit.round, merit.target, weights(merit))).collect()
    }

    /// The final table as text.
    fn table(&self) -> String {
        table(&self.named())
    }

    /// Writes the report, or another output, into a folder.
    fn render(&self, py: Python<'_>, folder: PathBuf, output: Option<&str>) -> PyResult<Vec<PathBuf>> {
        let done = py.detach(|| match output {
            Some("tensorboard") => tensorboard(&self.held, &folder),
            Some(output) => render_as(output, &self.named(), &folder),
            None => render(&self.named(), &folder),
        });
        done.map_err(|error| PyOSError::new_err(error.to_string()))
    }
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("records have only names as keys")
}

fn lines(values: &[impl serde::Serialize]) -> String {
    values.iter().map(|value| text(value) + "\n").collect()
}

fn put<T: Element>(columns: &Bound<'_, PyDict>, name: &str, values: impl Iterator<Item = T>) -> PyResult<()> {
    columns.set_item(name, PyArray1::from_iter(columns.py(), values))
}

/// A column for each name that any row has; NaN where a row has it not.
fn put_all<'m>(columns: &Bound<'_, PyDict>, prefix: &str, rows: impl Iterator<Item = &'m Metrics> + Clone) -> PyResult<()> {
    let names: BTreeSet<&String> = rows.clone().flat_map(|row| row.keys()).collect();
    for name in names {
        let value = |row: &Metrics| row.get(name).copied().unwrap_or(f64::NAN);
        put(columns, &format!("{prefix}{name}"), rows.clone().map(value))?;
    }
    Ok(())
}
