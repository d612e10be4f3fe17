//! What several commands ask about an experiment: what to change in it, how many threads work on it, where its records go.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use motet::config::{Document, Experiment};
use motet::runtime::Pool;
use motet::{Error, Folder, Simulation};
use serde_json::json;

use super::console::Console;
use super::number::whole;
use crate::job::Job;

/// What can be changed about an experiment from outside.
#[derive(Args, Clone, Debug)]
pub(super) struct Changes {
    /// Change a value: run.rounds=50, method[2].alpha=0.3 (methods are numbered from 1; method.alpha changes all that have it)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Take only this seed
    #[arg(long, allow_negative_numbers = true, value_parser = whole)]
    seed: Option<u64>,
}

impl Changes {
    /// The document with the changes asked for, understood.
    pub(super) fn experiment(&self, mut document: Document, console: Console<'_>) -> Result<Experiment, Error> {
        for assignment in &self.set {
            document.set(assignment, console.catalogue)?;
        }
        if let Some(seed) = self.seed {
            document.assign("seeds", &json!([seed]))?;
        }
        Experiment::of(document, console.catalogue)
    }

    /// Is anything to be changed?
    pub(super) fn is_given(&self) -> bool {
        !self.set.is_empty() || self.seed.is_some()
    }
}

/// What can be changed about an experiment, and how it is worked on.
#[derive(Args, Clone, Debug)]
pub(super) struct HowArgs {
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Threads to use [default: all cores]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,
}

impl HowArgs {
    /// The document with the changes asked for, understood.
    pub(super) fn experiment(&self, document: Document, console: Console<'_>) -> Result<Experiment, Error> {
        self.changes.experiment(document, console)
    }

    /// The experiment with its problems built; several ranks build them together.
    pub(super) fn simulation(&self, experiment: Experiment, console: Console<'_>) -> Result<Simulation, Error> {
        Simulation::on_shelf(experiment, self.pool(console), console.job.and_then(Job::shelf))
    }

    pub(super) fn pool(&self, console: Console<'_>) -> Arc<Pool> {
        match (self.threads, console.job) {
            (None, Some(job)) => Arc::new(Pool::new(job.threads())),
            _ => pool(self.threads),
        }
    }
}

/// So many threads, or one for each core.
pub(super) fn pool(threads: Option<u16>) -> Arc<Pool> {
    Arc::new(threads.map_or_else(Pool::all_cores, |n| Pool::new(n.into())))
}

/// Where one experiment's records go.
#[derive(Args, Clone, Debug)]
pub(super) struct Place {
    /// Folder to write to [default: the first free motet-runs/<name>]
    #[arg(long)]
    pub(super) out: Option<PathBuf>,
    /// Replace the records of an earlier experiment in that folder
    #[arg(long)]
    pub(super) overwrite: bool,
}

impl Place {
    /// The folder for an experiment of this name.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| Folder::fresh_name(Path::new("motet-runs"), name))
    }
}
