//! `motet join`: the agent of one participant.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use motet::Error;
use motet::study::{JoinOptions, JoinWatch, Terms, join};

use super::console::{Console, printable};
use super::serve::IdentityArgs;
use crate::interrupt;

/// Take part in a study with your own data, which stay where they are.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  motet join hospital1.invite --data hospital1.csv\n  motet join motet-hospital1          (goes on after a stop)"
)]
pub(crate) struct JoinArgs {
    /// The invitation, or the folder of an agent that has used one
    invitation: PathBuf,
    /// Your table
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The agent's folder [default: motet-<name> here]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Agree without being asked
    #[arg(long)]
    yes: bool,
    /// Do not show losses and metrics to the coordinator, now and after later starts
    #[arg(long)]
    no_scores: bool,
    /// Show them again
    #[arg(long, conflicts_with = "no_scores")]
    scores: bool,
    /// Take part also if the coordinator was restored from an older copy of its folder
    #[arg(long)]
    accept_start: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

impl JoinArgs {
    /// Takes part to the end.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        interrupt::listen();
        let options = JoinOptions {
            invitation: self.invitation.clone(),
            data: self.data.clone(),
            dir: self.dir.clone(),
            scores: (self.scores || self.no_scores).then_some(self.scores),
            identity: self.identity.files(),
            accept_start: self.accept_start,
        };
        let joined = join(&options, console.catalogue, &Watch { yes: self.yes, quiet: console.quiet })?;
        console.result(&joined, || {
            let models = joined.models.iter().map(|(folder, _)| format!("Your model: {}", folder.display()));
            let log = format!("What left this machine: {}", joined.folder.join("sent.log").display());
            models.chain([log]).collect::<Vec<_>>().join("\n")
        });
        Ok(true)
    }
}

struct Watch {
    yes: bool,
    quiet: bool,
}

impl JoinWatch for Watch {
    fn agrees(&self, terms: &Terms) -> bool {
        if !self.quiet || !self.yes {
            eprintln!("{}", printable(&terms.lines.join("\n")));
        }
        if self.yes {
            return true;
        }
        if !std::io::stdin().is_terminal() {
            eprintln!("motet: nobody can be asked here: pass --yes to agree");
            return false;
        }
        eprint!("Do you agree? [y/N] ");
        let _ = std::io::stderr().flush();
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    }
    fn say(&self, line: &str) {
        if !self.quiet {
            eprintln!("{}", printable(line));
        }
    }
    fn stop(&self) -> bool {
        interrupt::requested()
    }
}
