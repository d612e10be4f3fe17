//! Peers that lie, and bytes that are no messages.

use std::io;
use std::time::Duration;

use motet_core::{Slot, Wire, whole};
use motet_link::{
    Agent, Ask, Authority, Body, Call, Desk, Digest, Ended, Enrolment, Event, Forgets, Invitation, Limits, Mark, Members, MemorySpool,
    Next, Outcome, PROTOCOL, Papers, Payload, Progress, Reply, ReplyKey, Request, Response, RunSheet, RunTerms, Session, Spool, StudySheet,
    TaskHead, TaskNumber, Token, Work, new_request,
};
use serde_json::json;

const NOW: Duration = Duration::ZERO;
const SLOT: Slot = Slot { round: 1, attempt: 0, exchange: 0 };

fn run() -> Digest {
    Digest::of(b"hostile")
}

fn limits() -> Limits {
    Limits { whole: 8, piece: 8, ..Limits::default() }
}

fn desk() -> Desk {
    Desk::new(run(), 2, 0..3, Box::new(MemorySpool::default()), limits(), NOW)
}

fn call(request: Request) -> Call {
    Call { protocol: PROTOCOL, run: run(), session: Session { count: 5, nonce: 1 }, request }
}

fn ask(desk: &mut Desk, client: u32) -> TaskNumber {
    let body = Body::new(b"what?".to_vec()).into();
    desk.ask(client, Ask { is_probe: false, slot: SLOT, heard: None, floor: None, body, longest_reply: 100, until: None }).unwrap()
}

fn offer(task: TaskNumber, length: u64, of: &[u8], whole: &[u8]) -> Call {
    call(Request::Offer { task, length, hash: Digest::of(of), whole: Payload::from(whole.to_vec()) })
}

#[test]
fn every_byte_of_every_message_flipped_or_cut_is_an_error_or_another_message() {
    let task = TaskNumber { start: 1, count: 2 };
    let bytes = Payload::from(vec![1, 2, 3]);
    let head =
        TaskHead { number: task, is_probe: false, slot: SLOT, heard: Some(SLOT), floor: None, body: run(), length: 3, longest_reply: 9 };
    let requests = [
        Request::Poll { newest: task },
        Request::Fetch { task, offset: 7 },
        Request::Offer { task, length: 3, hash: run(), whole: bytes.clone() },
        Request::Piece { task, offset: 7, bytes: bytes.clone() },
        Request::Decline { task, reason: "no".into() },
        Request::Lost { task },
        Request::Bye { reason: "so".into() },
    ];
    let responses = [
        Response::Task { head, whole: Some(bytes.clone()) },
        Response::Nothing {},
        Response::Piece { task, offset: 0, bytes },
        Response::SendFrom { task, offset: 9 },
        Response::HaveIt { task },
        Response::Closed { task },
        Response::TooLong { task, most: 7 },
        Response::Later { milliseconds: 20 },
        Response::Full {},
        Response::OtherRun { run: run() },
        Response::Over {},
        Response::OtherProtocol { speaks: 2 },
        Response::OlderStart { start: 1 },
        Response::Displaced {},
        Response::Refused { reason: "so".into() },
    ];
    fn tried<T: Wire + PartialEq + std::fmt::Debug>(message: &T) {
        let mut sent = vec![];
        message.encode(&mut sent);
        assert_eq!(sent.len() as u64, message.bytes());
        assert_eq!(&whole::<T>(&sent).unwrap(), message);
        for at in 0..sent.len() {
            assert!(whole::<T>(&sent[..at]).is_err());
            for bit in 0..8 {
                let mut bad = sent.clone();
                bad[at] ^= 1 << bit;
                assert!(whole::<T>(&bad).map_or(true, |read| read != *message));
            }
        }
    }
    requests.into_iter().for_each(|request| tried(&call(request)));
    responses.iter().for_each(tried);
}

