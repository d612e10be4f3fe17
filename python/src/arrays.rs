//! Vectors as NumPy arrays and back.

use std::cell::RefCell;

use motet::core::{Vector, View, ViewMut};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A copy of a vector: the program may keep it.
pub(crate) fn array<'py>(py: Python<'py>, x: &Vector) -> Bound<'py, PyAny> {
    match x.view() {
        View::F32(x) => PyArray1::from_slice(py, x).into_any(),
        View::F64(x) => PyArray1::from_slice(py, x).into_any(),
    }
}

thread_local! {
    /// The array that was last lent on this thread: new memory for every call would cost more than the copy into it.
    static LENT: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// The same for a call that mostly does not keep it: the memory of the last call is used again, if nobody holds it any more.
pub(crate) fn lent<'py>(py: Python<'py>, x: &Vector) -> Bound<'py, PyAny> {
    let last = LENT.take();
    // SAFETY: the pointer is that of a living object, whose count is read while this thread holds the interpreter.
    #[allow(unsafe_code)]
    let unheld = |last: &Py<PyAny>| unsafe { pyo3::ffi::Py_REFCNT(last.as_ptr()) == 1 };
    let reused = last.filter(unheld).and_then(|last| match x.view() {
        View::F32(x) => refilled(last.into_bound(py), x),
        View::F64(x) => refilled(last.into_bound(py), x),
    });
    let made = reused.unwrap_or_else(|| array(py, x));
    LENT.set(Some(made.clone().unbind()));
    made
}

/// Writes numbers over an array of their kind and number.
fn refilled<'py, T: Element + Copy>(last: Bound<'py, PyAny>, x: &[T]) -> Option<Bound<'py, PyAny>> {
    let of_kind = last.cast::<PyArray1<T>>().ok().filter(|last| last.len() == x.len())?;
    of_kind.try_readwrite().ok()?.as_slice_mut().ok()?.copy_from_slice(x);
    Some(last)
}

/// A vector of a one-dimensional array of either precision, or of whatever NumPy makes an array of double precision of.
pub(crate) fn vector(value: &Bound<'_, PyAny>) -> PyResult<Vector> {
    if let Ok(single) = value.extract::<PyReadonlyArray1<'_, f32>>() {
        return Ok(Vector::from(single.as_array().to_vec()));
    }
    if let Ok(double) = value.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Vector::from(double.as_array().to_vec()));
    }
    let numpy = value.py().import("numpy")?;
    let made = numpy.call_method1("asarray", (value, "float64"))?;
    let made: PyReadonlyArray1<'_, f64> =
        made.extract().map_err(|_| PyTypeError::new_err(format!("a one-dimensional array of numbers is wanted, got {value}")))?;
    Ok(Vector::from(made.as_array().to_vec()))
}

/// Copies what a function of the program gave into a vector of ours.
pub(crate) fn copy_into(value: &Bound<'_, PyAny>, to: &mut Vector, what: &str) -> PyResult<()> {
    let wanted = to.len();
    let length = |found: usize| PyValueError::new_err(format!("{what} has {found} numbers, and the model {wanted}"));
    match to.view_mut() {
        ViewMut::F64(to) => {
            if let Ok(from) = value.extract::<PyReadonlyArray1<'_, f64>>() {
                return copy(&from, to).map_err(length);
            }
        }
        ViewMut::F32(to) => {
            if let Ok(from) = value.extract::<PyReadonlyArray1<'_, f32>>() {
                return copy(&from, to).map_err(length);
            }
        }
    }
    // Lists, other precisions, whatever else NumPy takes.
    let from = vector(value)?;
    if from.len() != wanted {
        return Err(length(from.len()));
    }
    *to = Vector::with_precision(from.to_f64(), to.precision());
    Ok(())
}

/// Copies numbers of one precision, or tells how many there are.
fn copy<T: numpy::Element + Copy>(from: &PyReadonlyArray1<'_, T>, to: &mut [T]) -> Result<(), usize> {
    let view = from.as_array();
    if view.len() != to.len() {
        return Err(view.len());
    }
    match view.as_slice() {
        Some(from) => to.copy_from_slice(from),
        None => to.iter_mut().zip(view.iter()).for_each(|(to, from)| *to = *from),
    }
    Ok(())
}
