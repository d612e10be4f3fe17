//! `motet serve`: the coordinator of a study between machines.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use clap::Args;
use motet::config::Document;
use motet::study::{IdentityFiles, LogLevel, ServeOptions, StudyWatch, serve};
use motet::{Error, Event, Folder, Observer};

use super::console::Console;
use super::number::counted;
use super::run::tell;
use crate::progress::Progress;

/// Serve a study between machines: every participant keeps its data.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  motet serve study.toml --name study.example.org --invite hospital1,hospital2,hospital3\n\nThen send each participant its file from DIR/invitations. The participant runs\n  motet join hospital1.invite --data hospital1.csv"
)]
pub(crate) struct ServeArgs {
    /// The study: an experiment file with [problem.schema]
    study: PathBuf,
    /// The name or address by which participants reach this machine [default: 127.0.0.1; with --resume: as before]
    #[arg(long, value_name = "HOST")]
    name: Option<String>,
    /// Where to listen [default: port 7443 of this machine, to everyone if --name is given; with --resume: as before]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// The names of the participants
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    invite: Vec<String>,
    /// Folder for invitations and records [default: the first free motet-runs/<name>]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the study that was begun in the folder of --out, with the same --name, --listen, --deadline, --cert, --key and --ca unless they are given
    #[arg(long, requires = "out")]
    resume: bool,
    /// Take participants that have not answered after this many seconds as silent; a round goes on without them where `[run] quorum` is
    /// below 1 [default: 0, wait for everyone; with --resume: as before]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = counted)]
    deadline: Option<u64>,
    /// How much to print while the study runs
    #[arg(long, value_enum, default_value = "events", value_name = "LEVEL")]
    log: Level,
    #[command(flatten)]
    identity: IdentityArgs,
    /// The authority of participants' certificates, whose common names are those of --invite
    #[arg(long, value_name = "PEM", requires = "cert")]
    ca: Option<PathBuf>,
}

/// How much a coordinator tells.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Level {
    /// What cannot be carried out
    Errors,
    /// Also who came, left, was late, lost or refused
    Events,
    /// Also every connection that ended in an error, with the caller's address
    Connections,
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Errors => Self::Errors,
            Level::Events => Self::Events,
            Level::Connections => Self::Connections,
        }
    }
}

/// A certificate from an authority of one's own.
#[derive(Args, Debug)]
pub(crate) struct IdentityArgs {
    /// A certificate from an authority of your own
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(super) cert: Option<PathBuf>,
    /// The private key of --cert
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(super) key: Option<PathBuf>,
}

impl IdentityArgs {
    pub(super) fn files(&self) -> Option<IdentityFiles> {
        let (cert, key) = (self.cert.clone()?, self.key.clone()?);
        Some(IdentityFiles { cert, key })
    }
}

impl ServeArgs {
    /// Serves it; false if a run failed.
    pub(crate) fn execute(&self, console: Console<'_>) -> Result<bool, Error> {
        let document = Document::read(&self.study)?;
        let name = document.root.get("name").and_then(|name| name.as_str()).unwrap_or(document.stem()).to_owned();
        let out = self.out.clone().unwrap_or_else(|| Folder::fresh_name(Path::new("motet-runs"), &name));
        let identity = match (self.identity.files(), &self.ca) {
            (Some(files), Some(ca)) => Some((files, ca.clone())),
            (None, None) => None,
            _ => return Err(Error::Unknown("--cert, --key and --ca go together".into())),
        };
        let options = ServeOptions {
            name: self.name.clone(),
            listen: self.listen.clone(),
            invite: self.invite.clone(),
            resume: self.resume,
            out: out.clone(),
            deadline: self.deadline.map(Duration::from_secs),
            identity,
            log: self.log.into(),
        };
        let watch: Rc<dyn StudyWatch> =
            Rc::new(Watch { progress: Progress::new(console.quiet), quiet: console.quiet, there: Cell::new(usize::MAX) });
        crate::allocator::gives_large_blocks_back();
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
