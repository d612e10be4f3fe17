//! `motet demo`: why one model for all is worse than an explicit mixture, in a minute.

use clap::Args;

use super::console::Console;
use super::how::{HowArgs, Place};
use super::run::{perform, tell};
use motet::Error;
use motet::bundled::DEMO;

/// Run the built-in experiment; needs no file and no download.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  motet demo --out first-look\n\nThe experiment it ran is left as experiment.toml: change it and use `motet run`."
)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    place: Place,
}

impl DemoArgs {
    /// Runs it; false if a run failed.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let experiment = self.how.experiment(DEMO.document(false)?, console)?;
        let folder = self.place.folder(&experiment.name);
        let records = perform(experiment, &self.how, (&folder, self.place.overwrite), console)?;
        console.aside(&format!("The experiment is in {}: change it and `motet run` it.", folder.join("experiment.toml").display()));
        Ok(tell(&records, &folder, console))
    }
}
