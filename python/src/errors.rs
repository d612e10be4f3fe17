//! Our errors as exceptions.

use std::error::Error as _;

use motet::Error;
use pyo3::exceptions::{PyException, PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(motet, InputError, PyValueError, "What was given does not make sense; the message says what would be right.");
pyo3::create_exception!(motet, RunError, PyException, "A run could not go on.");
pyo3::create_exception!(motet, Stopped, PyException, "An experiment was stopped; what was reached is kept where there is a folder.");

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("Stopped", py.get_type::<Stopped>())
}

/// The exception of an error: the chain of causes on one line.
pub(crate) fn exception(error: &Error) -> PyErr {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if !text.contains(&inner.to_string()) {
            text.push_str(&format!(": {inner}"));
        }
        cause = inner.source();
    }
    match error {
        Error::Taken(folder) => {
            let folder = folder.display();
            PyFileExistsError::new_err(format!("{folder} exists and is not empty: choose another folder, or pass overwrite=True"))
        }
        Error::Write { .. } => PyOSError::new_err(text),
        Error::Interrupted { .. } => Stopped::new_err(text),
        Error::Run { .. } | Error::Failed { .. } | Error::Report(_) => RunError::new_err(text),
        _ => InputError::new_err(text),
    }
}

/// Panics: whoever builds a wheel asks whether that ends in an exception, or with the program.
#[pyfunction]
pub(crate) fn panics() {
    panic!("as asked for");
}

/// Wrong input of any kind.
pub(crate) fn wrong(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(error.to_string())
}
