//! A run as Python sees it while it is under way: progress, logs, trackers, Ctrl-C.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use motet::{Event, Observer};
use pyo3::prelude::*;

use crate::failures::Failures;

/// How often Python is asked whether somebody pressed Ctrl-C. A round may take microseconds.
const PAUSE: Duration = Duration::from_millis(20);

/// Hands events to an object of the program: its methods `begin`, `working`, `row`, `end` and `note`.
pub(crate) struct Watcher {
    to: Option<Py<PyAny>>,
    failures: Arc<Failures>,
    /// When Python was last asked for signals.
    asked: Cell<Instant>,
}

impl Watcher {
    pub(crate) fn new(to: Option<Py<PyAny>>, failures: Arc<Failures>) -> Self {
        Self { to, failures, asked: Cell::new(Instant::now()) }
    }

    /// A sentence for a log.
    pub(crate) fn say(&self, text: &str) {
        self.tell(|py, to| to.call_method1(py, "note", (text,)));
    }

    /// Calls the program's object; what it raises ends the run.
    fn tell(&self, call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<Py<PyAny>>) {
        let Some(to) = &self.to else { return };
        if self.failures.any() {
            return;
        }
        Python::attach(|py| {
            if let Err(error) = call(py, to) {
                self.failures.keep(error);
            }
        });
    }
}

impl Observer for Watcher {
    fn notice(&self, event: Event<'_>) {
        match event {
            Event::Begin { label, seed, rounds } => self.tell(|py, to| to.call_method1(py, "begin", (label, seed, rounds))),
            Event::Working(what) => self.tell(|py, to| to.call_method1(py, "working", (what,))),
            Event::Row(row) => self.tell(|py, to| to.call_method1(py, "row", (json(row),))),
            Event::End(summary) => self.tell(|py, to| to.call_method1(py, "end", (json(summary),))),
            Event::Note(text) => self.say(text),
        }
    }

    fn stop(&self) -> bool {
        if !self.failures.any() && self.asked.get().elapsed() >= PAUSE {
            self.asked.set(Instant::now());
            if let Err(signal) = Python::attach(|py| py.check_signals()) {
                self.failures.keep(signal);
            }
        }
        self.failures.any()
    }

    fn failure(&self) -> Option<String> {
        self.failures.spoiled().then(|| "a function of the program raised an exception".into())
    }
}

/// What is written in the records.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("records have only names as keys")
}
