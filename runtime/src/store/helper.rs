//! A thread that reads states before they are needed and sends written ones on to the disk before anybody waits for it.

use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use motet_core::Wire;

use super::disk::{Desk, record};

enum Job {
    /// Brings a client's state into memory.
    Fetch(u32),
    /// Makes durable what was written so far.
    Send,
}

/// The thread's door; it ends when the door goes.
pub(super) struct Helper {
    jobs: Sender<Job>,
}

impl Helper {
    /// Works for a desk, with a handle of its own on the file.
    pub(super) fn new<S: Wire + Send + 'static>(desk: &Arc<Mutex<Desk<S>>>, file: File) -> Self {
        let (jobs, todo) = channel();
        let desk = Arc::clone(desk);
        thread::spawn(move || work(&todo, &desk, file));
        Self { jobs }
    }

    pub(super) fn fetch(&self, client: u32) {
        let _ = self.jobs.send(Job::Fetch(client));
    }

    pub(super) fn send(&self) {
        let _ = self.jobs.send(Job::Send);
    }
}

/// Nothing here can go wrong for good: whoever needs a state that could not be read ahead reads it himself, and a commit
/// makes durable what is not.
fn work<S: Wire + Send>(todo: &Receiver<Job>, desk: &Mutex<Desk<S>>, mut file: File) {
    let desk = || desk.lock().unwrap_or_else(PoisonError::into_inner);
    while let Ok(job) = todo.recv() {
        match job {
            Job::Send => {
                let _ = file.sync_data();
            }
            Job::Fetch(client) => {
                let Some(place) = desk().asleep(client) else { continue };
                // Read without the lock. The place is not written over before the next commit but one.
                if let Ok(state) = record(&mut file, place) {
                    desk().take_in(client, place, state);
                }
            }
        }
    }
}
