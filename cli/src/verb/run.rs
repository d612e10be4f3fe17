//! `motet run`: an experiment file → records and a report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use motet::config::{Document, Experiment};
use motet::core::Outcome;
use motet::records::{Records, RunSummary, Tuning, Verdict, slug};
use motet::report::{table, verdict};
use motet::{Error, Folder, Simulation};

use super::claims;
use super::console::Console;
use super::how::{HowArgs, Place};
use super::recorded;
use crate::job::Job;
use crate::progress::Progress;

/// Run an experiment file, or go on with one that was stopped.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet run mushrooms.toml --set run.rounds=50 --set method.alpha=0.3 --seed 7 --out results\n  motet run --resume results\n  motet run mushrooms.toml --out results --resume"
)]
pub(crate) struct RunArgs {
    /// The experiment file; leave it out with --resume DIR
    #[arg(required_unless_present = "resume")]
    pub experiment: Option<PathBuf>,
    /// Go on with the experiment in this folder [default: that of --out] from its last checkpoint
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "", conflicts_with = "overwrite")]
    pub resume: Option<String>,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    place: Place,
}

impl RunArgs {
    /// Runs it; false if a run failed, or a claim that must hold does not.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let Some(named) = &self.resume else {
            let experiment = self.how.experiment(self.document()?, console)?;
            let folder = self.place.folder(&experiment.name);
            let records = perform(experiment, &self.how, (&folder, self.place.overwrite), console)?;
            return Ok(tell(&records, &folder, console));
        };
        let begun = self.place.out.clone().filter(|_| named.is_empty());
        let folder = match (begun, &self.experiment) {
            (Some(out), _) => out,
            (None, Some(_)) if named.is_empty() => {
                Path::new("motet-runs").join(slug(&self.how.experiment(self.document()?, console)?.name))
            }
            (None, _) => PathBuf::from(named),
        };
        if !Folder::is_unfinished(&folder) {
            recorded(&folder)?;
            let records = Records::read(&folder)?;
            if records.summary.is_none() {
                let reason = "there is no unfinished experiment here to resume".to_owned();
                return Err(Error::Unresumable { folder, reason });
            }
            Folder::sweep(&folder);
            console.aside("this experiment is finished");
            return Ok(tell(&records, &folder, console));
        }
        let document = if self.experiment.is_some() { self.document()? } else { Folder::begun(&folder)? };
        let experiment = self.how.experiment(document, console)?;
        let records = go_on(experiment, &self.how, &folder, console)?;
        Ok(tell(&records, &folder, console))
    }

    /// What another rank than the first does: builds the same experiment, and serves it.
    pub(crate) fn serve(&self, job: &Job, console: Console<'_>) -> Result<bool, Error> {
        let build = |document: Document| self.how.simulation(self.how.experiment(document, console)?, console);
        let document = match (&self.experiment, &self.resume) {
            (None, Some(named)) if !named.is_empty() => Folder::begun(Path::new(named)),
            _ => self.document(),
        };
        job.serve(Some(document.and_then(build)))
    }

    fn document(&self) -> Result<Document, Error> {
        Ok(Document::read(self.experiment.as_deref().unwrap_or(Path::new("")))?)
    }
}

/// Runs an experiment into a folder: records, verdicts, report.
pub(super) fn perform(
    experiment: Experiment,
    how: &HowArgs,
    (folder, overwrite): (&Path, bool),
    console: Console<'_>,
) -> Result<Records, Error> {
    let made = how.simulation(experiment, console).and_then(|simulation| {
        // Claims fit the experiment as it is written; what becomes of them when it is changed is told after the run.
        if !how.changes.is_given() {
            simulation.check_claims()?;
        }
        let output = Folder::create(folder, overwrite, &simulation.experiment().document)?;
        Ok((simulation, output))
    });
    carry_out(made, console)
}

/// Goes on with the experiment in a folder.
fn go_on(experiment: Experiment, how: &HowArgs, folder: &Path, console: Console<'_>) -> Result<Records, Error> {
    let made = how.simulation(experiment, console).and_then(|simulation| {
        let output = Folder::resume(folder, &simulation.manifest(), &|what| console.aside(what))?;
        Ok((simulation, output))
    });
    carry_out(made, console)
}

