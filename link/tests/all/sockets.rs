//! Both sides over real sockets, on the loopback: who gets in, what they may send, and that tasks are done.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use motet_core::Slot;
use motet_link::{
    Agent, Ask, Authority, Body, Call, Desk, Digest, Ended, Enrolment, Identity, Limits, Line, LineError, Mark, Members, MemorySpool, Next,
    Outcome, PROTOCOL, Progress, Request, RunSheet, Server, Service, Session, StudySheet, TaskHead, TaskNumber, Token, Work, new_request,
};
use tempfile::TempDir;

pub(crate) struct Study {
    pub(crate) folder: TempDir,
    pub(crate) service: Arc<Service>,
    pub(crate) server: Server,
    pub(crate) authority: String,
    sheet: StudySheet,
}

fn token(client: u32) -> Token {
    Token::new([client as u8 + 1; 32])
}

pub(crate) fn study(clients: u32) -> Study {
    study_with(clients, |_| ())
}

/// The same, after `change` was made to the list of members while nobody had it open.
fn study_with(clients: u32, change: impl FnOnce(&Path)) -> Study {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::open(folder.path()).unwrap();
    let identity = authority.coordinator("127.0.0.1").unwrap();
    let names: Vec<String> = (0..clients).map(|k| format!("ward {k}")).collect();
    let path = folder.path().join("members.json");
    let mut members = Members::open(&path, &names).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for client in 0..clients {
        members.invite(client, &token(client), now).unwrap();
    }
    change(&path);
    let members = Members::open(&path, &[]).unwrap();
    let certificate = authority.certificate().to_owned();
    let sheet = StudySheet {
        protocol: PROTOCOL,
        motet: "0".into(),
        study: "wards".into(),
        clients,
        dimension: 3,
        experiment: serde_json::json!({}),
        runs: vec![],
    };
    let service = Service::new(members, Some(authority), sheet.text(), 1);
    let server = Server::start("127.0.0.1:0", (&identity, &certificate), Arc::clone(&service), limits(), Box::new(|_| ())).unwrap();
    Study { folder, service, server, authority: certificate, sheet }
}

pub(crate) fn limits() -> Limits {
    Limits { whole: 50_000, piece: 150_000, ..Limits::default() }
}

impl Study {
    pub(crate) fn line(&self, identity: Option<&Identity>) -> Line {
        Line::new(&self.server.address().to_string(), &self.authority, identity, limits()).unwrap()
    }

    pub(crate) fn enrolled(&self, client: u32) -> Identity {
        let (key, request) = new_request().unwrap();
        let enrolled = self.line(None).enrol(&Enrolment { token: token(client).reveal(), request }).unwrap();
        Identity { certificate: enrolled.certificate, key }
    }

    pub(crate) fn run(&self, run: u32) -> RunSheet {
        let (study, parameters) = (self.sheet.digest().to_string(), serde_json::json!({}));
        RunSheet { study, run, method: "flix".into(), parameters, problem: 0, seed: 1 }
    }
}

/// Sends back what it is asked, in reverse order.
struct Reverse;

impl Work for Reverse {
    fn answer(&mut self, _: &TaskHead, _: bool, ask: &[u8]) -> io::Result<Outcome> {
        Ok(Outcome::Reply(Body::new(ask.iter().rev().copied().collect())))
    }
    fn commit(&mut self, _: Mark) -> io::Result<()> {
        Ok(())
    }
}

fn poll(run: Digest) -> Call {
    Call { protocol: PROTOCOL, run, session: Session { count: 1, nonce: 1 }, request: Request::Poll { newest: TaskNumber::default() } }
}

