//! Should they join? The answer for data of a Python program.

use std::path::PathBuf;
use std::sync::Arc;

use motet::advise::{Advise, Data as Question};
use motet::{Event, Observer};
use pyo3::prelude::*;

use crate::data::Data;
use crate::errors::{exception, wrong};
use crate::failures::Failures;

/// How long and how much.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Limits {
    minutes: f64,
    splits: Option<usize>,
    threads: Option<usize>,
    budget: Option<u64>,
    out: Option<PathBuf>,
}

/// Several splits run at once, so this one is asked from many threads. Signals are Python's own matter on its main thread.
struct Interrupted(Arc<Failures>);

impl Observer for Interrupted {
    fn notice(&self, _: Event<'_>) {}

    fn stop(&self) -> bool {
        self.0.any()
    }
}

/// The advice as JSON.
#[pyfunction]
pub(crate) fn advise(py: Python<'_>, data: &Data, limits: Limits) -> PyResult<String> {
    let mut question = Advise::new(Question::Given(data.held())).minutes(limits.minutes).map_err(|error| exception(&error))?;
    if let Some(splits) = limits.splits {
        question = question.splits(splits);
    }
    if let Some(threads) = limits.threads {
        question = question.threads(threads);
    }
    if let Some(budget) = limits.budget {
        question = question.budget(budget);
    }
    if let Some(out) = limits.out {
        question = question.out(out);
    }
    let failures = Arc::new(Failures::default());
    let observer = Interrupted(Arc::clone(&failures));
    let advice = std::thread::scope(|scope| {
        let asked = scope.spawn(|| question.run_observed(&observer));
        // Ctrl-C is heard on the thread that was called, while the splits run on others.
        while !asked.is_finished() {
            if let (false, Err(signal)) = (failures.any(), py.check_signals()) {
                failures.keep(signal);
            }
            py.detach(|| std::thread::sleep(std::time::Duration::from_millis(20)));
        }
        asked.join()
    });
    if let Some(signal) = failures.take() {
        return Err(signal);
    }
    let advice = advice.map_err(|_| wrong("the advice could not be computed"))?.map_err(|error| exception(&error))?;
    serde_json::to_string(&advice).map_err(wrong)
}