#[test]
fn every_byte_of_every_text_flipped_or_cut_never_panics_and_what_has_a_name_is_never_mistaken() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::open(folder.path()).unwrap();
    let (_, request) = new_request().unwrap();
    let token = Token::new([7; 32]);
    let runs = vec![RunTerms { method: "flix".into(), parameters: json!({"p": 0.5}), problem: 0, seed: 1 }];
    let experiment = json!({"a": [1]});
    let sheet = StudySheet { protocol: PROTOCOL, motet: "0".into(), study: "s".into(), clients: 2, dimension: 3, experiment, runs };
    let (named, of_run) = (sheet.digest(), RunSheet::of(&sheet, 0).unwrap());
    let invitation = Invitation {
        name: "a".parse().unwrap(),
        address: "host:7443".into(),
        authority: authority.certificate().into(),
        study: named,
        token: token.clone(),
    };
    let members = folder.path().join("members.json");
    Members::open(&members, &["a".into(), "b".into()]).unwrap();
    let papers = Papers { client: 1, study: sheet.text(), run: Some(of_run.text()), over: false, start: 1 };
    let enrolment = Enrolment { token: token.reveal(), request: request.clone() };
    // A text, whether it can be read, and whether a damaged one must not be.
    type Reads<'a> = Box<dyn Fn(&[u8]) -> bool + 'a>;
    let text = |read: fn(&str) -> bool| -> Reads<'_> { Box::new(move |bytes| std::str::from_utf8(bytes).is_ok_and(read)) };
    let texts: Vec<(&str, Vec<u8>, Reads<'_>, bool)> = vec![
        (
            "study sheet",
            sheet.text().into(),
            Box::new(|bytes| std::str::from_utf8(bytes).is_ok_and(|text| StudySheet::read(text, named).is_ok())),
            true,
        ),
        (
            "run sheet",
            of_run.text().into(),
            Box::new(|bytes| std::str::from_utf8(bytes).is_ok_and(|text| RunSheet::read(text, &sheet).is_ok())),
            true,
        ),
        ("invitation", invitation.to_string().into(), text(|text| text.parse::<Invitation>().is_ok()), false),
        ("papers", serde_json::to_vec(&papers).unwrap(), Box::new(|bytes| serde_json::from_slice::<Papers>(bytes).is_ok()), false),
        ("enrolment", serde_json::to_vec(&enrolment).unwrap(), Box::new(|bytes| serde_json::from_slice::<Enrolment>(bytes).is_ok()), false),
        (
            "members",
            std::fs::read(&members).unwrap(),
            Box::new(|bytes| {
                let other = folder.path().join("other.json");
                std::fs::write(&other, bytes).unwrap();
                Members::open(&other, &[]).is_ok()
            }),
            false,
        ),
    ];
    for (what, whole, reads, has_a_name) in texts {
        assert!(reads(&whole), "{what} is sound");
        for at in 0..whole.len() {
            assert!(!(reads(&whole[..at]) && has_a_name), "{what} cut after {at} bytes");
            let mut bad = whole.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(!(reads(&bad) && has_a_name), "{what} with byte {at} flipped");
        }
    }
    // A request is signed for the key in it, and every bit of the key is covered by its own signature.
    for at in 0..request.len() {
        let mut bad = request.clone().into_bytes();
        bad[at] ^= 1;
        if let Ok(bad) = String::from_utf8(bad)
            && let Ok((_, key)) = authority.participant("a", &bad)
        {
            assert_eq!(key, authority.participant("a", &request).unwrap().1, "byte {at}");
        }
        let _ = authority.participant("a", &request[..at]);
    }
}

#[test]
fn strangers_other_runs_and_other_versions_are_refused() {
    let mut desk = desk();
    let poll = || call(Request::Poll { newest: TaskNumber::default() });
    assert!(matches!(desk.handle(9, poll(), NOW), Response::Refused { .. }));
    assert_eq!(desk.handle(0, Call { protocol: 9, ..poll() }, NOW), Response::OtherProtocol { speaks: PROTOCOL });
    assert_eq!(desk.handle(0, Call { run: Digest::of(b"?"), ..poll() }, NOW), Response::OtherRun { run: run() });
    assert_eq!(desk.seen().count(), 0, "none of them counts as there");
    assert_eq!(desk.handle(0, poll(), NOW), Response::Nothing {});
    desk.revoke(0);
    assert!(matches!(desk.handle(0, poll(), NOW), Response::Refused { .. }));
    desk.end();
    assert_eq!(desk.handle(1, poll(), NOW), Response::Over {});
}

