//! An operator's orders, carried out while a study runs.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::coordinator::StudyWatch;
use super::invitations::Invitations;
use super::log::{Log, LogLevel};
use super::orders::{self, Order};
use crate::observer::{Event, Observer};

/// The watch, and the wish of an operator to stop.
pub(super) struct Attended {
    pub(super) watch: Rc<dyn StudyWatch>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) log: Log,
}

impl Observer for Attended {
    fn notice(&self, event: Event<'_>) {
        self.watch.notice(event);
    }
    fn stop(&self) -> bool {
        self.log.tell(&*self.watch);
        self.stop.load(Ordering::Relaxed) || self.watch.stop()
    }

    fn failure(&self) -> Option<String> {
        self.watch.failure()
    }
}

/// A thread that carries out what an operator asks for, as long as this lives.
pub(super) struct Listens(Arc<AtomicBool>);

impl Listens {
    pub(super) fn to(folder: &Path, invitations: &Invitations, stop: &Arc<AtomicBool>, log: &Log) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut desk = Orders {
            folder: folder.to_owned(),
            invitations: invitations.clone(),
            stop: Arc::clone(stop),
            log: log.clone(),
            said: String::new(),
        };
        // Orders that were given while no coordinator was at work come before its first round.
        desk.carry_out();
        let ended = Arc::clone(&over);
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(500));
                desk.carry_out();
            }
        });
        Self(over)
    }
}

/// What is needed to carry out orders.
struct Orders {
    folder: PathBuf,
    invitations: Invitations,
    stop: Arc<AtomicBool>,
    log: Log,
    /// What went wrong last.
    said: String,
}

impl Orders {
    /// Carries out those that are there.
    fn carry_out(&mut self) {
        let mut wrong = vec![];
        let found = orders::found(&self.folder).unwrap_or_else(|error| {
            wrong.push(format!("orders cannot be read: {error}"));
            vec![]
        });
        for (path, order) in found {
            if let Err(error) = carry_out(&order, &self.invitations, &self.stop).and_then(|()| orders::done(&path)) {
                wrong.push(format!("{order:?} cannot be carried out, or struck off: {error}; it is tried again"));
            }
        }
        // What goes on being wrong is said once.
        let wrong = wrong.join("; ");
        if wrong != self.said {
            if !wrong.is_empty() {
                self.log.line(LogLevel::Errors, || wrong.clone());
            }
            self.said = wrong;
        }
    }
}

fn carry_out(order: &Order, invitations: &Invitations, stop: &AtomicBool) -> io::Result<()> {
    match order {
        Order::Stop => {
            stop.store(true, Ordering::Relaxed);
            Ok(())
        }
        Order::Invite(name) => invitations.renew(name),
        Order::Revoke(name) => match invitations.service.revoke(name)? {
            true => Ok(()),
            false => Err(io::Error::other("nobody has this name")),
        },
    }
}

impl Drop for Listens {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
