//! Vectors as NumPy arrays and back.

use std::cell::RefCell;

use motet::core::{Precision, Vector, View, ViewMut};
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A copy of a vector: the program may keep it.
pub(crate) fn array<'py>(py: Python<'py>, x: &Vector) -> Bound<'py, PyAny> {
    match x.view() {
        View::F32(x) => PyArray1::from_slice(py, x).into_any(),
        View::F64(x) => PyArray1::from_slice(py, x).into_any(),
    }
}

/// A vector that Python reads where it lies.
#[pyclass(frozen, module = "motet._motet")]
struct Held(Vector);

/// The vector itself, for who only reads it. It lives for as long as anybody has the array, and whoever writes to the vector meanwhile
/// gets memory of his own first.
pub(crate) fn borrowed<'py>(py: Python<'py>, x: &Vector) -> PyResult<Bound<'py, PyAny>> {
    let held = Bound::new(py, Held(x.clone()))?;
    match held.get().0.view() {
        View::F32(x) => read_only(x, &held),
        View::F64(x) => read_only(x, &held),
    }
}

fn read_only<'py, T: Element>(x: &[T], held: &Bound<'py, Held>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the numbers are those of the vector in `held`, which the array keeps alive: they neither move nor change while it has them.
    #[allow(unsafe_code)]
    let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(x), held.clone().into_any()) };
    array.try_readwrite()?.make_nonwriteable();
    Ok(array.into_any())
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

/// Copies what a function of the program gave into a vector of ours: an array, or a tuple of arrays that come one after another.
pub(crate) fn copy_into(value: &Bound<'_, PyAny>, to: &mut Vector, what: &str) -> PyResult<()> {
    let (precision, wanted) = (to.precision(), to.len());
    let mut copy = |at: usize, part: View<'_>| match (to.view_mut(), part) {
        (ViewMut::F32(to), View::F32(part)) => to[at..][..part.len()].copy_from_slice(part),
        (ViewMut::F64(to), View::F64(part)) => to[at..][..part.len()].copy_from_slice(part),
        _ => {} // parts are of the precision that was asked for
    };
    if parts(value, precision, wanted, what, &mut copy)? {
        return Ok(());
    }
    // Lists, other precisions, whatever else NumPy takes.
    let several = value.cast::<PyTuple>().is_ok_and(|parts| parts.get_item(0).is_ok_and(|first| first.cast::<PyUntypedArray>().is_ok()));
    let from = if several { vector(&value.py().import("numpy")?.call_method1("concatenate", (value,))?)? } else { vector(value)? };
    if from.len() != wanted {
        return Err(wrong_length(what, from.len(), wanted));
    }
    *to = Vector::with_precision(from.to_f64(), precision);
    Ok(())
}

/// Hands over, one after another, what a function of the program gave as one array or as a tuple of arrays, and where each begins. False, with
/// nothing handed over, if they are not arrays of this precision that lie in one piece each.
pub(crate) fn parts(
    value: &Bound<'_, PyAny>,
    precision: Precision,
    wanted: usize,
    what: &str,
    take: &mut dyn FnMut(usize, View<'_>),
) -> PyResult<bool> {
    match precision {
        Precision::F32 => parts_of::<f32>(value, wanted, what, &mut |at, part| take(at, View::F32(part))),
        Precision::F64 => parts_of::<f64>(value, wanted, what, &mut |at, part| take(at, View::F64(part))),
    }
}

fn parts_of<T: Element>(value: &Bound<'_, PyAny>, wanted: usize, what: &str, take: &mut dyn FnMut(usize, &[T])) -> PyResult<bool> {
    if let Some(whole) = piece::<T>(value) {
        if whole.len() != wanted {
            return Err(wrong_length(what, whole.len(), wanted));
        }
        take(0, whole.as_slice()?);
        return Ok(true);
    }
    let Ok(several) = value.cast::<PyTuple>() else { return Ok(false) };
    let Some(arrays) = several.iter().map(|part| piece::<T>(&part)).collect::<Option<Vec<_>>>() else { return Ok(false) };
    let found: usize = arrays.iter().map(|array| array.len()).sum();
    if found != wanted {
        return Err(wrong_length(what, found, wanted));
    }
    let mut at = 0;
    for array in &arrays {
        let part = array.as_slice()?;
        take(at, part);
        at += part.len();
    }
    Ok(true)
}

/// An array of such numbers in one piece.
fn piece<'py, T: Element>(value: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    value.extract::<PyReadonlyArray1<'py, T>>().ok().filter(|piece| piece.as_slice().is_ok())
}

fn wrong_length(what: &str, found: usize, wanted: usize) -> PyErr {
    PyValueError::new_err(format!("{what} has {found} numbers, and the model {wanted}"))
}
