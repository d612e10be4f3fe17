//! A client's function that a Python program has.
//!
//! An objective is any object with `value` and `gradient`. What else it has says how they are called:
//!
//! | it has | `value` and `gradient` take |
//! | --- | --- |
//! | neither of the below | `(x)` |
//! | `samples`: how many examples it averages over | `(x, rows)`, rows `None` for all of them |
//! | `buffers`: numbers of its own that are never shared | `(x, rows, buffers, noise)`; training writes into `buffers` |
//!
//! With `borrows`, x is the memory of the run itself, to be read; otherwise a copy.
//!
//! `noise` is a whole number for the dice of dropout and augmentation while training, and `None` while measuring.

use std::sync::Arc;
use std::time::Instant;

use motet::core::{Batch, Constants, Objective, Precision, Rows, Step, Vector};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{array, borrowed, copy_into, lent, parts, vector};
use crate::failures::Failures;

/// What `value` and `gradient` take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Point,
    Rows,
    Everything,
}

/// A function of the program's own.
pub(crate) struct PythonObjective {
    value: Py<PyAny>,
    gradient: Py<PyAny>,
    /// Both at once, where the object has it.
    both: Option<Py<PyAny>>,
    takes: Takes,
    borrows: bool,
    samples: usize,
    start: Vector,
    buffers: Option<Vector>,
    constants: Constants,
    failures: Arc<Failures>,
}

impl PythonObjective {
    /// Looks at an object once: what it has, and that it fits together.
    pub(crate) fn new(object: &Bound<'_, PyAny>, failures: &Arc<Failures>) -> PyResult<Self> {
        let function = |name: &str| {
            let found = optional(object, name)?.filter(Bound::is_callable);
            let missing = || PyTypeError::new_err(format!("an objective has a method {name}, and {object} has none"));
            found.map(Bound::unbind).ok_or_else(missing)
        };
        let start = match (optional(object, "start")?, optional(object, "dim")?) {
            (Some(start), _) => vector(&start)?,
            (None, Some(dim)) => {
                let dim = dim.extract()?;
                // Too many end in an exception, and not with the program.
                Vec::<f64>::new().try_reserve_exact(dim).map_err(|_| PyValueError::new_err(format!("no room for dim = {dim} numbers")))?;
                Vector::zeros(dim, Precision::F64)
            }
            (None, None) => return Err(PyTypeError::new_err(format!("an objective has a start or a dim, and {object} has neither"))),
        };
        if start.is_empty() {
            return Err(PyValueError::new_err(format!("{object} has no numbers to train: its dim is 0")));
        }
        let samples = optional(object, "samples")?.map(|samples| samples.extract::<usize>()).transpose()?;
        if samples == Some(0) {
            return Err(PyValueError::new_err(format!("{object} has no samples: leave out clients without examples")));
        }
        let buffers = optional(object, "buffers")?.map(|buffers| vector(&buffers)).transpose()?;
        let takes = match (samples, &buffers) {
            (_, Some(_)) => Takes::Everything,
            (Some(_), None) => Takes::Rows,
            (None, None) => Takes::Point,
        };
        let number = |name: &str| -> PyResult<Option<f64>> {
            let Some(given) = optional(object, name)? else { return Ok(None) };
            given.extract().map(Some).map_err(|_| PyTypeError::new_err(format!("{name} is a number, and {given} was given")))
        };
        let constants = Constants {
            smoothness: number("smoothness")?,
            convexity: number("convexity")?,
            sample_smoothness: number("sample_smoothness")?,
        };
        Ok(Self {
            value: function("value")?,
            gradient: function("gradient")?,
            both: optional(object, "value_gradient")?.filter(Bound::is_callable).map(Bound::unbind),
            takes,
            borrows: optional(object, "borrows")?.map_or(Ok(false), |borrows| borrows.extract())?,
            samples: samples.unwrap_or(1),
            start,
            buffers: buffers.filter(|buffers| !buffers.is_empty()),
            constants,
            failures: Arc::clone(failures),
        })
    }