#[test]
fn tasks_are_done_over_tls_short_ones_at_once_and_long_ones_in_pieces() {
    let study = study(2);
    let identities = [study.enrolled(0), study.enrolled(1)];
    let run = study.run(0);
    let desk = Desk::new(run.digest(), 1, 0..2, Box::new(MemorySpool::default()), limits(), Duration::ZERO);
    let office = study.service.begin(&run, desk);
    thread::scope(|scope| {
        for identity in &identities {
            let (study, run) = (&study, &run);
            scope.spawn(move || {
                let mut line = study.line(Some(identity));
                let papers = line.papers(false).unwrap();
                assert_eq!(papers.run_digest(), Some(run.digest()));
                let mut agent = Agent::start(Reverse, run.digest(), Mark::default(), 1, limits()).unwrap();
                loop {
                    match agent.hear(line.call(agent.call()).unwrap()).unwrap() {
                        Next::Now | Next::Poll => {}
                        Next::After(pause) => thread::sleep(pause),
                        Next::Ended(why) => break assert_eq!(why, Ended::Over),
                    }
                }
                let papers = line.papers(true).unwrap();
                assert!(papers.over, "the end rings too");
            });
        }
        for (round, length) in [10usize, 0, 49_999, 50_001, 400_000].into_iter().enumerate() {
            let bytes: Vec<u8> = (0..length).map(|k| (k * 31 % 251) as u8).collect();
            let body = Arc::new(Body::new(bytes.clone()));
            let slot = Slot { round: round as u64, attempt: 0, exchange: 0 };
            let ask = Ask { is_probe: false, slot, heard: None, floor: None, body, longest_reply: 1 << 20, until: None };
            let tasks: Vec<TaskNumber> = (0..2).map(|client| office.post(client, ask.clone()).unwrap()).collect();
            for (client, task) in (0..2).zip(tasks) {
                while office.desk().progress(client, task) == Progress::Waiting {
                    thread::sleep(Duration::from_millis(1));
                }
                let reply = office.desk().take(client, task).unwrap().unwrap().bytes().unwrap();
                assert!(reply.iter().rev().eq(&bytes), "round {round}");
            }
        }
        study.service.end();
    });
}

#[test]
fn a_task_reaches_a_client_that_waits_at_once() {
    let study = study(1);
    let identity = study.enrolled(0);
    let run = study.run(0);
    let desk = Desk::new(run.digest(), 1, 0..1, Box::new(MemorySpool::default()), limits(), Duration::ZERO);
    let office = study.service.begin(&run, desk);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let began = Instant::now();
            study.line(Some(&identity)).call(poll(run.digest())).unwrap();
            began.elapsed()
        });
        thread::sleep(Duration::from_millis(300));
        let slot = Slot { round: 1, attempt: 0, exchange: 0 };
        let body = Arc::new(Body::new(vec![1]));
        office.post(0, Ask { is_probe: false, slot, heard: None, floor: None, body, longest_reply: 9, until: None }).unwrap();
        let waited = waiting.join().unwrap();
        // A poll that nobody wakes lasts 25 seconds.
        assert!(waited < Duration::from_secs(10), "{waited:?}");
    });
}

pub(crate) fn refused(result: Result<impl std::fmt::Debug, LineError>) -> (u16, String) {
    match result {
        Err(LineError::Refused { status, words }) => (status, words),
        other => panic!("should be refused: {other:?}"),
    }
}

#[test]
fn a_token_is_spent_once_and_nobody_without_a_certificate_of_the_study_gets_further() {
    let (study, other) = (study(2), self::study(1));
    let identity = study.enrolled(0);
    let (_, request) = new_request().unwrap();
    let again = study.line(None).enrol(&Enrolment { token: token(0).reveal(), request: request.clone() });
    assert!(refused(again).1.contains("was used"));
    let wrong = study.line(None).enrol(&Enrolment { token: token(9).reveal(), request });
    assert_eq!(refused(wrong).0, 403);
    assert_eq!(refused(study.line(None).call(poll(study.run(0).digest()))).0, 401, "no certificate");
    assert_eq!(study.line(Some(&identity)).papers(false).unwrap().client, 0);

    let stranger = other.enrolled(0);
    let refused_at_tls = study.line(Some(&stranger)).papers(false);
    assert!(matches!(refused_at_tls, Err(LineError::Refused { status: 495, .. } | LineError::Broken(_))), "{refused_at_tls:?}");
    let mut elsewhere = Line::new(&study.server.address().to_string(), &other.authority, Some(&stranger), limits()).unwrap();
    assert!(matches!(elsewhere.papers(false), Err(LineError::Untrusted(_))), "the coordinator is not the one of the invitation");

    assert!(study.service.revoke("ward 0").unwrap());
    let mut line = study.line(Some(&identity));
    assert_eq!(refused(line.papers(false)).0, 403);
    let other_still = study.enrolled(1);
    assert_eq!(study.line(Some(&other_still)).papers(false).unwrap().client, 1);
}

