//! The coordinator's side of a study.
//!
//! ```text
//! DIR/                 the records of the experiment, as every run leaves them
//!   invitations/NAME.invite
//!   serve/
//!     ca.pem ca.key      the study's authority
//!     cert.pem key.pem   the coordinator's identity
//!     members.json       names, keys, tokens that were not used yet
//!     sheet.json         what everyone agrees to
//!     options.json       how it was served, for a start that does not say
//!     start              how often the coordinator was started
//!     run, spool/        the run under way, and replies until their round is durable
//!     orders/            what an operator asks for
//! ```

use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use motet_files::{replace, replace_secret};
use motet_link::{Authority, Complaint, Digest, Identity, Limits, Members, Name, NoName, Server, Service, StudySheet};
use motet_problems::{Problem, ProblemConfig, natural_order};
use motet_records::Records;

use super::invitations::Invitations;
use super::log::{Log, LogLevel};
use super::operator::{Attended, Listens};
use super::options::{Kept, ServeOptions};
use super::orders;
use super::served::{SPOOL, Served};
use super::status::starts;
use super::{of_another_version, sheet, suits};
use crate::catalogue::Catalogue;
use crate::config::{Document, Experiment};
use crate::error::Error;
use crate::observer::{Event, Observer};
use crate::recorders::Folder;
use crate::simulate::Simulation;

/// Watches a study, and says whether to stop.
pub trait StudyWatch: Observer {
    /// The coordinator listens here; invitations that were not used yet are in this folder.
    fn listening(&self, address: &str, invitations: &Path);
    /// So many of so many participants are there; told now and then until all are.
    fn waiting(&self, there: usize, of: usize);
}

/// Serves a study to its end.
pub fn serve(document: Document, options: &ServeOptions, catalogue: &Catalogue, watch: &Rc<dyn StudyWatch>) -> Result<Records, Error> {
    let file = document.file.clone();
    served(document, options, catalogue, watch).map_err(|error| stopped(error, &file, &options.out))
}

/// Whoever stops a study is told how it goes on.
fn stopped(error: Error, file: &str, out: &Path) -> Error {
    let what = match error {
        Error::Interrupted { what, .. } => what,
        Error::Write { source, .. } if source.kind() == io::ErrorKind::Interrupted => source.to_string(),
        other => return other,
    };
    Error::Interrupted { what: format!("{what}; go on with: motet serve {file} --out {} --resume", out.display()), folder: None }
}

fn served(document: Document, options: &ServeOptions, catalogue: &Catalogue, watch: &Rc<dyn StudyWatch>) -> Result<Records, Error> {
    let experiment = Experiment::of(document, catalogue)?;
    suits(&experiment)?;
    let home = options.out.join("serve");
    let unwritten = |source| Error::Write { path: home.clone(), source };
    let clients = names(options, &home)?;
    let desk = FrontDesk { kept: Kept::of(options, &home)?, home: &home, clients: &clients, options, watch, stop: Arc::default() };
    let resumes = options.resume && Folder::is_unfinished(&options.out);
    if options.resume && !resumes && options.out.join(motet_records::names::SUMMARY).exists() {
        return desk.farewell();
    }
    let (mut folder, mut server) = (None, None);
    let build = |config: &ProblemConfig, seed| Problem::elsewhere(config, &clients, seed);
    let simulation = Simulation::between_machines(experiment, build, |simulation| {
        let opened = match resumes {
            true => Folder::resume(&options.out, &simulation.manifest(), &|what| watch.notice(Event::Note(what)))?,
            false => Folder::create(&options.out, false, &simulation.experiment().document)?,
        };
        // Agents forget a run when they hear of the next one: by then it must not come back.
        folder = Some(opened.with_every_run_durable());
        let dimension = simulation.problems().first().map_or(0, |built| built.problem.start().len() as u64);
        let runs = simulation.manifest().runs;
        let sheet = desk.agreed(sheet(simulation.experiment(), clients.len() as u32, dimension, &runs))?;
        // Whoever gave it meant a coordinator that has ended since.
        orders::withdraw_stop(&options.out).map_err(unwritten)?;
        let (served, invitations) = desk.open(&sheet)?;
        server = Some((Rc::clone(&served.server), invitations, served.log.clone()));
        Ok(served)
    })?;
    let (Some(mut folder), Some((server, invitations, log))) = (folder, server) else { unreachable!("a study that was planned is served") };
    watch.listening(&server.address().to_string(), &invitations.folder);
    let listens = Listens::to(&options.out, &invitations, &desk.stop, &log);
    let attended = Attended { watch: Rc::clone(watch), stop: Arc::clone(&desk.stop), log: log.clone() };
    let records = simulation.run_observed(&mut folder, &attended);
    drop(listens);
    log.tell(&**watch);
    if records.is_ok() {
        dismiss(&invitations.service, watch);
        forget_replies(&home).map_err(unwritten)?;
    }
    records
}