#[test]
fn of_two_agents_with_one_certificate_the_later_works() {
    let mut desk = desk();
    let poll = |count| Call { session: Session { count, nonce: 1 }, ..call(Request::Poll { newest: TaskNumber::default() }) };
    assert_eq!(desk.handle(0, poll(5), NOW), Response::Nothing {});
    assert_eq!(desk.handle(0, poll(6), NOW), Response::Nothing {});
    assert_eq!(desk.handle(0, poll(5), NOW), Response::Displaced {}, "also if it calls again");
    assert_eq!(desk.handle(0, poll(6), NOW), Response::Nothing {});
}

#[test]
fn a_coordinator_restored_from_an_older_copy_is_noticed_on_both_sides() {
    let mut desk = desk();
    let newest = TaskNumber { start: 3, count: 1 };
    assert_eq!(desk.handle(0, call(Request::Poll { newest }), NOW), Response::OlderStart { start: 2 });
    assert!(desk.events().iter().any(|noted| (noted.client, &noted.event) == (Some(0), &Event::KnowsLaterStart { start: 3 })));
    let mut agent = Agent::start(Echo, run(), Mark { newest, ..Mark::default() }, 1, limits()).unwrap();
    assert_eq!(agent.hear(Response::OlderStart { start: 2 }).unwrap(), Next::Ended(Ended::OlderStart { start: 2, known: 3 }));
}

#[test]
fn a_reply_that_is_too_long_is_not_taken_whatever_its_length_is() {
    for length in [101, 1 << 20, 100 << 30, u64::MAX] {
        let mut desk = desk();
        let task = ask(&mut desk, 0);
        assert_eq!(desk.handle(0, offer(task, length, b"", b""), NOW), Response::TooLong { task, most: 100 });
        assert!(matches!(desk.progress(0, task), Progress::Declined(_)));
    }
}

#[test]
fn lying_lengths_and_hashes_are_strikes_and_the_third_ends_it() {
    let mut desk = desk();
    let task = ask(&mut desk, 0);
    for lie in [offer(task, 3, b"abc", b"ab"), offer(task, 3, b"abd", b"abc"), offer(task, 30, b"abc", b"abc")] {
        assert!(matches!(desk.handle(0, lie, NOW), Response::Refused { .. }));
    }
    assert!(matches!(desk.handle(0, offer(task, 3, b"abc", b"abc"), NOW), Response::Refused { .. }), "it is no longer listened to");
    assert!(matches!(desk.progress(0, task), Progress::Declined(_)) && !desk.is_there(0));
    assert_eq!(desk.events().iter().filter(|noted| matches!(noted.event, Event::Struck { .. })).count(), 3);
}

#[test]
fn who_declines_again_and_again_for_one_reason_is_told_of_once() {
    let mut desk = desk();
    for reason in ["no scores", "no scores", "other", "other"] {
        let task = ask(&mut desk, 0);
        assert_eq!(desk.handle(0, call(Request::Decline { task, reason: reason.into() }), NOW), Response::HaveIt { task });
        assert_eq!(desk.progress(0, task), Progress::Declined(reason.into()));
    }
    let told = desk.events().into_iter().filter(|noted| matches!(noted.event, Event::Declined { .. })).count();
    assert_eq!(told, 2);
}

