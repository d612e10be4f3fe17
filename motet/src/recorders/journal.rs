//! Events of a folder, written while the run that has the folder waits.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use motet_records::{Event, Writer};

/// Records events at once, whoever else is writing the same records.
#[derive(Clone, Debug)]
pub struct Journal(pub(super) Arc<Mutex<Writer>>);

impl Journal {
    /// Records an event.
    pub fn event(&self, event: &Event) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).event(event)
    }
}
