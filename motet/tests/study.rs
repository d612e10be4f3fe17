//! Studies between machines, both sides in this process: what participants agree to is what is done, and whoever was lost comes back.

// Helpers of tests are tests too.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use motet::config::{Document, Experiment};
use motet::link::{Authority, Desk, Digest, Limits, Members, MemorySpool, RunSheet, Server, Service, StudySheet};
use motet::study::{
    IdentityFiles, JoinOptions, JoinWatch, Joined, LogLevel, Order, ServeOptions, StudyWatch, Terms, export, give, join, serve, status,
};
use motet::{Catalogue, Error, Event, Observer};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use tempfile::TempDir;
use time::OffsetDateTime;

/// Two draws of the hold-out, so that each seed has a problem of its own.
const STUDY: &str = r#"
name  = "wards"
seeds = [1, 2]

[problem]
source  = { kind = "synthetic", clients = 2, features = 4, examples = 30, heterogeneity = 1.0 }
holdout = { test = 0.3, redraw = true }
model   = { kind = "logistic", l2 = 0.1 }

[run]
rounds    = 3
probe     = { every = 1, gradient = false }
reference = "off"

[[method]]
kind  = "scafflix"
alpha = 0.5
p     = 0.5
"#;

struct Wards {
    folder: TempDir,
    port: u16,
    names: Vec<String>,
}

/// What somebody at a side sees and says.
#[derive(Clone, Default)]
struct Person {
    said: Arc<Mutex<Vec<String>>>,
    leaves: Arc<AtomicBool>,
}

impl Person {
    fn heard(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }
}

impl JoinWatch for Person {
    fn agrees(&self, terms: &Terms) -> bool {
        self.said.lock().unwrap().extend(terms.lines.clone());
        true
    }
    fn say(&self, line: &str) {
        self.said.lock().unwrap().push(line.into());
    }
    fn stop(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }
}

impl Observer for Person {
    fn notice(&self, event: Event<'_>) {
        if let Event::Note(line) = event {
            JoinWatch::say(self, line);
        }
    }
    fn stop(&self) -> bool {
        JoinWatch::stop(self)
    }
}

impl StudyWatch for Person {
    fn listening(&self, _: &str, _: &Path) {}
    fn waiting(&self, _: usize, _: usize) {}
}

impl Wards {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("e.toml");
        fs::write(&file, STUDY).unwrap();
        let experiment = Experiment::of(Document::read(&file).unwrap(), &Catalogue::standard()).unwrap();
        export(&experiment, &folder.path().join("tables")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let entries = fs::read_dir(folder.path().join("tables/clients")).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        Self { folder, port, names }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn first(&self) -> ServeOptions {
        ServeOptions {
            name: None,
            listen: Some(format!("127.0.0.1:{}", self.port)),
            invite: self.names.clone(),
            out: self.path("served"),
            resume: false,
            deadline: None,
            identity: None,
            log: LogLevel::default(),
        }
    }

    /// A later start, which says nothing.
    fn again(&self) -> ServeOptions {
        ServeOptions { listen: None, invite: vec![], resume: true, ..self.first() }
    }

    fn serve(&self, options: ServeOptions, person: &Person) -> JoinHandle<Result<usize, Error>> {
        let (file, person) = (self.path("tables/study.toml"), person.clone());
        thread::spawn(move || {
            let watch: Rc<dyn StudyWatch> = Rc::new(person);
            serve(Document::read(&file)?, &options, &Catalogue::standard(), &watch).map(|records| records.manifest.runs.len())
        })
    }

    fn options(&self, name: &str) -> JoinOptions {
        JoinOptions {
            invitation: self.path(&format!("served/invitations/{name}.invite")),
            data: Some(self.path(&format!("tables/clients/{name}.csv"))),
            dir: Some(self.path(&format!("agent-{name}"))),
            ..JoinOptions::default()
        }
    }

    fn join(&self, options: JoinOptions, person: &Person) -> JoinHandle<Result<Joined, Error>> {
        let person = person.clone();
        thread::spawn(move || join(&options, &Catalogue::standard(), &person))
    }

    /// A coordinator that has ended before anybody came: its folder has everything that another one needs.
    fn founded(&self) -> String {
        let person = Person::default();
        person.leaves.store(true, Ordering::Relaxed);
        self.serve(self.first(), &person).join().unwrap().unwrap_err().to_string()
    }

    fn sheet(&self) -> StudySheet {
        let text = fs::read_to_string(self.path("served/serve/sheet.json")).unwrap();
        StudySheet::read(&text, Digest::of(text.as_bytes())).unwrap()
    }

    /// A coordinator of these tests' making that has the study's folder, and was started so often by its own count.
    fn impostor(&self, start: u32) -> (Arc<Service>, Server) {
        let home = self.path("served/serve");
        let (authority, members) = (Authority::open(&home).unwrap(), Members::open(&home.join("members.json"), &[]).unwrap());
        let (identity, certificate) = (authority.coordinator("127.0.0.1").unwrap(), authority.certificate().to_owned());
        let service = Service::new(members, Some(authority), self.sheet().text(), start);
        let address = format!("127.0.0.1:{}", self.port);
        let at = (&identity, certificate.as_str());
        let server = Server::start(&address, at, Arc::clone(&service), Limits::default(), Box::new(|_| ())).unwrap();
        (service, server)
    }
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(60), "it takes too long until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn refused(joined: Result<Joined, Error>, with: &str) {
    let error = joined.unwrap_err().to_string();
    assert!(error.contains(with), "{error}");
}

/// A run that an agent has worked for, by its looks.
fn begun(agent: &Path) -> PathBuf {
    let folder = agent.join("runs").join(Digest::of(b"an earlier run").to_string());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("states"), b"what cannot be had again").unwrap();
    folder
}

