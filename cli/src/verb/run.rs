//! `motet run`: an experiment file → records and a report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use motet_core::Outcome;
use motet_report::claims::judge;
use motet_report::{Records, render, render_as, table};
use motet_runtime::Pool;

use super::console::Console;
use crate::config::{Document, Experiment};
use crate::error::Error;
use crate::output::Output;
use crate::progress::Progress;
use crate::simulate::Simulation;

/// Run an experiment file.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  motet run mushrooms.toml --set run.rounds=50 --set method.alpha=0.3 --seed 7 --out results")]
pub struct RunArgs {
    /// The experiment.
    pub experiment: PathBuf,
    #[command(flatten)]
    pub(super) how: HowArgs,
}

/// What can be changed about an experiment from outside.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct HowArgs {
    /// Change a value: run.rounds=50, method[2].alpha=0.3 (methods count from 1; no number: all)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Run this seed alone
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Threads to use [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,
    /// Folder for the records [default: the first free motet-runs/<name>]
    #[arg(long)]
    pub(super) out: Option<PathBuf>,
    /// Replace the records of an earlier experiment in that folder
    #[arg(long)]
    pub(super) overwrite: bool,
}

impl HowArgs {
    /// The document with the changes asked for, understood.
    pub(super) fn experiment(&self, mut document: Document) -> Result<Experiment, Error> {
        for assignment in &self.set {
            document.set(assignment)?;
        }
        if let Some(seed) = self.seed {
            document.assign("seeds", &serde_json::json!([seed]))?;
        }
        let experiment = Experiment::new(document)?;
        for claim in &experiment.claims.0 {
            motet_report::claims::parse(&claim.text).map_err(|source| Error::Claim { file: experiment.document.file.clone(), source })?;
        }
        Ok(experiment)
    }

    pub(super) fn pool(&self) -> Arc<Pool> {
        Arc::new(self.threads.map_or_else(Pool::all_cores, |n| Pool::new(n.into())))
    }
}

impl RunArgs {
    /// Runs it; false if a run failed.
    pub fn execute(&self, console: Console) -> Result<bool, Error> {
        let experiment = self.how.experiment(Document::read(&self.experiment)?)?;
        let folder = self.how.out.clone().unwrap_or_else(|| Output::fresh_name(Path::new("motet-runs"), &experiment.name));
        let records = perform(&experiment, &self.how, &folder, console)?;
        Ok(tell(&records, &folder, console))
    }
}

/// Runs an experiment into a folder: records, verdicts, report.
pub(super) fn perform(experiment: &Experiment, how: &HowArgs, folder: &Path, console: Console) -> Result<Records, Error> {
    let simulation = Simulation::prepare(experiment, how.pool())?;
    let mut output = Output::create(folder, how.overwrite)?;
    let progress = Progress::new(console.quiet);
    let mut records = simulation.execute(&mut output, &progress)?;
    progress.finish();
    let verdicts = judge(&experiment.claims.0, &records).map_err(|source| Error::Claim { file: experiment.document.file.clone(), source });
    if let Some(summary) = &mut records.summary {
        match verdicts {
            Ok(verdicts) => summary.claims = verdicts,
            // The rows are there; only the claims do not fit what was run (a changed grid, say).
            Err(error) => console.aside(&format!("claims not judged: {error}")),
        }
        output.summary(summary)?;
    }
    let named = [(experiment.name.clone(), records)];
    render(&named, folder).map_err(|e| Error::Report(e.to_string()))?;
    if experiment.report.csv {
        render_as("csv", &named, folder).map_err(|e| Error::Report(e.to_string()))?;
    }
    let [(_, records)] = named;
    Ok(records)
}

/// Prints the result; false if a run failed.
pub(super) fn tell(records: &Records, folder: &Path, console: Console) -> bool {
    let summary = records.summary.clone().unwrap_or_default();
    console.result(&summary, || {
        let named = [(summary.experiment.clone(), records.clone())];
        format!("{}\nReport: {}", table(&named).trim_end(), folder.join("report.html").display())
    });
    !summary.runs.iter().any(|run| matches!(run.outcome, Outcome::Failed { .. }))
}
