//! Exceptions of a program's own functions, on their way through Rust code that cannot fail.
//!
//! An objective gives a number and a method a reply, whatever happens. So an exception is kept here, what comes out instead is NaN
//! or nothing, the observer stops the run after the round, and the exception is raised again where Python called us.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::PyErr;

/// The first exception of a run.
#[derive(Default)]
pub(crate) struct Failures {
    raised: AtomicBool,
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

    /// Was anything raised?
    pub(crate) fn any(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// What was raised first.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
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