#[test]
fn a_forged_run_is_refused_before_any_work_and_before_anything_is_removed() {
    let wards = Wards::new();
    let said = wards.founded();
    let file = wards.path("tables/study.toml");
    let go_on = format!("; go on with: motet serve {} --out {} --resume", file.display(), wards.path("served").display());
    assert!(said.ends_with(&go_on), "{said}");

    let (sheet, agent) = (wards.sheet(), wards.path(&format!("agent-{}", wards.names[0])));
    let earlier = begun(&agent);
    let agreed = RunSheet::of(&sheet, 0).unwrap();
    let mut parameters = agreed.parameters.clone();
    parameters["start"] = "one-shot".into();
    let one_shot = RunSheet { method: "one-shot".into(), parameters: serde_json::json!({ "alpha": 0.5 }), ..agreed.clone() };
    for forged in [one_shot, RunSheet { parameters, ..agreed.clone() }, RunSheet { seed: 9, ..agreed }] {
        let (service, _server) = wards.impostor(1);
        service.begin(&forged, Desk::new(forged.digest(), 1, 0..2, Box::new(MemorySpool::default()), Limits::default(), Duration::ZERO));
        let person = Person::default();
        refused(wards.join(wards.options(&wards.names[0]), &person).join().unwrap(), "was not agreed to");
        assert!(earlier.join("states").exists(), "nothing is removed for it");
    }
    let log = fs::read_to_string(agent.join("sent.log")).unwrap();
    assert_eq!(log.lines().count(), 1, "nothing but the enrolment was sent: {log}");
}

#[test]
fn a_coordinator_from_an_older_copy_is_refused_before_anything_is_removed_until_it_is_accepted() {
    let wards = Wards::new();
    wards.founded();
    let options = |accept_start| JoinOptions { accept_start, ..wards.options(&wards.names[0]) };
    let comes = |start, accepts| {
        let (service, _server) = wards.impostor(start);
        service.end();
        wards.join(options(accepts), &Person::default()).join().unwrap()
    };
    comes(5, false).unwrap();
    let earlier = begun(&wards.path(&format!("agent-{}", wards.names[0])));
    refused(comes(3, false), "--accept-start");
    assert!(earlier.join("states").exists(), "nothing is removed for it");
    comes(3, true).unwrap();
    assert!(!earlier.exists(), "that run is over");
    comes(4, false).unwrap();
    refused(comes(3, false), "knows of its start number 4");
}

