//! How a caller hears of runs while they are under way, and stops them.

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