/// Replies of the last round: its result is durable, and nobody needs them any more.
fn forget_replies(home: &Path) -> io::Result<()> {
    match fs::remove_dir_all(home.join(SPOOL)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Tells participants that the study is over, until everyone has heard it or the longest pause of one who looks for its coordinator
/// (half a minute) has passed: who was away in that moment would look for ever.
fn dismiss(service: &Service, watch: &Rc<dyn StudyWatch>) {
    service.end();
    let until = Instant::now() + Duration::from_secs(40);
    while !service.unaware().is_empty() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    // The last answer is on its way.
    thread::sleep(Duration::from_millis(300));
    let unaware = service.unaware();
    if !unaware.is_empty() {
        let what = format!("these have not heard that the study is over: {}; `motet serve --resume` will tell them", unaware.join(", "));
        watch.notice(Event::Note(&what));
    }
}

/// Who takes part, in the order of their numbers: that of a folder with their tables.
fn names(options: &ServeOptions, home: &Path) -> Result<Vec<String>, Error> {
    let parsed = options.invite.iter().map(|name| name.parse::<Name>()).collect::<Result<Vec<_>, NoName>>();
    let parsed = parsed.map_err(|wrong| Error::Unknown(format!("--invite: {wrong}")))?;
    if let Some(name) = parsed.iter().enumerate().find_map(|(k, name)| parsed[..k].contains(name).then_some(name)) {
        return Err(Error::Unknown(format!("--invite: {name} is listed twice")));
    }
    if !parsed.is_empty() {
        return Ok(natural_order(&parsed.iter().map(Name::to_string).collect::<Vec<_>>()));
    }
    let path = home.join("members.json");
    let members =
        if path.exists() { Members::open(&path, &[]).map_err(|source| Error::Write { path, source })?.all().to_vec() } else { vec![] };
    match members.is_empty() {
        true => Err(Error::Unknown("nobody is invited: name the participants with --invite NAME,NAME".into())),
        false => Ok(members.into_iter().map(|member| member.name).collect()),
    }
}

/// What a start of a coordinator stands on.
struct FrontDesk<'a> {
    kept: Kept,
    /// `DIR/serve`
    home: &'a Path,
    clients: &'a [String],
    options: &'a ServeOptions,
    watch: &'a Rc<dyn StudyWatch>,
    stop: Arc<AtomicBool>,
}

impl FrontDesk<'_> {
    /// The sheet that was agreed to, if it says the same but for the version of motet; this one where nothing was agreed to yet.
    fn agreed(&self, sheet: StudySheet) -> Result<StudySheet, Error> {
        let Some(before) = self.agreed_before()? else {
            let path = self.sheet();
            let written = fs::create_dir_all(self.home).and_then(|()| replace(&path, sheet.text().as_bytes()));
            return written.map(|()| sheet).map_err(|source| Error::Write { path, source });
        };
        if (StudySheet { motet: before.motet.clone(), ..sheet.clone() }) != before {
            let reason = "another study was agreed to in this folder: choose another one with --out".to_owned();
            return Err(Error::Unresumable { folder: self.options.out.clone(), reason });
        }
        if before.motet != sheet.motet {
            self.watch.notice(Event::Note(&of_another_version(&before.motet)));
        }
        Ok(before)
    }

    /// None if there is no sheet. One that is damaged is an error: participants hold others to what they agreed to.
    fn agreed_before(&self) -> Result<Option<StudySheet>, Error> {
        let path = self.sheet();
        let text = match motet_files::read_text(&path, 64 << 20) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|source| Error::Write { path: path.clone(), source })?,
        };
        let damaged = |e| {
            let reason = format!("{e}. It is what participants have agreed to: restore it, or begin anew with another --out");
            Error::Write { path: path.clone(), source: io::Error::new(io::ErrorKind::InvalidData, reason) }
        };
        StudySheet::read(&text, Digest::of(text.as_bytes())).map(Some).map_err(damaged)
    }

    fn sheet(&self) -> PathBuf {
        self.home.join("sheet.json")
    }

    /// Listens, and writes the invitations that are missing.
    fn open(&self, sheet: &StudySheet) -> Result<(Served, Invitations), Error> {
        let own = self.kept.identity()?;
        self.listen(sheet, own).map_err(|source| Error::Write { path: self.home.to_path_buf(), source })
    }

    fn listen(&self, sheet: &StudySheet, own: Option<(Identity, String)>) -> io::Result<(Served, Invitations)> {
        let (home, name) = (self.home, self.kept.name());
        let members = Members::open(&home.join("members.json"), self.clients)?;
        let (identity, authority, certificate) = match own {
            Some((identity, certificate)) => (identity, None, certificate),
            None => {
                let authority = Authority::open(home)?;
                let certificate = authority.certificate().to_owned();
                (identity_of(home, &authority, name)?, Some(authority), certificate)
            }
        };
        let start = counted(&home.join("start"))?;
        let service = Service::new(members, authority, sheet.text(), start);
        let (limits, log) = (Limits::default(), Log::new(self.options.log));
        let lines = log.clone();
        let complain = Box::new(move |Complaint { peer, why }| {
            lines.line(LogLevel::Connections, || peer.map_or_else(|| why.clone(), |peer| format!("{peer}: {why}")));
        });
        let server = Server::start(&self.kept.listen(), (&identity, &certificate), Arc::clone(&service), limits, complain)?;
        // An address that nobody could listen at is not kept.
        self.kept.save(home)?;
        let invitations = Invitations {
            folder: self.options.out.join("invitations"),
            service: Arc::clone(&service),
            address: format!("{name}:{}", server.address().port()),
            authority: certificate,
            study: sheet.digest(),
        };
        invitations.write_missing()?;
        let served = Served {
            folder: home.into(),
            service,
            server: Rc::new(server),
            sheet: sheet.clone(),
            start,
            limits,
            patience: self.kept.patience(),
            names: self.clients.to_vec(),
            diary: RefCell::default(),
            watch: Rc::clone(self.watch),
            stop: Arc::clone(&self.stop),
            log,
            before: Cell::default(),
        };
        Ok((served, invitations))
    }

    /// A study that is finished: participants who were not there in the end hear of it.
    fn farewell(&self) -> Result<Records, Error> {
        let missing = || Error::Write { path: self.sheet(), source: io::ErrorKind::NotFound.into() };
        let (served, _) = self.open(&self.agreed_before()?.ok_or_else(missing)?)?;
        self.watch.notice(Event::Note("this study is finished; whoever asks in the next seconds is told so"));
        dismiss(&served.service, self.watch);
        forget_replies(self.home).map_err(|source| Error::Write { path: self.home.to_path_buf(), source })?;
        Ok(Records::read(&self.options.out)?)
    }
}

/// The coordinator's certificate under a name: the one of the folder if it has that name.
fn identity_of(home: &Path, authority: &Authority, name: &str) -> io::Result<Identity> {
    let [certificate, key, host] = ["cert.pem", "key.pem", "name"].map(|file| home.join(file));
    if motet_files::read_text(&host, 1 << 10).ok().as_deref() != Some(name) {
        let made = authority.coordinator(name)?;
        replace_secret(&key, made.key.as_bytes())?;
        replace(&certificate, made.certificate.as_bytes())?;
        replace(&host, name.as_bytes())?;
    }
    Ok(Identity { certificate: motet_files::read_text(&certificate, 1 << 20)?, key: motet_files::read_text(&key, 1 << 20)? })
}

/// Counts a start, durably.
fn counted(path: &Path) -> io::Result<u32> {
    let start = starts(path)?.checked_add(1).ok_or_else(|| io::Error::other("a coordinator starts 2^32 times at most"))?;
    replace(path, start.to_string().as_bytes())?;
    Ok(start)
}