#[test]
fn who_lost_everything_is_invited_anew_and_the_study_goes_on_without_a_word_about_options() {
    let wards = Wards::new();
    let [first, second] = [&wards.names[0], &wards.names[1]];
    let (centre, agent) = (Person::default(), wards.path(&format!("agent-{first}")));
    let coordinator = wards.serve(wards.first(), &centre);
    wait_until("there are invitations", || wards.options(second).invitation.exists());
    let certificate = fs::read(wards.path("served/serve/cert.pem")).unwrap();
    let (lost, again, anew) = (Person::default(), Person::default(), Person::default());
    let at_work = |person: &Person| person.heard().contains("run 0: scafflix, seed 1");
    let old_agent = wards.join(wards.options(first), &lost);
    wait_until("it is at work", || at_work(&lost));
    assert!(lost.heard().contains("30 rows; they stay here"), "all rows are counted: {}", lost.heard());
    let copy = wards.path("a-copy");
    fs::create_dir(&copy).unwrap();
    for file in ["agent.json", "ca.pem", "cert.pem", "key.pem", "sheet.json"] {
        fs::copy(agent.join(file), copy.join(file)).unwrap();
    }
    let elsewhere = || JoinOptions { dir: Some(wards.path("elsewhere")), ..wards.options(first) };
    let before = fs::read_to_string(wards.options(first).invitation).unwrap();
    refused(wards.join(elsewhere(), &again).join().unwrap(), "ask the coordinator for a new invitation");
    give(&wards.path("served"), &Order::Invite(first.clone())).unwrap();
    wait_until("there is another invitation", || fs::read_to_string(wards.options(first).invitation).unwrap() != before);
    let old = JoinOptions { invitation: copy, ..JoinOptions::default() };
    refused(wards.join(old, &again).join().unwrap(), "does not take part in this study, or no longer");

    // It comes with the new invitation to the folder where the old one failed.
    let new_agent = wards.join(elsewhere(), &anew);
    wait_until("it is at work", || at_work(&anew));
    [&centre, &lost].iter().for_each(|person| person.leaves.store(true, Ordering::Relaxed));
    let stopped = coordinator.join().unwrap().unwrap_err().to_string();
    assert!(stopped.starts_with("stopped while ") && stopped.contains("; go on with: motet serve "), "{stopped}");
    old_agent.join().unwrap().unwrap_err();
    let other = wards.join(wards.options(second), &Person::default());
    assert_eq!(wards.serve(wards.again(), &Person::default()).join().unwrap().unwrap(), 2, "both seeds, each with its own draw");
    assert_eq!(fs::read(wards.path("served/serve/cert.pem")).unwrap(), certificate, "the coordinator has the name that it had");
    for joined in [new_agent, other] {
        assert_eq!(joined.join().unwrap().unwrap().models.len(), 2);
    }
    let readme = fs::read_to_string(wards.path("elsewhere/models/1-scafflix-seed-2/README.md")).unwrap();
    assert!(readme.contains("held out once"), "{readme}");
}

#[test]
fn participants_with_certificates_of_their_own_authority_are_known_once_they_came_and_renew_them_themselves() {
    let wards = Wards::new();
    let elsewhere = Authority::open(&wards.path("authority")).unwrap();
    let write = |name: &str, text: &str| {
        fs::write(wards.path(name), text).unwrap();
        wards.path(name)
    };
    let centre = elsewhere.coordinator("127.0.0.1").unwrap();
    let ca = write("ca.pem", elsewhere.certificate());
    let files = IdentityFiles { cert: write("centre.pem", &centre.certificate), key: write("centre.key", &centre.key) };
    let (key, request) = motet::link::new_request().unwrap();
    let (certificate, _) = elsewhere.participant(&wards.names[0], &request).unwrap();
    let identity = IdentityFiles { cert: write("ward.pem", &certificate), key: write("ward.key", &key) };

    let person = Person::default();
    let coordinator = wards.serve(ServeOptions { identity: Some((files, ca)), ..wards.first() }, &person);
    wait_until("there are invitations", || wards.options(&wards.names[0]).invitation.exists());
    let known = || status(&wards.path("served")).unwrap().members.iter().map(|(_, enrolled, _)| *enrolled).collect::<Vec<_>>();
    assert_eq!(known(), [false, false]);
    let agent = Person::default();
    let joined = wards.join(JoinOptions { identity: Some(identity.clone()), ..wards.options(&wards.names[0]) }, &agent);
    wait_until("it is at work", || agent.heard().contains("run 0"));
    assert_eq!(known(), [true, false]);
    let leave =
        |agent: Person, joined: JoinHandle<Result<Joined, Error>>, centre: Person, coordinator: JoinHandle<Result<usize, Error>>| {
            [&centre, &agent].iter().for_each(|person| person.leaves.store(true, Ordering::Relaxed));
            coordinator.join().unwrap().unwrap_err();
            refused(joined.join().unwrap(), "the agent has left");
        };
    leave(agent, joined, person, coordinator);

    // Whoever renews certificates replaces the files; both sides are started without a word about them.
    let (renewed, _) = elsewhere.participant(&wards.names[0], &motet::link::request_for(&key).unwrap()).unwrap();
    fs::write(&identity.cert, &renewed).unwrap();
    let (person, agent) = (Person::default(), Person::default());
    let coordinator = wards.serve(wards.again(), &person);
    let folder = wards.path(&format!("agent-{}", wards.names[0]));
    let joined = wards.join(JoinOptions { invitation: folder.clone(), ..JoinOptions::default() }, &agent);
    wait_until("it is at work", || agent.heard().contains("run 0"));
    assert_eq!(fs::read_to_string(folder.join("cert.pem")).unwrap(), renewed);
    assert!(!folder.join("sent.log").exists() || !fs::read_to_string(folder.join("sent.log")).unwrap().contains("renewal"));
    leave(agent, joined, person, coordinator);
}

