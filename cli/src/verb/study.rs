//! `motet study`: what an operator asks of a study, and tells it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use motet::Error;
use motet::study::{Order, give, status};
use serde_json::json;

use super::console::Console;

/// Show how far a study is, refuse a participant, or stop it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  motet study status motet-runs/hospitals\n  motet study stop motet-runs/hospitals")]
pub(crate) struct StudyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Show who takes part and how far the study is
    #[command(after_help = "Example:\n  motet study status motet-runs/hospitals --format json")]
    Status {
        /// The folder of the study
        folder: PathBuf,
    },
    /// Refuse a participant from now on
    #[command(after_help = "Example:\n  motet study revoke motet-runs/hospitals hospital2")]
    Revoke {
        /// The folder of the study
        folder: PathBuf,
        /// The participant's name
        name: String,
    },
    /// Stop after the round under way; `motet serve --resume` goes on
    #[command(
        after_help = "Example:\n  motet study stop motet-runs/hospitals\n  motet serve hospitals.toml --out motet-runs/hospitals --resume    # goes on"
    )]
    Stop {
        /// The folder of the study
        folder: PathBuf,
    },
}

impl StudyArgs {
    /// Does it.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        match &self.what {
            What::Status { folder } => {
                let status = status(folder)?;
                let members = status
                    .members
                    .iter()
                    .map(|(name, enrolled, revoked)| json!({ "name": name, "enrolled": enrolled, "revoked": revoked }));
                let mut told = json!(status);
                told["members"] = members.collect();
                console.result(&told, || {
                    let member = |(name, enrolled, revoked): &(String, bool, bool)| {
                        let word = if *revoked {
                            "revoked"
                        } else if *enrolled {
                            "enrolled"
                        } else {
                            "invited"
                        };
                        format!("  {word:<9} {name}")
                    };
                    let round = status.newest.map_or("no round measured".to_owned(), |(run, round)| format!("run {run}, round {round}"));
                    let state = if status.unfinished { "not finished" } else { "finished" };
                    let members = status.members.iter().map(member).collect::<Vec<_>>().join("\n");
                    format!("{state}, {round}, started {} time(s)\n{members}", status.starts)
                });
            }
            What::Revoke { folder, name } => {
                if !status(folder)?.members.iter().any(|(member, ..)| member == name) {
                    return Err(Error::Unknown(format!("{}: nobody is called {name:?} here", folder.display())));
                }
                give(folder, &Order::Revoke(name.clone())).map_err(|source| Error::Write { path: folder.clone(), source })?;
                console.result(&json!({ "ordered": "revoke", "name": name }), || {
                    "the coordinator will refuse this participant: within a second if it is running, otherwise when it starts".into()
                });
            }
            What::Stop { folder } => {
                // It says why, if there is no study.
                status(folder)?;
                give(folder, &Order::Stop).map_err(|source| Error::Write { path: folder.clone(), source })?;
                console.result(&json!({ "ordered": "stop" }), || "the study stops after the round under way".into());
            }
        }
        Ok(true)
    }
}
