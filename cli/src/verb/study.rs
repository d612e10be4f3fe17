//! `motet study`: what an operator asks of a study, and tells it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use motet::Error;
use motet::study::{Order, give, status};
use serde_json::json;

use super::console::Console;

/// Show how far a study is, invite a participant anew, refuse one, or stop the study.
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
    /// Write a new invitation for a participant who has lost the old one, its key or its folder; its certificate counts no more
    #[command(after_help = "Example:\n  motet study invite motet-runs/hospitals hospital2")]
    Invite {
        /// The folder of the study
        folder: PathBuf,
        /// The participant's name
        name: String,
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
            What::Invite { folder, name } => {
                if is_revoked(folder, name)? {
                    return Err(Error::Unknown(format!("{}: {name} was revoked, and cannot be invited again", folder.display())));
                }
                order(folder, &Order::Invite(name.clone()))?;
                let file = folder.join("invitations").join(format!("{name}.invite"));
                console.result(&json!({ "ordered": "invite", "name": name, "invitation": file }), || {
                    format!("the coordinator will write {}: within a second if it is running, otherwise when it starts", file.display())
                });
            }
            What::Revoke { folder, name } => {
                is_revoked(folder, name)?;
                order(folder, &Order::Revoke(name.clone()))?;
                console.result(&json!({ "ordered": "revoke", "name": name }), || {
                    "the coordinator will refuse this participant: within a second if it is running, otherwise when it starts".into()
                });
            }
            What::Stop { folder } => {
                // It says why, if there is no study.
                status(folder)?;
                order(folder, &Order::Stop)?;
                console.result(&json!({ "ordered": "stop" }), || "the study stops after the round under way".into());
            }
        }
        Ok(true)
    }
}

/// Was this participant revoked? An error if nobody has the name.
fn is_revoked(folder: &Path, name: &str) -> Result<bool, Error> {
    let members = status(folder)?.members;
    let found = members.iter().find(|(member, ..)| member == name).map(|(_, _, revoked)| *revoked);
    found.ok_or_else(|| Error::Unknown(format!("{}: nobody is called {name:?} here", folder.display())))
}

fn order(folder: &Path, order: &Order) -> Result<(), Error> {
    give(folder, order).map_err(|source| Error::Write { path: folder.to_path_buf(), source })
}
