//! An agent's folder: its card, its certificate, what was agreed to, and the runs it has worked for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use motet_core::{Vector, whole};
use motet_files::{replace, replace_secret};
use motet_link::{
    Digest, Enrolment, Identity, Invitation, Limits, Line, RunSheet, StudySheet, Validity, is_ageing, new_request, request_for,
};
use motet_records::Utc;
use serde::{Deserialize, Serialize};

use super::options::IdentityFiles;
use super::participant::{JoinOptions, JoinWatch};
use super::terms::Terms;
use crate::error::Error;

/// What an agent remembers of its study.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentCard {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) study: String,
    pub(super) data: PathBuf,
    pub(super) scores: bool,
    /// The most starts of the coordinator that were heard of.
    #[serde(default)]
    pub(super) start: u32,
    /// SHA-256 of the token that the certificate was got with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The files of those who have an authority of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<IdentityFiles>,
}

pub(super) const CARD: &str = "agent.json";
const SENT: &str = "sent.log";
const KEY: &str = "key.pem";
pub(super) const CERTIFICATE: &str = "cert.pem";
/// A first visit tries for so long: an address is more likely wrong than a coordinator late.
const FIRST_VISIT: Duration = Duration::from_secs(30);
/// In the folder of a run: its sheet, and the participant's own model when it was last measured as a whole.
pub(super) const SHEET: &str = "sheet.json";
pub(super) const MODEL: &str = "model";

/// An agent's folder, held by one agent at a time.
pub(super) struct Home {
    pub(super) folder: PathBuf,
    pub(super) card: AgentCard,
    /// If one was named at this start.
    invitation: Option<Invitation>,
    _lock: File,
}

