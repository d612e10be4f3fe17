//! `motet reproduce`: bundled experiments, run and held against their claims.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use motet::core::Outcome;
use motet::records::{Verdict, slug};
use motet::report::claims::judge;
use serde_json::{Value, json};

use super::claims;
use super::console::Console;
use super::how::HowArgs;
use super::run::perform;
use crate::{complain, told};
use motet::bundled::{Bundled, EXPERIMENTS};
use motet::{Error, Folder};

/// Run bundled paper experiments and check each one's claims.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet reproduce flix/fig2-mushrooms\n  motet reproduce flix            (all of one paper)\n  motet reproduce --all --size paper --out results\n\nAn experiment that cannot be run, for want of its data say, is named, and the others go on. Exit codes: 0 if every claim that must hold does, 1 if one does not, 2 if an experiment could not be run."
)]
pub(crate) struct ReproduceArgs {
    /// Which experiments: paper/figure, or a paper for all of its figures
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// How large: quick (minutes) or as in the paper
    #[arg(long, value_enum, default_value_t = Size::Quick)]
    size: Size,
    #[command(flatten)]
    how: HowArgs,
    /// Folder in which each experiment gets its own: DIR/<paper>-<figure> [default: the first free
    /// motet-runs/reproduce/<paper>-<figure> of each]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the records of earlier experiments in these folders
    #[arg(long)]
    overwrite: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Size {
    Quick,
    Paper,
}

impl ReproduceArgs {
    /// Runs them; false if a claim that must hold does not, or a run failed. What cannot be run is told, and is an error at the end.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let mut chosen: Vec<Bundled> = vec![];
        match self.all {
            true => chosen.extend(EXPERIMENTS),
            false => self.names.iter().try_for_each(|name| Bundled::find(name).map(|found| chosen.extend(found)))?,
        }
        let mut seen = BTreeSet::new();
        chosen.retain(|bundled| seen.insert(bundled.name));
        // A folder that is taken is found out before anything takes its hours.
        let folders: Vec<PathBuf> = chosen.iter().map(|bundled| self.folder(bundled)).collect();
        folders.iter().try_for_each(|folder| Folder::refuse(folder, self.overwrite))?;
        let (mut all_hold, mut entries, mut errors) = (true, vec![], vec![]);
        for (bundled, folder) in chosen.iter().zip(folders) {
            console.aside(&format!("== {}", bundled.name));
            match self.reproduce(bundled, folder, console) {
                Ok((holds, entry)) => {
                    all_hold &= holds;
                    entries.push(entry);
                }
                Err(error) => {
                    entries.push(json!({ "name": bundled.name, "error": told(&error) }));
                    let stopped = matches!(error, Error::Interrupted { .. });
                    if chosen.len() > 1 && !stopped {
                        complain(&error);
                    }
                    errors.push(error);
                    if stopped {
                        break;
                    }
                }
            }
        }
        let missing = if self.all { Bundled::missing() } else { vec![] };
        if !missing.is_empty() {
            all_hold = false;
            console.part(|| format!("FAILS: no bundled experiment shows {}", missing.join(", ")));
        }
        console.whole(&json!({ "experiments": entries, "missing": missing }));
        conclude(errors, chosen.len()).map(|()| all_hold)
    }

    /// Where the records of one go. Beside earlier ones, unless a folder is named: nothing is replaced that nobody wants to.
    fn folder(&self, bundled: &Bundled) -> PathBuf {
        let parent = self.out.clone().unwrap_or_else(|| PathBuf::from("motet-runs/reproduce"));
        let name = slug(&bundled.name.replace('/', "-"));
        if self.out.is_some() || self.overwrite { parent.join(name) } else { Folder::fresh_name(&parent, &name) }
    }

    /// Runs one: does everything hold that must, and what programs are told of it.
    fn reproduce(&self, bundled: &Bundled, folder: PathBuf, console: Console<'_>) -> Result<(bool, Value), Error> {
        let experiment = self.how.experiment(bundled.document(self.size == Size::Quick)?, console)?;
        let (claims, file) = (experiment.claims.clone(), experiment.document.file.clone());
        let records = perform(experiment, &self.how, (&folder, self.overwrite), console)?;
        judge(&claims.0, &records).map_err(|source| Error::Claim { file, source })?;
        let summary = records.summary.unwrap_or_default();
        let failed = summary.runs.iter().any(|run| matches!(run.outcome, Outcome::Failed { .. }));
        // Told as it ends: the next experiment may take minutes, and may fail.
        console.part(|| format!("{}  ({})\n{}", bundled.name, folder.join("report.html").display(), claims::lines(&summary.claims)));
        let entry = json!({ "name": bundled.name, "folder": folder.display().to_string(), "claims": claims::entries(&summary.claims) });
        Ok((!failed && !summary.claims.iter().any(Verdict::fails), entry))
    }
}

/// What went wrong with all of them: the error itself if there was one experiment, or somebody stopped it.
fn conclude(mut errors: Vec<Error>, chosen: usize) -> Result<(), Error> {
    let stopped = matches!(errors.last(), Some(Error::Interrupted { .. }));
    match errors.pop() {
        None => Ok(()),
        Some(last) if chosen == 1 || stopped => Err(last),
        Some(_) => Err(Error::Unknown(format!("{} of {chosen} experiments could not be run", errors.len() + 1))),
    }
}