    /// Calls one of the functions: what it gives.
    fn call<'py>(&self, py: Python<'py>, function: &Py<PyAny>, x: &Vector, batch: Batch<'_>) -> PyResult<Bound<'py, PyAny>> {
        let x = if self.borrows { borrowed(py, x)? } else { lent(py, x) };
        match self.takes {
            Takes::Point => function.bind(py).call1((x,)),
            Takes::Rows => function.bind(py).call1((x, rows(py, batch.rows))),
            Takes::Everything => {
                let held = batch.buffers.as_deref().or(self.buffers.as_ref()).map(|buffers| array(py, buffers));
                let noise = batch.noise.map(|noise| noise.key());
                let given = function.bind(py).call1((x, rows(py, batch.rows), &held, noise))?;
                // While measuring, nothing that a client has may change.
                if let (Some(to), Some(held), Some(_)) = (batch.buffers, &held, noise) {
                    copy_into(held, to, "what an objective left in its buffers")?;
                }
                Ok(given)
            }
        }
    }
}

impl Objective for PythonObjective {
    fn dim(&self) -> usize {
        self.start.len()
    }

    fn samples(&self) -> usize {
        self.samples
    }

    fn precision(&self) -> Precision {
        self.start.precision()
    }

    fn value(&self, x: &Vector, batch: Batch<'_>) -> f64 {
        let number = |given: Bound<'_, PyAny>| {
            given.extract().map_err(|_| PyTypeError::new_err(format!("an objective's value is a number, and {given} was given")))
        };
        self.failures.attempt(|py| self.call(py, &self.value, x, batch).and_then(number)).unwrap_or(f64::NAN)
    }

    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        let made = self.failures.attempt(|py| copy_into(&self.call(py, &self.gradient, x, batch)?, g, "a gradient"));
        made.unwrap_or_else(|| g.fill(f64::NAN));
    }

    fn value_gradient(&self, x: &Vector, mut batch: Batch<'_>, g: &mut Vector) -> f64 {
        let Some(both) = &self.both else {
            let value = self.value(x, batch.again());
            self.gradient(x, batch, g);
            return value;
        };
        let value = self.failures.attempt(|py| {
            let (value, gradient): (f64, Bound<'_, PyAny>) = self.call(py, both, x, batch)?.extract()?;
            copy_into(&gradient, g, "a gradient")?;
            Ok(value)
        });
        value.unwrap_or_else(|| {
            g.fill(f64::NAN);
            f64::NAN
        })
    }

    /// From the memory that Python left the gradient in.
    fn step_by(&self, x: &mut Vector, batch: Batch<'_>, spare: &mut Option<Vector>, step: &mut Step<'_>) {
        let stepped = self.failures.attempt(|py| {
            let given = self.call(py, &self.gradient, x, batch)?;
            if parts(&given, x.precision(), x.len(), "a gradient", &mut |at, part| step(x, at, part))? {
                return Ok(());
            }
            let g = spare.get_or_insert_with(|| x.zeros_like());
            copy_into(&given, g, "a gradient")?;
            step(x, 0, g.view());
            Ok(())
        });
        stepped.unwrap_or_else(|| x.fill(f64::NAN));
    }

    fn start(&self) -> Vector {
        self.start.clone()
    }

    fn constants(&self) -> Constants {
        self.constants
    }

    fn buffers(&self) -> Option<Vector> {
        self.buffers.clone()
    }

    fn has_failed(&self) -> bool {
        self.failures.spoiled()
    }
}

/// An attribute that may be missing or `None`.
pub(crate) fn optional<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(object.getattr_opt(name)?.filter(|found| !found.is_none()))
}

fn rows<'py>(py: Python<'py>, rows: Rows<'_>) -> Option<Bound<'py, PyArray1<u32>>> {
    match rows {
        Rows::All => None,
        Rows::Only(rows) => Some(PyArray1::from_slice(py, rows)),
    }
}

/// Seconds of each of so many gradients of an objective at `x`: what the way into Python and back costs.
#[pyfunction]
pub(crate) fn time_gradients(py: Python<'_>, objective: &Bound<'_, PyAny>, times: usize) -> PyResult<Vec<f64>> {
    let failures = Arc::new(Failures::default());
    let function = PythonObjective::new(objective, &failures)?;
    let seconds = py.detach(|| {
        let (x, mut g) = (function.start(), function.start());
        let mut time = || {
            let begun = Instant::now();
            function.gradient(&x, Batch::all(), &mut g);
            begun.elapsed().as_secs_f64()
        };
        (0..times).map(|_| time()).collect()
    });
    failures.take().map_or(Ok(seconds), Err)
}