#[test]
fn pieces_go_where_they_belong_and_the_whole_is_what_was_announced() {
    let mut desk = desk();
    let reply = b"a reply of more than one piece";
    let task = ask(&mut desk, 0);
    let piece =
        |offset: usize, end: usize| call(Request::Piece { task, offset: offset as u64, bytes: Payload::from(reply[offset..end].to_vec()) });
    assert_eq!(desk.handle(0, piece(0, 8), NOW), Response::Closed { task }, "nothing was offered yet");
    assert_eq!(desk.handle(0, offer(task, 30, reply, b""), NOW), Response::SendFrom { task, offset: 0 });
    assert_eq!(desk.handle(0, piece(8, 16), NOW), Response::SendFrom { task, offset: 0 }, "out of order");
    assert_eq!(desk.handle(0, piece(0, 8), NOW), Response::SendFrom { task, offset: 8 });
    assert_eq!(desk.handle(0, piece(0, 8), NOW), Response::SendFrom { task, offset: 8 }, "doubled");
    assert_eq!(desk.handle(0, offer(task, 30, reply, b""), NOW), Response::SendFrom { task, offset: 8 }, "offered again");
    for (from, to) in [(8, 16), (16, 24)] {
        desk.handle(0, piece(from, to), NOW);
    }
    assert_eq!(desk.handle(0, piece(24, 30), NOW), Response::HaveIt { task });
    assert_eq!(desk.handle(0, piece(24, 30), NOW), Response::HaveIt { task }, "once more is harmless");
    assert_eq!(desk.take(0, task).unwrap().map(|reply| reply.bytes().unwrap()).as_deref(), Some(&reply[..]));
    assert_eq!(desk.handle(0, offer(task, 30, reply, b""), NOW), Response::Closed { task }, "it is folded once");
}

/// A disk without room.
struct FullDisk;

