//! A client's place of work, lent to the client's half of a method that is written in Python.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use motet::core::{Rows, Site, Vector};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{array, vector};

/// What the client's half may touch: its data by `value` and `gradient`, and its dice. It works while the half runs, and no longer.
#[pyclass(unsendable, name = "Site", module = "motet._motet")]
pub(crate) struct PythonSite {
    at: Cell<Option<NonNull<Site<'static>>>>,
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
        let at = NonNull::from(site).cast::<Site<'static>>();
        let object = Bound::new(py, PythonSite { at: Cell::new(Some(at)) })?;
        Ok(Self { object, _site: PhantomData })
    }

    pub(crate) fn object(&self) -> &Bound<'py, PythonSite> {
        &self.object
    }
}

impl Drop for Lent<'_, '_> {
    fn drop(&mut self) {
        self.object.borrow().at.set(None);
    }
}

impl PythonSite {
    /// Uses the site, if it is still lent.
    fn with<T>(&self, use_it: impl FnOnce(&mut Site<'_>) -> PyResult<T>) -> PyResult<T> {
        // Taken away meanwhile: a function that is called from here and calls back gets an error instead of a second `&mut`.
        let over = || PyRuntimeError::new_err("a site is for the call that it was given to, and one use at a time");
        let mut at = self.at.take().ok_or_else(over)?;
        // SAFETY: the pointer was made of a `&mut Site` that `Lent` borrows for as long as the pointer is there (its drop takes it
        // away), on this same thread (the class is not sendable), and nobody else uses it now (it was just taken).
        #[allow(unsafe_code)]
        let used = use_it(unsafe { at.as_mut() });
        self.at.set(Some(at));
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
    fn value(&self, x: &Bound<'_, PyAny>, rows: Option<PyReadonlyArray1<'_, u32>>) -> PyResult<f64> {
        self.with(|site| {
            let (x, rows) = (point(site, x)?, listed(site, rows)?);
            Ok(site.train.value(&x, which(rows.as_deref())))
        })
    }

    /// ∇f(x), on the given rows or all; counted, and with the client's own buffers where the model has any.
    #[pyo3(signature = (x, rows=None))]
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        rows: Option<PyReadonlyArray1<'py, u32>>,
    ) -> PyResult<Bound<'py, PyAny>> {
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
fn listed(site: &Site<'_>, rows: Option<PyReadonlyArray1<'_, u32>>) -> PyResult<Option<Vec<u32>>> {
    let Some(rows) = rows.map(|rows| rows.as_array().to_vec()) else { return Ok(None) };
    let samples = site.train.samples();
    match rows.iter().find(|row| **row as usize >= samples) {
        Some(row) => Err(PyValueError::new_err(format!("row {row} of a client with {samples} examples, counted from 0"))),
        None => Ok(Some(rows)),
    }
}

fn which(rows: Option<&[u32]>) -> Rows<'_> {
    rows.map_or(Rows::All, Rows::Only)
}
