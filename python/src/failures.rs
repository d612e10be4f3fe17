//! Exceptions of a program's own functions, on their way through Rust code that cannot fail.
//!
//! An objective gives a number and a method a reply, whatever happens. So an exception is kept here, what comes out instead is NaN
//! or nothing, the run ends before anything of the round is kept, and the exception is raised again where Python called us.
//!
//! What only watches a run, such as a tracker or Ctrl-C between two rounds, spoils no numbers: the run then stops after its round, which is
//! kept.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// The first exception of a run.
#[derive(Default)]
pub(crate) struct Failures {
    raised: AtomicBool,
    /// Was it raised by what the run computes with?
    spoiled: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

thread_local! {
    static CURRENT: RefCell<Vec<Arc<Failures>>> = const { RefCell::new(vec![]) };
}

/// While this lives, what is read on this thread keeps its exceptions there.
pub(crate) struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|all| drop(all.pop()));
    }
}

impl Failures {
    /// Keeps an exception, unless there is an earlier one.
    pub(crate) fn keep(&self, error: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.raised.store(true, Ordering::Release);
    }

    /// Does some of the run's computing in Python; none if that, or some before it, raised an exception. The run's numbers then mean nothing.
    pub(crate) fn attempt<T>(&self, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.spoiled() {
            return None;
        }
        let spoil = |error: PyErr| {
            self.keep(error);
            self.spoiled.store(true, Ordering::Release);
        };
        Python::attach(work).map_err(spoil).ok()
    }

    /// Was anything raised?
    pub(crate) fn any(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Was anything raised by what the run computes with?
    pub(crate) fn spoiled(&self) -> bool {
        self.spoiled.load(Ordering::Acquire)
    }

    /// What was raised first. Whoever asks next starts anew.
    pub(crate) fn take(&self) -> Option<PyErr> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.raised.store(false, Ordering::Release);
        self.spoiled.store(false, Ordering::Release);
        first
    }

    /// Methods that are read on this thread keep their exceptions here until the guard is dropped: serde has no argument for it.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        CURRENT.with_borrow_mut(|all| all.push(Arc::clone(self)));
        Entered
    }

    /// Where exceptions of what is read now go.
    pub(crate) fn current() -> Arc<Self> {
        CURRENT.with_borrow(|all| all.last().cloned()).unwrap_or_default()
    }
}
