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
use motet_link::{Authority, Complaint, Identity, Invitation, Limits, Members, Server, Service, StudySheet, Token, random};
use motet_problems::{Problem, ProblemConfig, natural_order};
use motet_records::Records;

use super::log::{Log, LogLevel};
use super::operator::{Attended, Listens};
use super::served::{SPOOL, Served};
use super::status::starts;
use super::{sheet, suits};
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

/// How a study is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// What participants call this machine: a name or an address, which its certificate has.
    pub name: String,
    /// Where to listen, as `address:port`.
    pub listen: String,
    /// Who takes part. Empty: those who were invited before.
    pub invite: Vec<String>,
    /// The folder of the records.
    pub out: PathBuf,
    /// Go on with the study that was begun in the folder.
    pub resume: bool,
    /// After how long a round goes on without those who have not answered; `None` waits for everyone.
    pub deadline: Option<Duration>,
    /// A certificate, its key and the authority of participants' certificates, for those who have an authority of their own.
    pub identity: Option<(Identity, String)>,
    /// How much is told.
    pub log: LogLevel,
}

/// Serves a study to its end.
pub fn serve(document: Document, options: &ServeOptions, catalogue: &Catalogue, watch: &Rc<dyn StudyWatch>) -> Result<Records, Error> {
    let experiment = Experiment::of(document, catalogue)?;
    suits(&experiment)?;
    let home = options.out.join("serve");
    let unwritten = |source| Error::Write { path: home.clone(), source };
    let clients = names(options, &home)?;
    let resumes = options.resume && Folder::is_unfinished(&options.out);
    if options.resume && !resumes && options.out.join(motet_records::names::SUMMARY).exists() {
        return farewell(options, &home, &clients, watch);
    }
    let (mut folder, mut server, stop) = (None, None, Arc::new(AtomicBool::new(false)));
    let build = |config: &ProblemConfig, seed| Problem::elsewhere(config, &clients, seed);
    let simulation = Simulation::between_machines(experiment, build, |simulation| {
        let opened = match resumes {
            true => Folder::resume(&options.out, &simulation.manifest(), &|what| watch.notice(Event::Note(what)))?,
            false => Folder::create(&options.out, false, &simulation.experiment().document)?,
        };
        // Agents forget a run when they hear of the next one: by then it must not come back.
        folder = Some(opened.with_every_run_durable());
        let dimension = simulation.problems().first().map_or(0, |built| built.problem.start().len() as u64);
        let sheet = agreed(&home, sheet(simulation.experiment(), clients.len() as u32, dimension)).map_err(unwritten)?;
        let served = open(options, &home, &clients, &sheet, watch, &stop).map_err(unwritten)?;
        server = Some((Rc::clone(&served.server), Arc::clone(&served.service), served.log.clone()));
        Ok(served)
    })?;
    let (Some(mut folder), Some((server, service, log))) = (folder, server) else { unreachable!("a study that was planned is served") };
    watch.listening(&server.address().to_string(), &options.out.join("invitations"));
    let listens = Listens::to(&options.out, &service, &stop, &log);
    let attended = Attended { watch: Rc::clone(watch), stop, log: log.clone() };
    let records = simulation.run_observed(&mut folder, &attended);
    drop(listens);
    log.tell(&**watch);
    if records.is_ok() {
        dismiss(&service, watch);
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

/// A study that is finished: participants who were not there in the end hear of it.
fn farewell(options: &ServeOptions, home: &Path, clients: &[String], watch: &Rc<dyn StudyWatch>) -> Result<Records, Error> {
    let unwritten = |source| Error::Write { path: home.to_path_buf(), source };
    let text = motet_files::read_text(&home.join("sheet.json"), 64 << 20).map_err(unwritten)?;
    let sheet = StudySheet::read(&text, motet_link::Digest::of(text.as_bytes())).map_err(|e| unwritten(io::Error::other(e)))?;
    let served = open(options, home, clients, &sheet, watch, &Arc::default()).map_err(unwritten)?;
    watch.notice(Event::Note("this study is finished; whoever asks in the next seconds is told so"));
    dismiss(&served.service, watch);
    forget_replies(home).map_err(unwritten)?;
    Ok(Records::read(&options.out)?)
}

/// Who takes part, in the order of their numbers: that of a folder with their tables.
fn names(options: &ServeOptions, home: &Path) -> Result<Vec<String>, Error> {
    let wrong = |name: &str, what: &str| Error::Unknown(format!("--invite {name:?}: {what}"));
    for name in &options.invite {
        let plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
        if name.is_empty() || name.len() > 100 || !name.chars().all(plain) || name.starts_with('.') {
            return Err(wrong(name, "a name has 1 to 100 letters, digits, spaces, dots, hyphens and underscores"));
        }
        if options.invite.iter().filter(|other| *other == name).count() > 1 {
            return Err(wrong(name, "is listed twice"));
        }
    }
    if !options.invite.is_empty() {
        return Ok(natural_order(&options.invite));
    }
    let path = home.join("members.json");
    let members =
        if path.exists() { Members::open(&path, &[]).map_err(|source| Error::Write { path, source })?.all().to_vec() } else { vec![] };
    match members.is_empty() {
        true => Err(Error::Unknown("nobody is invited: name the participants with --invite NAME,NAME".into())),
        false => Ok(members.into_iter().map(|member| member.name).collect()),
    }
}

/// The sheet that was agreed to, if it says the same but for the version of motet.
fn agreed(home: &Path, sheet: StudySheet) -> io::Result<StudySheet> {
    fs::create_dir_all(home)?;
    let path = home.join("sheet.json");
    if let Ok(text) = motet_files::read_text(&path, 64 << 20)
        && let Ok(before) = StudySheet::read(&text, motet_link::Digest::of(text.as_bytes()))
    {
        let same = StudySheet { motet: before.motet.clone(), ..sheet.clone() } == before;
        return if same {
            Ok(before)
        } else {
            Err(io::Error::other("another study was agreed to in this folder: choose another one with --out"))
        };
    }
    replace(&path, sheet.text().as_bytes())?;
    Ok(sheet)
}

fn open(
    options: &ServeOptions,
    home: &Path,
    clients: &[String],
    sheet: &StudySheet,
    watch: &Rc<dyn StudyWatch>,
    stop: &Arc<AtomicBool>,
) -> io::Result<Served> {
    let members = Members::open(&home.join("members.json"), clients)?;
    let (identity, authority, certificate) = match &options.identity {
        Some((identity, certificate)) => (identity.clone(), None, certificate.clone()),
        None => {
            let authority = Authority::open(home)?;
            let certificate = authority.certificate().to_owned();
            (identity_of(home, &authority, &options.name)?, Some(authority), certificate)
        }
    };
    let start = counted(&home.join("start"))?;
    let service = Service::new(members, authority, sheet.text());
    let limits = Limits::default();
    let log = Log::new(options.log);
    let lines = log.clone();
    let complain = Box::new(move |Complaint { peer, why }| {
        lines.line(LogLevel::Connections, || peer.map_or_else(|| why.clone(), |peer| format!("{peer}: {why}")));
    });
    let server = Server::start(&options.listen, (&identity, &certificate), Arc::clone(&service), limits, complain)?;
    let address = format!("{}:{}", options.name, server.address().port());
    invite(&options.out.join("invitations"), &service, &address, &certificate, sheet)?;
    Ok(Served {
        folder: home.into(),
        service,
        server: Rc::new(server),
        study: sheet.digest().to_string(),
        start,
        limits,
        patience: options.deadline,
        names: clients.to_vec(),
        office: RefCell::default(),
        watch: Rc::clone(watch),
        stop: Arc::clone(stop),
        log,
        counted: RefCell::default(),
        before: Cell::default(),
    })
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

/// Writes an invitation for everyone who has neither a certificate nor an invitation. Where certificates come from elsewhere it says the
/// way and the study; its token is worth nothing.
fn invite(folder: &Path, service: &Service, address: &str, authority: &str, sheet: &StudySheet) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (client, member) in service.everyone().iter().enumerate() {
        let path = folder.join(format!("{}.invite", member.name));
        if member.is_enrolled() || member.revoked || path.exists() {
            continue;
        }
        let token = Token::new(random()?);
        service.invite(client as u32, &token)?;
        let invitation = Invitation {
            name: member.name.clone(),
            address: address.to_owned(),
            authority: authority.to_owned(),
            study: sheet.digest(),
            token,
        };
        replace_secret(&path, invitation.to_string().as_bytes())?;
    }
    Ok(())
}