impl Home {
    pub(super) fn open(options: &JoinOptions) -> Result<Self, Error> {
        let given = &options.invitation;
        let unread = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Error::Write { path, source }
        };
        // What was named on the command line is the caller's to put right.
        let unnamed = |path: &Path, error: &io::Error| Error::Unknown(format!("{}: {error}", path.display()));
        let invitation = match given.is_dir() {
            true => None,
            false => {
                let text = motet_files::read_text(given, 1 << 20).map_err(|e| unnamed(given, &e))?;
                Some(text.parse::<Invitation>().map_err(|e| Error::Unknown(format!("{}: {e}", given.display())))?)
            }
        };
        let folder = match (&options.dir, &invitation) {
            (Some(dir), _) => dir.clone(),
            (None, None) => given.clone(),
            (None, Some(invitation)) => PathBuf::from(format!("motet-{}", invitation.name)),
        };
        fs::create_dir_all(&folder).map_err(unread(&folder))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(unread(&path))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(Error::Unresumable { folder, reason: "another agent is at work in this folder".into() });
        }
        let path = folder.join(CARD);
        let before = if_there(motet_files::read_text(&path, 1 << 20)).map_err(unread(&path))?;
        let before = before.map(|text| serde_json::from_str::<AgentCard>(&text)).transpose();
        let before = before.map_err(|e| Error::Unknown(format!("{}: {e}", path.display())))?;
        let data = options.data.clone().or(before.as_ref().map(|card| card.data.clone()));
        let data = data.ok_or_else(|| Error::Unknown("name your table with --data FILE".into()))?;
        let data = fs::canonicalize(&data).map_err(|e| unnamed(&data, &e))?;
        let before = match (&invitation, before) {
            (Some(invitation), Some(before)) if before.study != invitation.study.to_string() => {
                let reason = format!("this folder belongs to another study ({}): choose another one with --dir", before.study);
                return Err(Error::Unresumable { folder, reason });
            }
            (None, None) => return Err(Error::Unresumable { folder, reason: "no agent was here before: name an invitation".into() }),
            (Some(_), None) => AgentCard { scores: true, ..AgentCard::default() },
            (_, Some(before)) => before,
        };
        let invited = match &invitation {
            Some(Invitation { name, address, study, .. }) => {
                AgentCard { name: name.to_string(), address: address.clone(), study: study.to_string(), ..before }
            }
            None => before,
        };
        let identity = options.identity.as_ref().map(IdentityFiles::absolute).transpose()?.or(invited.identity);
        let card = AgentCard { data, scores: options.scores.unwrap_or(invited.scores), identity, ..invited };
        let home = Self { folder, card, invitation, _lock: lock };
        home.save()?;
        Ok(home)
    }

    pub(super) fn save(&self) -> Result<(), Error> {
        self.wrote(CARD, |path| {
            let text = serde_json::to_string_pretty(&self.card)?;
            replace(path, (text + "\n").as_bytes())
        })?;
        if let Some(invitation) = &self.invitation {
            self.wrote("ca.pem", |path| replace(path, invitation.authority.as_bytes()))?;
        }
        Ok(())
    }

    pub(super) fn wrote<T>(&self, name: &str, write: impl FnOnce(&Path) -> io::Result<T>) -> Result<T, Error> {
        let path = self.folder.join(name);
        write(&path).map_err(|source| Error::Write { path, source })
    }

    pub(super) fn read(&self, name: &str) -> Result<String, Error> {
        self.wrote(name, |path| motet_files::read_text(path, 1 << 20))
    }

    pub(super) fn odd(&self, reason: String) -> Error {
        Error::Unresumable { folder: self.folder.clone(), reason }
    }

    /// Makes a key, and spends the invitation for a certificate; nothing of it if there is one that counts.
    pub(super) fn enrol(&mut self, watch: &dyn JoinWatch) -> Result<(), Error> {
        if let Some(files) = &self.card.identity {
            return self.keep_identity(&files.read()?);
        }
        let Some(invitation) = self.invitation.clone() else {
            return match self.folder.join(CERTIFICATE).exists() {
                true => Ok(()),
                false => Err(self.odd("this agent has no certificate: name its invitation".into())),
            };
        };
        let token = invitation.token.hash().to_string();
        if !self.wants_certificate(&token)? {
            return Ok(());
        }
        // The key of another token is kept until this one was worth a certificate.
        let spent_before = self.card.token.as_ref() == Some(&token);
        let key_file = if spent_before { KEY.to_owned() } else { format!("key-{}.pem", &token[..16]) };
        let request = self.request(&key_file)?;
        let mut line = Line::new(&invitation.address, &invitation.authority, None, Limits::default())
            .map_err(|e| self.odd(format!("the invitation cannot be used: {e}")))?;
        self.sends("enrolment: the token of the invitation, and a certificate request", &request)?;
        let enrolment = Enrolment { token: invitation.token.reveal(), request };
        let enrolled = self.reach(watch, Some(FIRST_VISIT), || line.enrol(&enrolment))?;
        self.keep_identity(&Identity { certificate: enrolled.certificate, key: self.read(&key_file)? })?;
        self.card.token = Some(token);
        self.save()?;
        match spent_before {
            true => Ok(()),
            false => self.wrote(&key_file, |path| fs::remove_file(path)),
        }
    }

    /// Should the invitation with this token be spent? It is another one than the certificate was got with, or there is none that counts.
    fn wants_certificate(&self, token: &str) -> Result<bool, Error> {
        if !self.folder.join(CERTIFICATE).exists() || !self.folder.join(KEY).exists() {
            return Ok(true);
        }
        let is_another = self.card.token.as_deref().is_some_and(|spent| spent != token);
        Ok(is_another || !Validity::of(&self.read(CERTIFICATE)?).is_some_and(Validity::holds))
    }

    /// A certificate request for the key in a file, which is made if there is none: it is kept before anybody hears of it, and asks
    /// again should the answer be lost.
    fn request(&self, key_file: &str) -> Result<String, Error> {
        if self.folder.join(key_file).exists() {
            return request_for(&self.read(key_file)?).map_err(|e| self.odd(format!("{key_file}: {e}")));
        }
        let (key, request) = new_request().map_err(|e| self.odd(e.to_string()))?;
        self.wrote(key_file, |path| replace_secret(path, key.as_bytes()))?;
        Ok(request)
    }

    fn keep_identity(&self, identity: &Identity) -> Result<(), Error> {
        self.wrote(KEY, |path| replace_secret(path, identity.key.as_bytes()))?;
        self.wrote(CERTIFICATE, |path| replace(path, identity.certificate.as_bytes()))
    }

    /// Gets another certificate if this one ends soon, and then the line that shows it. Those of an authority of one's own are renewed
    /// elsewhere: the files are read again.
    pub(super) fn renew(&self, watch: &dyn JoinWatch) -> Result<Option<Line>, Error> {
        if let Some(files) = &self.card.identity {
            let identity = files.read()?;
            if identity.certificate == self.read(CERTIFICATE)? {
                return Ok(None);
            }
            self.keep_identity(&identity)?;
            watch.say("the certificate was renewed");
            return self.line().map(Some);
        }
        if !is_ageing(&self.read(CERTIFICATE)?) {
            return Ok(None);
        }
        let request = self.request(KEY)?;
        self.sends("renewal: a certificate request", &request)?;
        match self.line()?.renew(&request) {
            Ok(renewed) => {
                self.wrote(CERTIFICATE, |path| replace(path, renewed.certificate.as_bytes()))?;
                watch.say("the certificate was renewed");
                self.line().map(Some)
            }
            Err(error) => {
                watch.say(&format!("the certificate ends soon and could not be renewed: {error}"));
                Ok(None)
            }
        }
    }

    /// Remembers how often the coordinator was started. One that counts backwards is refused, before anything is changed here.
    pub(super) fn hears_start(&mut self, start: u32, accepts: bool) -> Result<(), Error> {
        if start < self.card.start && !accepts {
            return Err(self.older(start, self.card.start));
        }
        if start != self.card.start {
            self.card.start = start;
            self.save()?;
        }
        Ok(())
    }

    pub(super) fn older(&self, start: u32, known: u32) -> Error {
        self.odd(format!(
            "the coordinator was started {start} times by its own count, but this agent knows of its start number {known}: it was restored from an older copy of its \
             folder, and what has happened since would be done again. To take part in that all the same: motet join {} --accept-start",
            self.folder.display()
        ))
    }

    /// What left this machine, in words: lines are added before it does.
    pub(super) fn sent(&self) -> Result<File, Error> {
        self.wrote(SENT, |path| OpenOptions::new().create(true).append(true).open(path))
    }

    fn sends(&self, what: &str, text: &str) -> Result<(), Error> {
        let mut log = self.sent()?;
        let (now, hash) = (Utc::now(), Digest::of(text.as_bytes()));
        self.wrote(SENT, |_| writeln!(log, "{now} {what} of {} bytes, SHA-256 {hash}", text.len()))
    }

    pub(super) fn line(&self) -> Result<Line, Error> {
        let identity = Identity { certificate: self.read(CERTIFICATE)?, key: self.read(KEY)? };
        let line = Line::new(&self.card.address, &self.read("ca.pem")?, Some(&identity), Limits::default());
        line.map_err(|e| self.odd(format!("the certificate cannot be used: {e}")))
    }

    /// Asks for consent, unless it was given to this very sheet.
    pub(super) fn agree(&self, sheet: &StudySheet, terms: &Terms, watch: &dyn JoinWatch) -> Result<(), Error> {
        let path = self.folder.join("sheet.json");
        let text = sheet.text();
        if motet_files::read_text(&path, 64 << 20).ok().as_deref() == Some(text.as_str()) {
            return Ok(());
        }
        if !watch.agrees(terms) {
            return Err(Error::Unknown("nothing was agreed to, and nothing about your data was sent".into()));
        }
        self.wrote("sheet.json", |path| replace(path, text.as_bytes()))
    }

    pub(super) fn run_folder(&self, run: Digest) -> PathBuf {
        self.folder.join("runs").join(run.to_string())
    }

    pub(super) fn forget(&self, run: Digest) -> Result<(), Error> {
        match fs::remove_dir_all(self.run_folder(run)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Write { path: self.run_folder(run), source }),
            _ => Ok(()),
        }
    }

    pub(super) fn left(&self) -> Error {
        Error::Interrupted { what: format!("the agent has left; go on with: motet join {}", self.folder.display()), folder: None }
    }

    /// Runs that this agent has worked for, but for the one under way; each with its sheet and the participant's own model if it
    /// was measured.
    #[allow(clippy::type_complexity)] // Read in one place.
    pub(super) fn left_over(
        &self,
        under_way: Option<Digest>,
        study: &StudySheet,
    ) -> Result<Vec<(Digest, Option<(RunSheet, Vector)>)>, Error> {
        let runs = self.folder.join("runs");
        let unread = |source| Error::Write { path: runs.clone(), source };
        let Some(entries) = if_there(fs::read_dir(&runs)).map_err(unread)? else { return Ok(vec![]) };
        let mut found = vec![];
        for entry in entries {
            let name = entry.map_err(unread)?.file_name();
            let Some(run) = name.to_str().and_then(|name| name.parse::<Digest>().ok()) else { continue };
            if Some(run) == under_way {
                continue;
            }
            // A run that was killed before its first round has no sheet, and one that was not measured as a whole has no model.
            let folder = self.run_folder(run);
            let damaged = |file: &str, error: &dyn std::fmt::Display| {
                let path = folder.join(file).display().to_string();
                self.odd(format!("{path} is damaged ({error}), so that your own model of this run is lost: remove its folder to go on"))
            };
            let sheet = if_there(motet_files::read_text(&folder.join(SHEET), 64 << 20)).map_err(unread)?;
            let sheet = sheet.map(|text| RunSheet::read(&text, study)).transpose().map_err(|e| damaged(SHEET, &e))?;
            let model = if_there(motet_files::read(&folder.join(MODEL), u64::MAX)).map_err(unread)?;
            let model = model.map(|bytes| whole::<Vector>(&bytes)).transpose().map_err(|e| damaged(MODEL, &e))?;
            found.push((run, sheet.zip(model)));
        }
        found.sort_by_key(|(_, model)| model.as_ref().map(|(sheet, _)| sheet.run));
        Ok(found)
    }
}

/// None where there is nothing.
fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}
