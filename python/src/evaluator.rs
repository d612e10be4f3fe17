//! Judges models by functions of a Python program: an object with `examples` and `metrics(x)`, or `metrics(x, buffers)` where the
//! objective has buffers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use motet::core::{Evaluator, Vector};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrays::array;
use crate::failures::Failures;
use crate::objective::optional;

/// What judges.
pub(crate) struct PythonEvaluator {
    metrics: Py<PyAny>,
    examples: usize,
    /// Does the objective have buffers?
    with_buffers: bool,
    failures: Arc<Failures>,
}

impl PythonEvaluator {
    pub(crate) fn new(object: &Bound<'_, PyAny>, with_buffers: bool, failures: &Arc<Failures>) -> PyResult<Self> {
        let missing = || PyTypeError::new_err(format!("what judges models has a method metrics, and {object} has none"));
        let metrics = optional(object, "metrics")?.filter(Bound::is_callable).ok_or_else(missing)?.unbind();
        let examples = optional(object, "examples")?.map_or(Ok(1), |examples| examples.extract())?;
        Ok(Self { metrics, examples, with_buffers, failures: Arc::clone(failures) })
    }
}

impl Evaluator for PythonEvaluator {
    fn examples(&self) -> usize {
        self.examples
    }

    fn metrics(&self, x: &Vector, buffers: Option<&Vector>) -> Vec<(&'static str, f64)> {
        let judged = self.failures.attempt(|py| -> PyResult<BTreeMap<String, f64>> {
            let x = array(py, x);
            if self.with_buffers {
                return self.metrics.bind(py).call1((x, buffers.map(|buffers| array(py, buffers))))?.extract();
            }
            self.metrics.bind(py).call1((x,))?.extract()
        });
        judged.unwrap_or_default().into_iter().map(|(name, value)| (lasting(name), value)).collect()
    }
}

/// A name of a metric for as long as the program lives: there are few, and rows name them again and again.
fn lasting(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}
