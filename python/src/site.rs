//! A client's place of work, lent to the client's half of a method that is written in Python.

use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::ThreadId;

use motet::core::{Rows, Site, Vector};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{array, vector};

/// What the client's half may touch: its data by `value` and `gradient`, and its dice. It works while the half runs, and no longer.
#[pyclass(frozen, name = "Site", module = "motet._motet")]
pub(crate) struct PythonSite {
    /// Null while it is used, and when the half is over.
    at: AtomicPtr<Site<'static>>,
    /// The thread on which the half runs. Others may hold the object, as a traceback does, and only drop it.
    thread: ThreadId,
}

/// Lends a site to Python until it is dropped.
pub(crate) struct Lent<'py, 's> {
    object: Bound<'py, PythonSite>,
    _site: PhantomData<&'s mut Site<'static>>,
}

impl<'py, 's> Lent<'py, 's> {
    pub(crate) fn new(py: Python<'py>, site: &'s mut Site<'_>) -> PyResult<Self> {
        // The lifetimes are forgotten here and kept by `Lent`: while it lives, `site` is borrowed by it alone, and when it is dropped
        // the pointer is taken away from whoever still holds the object.
        let at = AtomicPtr::new(std::ptr::from_mut(site).cast::<Site<'static>>());
        let object = Bound::new(py, PythonSite { at, thread: std::thread::current().id() })?;
        Ok(Self { object, _site: PhantomData })
    }

    pub(crate) fn object(&self) -> &Bound<'py, PythonSite> {
        &self.object
    }
}

impl Drop for Lent<'_, '_> {
    fn drop(&mut self) {
        self.object.get().at.store(null_mut(), Ordering::Relaxed);
    }
}

impl PythonSite {
    /// Uses the site, if it is still lent.
    fn with<T>(&self, use_it: impl FnOnce(&mut Site<'_>) -> PyResult<T>) -> PyResult<T> {
        // Taken away meanwhile: a function that is called from here and calls back gets an error instead of a second `&mut`.
        let over = || PyRuntimeError::new_err("a site is for the call that it was given to, and one use at a time");
        if std::thread::current().id() != self.thread {
            return Err(PyRuntimeError::new_err("a site is for the thread of the call that it was given to"));
        }
        let at = self.at.swap(null_mut(), Ordering::Relaxed);
        // SAFETY: the pointer was made of a `&mut Site` that `Lent` borrows for as long as the pointer is there (its drop takes it
        // away), on this same thread (as was just looked at), and nobody else uses it now (it was just taken).
        #[allow(unsafe_code)]
        let used = use_it(unsafe { at.as_mut() }.ok_or_else(over)?);
        self.at.store(at, Ordering::Relaxed);
        used
    }
}

#[pymethods]
impl PythonSite {
    /// The client's number.
    #[getter]
    fn id(&self) -> PyResult<u32> {
        self.with(|site| Ok(site.id.0))
    }

    /// How many examples it trains on.
    #[getter]
    fn samples(&self) -> PyResult<usize> {
        self.with(|site| Ok(site.train.samples()))
    }

    /// How many numbers a model has.
    #[getter]
    fn dim(&self) -> PyResult<usize> {
        self.with(|site| Ok(site.train.dim()))
    }

    /// f(x), on the given rows or all.
    #[pyo3(signature = (x, rows=None))]
    fn value(&self, x: &Bound<'_, PyAny>, rows: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        self.with(|site| {
            let (x, rows) = (point(site, x)?, listed(site, rows)?);
            Ok(site.train.value(&x, which(rows.as_deref())))
        })
    }

    /// ∇f(x), on the given rows or all; counted, and with the client's own buffers where the model has any.
    #[pyo3(signature = (x, rows=None))]
    fn gradient<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, rows: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        self.with(|site| {
            let (x, rows) = (point(site, x)?, listed(site, rows)?);
            let mut g = x.zeros_like();
            let Site { train, buffers, .. } = site;
            train.train_into(&x, which(rows.as_deref()), buffers, &mut g);
            Ok(array(py, &g))
        })
    }

    /// A whole number out of the client's dice: a seed for a generator.
    fn seed(&self) -> PyResult<u64> {
        self.with(|site| Ok(site.rng.next_u64()))
    }
}

/// A model of the right length and precision.
fn point(site: &Site<'_>, x: &Bound<'_, PyAny>) -> PyResult<Vector> {
    let (x, wanted) = (vector(x)?, site.train.dim());
    if x.len() != wanted {
        return Err(PyValueError::new_err(format!("{} numbers were given, and the model has {wanted}", x.len())));
    }
    let precision = site.train.precision();
    Ok(if x.precision() == precision { x } else { Vector::with_precision(x.to_f64(), precision) })
}

/// Rows that the client has.
fn listed(site: &Site<'_>, rows: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<u32>>> {
    let Some(rows) = rows else { return Ok(None) };
    let samples = site.train.samples();
    let places: Vec<i64> = match rows.extract::<PyReadonlyArray1<'_, u32>>() {
        Ok(rows) => rows.as_array().iter().map(|row| i64::from(*row)).collect(),
        Err(_) => whole(rows).map_err(|_| PyTypeError::new_err(format!("rows are places of examples, whole numbers, got {rows}")))?,
    };
    if places.is_empty() {
        return Err(PyValueError::new_err("no rows were given, and nothing has no mean"));
    }
    let place = |row: i64| u32::try_from(row).ok().filter(|row| (*row as usize) < samples);
    let wrong = |row: i64| PyValueError::new_err(format!("row {row} of a client with {samples} examples, counted from 0"));
    places.into_iter().map(|row| place(row).ok_or_else(|| wrong(row))).collect::<PyResult<_>>().map(Some)
}

/// Whole numbers of any width, in an array or a list.
fn whole(rows: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let numpy = rows.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (rows,))?;
    // Not numbers that are rounded, and no masks.
    let words = PyDict::new(rows.py());
    words.set_item("casting", "same_kind")?;
    if array.getattr("dtype")?.getattr("kind")?.extract::<String>()? == "b" {
        return Err(PyTypeError::new_err("a mask"));
    }
    let array = array.call_method("astype", ("int64",), Some(&words))?;
    Ok(array.extract::<PyReadonlyArray1<'_, i64>>()?.as_array().to_vec())
}

fn which(rows: Option<&[u32]>) -> Rows<'_> {
    rows.map_or(Rows::All, Rows::Only)
}
