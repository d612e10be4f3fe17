//! `motet serve`: the coordinator of a study between machines.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use clap::Args;
use motet::config::Document;
use motet::link::Identity;
use motet::study::{ServeOptions, StudyWatch, serve};
use motet::{Error, Event, Folder, Observer};

use super::console::Console;
use super::run::tell;
use crate::progress::Progress;

/// Serve a study between machines: every participant keeps its data.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  motet serve study.toml --name study.example.org --invite hospital1,hospital2,hospital3\n\nThen send each participant its file of DIR/invitations, who says\n  motet join hospital1.invite --data hospital1.csv"
)]
pub(crate) struct ServeArgs {
    /// The study: an experiment file with [problem.schema]
    study: PathBuf,
    /// What participants call this machine: a name or an address
    #[arg(long, default_value = "127.0.0.1", value_name = "HOST")]
    name: String,
    /// Where to listen [default: port 7443 of this machine, to everyone if --name is given]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Who takes part
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    invite: Vec<String>,
    /// Folder for the records [default: the first free motet-runs/<name>]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the study that was begun in the folder of --out
    #[arg(long, requires = "out")]
    resume: bool,
    /// Who has not answered after so many seconds is silent [default: everyone is waited for]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    deadline: Option<u64>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// The authority of participants' certificates, whose common names are those of --invite
    #[arg(long, value_name = "PEM", requires = "cert")]
    ca: Option<PathBuf>,
}

/// A certificate from an authority of one's own.
#[derive(Args, Debug)]
pub(crate) struct IdentityArgs {
    /// A certificate from an authority of your own
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(super) cert: Option<PathBuf>,
    /// Its private key
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(super) key: Option<PathBuf>,
}

pub(super) fn pem(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Write { path: path.into(), source })
}

impl IdentityArgs {
    pub(super) fn read(&self) -> Result<Option<Identity>, Error> {
        let (Some(certificate), Some(key)) = (&self.cert, &self.key) else { return Ok(None) };
        Ok(Some(Identity { certificate: pem(certificate)?, key: pem(key)? }))
    }
}

impl ServeArgs {
    /// Serves it; false if a run failed.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let document = Document::read(&self.study)?;
        let name = document.root.get("name").and_then(|name| name.as_str()).unwrap_or("study").to_owned();
        let out = self.out.clone().unwrap_or_else(|| Folder::fresh_name(Path::new("motet-runs"), &name));
        let everyone = if self.name == "127.0.0.1" { "127.0.0.1:7443" } else { "0.0.0.0:7443" };
        let identity = match (self.identity.read()?, &self.ca) {
            (Some(identity), Some(ca)) => Some((identity, pem(ca)?)),
            (None, None) => None,
            _ => return Err(Error::Unknown("--cert, --key and --ca go together".into())),
        };
        let options = ServeOptions {
            name: self.name.clone(),
            listen: self.listen.clone().unwrap_or_else(|| everyone.into()),
            invite: self.invite.clone(),
            resume: self.resume,
            out: out.clone(),
            deadline: self.deadline.map(Duration::from_secs),
            identity,
        };
        let watch: Rc<dyn StudyWatch> =
            Rc::new(Watch { progress: Progress::new(console.quiet), quiet: console.quiet, there: Cell::new(usize::MAX) });
        let records = serve(document, &options, console.catalogue, &watch)?;
        Ok(tell(&records, &out, console))
    }
}

struct Watch {
    progress: Progress,
    quiet: bool,
    there: Cell<usize>,
}

impl Observer for Watch {
    fn notice(&self, event: Event<'_>) {
        self.progress.notice(event);
    }
    fn stop(&self) -> bool {
        self.progress.stop()
    }
}

impl StudyWatch for Watch {
    fn listening(&self, address: &str, invitations: &Path) {
        if !self.quiet {
            eprintln!("listening at {address}; invitations: {}", invitations.display());
        }
    }
    fn waiting(&self, there: usize, of: usize) {
        if !self.quiet && self.there.replace(there) != there {
            eprintln!("{there} of {of} participants are there");
        }
    }
}