impl Spool for FullDisk {
    fn part(&self, _: &ReplyKey) -> io::Result<u64> {
        Ok(0)
    }
    fn append(&mut self, _: &ReplyKey, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn finish(&mut self, _: &ReplyKey, _: Digest) -> io::Result<bool> {
        Ok(true)
    }
    fn reply(&mut self, _: &ReplyKey) -> io::Result<Option<Reply>> {
        Ok(None)
    }
    fn forget(&mut self, _: &dyn Fn(&ReplyKey) -> bool, _: Forgets) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reply_that_cannot_be_kept_comes_again_and_the_operator_hears_of_it_once() {
    let mut desk = Desk::new(run(), 2, 0..3, Box::new(FullDisk), limits(), NOW);
    let task = ask(&mut desk, 0);
    for _ in 0..5 {
        assert_eq!(desk.handle(0, offer(task, 3, b"abc", b"abc"), NOW), Response::Full {});
        assert_eq!(desk.progress(0, task), Progress::Waiting);
    }
    let told = desk.events().into_iter().filter(|noted| matches!(noted.event, Event::Unkept { .. })).count();
    assert_eq!(told, 1);
}

#[test]
fn deadlines_and_leases_end_and_a_task_is_given_again_until_then() {
    let mut desk = desk();
    let body = Body::new(b"what?".to_vec()).into();
    let until = Some(Duration::from_secs(10));
    let task = desk.ask(0, Ask { is_probe: false, slot: SLOT, heard: None, floor: None, body, longest_reply: 100, until }).unwrap();
    let poll = || call(Request::Poll { newest: TaskNumber::default() });
    for second in [0, 9] {
        let response = desk.handle(0, poll(), Duration::from_secs(second));
        assert!(matches!(response, Response::Task { head, .. } if head.number == task));
    }
    assert_eq!(desk.handle(0, offer(task, 1, b"a", b"a"), Duration::from_secs(10)), Response::Closed { task });
    assert!(desk.is_there(0));
    desk.expire(Duration::from_secs(70));
    assert!(!desk.is_there(0));
}

#[test]
fn who_is_at_work_is_silent_and_keeps_its_lease_until_the_deadline() {
    let second = Duration::from_secs;
    let left = |desk: &mut Desk| desk.events().iter().filter(|noted| matches!(noted.event, Event::Left { .. })).count();
    for until in [None, Some(second(600))] {
        let mut desk = desk();
        let body = Body::new(b"a question of two pieces"[..12].to_vec()).into();
        let task = desk.ask(0, Ask { is_probe: false, slot: SLOT, heard: None, floor: None, body, longest_reply: 100, until }).unwrap();
        let poll = call(Request::Poll { newest: TaskNumber::default() });
        assert!(matches!(desk.handle(0, poll.clone(), second(1)), Response::Task { .. }));
        desk.expire(second(62));
        assert!(!desk.is_there(0), "of an ask in two pieces it has none yet");
        assert!(matches!(desk.handle(0, poll, second(63)), Response::Task { .. }));
        for offset in [0, 8] {
            desk.handle(0, call(Request::Fetch { task, offset }), second(64));
        }
        left(&mut desk);
        desk.expire(second(599));
        assert!(desk.is_there(0), "it works");
        desk.expire(second(601));
        let slow = desk.events().into_iter().filter(|noted| matches!(noted.event, Event::Slow { .. })).count();
        assert_eq!((desk.is_there(0), slow), (until.is_none(), 1), "told once; after the deadline nobody knows");
    }
}

#[test]
fn whoever_says_goodbye_is_away_at_once_and_finds_its_task_again() {
    let mut desk = desk();
    let task = ask(&mut desk, 0);
    let poll = || call(Request::Poll { newest: TaskNumber::default() });
    desk.handle(0, poll(), NOW);
    let agent = Agent::start(Echo, run(), Mark { session: Session { count: 5, nonce: 0 }, ..Mark::default() }, 1, limits()).unwrap();
    assert_eq!(desk.handle(0, agent.farewell("so long"), NOW), Response::Over {});
    assert!(!desk.is_there(0));
    assert!(desk.events().iter().any(|noted| noted.event == Event::Left { reason: "so long".into() }));
    let again = Call { session: Session { count: 7, nonce: 1 }, ..poll() };
    assert!(matches!(desk.handle(0, again, NOW), Response::Task { head, .. } if head.number == task));
    assert!(desk.is_there(0));
}

#[test]
fn a_client_can_fetch_only_what_it_is_asked() {
    let mut desk = desk();
    let task = ask(&mut desk, 0);
    let fetch = |offset| call(Request::Fetch { task, offset });
    assert_eq!(desk.handle(1, fetch(0), NOW), Response::Closed { task });
    assert_eq!(desk.handle(0, fetch(2), NOW), Response::Piece { task, offset: 2, bytes: Payload::from(b"at?".to_vec()) });
    assert!(matches!(desk.handle(0, fetch(u64::MAX), NOW), Response::Refused { .. }));
}

struct Echo;

impl Work for Echo {
    fn answer(&mut self, _: &TaskHead, _: bool, ask: &[u8]) -> io::Result<Outcome> {
        Ok(Outcome::Reply(Body::new(ask.to_vec())))
    }
    fn commit(&mut self, _: Mark) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_agent_takes_no_ask_that_is_not_the_announced_one() {
    let head = |length| TaskHead {
        number: TaskNumber { start: 1, count: 1 },
        is_probe: false,
        slot: SLOT,
        heard: None,
        floor: None,
        body: Digest::of(b"ask"),
        length,
        longest_reply: 9,
    };
    let agent = || Agent::start(Echo, run(), Mark::default(), 1, limits()).unwrap();
    let is_poll = |agent: &Agent<Echo>| matches!(agent.call().request, Request::Poll { .. });
    let mut forged = agent();
    forged.hear(Response::Task { head: head(3), whole: Some(Payload::from(b"ale".to_vec())) }).unwrap();
    assert!(is_poll(&forged), "another hash");
    let mut longer = agent();
    longer.hear(Response::Task { head: head(3), whole: Some(Payload::from(b"asks".to_vec())) }).unwrap();
    assert!(is_poll(&longer), "more bytes than announced");
    let mut huge = agent();
    huge.hear(Response::Task { head: head(u64::MAX), whole: None }).unwrap();
    assert!(matches!(huge.call().request, Request::Decline { .. }));
    let mut empty = agent();
    empty.hear(Response::Task { head: head(3), whole: None }).unwrap();
    let task = head(3).number;
    assert_eq!(empty.call().request, Request::Fetch { task, offset: 0 });
    empty.hear(Response::Piece { task, offset: 0, bytes: Payload::default() }).unwrap();
    assert!(is_poll(&empty), "a piece without bytes is no way to go on");
}
