//! How a caller hears of runs while they are under way, and stops them.

use std::io;

use motet_core::Row;
use motet_records::RunSummary;

/// Something that happened while an experiment ran.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A run begins.
    Begin {
        /// The run's label, without its seed.
        label: &'a str,
        /// The seed of its dice.
        seed: u64,
        /// How many rounds it will have.
        rounds: u64,
    },
    /// What the run does before its first round, for a status line.
    Working(&'a str),
    /// A round was measured.
    Row(&'a Row),
    /// A run ended.
    End(&'a RunSummary),
    /// A sentence that should stay on the screen or go to a log.
    Note(&'a str),
}

/// Watches an experiment: a progress bar, a live page, a cell of a notebook.
pub trait Observer {
    /// Is told what happened, between two steps of the run: it should return soon.
    fn notice(&self, event: Event<'_>);

    /// Should the experiment stop? Asked after every round; a run that is stopped can go on later from where it was.
    fn stop(&self) -> bool;

    /// Has something failed that the run computes with, such as a function that a program brought? Asked before anything of a round is
    /// kept: the run then ends as an error, and goes on later from what was kept before the failure.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Stops what is about to keep something, if what the run computes with has failed.
pub(crate) fn sound(observer: &dyn Observer) -> io::Result<()> {
    observer.failure().map_or(Ok(()), |reason| Err(io::Error::other(reason)))
}

/// Nobody watches, and nobody stops the experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn notice(&self, _: Event<'_>) {}

    fn stop(&self) -> bool {
        false
    }
}
