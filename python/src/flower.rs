//! Clients that another system reaches, such as nodes of a Flower federation: letters as bytes.

use std::sync::Arc;

use motet::config::Experiment;
use motet::core::{Abort, Vector};
use motet::link::{Consent, Office};
use motet::study::{Brought, CalledUpon, Post, carried};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{array, vector};
use crate::catalogue::CATALOGUE;
use crate::data::Data;
use crate::errors::exception;
use crate::failures::Failures;
use crate::functions::Given;
use crate::observer::Watcher;
use crate::records::Records;
use crate::run::{How, document, name_source, record};

/// Letters of a run that is under way.
#[pyclass(frozen, name = "Letters", module = "motet._motet")]
pub(crate) struct Letters {
    office: Arc<Office>,
}

#[pymethods]
impl Letters {
    /// (client, number of its task) of everyone who has something to do.
    fn open(&self) -> Vec<(u32, u64)> {
        let number = |(client, task): (u32, motet::link::TaskNumber)| (client, u64::from(task.start) << 32 | u64::from(task.count));
        self.office.desk().open_tasks().into_iter().map(number).collect()
    }

    /// The letter for a client; nothing if it has nothing to do.
    fn letter<'py>(&self, py: Python<'py>, client: u32) -> Option<Bound<'py, PyBytes>> {
        self.office.letter(client).map(|letter| PyBytes::new(py, &letter))
    }

    /// What a client said, perhaps to a letter that nobody waits for any more.
    fn bring(&self, client: u32, said: &[u8]) -> PyResult<()> {
        let heard = self.office.bring(client, said);
        heard.map(|_| ()).map_err(|error| PyValueError::new_err(format!("client {client} sent something that cannot be read: {error}")))
    }
}

/// Who carries letters in Python: an object with `start(problem, seed)` and `carry(letters, sheet)`.
struct PythonPost {
    object: Py<PyAny>,
    failures: Arc<Failures>,
}

impl PythonPost {
    fn call<T>(&self, call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, String> {
        self.failures.attempt(|py| call(py, self.object.bind(py))).ok_or_else(|| "an exception was raised".into())
    }
}

impl Post for PythonPost {
    fn start(&self, problem: u32, seed: u64) -> Result<Vector, String> {
        self.call(|_, post| vector(&post.call_method1("start", (problem, seed))?))
    }

    fn carry(&self, office: &Arc<Office>, sheet: &str) -> Result<(), Abort> {
        let letters = Letters { office: Arc::clone(office) };
        self.call(|_, post| post.call_method1("carry", (letters, sheet)).map(|_| ())).map_err(Abort::Closed)
    }
}

/// Runs an experiment with so many clients elsewhere.
#[pyfunction]
pub(crate) fn run_elsewhere(
    py: Python<'_>,
    written: (String, String),
    how: How,
    clients: u32,
    post: Py<PyAny>,
    observer: Option<Py<PyAny>>,
) -> PyResult<Records> {
    let mut document = document(&written.0, &written.1, &how)?;
    name_source(&mut document, None, Some("clients")).map_err(|error| exception(&error))?;
    let failures = Arc::new(Failures::default());
    let done = py.detach(|| {
        let (_here, watcher) = (failures.enter(), Watcher::new(observer, Arc::clone(&failures)));
        let post = PythonPost { object: post, failures: Arc::clone(&failures) };
        let simulation = carried(Experiment::of(document, &CATALOGUE)?, clients, Arc::new(post))?;
        record(&simulation, &how, &watcher)
    });
    failures.take().map_or_else(|| done.map_err(|error| exception(&error)), Err)
}

/// A client at its node.
#[pyclass(frozen, name = "Node", module = "motet._motet")]
pub(crate) struct Node {
    held: CalledUpon,
    failures: Arc<Failures>,
}

#[pymethods]
impl Node {
    /// A client with a function of its own.
    #[staticmethod]
    fn of_client(py: Python<'_>, number: u32, client: Py<PyAny>, shows: (bool, bool)) -> PyResult<Self> {
        let failures = Arc::new(Failures::default());
        let shard = Given::check(py, "clients", vec![client], &failures)?.into_first();
        Ok(Self { held: CalledUpon::new(number, Brought::Function(Box::new(shard)), consent(shows)), failures })
    }

    /// A client of the problems in an experiment, which are built here.
    #[staticmethod]
    fn of_experiment(
        py: Python<'_>,
        number: u32,
        written: (String, String),
        data: Vec<PyRef<'_, Data>>,
        shows: (bool, bool),
    ) -> PyResult<Self> {
        let mut document = document(&written.0, &written.1, &How::default())?;
        let data: Vec<_> = data.iter().map(|data| data.held()).collect();
        name_source(&mut document, data.first().map(|data| data.name()), None).map_err(|error| exception(&error))?;
        let failures = Arc::new(Failures::default());
        let made = py.detach(|| {
            let _here = failures.enter();
            data.iter().try_fold(Experiment::of(document, &CATALOGUE)?, Experiment::give)
        });
        let experiment = Box::new(made.map_err(|error| exception(&error))?);
        Ok(Self { held: CalledUpon::new(number, Brought::Experiment(experiment), consent(shows)), failures })
    }

    /// Where training starts on a problem, and how many clients there are if this one knows.
    fn greet<'py>(&self, py: Python<'py>, problem: u32, seed: u64) -> PyResult<(Bound<'py, PyAny>, Option<u32>)> {
        let (start, clients) = py.detach(|| self.held.greet(problem, seed)).map_err(|error| exception(&error))?;
        Ok((array(py, &start), clients))
    }

    /// (what this answer leaves, what the client says); `kept` is what the last answer left, empty before the first.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        sheet: &str,
        kept: Vec<u8>,
        letter: &[u8],
        on_model: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let failures = Arc::clone(&self.failures);
        let told = Box::new(move |model: Vector| {
            let Some(on_model) = on_model.as_ref().filter(|_| !failures.any()) else { return };
            if let Err(error) = Python::attach(|py| on_model.call1(py, (array(py, &model),))) {
                failures.keep(error);
            }
        });
        let done = py.detach(|| {
            let _here = self.failures.enter();
            self.held.answer(&CATALOGUE, sheet, kept, letter, told)
        });
        if let Some(raised) = self.failures.take() {
            return Err(raised);
        }
        let (kept, said) = done.map_err(|error| exception(&error))?;
        Ok((PyBytes::new(py, &kept), PyBytes::new(py, &said)))
    }
}

/// What may be seen of a client: (losses and metrics, gradients and its own model).
fn consent((scores, vectors): (bool, bool)) -> Consent {
    Consent { scores, vectors }
}