#[test]
fn a_token_that_has_expired_is_worth_nothing() {
    let study = study_with(1, |members| {
        let text = std::fs::read_to_string(members).unwrap();
        let at = text.find("token_until\": ").unwrap() + "token_until\": ".len();
        let end = at + text[at..].find(|c: char| !c.is_ascii_digit()).unwrap();
        std::fs::write(members, format!("{}1000{}", &text[..at], &text[end..])).unwrap();
    });
    let (_, request) = new_request().unwrap();
    let (status, words) = refused(study.line(None).enrol(&Enrolment { token: token(0).reveal(), request }));
    assert_eq!(status, 403);
    assert!(words.contains("has expired: ask the coordinator for a new invitation"), "{words}");
}

#[test]
fn a_connection_that_is_open_notices_that_its_holder_was_revoked() {
    let study = study(1);
    let identity = study.enrolled(0);
    let mut line = study.line(Some(&identity));
    line.papers(false).unwrap();
    study.service.revoke("ward 0").unwrap();
    assert_eq!(refused(line.papers(false)).0, 403);
}

#[test]
fn who_is_invited_anew_is_nobodys_later_life_and_the_old_certificate_counts_no_more() {
    let study = study(1);
    let run = study.run(0);
    let old = study.enrolled(0);
    study.service.begin(&run, Desk::new(run.digest(), 1, [0], Box::new(MemorySpool::default()), limits(), Duration::ZERO));
    let lived =
        |count| Call { session: Session { count, nonce: 0 }, request: Request::Lost { task: TaskNumber::default() }, ..poll(run.digest()) };
    assert!(study.line(Some(&old)).call(lived(7)).is_ok());
    assert!(matches!(study.line(Some(&old)).call(lived(1)), Ok(motet_link::Response::Displaced {})), "it has lived seven times");
    let (new, (key, request)) = (Token::new([9; 32]), new_request().unwrap());
    study.service.invite(0, &new).unwrap();
    let enrolled = study.line(None).enrol(&Enrolment { token: new.reveal(), request }).unwrap();
    let identity = Identity { certificate: enrolled.certificate, key };
    assert!(!matches!(study.line(Some(&identity)).call(lived(1)).unwrap(), motet_link::Response::Displaced {}));
    assert!(matches!(study.line(Some(&old)).papers(false), Err(LineError::Refused { status: 403, .. })));
}

#[test]
fn a_certificate_is_renewed_for_the_key_it_has_and_no_other() {
    let study = study(1);
    let identity = study.enrolled(0);
    let mut line = study.line(Some(&identity));
    let renewed = line.renew(&motet_link::request_for(&identity.key).unwrap()).unwrap();
    let identity = Identity { certificate: renewed.certificate, ..identity };
    assert_eq!(study.line(Some(&identity)).papers(false).unwrap().client, 0);
    assert_eq!(refused(line.renew(&new_request().unwrap().1)).0, 403);
}

#[test]
fn who_does_not_speak_tls_or_says_nothing_is_dropped_and_others_are_served_meanwhile() {
    let study = study(1);
    let mut plain = TcpStream::connect(study.server.address()).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut bytes = vec![];
    // An alert of TLS, or nothing; in any case an end.
    let _ = plain.read_to_end(&mut bytes);
    assert!(bytes.len() < 100 && !bytes.starts_with(b"HTTP"));
    let silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(study.server.address()).unwrap()).collect();
    let began = Instant::now();
    study.enrolled(0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(silent);
}
