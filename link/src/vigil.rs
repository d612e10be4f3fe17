//! Looking up while the fleet waits.

use std::cell::Cell;
use std::time::{Duration, Instant};

use motet_core::Abort;

/// How long the fleet waits at most before it looks up.
pub(crate) const NAP: Duration = Duration::from_millis(50);

/// Whoever wants to look up now and then while the fleet waits for its clients: to tell what happened, and to stop.
pub(crate) struct Vigil {
    look: Box<dyn Fn() -> bool>,
    looked: Cell<Instant>,
}

impl Vigil {
    /// `look` says whether to stop.
    pub(crate) fn new(look: Box<dyn Fn() -> bool>) -> Self {
        Self { look, looked: Cell::new(Instant::now()) }
    }

    /// Is the last look a while ago?
    pub(crate) fn is_due(&self) -> bool {
        self.looked.get().elapsed() >= NAP
    }

    /// Looks up.
    pub(crate) fn keep(&self) -> Result<(), Abort> {
        let stop = (self.look)();
        self.looked.set(Instant::now());
        if stop { Err(Abort::Interrupted) } else { Ok(()) }
    }
}