fn carry_out(made: Result<(Simulation, Folder), Error>, console: Console<'_>) -> Result<Records, Error> {
    let (simulation, mut folder) = match (console.job, made) {
        (None, made) => made?,
        (Some(job), Err(error)) => {
            // The others hear that there is nothing to do, and this rank says why.
            let _ = job.ready(Some(&error));
            return Err(error);
        }
        (Some(job), Ok((simulation, folder))) => {
            job.ready(None)?;
            job.watch(Some(folder.path()))?;
            (simulation.spread_over(Arc::clone(job.crew())), folder)
        }
    };
    let progress = Progress::new(console.quiet);
    let records = simulation.run_observed(&mut folder, &progress);
    progress.finish();
    records.inspect_err(|error| {
        if matches!(error, Error::Run { .. } | Error::Write { .. }) {
            console.aside(&format!("what was reached is kept: go on with motet run --resume {}", folder.path().display()));
        }
    })
}

/// Prints the result; false if a run failed, or a claim that must hold does not.
pub(super) fn tell(records: &Records, folder: &Path, console: Console<'_>) -> bool {
    let summary = records.summary.clone().unwrap_or_default();
    console.result(&summary, || {
        let named = [(summary.experiment.clone(), records.clone())];
        let chosen = summary.tuning.iter().map(chosen).collect::<String>();
        let answer = answer(&named, &summary.cautions);
        let claims = if summary.claims.is_empty() { String::new() } else { format!("Claims:\n{}", claims::lines(&summary.claims)) };
        format!("{}\n{chosen}{answer}{claims}Report: {}", table(&named).trim_end(), folder.join("report.html").display())
    });
    let failed = |run: &&RunSummary| matches!(run.outcome, Outcome::Failed { .. });
    let failures: Vec<&RunSummary> = summary.runs.iter().filter(failed).collect();
    for run in &failures {
        eprintln!("motet: run \"{}\", seed {}: {}", run.label, run.seed, run.outcome);
    }
    let results = summary.runs.iter().zip(&records.manifest.runs).filter(|(_, card)| card.trial.is_none()).map(|(run, _)| run);
    let diverged: Vec<&RunSummary> = results.clone().filter(|run| matches!(run.outcome, Outcome::Diverged { .. })).collect();
    // Some runs that diverge are a result beside others; where all did, there is no result.
    let nothing_else = !diverged.is_empty() && diverged.len() == results.count();
    if nothing_else {
        for run in &diverged {
            eprintln!("motet: run \"{}\", seed {}: {}", run.label, run.seed, run.outcome);
        }
        eprintln!("motet: every run diverged: try a smaller step, or step = \"theory\" where theory knows one");
    }
    let unjudged = summary.claims.is_empty() && records.manifest.resolved["claims"].as_object().is_some_and(|claims| !claims.is_empty());
    if unjudged {
        eprintln!("motet: the claims could not be judged on these runs; `motet check` says whether they fit the experiment");
    }
    failures.is_empty() && !nothing_else && !unjudged && !summary.claims.iter().any(Verdict::fails)
}

/// The verdict, for people: the same sentences as on the page.
fn answer(named: &[(String, Records)], cautions: &[String]) -> String {
    let mut lines = vec![];
    let mut told = vec![];
    for verdict in verdict::of_records(named) {
        // Of each problem the telling metric.
        if !told.contains(&verdict.problem) {
            lines.extend(verdict.problem.as_ref().map(|problem| format!("{problem}:")));
            lines.extend([verdict.headline(), verdict.numbers()]);
            lines.extend(verdict.federation());
            lines.extend(verdict.clients());
            told.push(verdict.problem);
        }
    }
    lines.extend(cautions.iter().map(|caution| format!("Note: {caution}")));
    lines.into_iter().filter(|line| !line.is_empty()).map(|line| line + "\n").collect()
}

/// What trials chose, for people.
fn chosen(tuning: &Tuning) -> String {
    let values = tuning.chosen.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
    format!("Chosen for {}, seed {}: {values} of {} by {}\n", tuning.label, tuning.seed, tuning.trials.len(), tuning.by)
}