#[test]
fn who_was_away_until_its_certificate_expired_is_shown_both_clocks_and_comes_back_with_its_invitation() {
    let wards = Wards::new();
    wards.founded();
    let (service, _server) = wards.impostor(1);
    service.end();
    let join = |options| wards.join(options, &Person::default()).join().unwrap();
    join(wards.options(&wards.names[0])).unwrap();

    let agent = wards.path(&format!("agent-{}", wards.names[0]));
    let pem = |path: PathBuf| fs::read_to_string(path).unwrap();
    let [ca, ca_key] = ["ca.pem", "ca.key"].map(|file| pem(wards.path("served/serve").join(file)));
    let issuer = Issuer::from_ca_cert_pem(&ca, KeyPair::from_pem(&ca_key).unwrap()).unwrap();
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let yesterday = OffsetDateTime::now_utc() - time::Duration::days(1);
    (params.not_before, params.not_after) = (yesterday - time::Duration::days(90), yesterday);
    let key = KeyPair::from_pem(&pem(agent.join("key.pem"))).unwrap();
    fs::write(agent.join("cert.pem"), params.signed_by(&key, &issuer).unwrap().pem()).unwrap();

    let folder = || JoinOptions { invitation: agent.clone(), ..JoinOptions::default() };
    let error = join(folder()).unwrap_err().to_string();
    assert!(error.contains("the clock here says 20") && error.contains("the coordinator's clock says 20"), "{error}");
    join(wards.options(&wards.names[0])).unwrap();
    join(folder()).unwrap();
}

#[test]
fn a_wrong_address_is_said_at_once_and_whoever_waits_can_leave() {
    let wards = Wards::new();
    wards.founded();
    let person = Person::default();
    let joined = wards.join(wards.options(&wards.names[0]), &person);
    let address = format!("127.0.0.1:{}", wards.port);
    wait_until("it is said", || person.heard().contains(&format!("{address} cannot be reached: connection refused; trying again")));
    let began = Instant::now();
    person.leaves.store(true, Ordering::Relaxed);
    refused(joined.join().unwrap(), &format!("the agent has left: {address} cannot be reached: connection refused"));
    assert!(began.elapsed() < Duration::from_secs(2), "it looks for Ctrl-C while it pauses");
}

#[test]
fn a_damaged_sheet_is_an_error_and_a_stop_that_came_too_late_stops_nobody() {
    let wards = Wards::new();
    wards.founded();
    let stop = give(&wards.path("served"), &Order::Stop).unwrap_err();
    assert!(stop.to_string().contains("there is nothing to stop"), "{stop}");
    // From a version that took it, or from a coordinator that died before it looked.
    fs::create_dir_all(wards.path("served/serve/orders")).unwrap();
    fs::write(wards.path("served/serve/orders/stop"), b"").unwrap();
    let person = Person::default();
    let coordinator = wards.serve(wards.again(), &person);
    wait_until("the order is taken back", || !wards.path("served/serve/orders/stop").exists());
    thread::sleep(Duration::from_millis(1500));
    assert!(!coordinator.is_finished(), "it works");
    give(&wards.path("served"), &Order::Stop).unwrap();
    coordinator.join().unwrap().unwrap_err();

    let (path, text) = (wards.path("served/serve/sheet.json"), wards.sheet().text());
    for damaged in [&text[..text.len() / 2], ""] {
        fs::write(&path, damaged).unwrap();
        let error = wards.serve(wards.again(), &Person::default()).join().unwrap().unwrap_err();
        assert!(error.to_string().contains("sheet.json: this is not the sheet of a study"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "no other one is written over it");
    }
    fs::write(&path, text.replace(&format!("\"motet\":\"{}\"", env!("CARGO_PKG_VERSION")), "\"motet\":\"0.0.1\"")).unwrap();
    let person = Person::default();
    let coordinator = wards.serve(wards.again(), &person);
    wait_until("it is said", || person.heard().contains("the study was begun with motet 0.0.1, and this is motet"));
    person.leaves.store(true, Ordering::Relaxed);
    coordinator.join().unwrap().unwrap_err();
}
