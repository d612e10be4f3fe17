//! Data that a Python program has: rows and labels, or the columns of a data frame.
//!
//! Dense values that nobody writes to any more are read where they lie; others are copied, row after row. Single precision stays
//! single, bytes stay bytes, sparse stays sparse.

use motet::problems::source::TargetKind;
use std::sync::Arc;

use motet::problems::{Bytes, Column, Dense, LabelledRows, Matrix, Names, OwnData, Single, Usage, Values};
use numpy::{Element, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::{exception, wrong};

/// Data that were checked; the rows are held once, whoever uses them.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Data {
    held: OwnData,
    classes: Vec<String>,
}

/// Which name each row has.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Coded<'py> {
    codes: PyReadonlyArray1<'py, u32>,
    names: Vec<String>,
}

impl Coded<'_> {
    fn names(self) -> Names {
        Names::Coded { codes: self.codes.as_array().to_vec(), names: self.names }
    }
}

/// Sparse rows, as SciPy has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Sparse<'py> {
    cols: usize,
    starts: PyReadonlyArray1<'py, u64>,
    columns: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
}

/// The features of all rows.
#[derive(FromPyObject)]
pub(crate) enum Features<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Bytes(PyReadonlyArray2<'py, u8>),
    Sparse(Sparse<'py>),
}

impl Features<'_> {
    /// `lend` says that nobody will write to dense values any more: they are then read where they lie.
    pub(crate) fn matrix(self, lend: bool) -> PyResult<Matrix> {
        Ok(match self {
            Features::Double(rows) => Matrix::Dense(Dense { cols: rows.shape()[1], values: row_after_row(&rows, lend) }),
            Features::Single(rows) => Matrix::Single(Single { cols: rows.shape()[1], values: row_after_row(&rows, lend) }),
            Features::Bytes(rows) => {
                let values = row_after_row(&rows, lend);
                Matrix::Bytes(Bytes { values, ..Bytes::pixels(rows.shape()[1], vec![]) })
            }
            Features::Sparse(rows) => {
                let starts = rows.starts.as_array().iter().map(|&start| start as usize).collect();
                Matrix::sparse(rows.cols, starts, rows.columns.as_array().to_vec(), rows.values.as_array().to_vec()).map_err(wrong)?
            }
        })
    }
}

/// The values themselves, if they are lent and lie one row after another; else a copy.
fn row_after_row<T: Element + Copy + 'static>(rows: &PyReadonlyArray2<'_, T>, lend: bool) -> Values<T> {
    let view = rows.as_array();
    match view.as_slice() {
        Some(values) if lend => Values::lent(Arc::new(Lent { array: (**rows).clone().unbind(), at: values.as_ptr(), len: values.len() })),
        Some(values) => values.to_vec().into(),
        None => view.iter().copied().collect(),
    }
}

/// The values of an array that nobody writes to.
struct Lent<T> {
    /// Keeps the memory.
    #[expect(dead_code, reason = "held, not read")]
    array: Py<PyArray2<T>>,
    at: *const T,
    len: usize,
}

// SAFETY: the memory is only read, by whichever thread; the array that keeps it may be let go on any thread.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Send for Lent<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Sync for Lent<T> {}

impl<T> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: the pointer and the length are those of the array's values in one piece. The array lives as long as this does and its
        // memory neither moves nor changes: whoever lent it has said that nobody writes to it (`motet.Data` makes sure or is told).
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.at, self.len)
        }
    }
}

/// What is to be predicted.
#[derive(FromPyObject)]
enum Labels<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Classes(Coded<'py>),
}

/// A column of a data frame.
#[derive(FromPyObject)]
enum Cells<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Words(Vec<Option<String>>),
}

/// Which columns are what.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Roles {
    client: Option<String>,
    target: String,
    /// "auto", "classes" or "numbers".
    targets: String,
    categories: Vec<String>,
    standardise: bool,
}

