//! Clients whose functions a Python program gives, as a source that experiments name.

use std::sync::Arc;

use motet::config::Experiment;
use motet::core::{Documented, Kind, Objective, Shard, Vector};
use motet::problems::source::{Load, Material, Place};
use motet::problems::{ProblemError, Source};
use motet::{Error, config::ConfigError};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::evaluator::PythonEvaluator;
use crate::failures::Failures;
use crate::objective::{PythonObjective, optional};

/// Clients with functions of a Python program's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[documented(crate = motet::core)]
#[serde(deny_unknown_fields)]
pub(crate) struct Functions {
    /// What the program calls its clients.
    pub(crate) name: String,
    /// How many there must be; any number by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clients: Option<u32>,
    #[serde(skip)]
    given: Option<Given>,
}

impl Kind for Functions {
    const NAME: &'static str = "python";
}

impl Load for Functions {
    fn load(&self, _: &Place<'_>) -> Result<Material, ProblemError> {
        let missing = || ProblemError::Value {
            key: "source.name",
            value: self.name.clone(),
            wanted: "the clients of a Python program: run this experiment from there, with motet.run(…, clients=…)".into(),
        };
        let given = self.given.as_ref().ok_or_else(missing)?;
        Ok(Material::Functions { shards: given.shards.to_vec(), start: given.start.clone() })
    }
}

/// What the program gave, looked at once.
#[derive(Clone)]
pub(crate) struct Given {
    name: String,
    shards: Arc<Vec<Shard>>,
    start: Vector,
}

impl Given {
    /// Looks at every client: an objective, or an object with an objective `train` and what judges it.
    pub(crate) fn check(py: Python<'_>, name: &str, clients: Vec<Py<PyAny>>, failures: &Arc<Failures>) -> PyResult<Self> {
        let mut shards = vec![];
        for (k, client) in clients.iter().enumerate() {
            let made = shard(client.bind(py), failures);
            shards.push(made.map_err(|error| about_client(py, k, error))?);
        }
        let Some(first) = shards.first() else { return Err(PyValueError::new_err("there are no clients")) };
        let start = first.train.start();
        for (k, shard) in shards.iter().enumerate() {
            let (found, precision) = (shard.train.dim(), shard.train.precision());
            if found != start.len() || precision != start.precision() {
                let (wanted, bits) = (start.len(), start.precision().bits());
                let found_bits = precision.bits();
                return Err(PyValueError::new_err(format!(
                    "client {k} has a function of {found} numbers of {found_bits} bits, client 0 of {wanted} numbers of {bits} bits"
                )));
            }
        }
        Ok(Self { name: name.to_owned(), shards: Arc::new(shards), start })
    }

    /// The first client.
    pub(crate) fn into_first(self) -> Shard {
        self.shards.first().expect("clients without a list are refused when they are looked at").clone()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// An exception of the same kind that names the client; the one that was raised is its cause. Kinds that we do not raise are left alone.
fn about_client(py: Python<'_>, client: usize, error: PyErr) -> PyErr {
    let kinds = [py.get_type::<PyTypeError>(), py.get_type::<PyValueError>(), py.get_type::<PyOverflowError>()];
    let Some(kind) = kinds.into_iter().find(|kind| error.is_instance(py, kind)) else { return error };
    let named = PyErr::from_type(kind, format!("client {client}: {}", error.value(py)));
    named.set_cause(py, Some(error));
    named
}

fn shard(client: &Bound<'_, PyAny>, failures: &Arc<Failures>) -> PyResult<Shard> {
    let train = optional(client, "train")?.unwrap_or_else(|| client.clone());
    let train = PythonObjective::new(&train, failures)?;
    let with_buffers = train.buffers().is_some();
    let judge = |name: &str| -> PyResult<Option<Arc<dyn motet::core::Evaluator>>> {
        let Some(object) = optional(client, name)? else { return Ok(None) };
        Ok(Some(Arc::new(PythonEvaluator::new(&object, with_buffers, failures)?)))
    };
    let validation = optional(client, "validation")?.map(|object| PythonObjective::new(&object, failures)).transpose()?;
    Ok(Shard {
        validation: validation.map(|validation| Arc::new(validation) as Arc<dyn Objective>),
        train_evaluator: judge("train_judge")?,
        validation_evaluator: judge("validation_judge")?,
        test_evaluator: judge("test_judge")?,
        ..Shard::new(Arc::new(train))
    })
}

/// Puts the program's clients wherever `[problem]` asks for them by their name.
pub(crate) fn give(experiment: &mut Experiment, given: &Given) -> Result<(), Error> {
    let mut filled = false;
    for variant in &mut experiment.problems {
        let Some(asked) = variant.config.source.downcast::<Functions>().filter(|asked| asked.name == given.name) else { continue };
        let found = given.shards.len() as u32;
        if let Some(wanted) = asked.clients.filter(|wanted| *wanted != found) {
            let message = format!("the program gives {found} clients, and {wanted} are asked for");
            return Err(wrong(experiment, "problem.source.clients", message));
        }
        let source = Functions { name: given.name.clone(), clients: Some(found), given: Some(given.clone()) };
        variant.config.source = Source::new(source);
        filled = true;
    }
    if filled {
        return Ok(());
    }
    let message = format!("the program gives clients, but it has no source = {{ kind = \"python\", name = {:?} }}", given.name);
    Err(wrong(experiment, "problem.source", message))
}

fn wrong(experiment: &Experiment, key: &str, message: String) -> Error {
    ConfigError::Value { file: experiment.document.file.clone(), key: key.into(), message }.into()
}

/// The same clients, not equal ones.
impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shards, &other.shards)
    }
}

impl std::fmt::Debug for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given").field("name", &self.name).field("clients", &self.shards.len()).finish()
    }
}
