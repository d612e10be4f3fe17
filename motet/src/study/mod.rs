//! Studies between machines: the experiments of this library with clients that keep their data where they are.
//!
//! A coordinator [serves](serve) a study, and each participant [joins](join) it with an invitation and its own table. A run between
//! machines ends in the bits of [`Simulation::run`](crate::Simulation::run) on the same tables, which [`export`] writes.

mod called_upon;
mod carried;
mod coordinator;
mod diary;
mod duty;
mod export;
mod home;
mod invitations;
mod label;
mod log;
mod operator;
mod options;
mod orders;
mod own_model;
mod participant;
mod reach;
mod served;
mod status;
mod terms;
mod verdict;

pub use called_upon::{Brought, CalledUpon};
pub use carried::{Post, carried};
pub use coordinator::{StudyWatch, serve};
pub use export::export;
pub use log::LogLevel;
pub use options::{IdentityFiles, ServeOptions};
pub use orders::{Order, give};
pub use participant::{JoinOptions, JoinWatch, Joined, join};
pub use status::{Status, status};
pub use terms::Terms;
pub use verdict::{JoinAdvice, JoinVerdict};

use crate::config::{Experiment, MethodEntry};
use crate::error::Error;
use motet_link::{PROTOCOL, RunTerms, StudySheet};
use motet_problems::source::Table;
use motet_problems::{ProblemConfig, Source};
use motet_records::RunCard;
use serde_json::{Value, json};

/// What everyone agrees to: the experiment without anybody's data, and every run of it. All runs are known before the first: whatever
/// earlier runs or data would decide was refused ([`decided_by_nobody`]).
fn sheet(experiment: &Experiment, clients: u32, dimension: u64, runs: &[RunCard]) -> StudySheet {
    let draws = carried::draws(experiment);
    let terms = |card: &RunCard| RunTerms {
        method: card.method.clone(),
        parameters: Value::Object(card.params.clone()),
        // Participants build their part of a problem by its place in the grid and the seed.
        problem: draws[card.problem].0,
        seed: card.seed,
    };
    StudySheet {
        protocol: PROTOCOL,
        motet: env!("CARGO_PKG_VERSION").into(),
        study: experiment.name.clone(),
        clients,
        dimension,
        experiment: common(experiment),
        runs: runs.iter().map(terms).collect(),
    }
}

/// Both sides of a study say so where their versions differ.
fn of_another_version(sheet: &str) -> String {
    let own = env!("CARGO_PKG_VERSION");
    format!(
        "the study was begun with motet {sheet}, and this is motet {own}: they understand each other, but digits may differ from those of one version"
    )
}

/// The part of an experiment that both sides need: where the tables lie is everybody's own matter.
fn common(experiment: &Experiment) -> Value {
    let problems: Vec<ProblemConfig> = experiment.problems.iter().map(|variant| without_source(&variant.config)).collect();
    let resolved = experiment.resolved();
    json!({
        "about": experiment.about,
        "problem": problems,
        "method": resolved["method"],
        "seeds": experiment.seeds,
        "run": { "rounds": experiment.run.rounds, "models": experiment.run.models },
    })
}

fn without_source(config: &ProblemConfig) -> ProblemConfig {
    let target = config.schema.as_ref().map(|schema| schema.target.clone()).unwrap_or_default();
    ProblemConfig { source: Source::new(Table::new("".into(), target)), split: None, file_gib: None, ..config.clone() }
}

/// Refuses what needs everybody's data in one place, and tables that nobody has described.
fn suits(experiment: &Experiment) -> Result<(), Error> {
    decided_by_nobody(experiment)?;
    if experiment.problems.iter().any(|variant| variant.config.schema.is_none()) {
        let reason = "is missing: a study needs to say what tables look like; `motet data schema TABLE` drafts it".to_owned();
        return Err(Error::Unsuited { file: experiment.document.file.clone(), key: "problem.schema".into(), reason });
    }
    Ok(())
}

/// Refuses values that data of all clients decide.
fn decided_by_nobody(experiment: &Experiment) -> Result<(), Error> {
    let decided = |entry: &MethodEntry| {
        let rules = [
            (entry.budget.is_some(), "alpha", "a budget"),
            (entry.estimates.beforehand().any(), "", "estimates made beforehand"),
            (entry.pick.is_some(), "alpha", "validation data"),
            (entry.tune.is_some(), "tune", "trials"),
        ];
        rules.into_iter().find(|(given, ..)| *given)
    };
    for entry in &experiment.methods {
        if let Some((_, key, by)) = decided(entry) {
            let key = if key.is_empty() { entry.key.clone() } else { format!("{}.{key}", entry.key) };
            let reason = format!("{by} cannot decide a value in a study, whose data are in many places: write the value itself");
            return Err(Error::Unsuited { file: experiment.document.file.clone(), key, reason });
        }
    }
    Ok(())
}
