//! How a study is served, and what of it the next start finds in the folder.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use motet_files::replace;
use motet_link::Identity;
use serde::{Deserialize, Serialize};

use super::log::LogLevel;
use crate::error::Error;

/// Where a certificate and its private key lie, for those who have an authority of their own. They are read whenever they are needed: it
/// does not matter who renews them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityFiles {
    /// The certificate, as PEM.
    pub cert: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

impl IdentityFiles {
    /// Under paths that hold in every working folder.
    pub(super) fn absolute(&self) -> Result<Self, Error> {
        Ok(Self { cert: absolute(&self.cert)?, key: absolute(&self.key)? })
    }

    pub(super) fn read(&self) -> Result<Identity, Error> {
        Ok(Identity { certificate: pem(&self.cert)?, key: pem(&self.key)? })
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    // Links are kept: whoever renews a certificate may change where they lead.
    std::path::absolute(path).map_err(|source| Error::Unknown(format!("{}: {source}", path.display())))
}

/// A file that was named by whoever calls.
fn pem(path: &Path) -> Result<String, Error> {
    /// Chains of certificates have some kilobytes.
    const LARGEST: u64 = 1 << 20;
    motet_files::read_text(path, LARGEST).map_err(|source| Error::Unknown(format!("{}: {source}", path.display())))
}

/// How a study is served. Where a study goes on, what is left open is as it was at the start before.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// What participants call this machine: a name or an address, which its certificate has; else 127.0.0.1.
    pub name: Option<String>,
    /// Where to listen, as `address:port`; else port 7443, of this machine alone where `name` is 127.0.0.1, and of all its addresses otherwise.
    pub listen: Option<String>,
    /// Who takes part. Empty: those who were invited before.
    pub invite: Vec<String>,
    /// The folder of the records.
    pub out: PathBuf,
    /// Go on with the study that was begun in the folder.
    pub resume: bool,
    /// After how long a round goes on without those who have not answered; zero, or none ever given, waits for everyone.
    pub deadline: Option<Duration>,
    /// A certificate, its key and the authority of participants' certificates, for those who have an authority of their own.
    pub identity: Option<(IdentityFiles, PathBuf)>,
    /// How much is told.
    pub log: LogLevel,
}

/// What a start leaves for the next one, in `serve/options.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Kept {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<IdentityFiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca: Option<PathBuf>,
}

const FILE: &str = "options.json";
/// Nobody but this machine reaches it.
const LOOPBACK: &str = "127.0.0.1";
const PORT: u16 = 7443;

impl Kept {
    /// What is asked for now, and for the rest what the folder says of the start before.
    pub(super) fn of(options: &ServeOptions, home: &Path) -> Result<Self, Error> {
        let before = if options.resume { Self::read(home)? } else { Self::default() };
        let now = options.identity.as_ref().map(|(files, ca)| Ok::<_, Error>((files.absolute()?, absolute(ca)?))).transpose()?;
        let (identity, ca) = now.map_or((before.identity, before.ca), |(files, ca)| (Some(files), Some(ca)));
        Ok(Self {
            name: options.name.clone().or(before.name),
            listen: options.listen.clone().or(before.listen),
            deadline_seconds: options.deadline.map(|deadline| deadline.as_secs()).or(before.deadline_seconds),
            identity,
            ca,
        })
    }

    fn read(home: &Path) -> Result<Self, Error> {
        let path = home.join(FILE);
        let text = match motet_files::read_text(&path, 1 << 20) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text.map_err(|source| Error::Write { path: path.clone(), source })?,
        };
        serde_json::from_str(&text).map_err(|e| Error::Write { path, source: e.into() })
    }

    pub(super) fn save(&self, home: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        replace(&home.join(FILE), (text + "\n").as_bytes())
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(LOOPBACK)
    }

    pub(super) fn listen(&self) -> String {
        let everywhere = if self.name() == LOOPBACK { LOOPBACK } else { "0.0.0.0" };
        self.listen.clone().unwrap_or_else(|| format!("{everywhere}:{PORT}"))
    }

    pub(super) fn patience(&self) -> Option<Duration> {
        self.deadline_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }

    /// Certificate, key and authority of those who have their own.
    pub(super) fn identity(&self) -> Result<Option<(Identity, String)>, Error> {
        let (Some(files), Some(ca)) = (&self.identity, &self.ca) else { return Ok(None) };
        Ok(Some((files.read()?, pem(ca)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(resume: bool) -> ServeOptions {
        let (out, log) = (PathBuf::from("out"), LogLevel::default());
        ServeOptions { name: None, listen: None, invite: vec![], out, resume, deadline: None, identity: None, log }
    }

    #[test]
    fn a_start_that_is_silent_does_as_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let said = ServeOptions {
            name: Some("study.example.org".into()),
            deadline: Some(Duration::from_secs(9)),
            identity: Some((IdentityFiles { cert: "/c.pem".into(), key: "k.pem".into() }, "/ca.pem".into())),
            ..options(false)
        };
        let first = Kept::of(&said, folder.path()).unwrap();
        assert_eq!((first.name(), first.listen().as_str()), ("study.example.org", "0.0.0.0:7443"));
        first.save(folder.path()).unwrap();
        let again = Kept::of(&options(true), folder.path()).unwrap();
        assert_eq!((&again, again.patience()), (&first, Some(Duration::from_secs(9))));
        assert!(again.identity.is_some_and(|files| files.key.is_absolute()), "it holds in another working folder");
        let other = ServeOptions { listen: Some("[::]:1".into()), deadline: Some(Duration::ZERO), ..options(true) };
        let other = Kept::of(&other, folder.path()).unwrap();
        assert_eq!((other.name(), other.listen().as_str(), other.patience()), ("study.example.org", "[::]:1", None));
        let anew = Kept::of(&options(false), folder.path()).unwrap();
        assert_eq!((anew.name(), anew.listen().as_str()), ("127.0.0.1", "127.0.0.1:7443"), "another study knows nothing of it");
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(Kept::of(&options(true), folder.path()).is_err(), "what is damaged is not taken for absent");
    }
}