#[pymethods]
impl Data {
    /// Rows of features with a label each, and whose each is.
    #[staticmethod]
    fn of_rows(
        py: Python<'_>,
        name: &str,
        features: Features<'_>,
        labels: Labels<'_>,
        clients: Option<Coded<'_>>,
        usage: Option<PyReadonlyArray1<'_, u8>>,
        lend: bool,
    ) -> PyResult<Self> {
        let mut rows = LabelledRows::of(features.matrix(lend)?).named(name);
        let mut classes = vec![];
        rows = match labels {
            Labels::Numbers(numbers) => rows.numbers(numbers.as_array().to_vec()),
            Labels::Classes(coded) => {
                classes.clone_from(&coded.names);
                rows.classes(coded.names())
            }
        };
        if let Some(clients) = clients {
            rows = rows.clients(clients.names());
        }
        if let Some(usage) = usage {
            rows = rows.usage(usage.as_array().iter().map(|code| used(*code)).collect::<PyResult<_>>()?);
        }
        Ok(Self { held: py.detach(|| rows.check()).map_err(wrong)?, classes })
    }

    /// Named columns of numbers (a gap is NaN) and words (a gap is `None`).
    #[staticmethod]
    fn of_columns(
        py: Python<'_>,
        name: &str,
        columns: Vec<(String, Cells<'_>)>,
        roles: Roles,
        usage: Option<PyReadonlyArray1<'_, u8>>,
    ) -> PyResult<Self> {
        let mut frame = motet::problems::DataFrame::new().named(name).target(&roles.target);
        for (name, cells) in columns {
            let column = match cells {
                Cells::Numbers(numbers) => Column::Numbers(numbers.as_array().to_vec()),
                Cells::Words(words) => Column::Words(words),
            };
            frame = frame.column(&name, column);
        }
        if let Some(client) = &roles.client {
            frame = frame.client(client);
        }
        frame = frame.targets(match roles.targets.as_str() {
            "classes" => TargetKind::Classes,
            "numbers" => TargetKind::Numbers,
            _ => TargetKind::Auto,
        });
        frame = frame.categories(&roles.categories.iter().map(String::as_str).collect::<Vec<_>>());
        if !roles.standardise {
            frame = frame.unscaled();
        }
        if let Some(usage) = usage {
            frame = frame.usage(usage.as_array().iter().map(|code| used(*code)).collect::<PyResult<_>>()?);
        }
        let held = py.detach(|| frame.check()).map_err(|source| exception(&motet::Error::data(name.to_owned(), source)))?;
        Ok(Self { held, classes: vec![] })
    }

    /// What records call the data.
    #[getter]
    fn name(&self) -> &str {
        self.held.name()
    }

    /// How many rows there are.
    #[getter]
    fn rows(&self) -> usize {
        self.held.rows()
    }

    /// How many numbers a row has for a model.
    #[getter]
    fn features(&self) -> usize {
        self.held.features()
    }

    /// What the clients are called, in the order of their numbers.
    #[getter]
    fn clients(&self) -> Vec<String> {
        self.held.clients().to_vec()
    }

    /// What the classes are called, in the order of their numbers, where rows and labels were given.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.classes.clone()
    }

    /// How many classes there are; nothing if numbers are predicted.
    #[getter]
    fn class_count(&self) -> Option<u32> {
        self.held.classes()
    }

    /// SHA-256 of all values, as manifests have it.
    #[getter]
    fn sha256(&self) -> &str {
        &self.held.input().sha256
    }
}

impl Data {
    /// The rows, shared.
    pub(crate) fn held(&self) -> OwnData {
        self.held.clone()
    }
}

fn used(code: u8) -> PyResult<Usage> {
    match code {
        0 => Ok(Usage::Train),
        1 => Ok(Usage::Validation),
        2 => Ok(Usage::Test),
        _ => Err(PyTypeError::new_err(format!("a row is for training (0), validation (1) or test (2), not {code}"))),
    }
}
