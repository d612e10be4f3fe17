//! `motet check`: an experiment fully resolved, its constants, theory's predictions, and what it will cost.

use std::path::{Path, PathBuf};

use clap::Args;
use motet::check::Check;
use motet::config::Document;
use motet::{Error, Simulation};

use super::console::Console;
use super::run::HowArgs;

/// Check an experiment without running it: resolved values, constants, predictions, cost.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  motet check mushrooms.toml --set method.alpha=0.3")]
pub(crate) struct CheckArgs {
    /// The experiment.
    experiment: PathBuf,
    #[command(flatten)]
    how: HowArgs,
}

impl CheckArgs {
    /// Prints it; false if a run would fail.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let experiment = self.how.experiment(Document::read(&self.experiment)?, console)?;
        let file = experiment.document.file.clone();
        let check = Check::of(&Simulation::on(experiment, self.how.pool())?)?;
        console.result(&check, || check.to_string());
        let folder = self.how.out.as_deref().filter(|out| out.exists()).unwrap_or(Path::new("."));
        match check.misfit(folder) {
            None => Ok(!check.fails()),
            Some(reason) => Err(Error::Unfit { file, reason }),
        }
    }
}
