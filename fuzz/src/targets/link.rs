//! What comes over the network: calls at the desk, responses at an agent, sheets, invitations, enrolments.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use motet::core::{Reader, Slot, Wire, whole};
use motet::link::{
    Agent, Ask, Body, Call, Desk, Digest, Enrolment, Invitation, Limits, Mark, MemorySpool, Next, Outcome, Papers, Progress, Response,
    RunSheet, RunTerms, StudySheet, TaskHead, Token, Work,
};
use serde_json::json;

use crate::target::{Met, Reach, Target};

/// The first byte of an input says what it is: calls, responses, the sheet of a study, of a run, an invitation, an enrolment, papers.
pub(super) struct Network;

/// Asks and replies go in pieces of a few bytes.
fn limits() -> Limits {
    Limits { whole: 12, piece: 7, longest_ask: 1000, ..Limits::default() }
}

fn run() -> Digest {
    Digest::of(b"fuzz")
}

const LONGEST_REPLY: u64 = 100;

/// A client that sends back what it is asked.
struct Echo;

impl Work for Echo {
    fn answer(&mut self, head: &TaskHead, _: bool, ask: &[u8]) -> io::Result<Outcome> {
        assert!(Digest::of(ask) == head.body && ask.len() as u64 == head.length, "an ask is worked on that is not the one announced");
        Ok(if head.is_probe { Outcome::Declined("no probes".into()) } else { Outcome::Reply(Body::new(ask.to_vec())) })
    }

    fn commit(&mut self, _: Mark) -> io::Result<()> {
        Ok(())
    }
}

/// A desk with one client, who has something to do.
fn desk(round: u64) -> Result<(Desk, motet::link::TaskNumber), io::Error> {
    let mut desk = Desk::new(run(), 1, [0], Box::new(MemorySpool::default()), limits(), Duration::ZERO);
    let task = ask(&mut desk, round)?;
    Ok((desk, task))
}

fn ask(desk: &mut Desk, round: u64) -> io::Result<motet::link::TaskNumber> {
    let body = Arc::new(Body::new(if round.is_multiple_of(2) { b"short".to_vec() } else { b"an ask that goes in pieces".to_vec() }));
    let slot = Slot { round, attempt: 0, exchange: 0 };
    desk.ask(0, Ask { is_probe: round == 3, slot, heard: None, floor: None, body, longest_reply: LONGEST_REPLY, until: None })
}

/// What both sides say in a few rounds.
fn conversation() -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (mut calls, mut responses) = (vec![], vec![]);
    let (mut desk, mut task) = desk(1)?;
    let mut agent = Agent::start(Echo, run(), Mark::default(), 1, limits())?;
    for round in 1..5 {
        while desk.progress(0, task) == Progress::Waiting {
            let call = agent.call();
            frame(&call, &mut calls);
            let response = desk.handle(0, call, Duration::ZERO);
            frame(&response, &mut responses);
            agent.hear(response)?;
        }
        desk.take(0, task)?;
        task = ask(&mut desk, round + 1)?;
    }
    Ok((calls, responses))
}

/// A message with its length before it.
fn frame(message: &impl Wire, to: &mut Vec<u8>) {
    to.extend((message.bytes() as u16).to_le_bytes());
    message.encode(to);
}

/// The messages of some frames; what is no message is passed over.
fn messages<T: Wire>(bytes: &[u8]) -> impl Iterator<Item = Result<T, String>> {
    let mut from = Reader::new(bytes);
    std::iter::from_fn(move || {
        let length = from.take(2).ok().map(|two| usize::from(u16::from_le_bytes([two[0], two[1]])))?;
        let piece = from.take(length.min(from.left())).ok()?;
        Some(whole::<T>(&piece).map_err(|e| e.to_string()).inspect(|message| {
            let mut again = vec![];
            message.encode(&mut again);
            assert!(again == *piece, "a message is not written as it was read");
        }))
    })
}

/// A caller who says anything: replies are taken only as they were announced, and no longer than they may be.
fn to_the_desk(bytes: &[u8]) -> Result<Met, io::Error> {
    let (mut desk, mut task) = desk(1)?;
    let (mut round, mut refused) = (1, None);
    for call in messages::<Call>(bytes) {
        match call {
            Ok(call) => {
                let mut said = vec![];
                desk.handle(0, call, Duration::from_millis(round)).encode(&mut said);
                assert!(whole::<Response>(&said).is_ok(), "a response cannot be read");
            }
            Err(reason) => refused = Some(reason),
        }
        if desk.progress(0, task) != Progress::Waiting {
            if let Some(reply) = desk.take(0, task)? {
                let reply = reply.bytes()?;
                assert!(reply.len() as u64 <= LONGEST_REPLY, "a reply of {} bytes was taken", reply.len());
            }
            round += 1;
            task = ask(&mut desk, round)?;
        }
    }
    Ok(refused.map_or(Met::Taken, Met::Refused))
}

/// A coordinator who says anything.
fn to_an_agent(bytes: &[u8]) -> Result<Met, io::Error> {
    let mut agent = Agent::start(Echo, run(), Mark::default(), 1, limits())?;
    let mut refused = None;
    for response in messages::<Response>(bytes) {
        match response {
            Ok(response) => {
                if let Next::Ended(why) = agent.hear(response)? {
                    return Ok(Met::Refused(why.to_string()));
                }
                let mut said = vec![];
                agent.call().encode(&mut said);
                assert!(whole::<Call>(&said).is_ok(), "a call cannot be read");
            }
            Err(reason) => refused = Some(reason),
        }
    }
    Ok(refused.map_or(Met::Taken, Met::Refused))
}

fn study() -> StudySheet {
    let experiment = json!({ "method": [{ "kind": "flix", "alpha": 0.5 }], "seeds": [1], "run": { "rounds": 3 } });
    let runs = vec![RunTerms { method: "flix".into(), parameters: json!({ "alpha": 0.5 }), problem: 0, seed: 1 }];
    StudySheet { protocol: 1, motet: "0.1.0".into(), study: "ward".into(), clients: 2, dimension: 6, experiment, runs }
}

fn sheet() -> RunSheet {
    RunSheet::of(&study(), 0).expect("it has a run")
}

fn invitation() -> Invitation {
    let authority = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n".into();
    let (address, token) = ("study.example.org:7443".into(), Token::new([7; 32]));
    let name = "ward 3".parse().expect("a name");
    Invitation { name, address, authority, study: study().digest(), token }
}

impl Target for Network {
    fn name(&self) -> String {
        "link".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        let (calls, responses) = conversation().expect("memory can be written");
        let enrolment = json!({ "token": Token::new([7; 32]).reveal(), "request": "a request" }).to_string();
        let papers = json!({ "client": 1, "study": study().text(), "run": sheet().text(), "over": false, "start": 1 }).to_string();
        let texts = [study().text(), sheet().text(), invitation().to_string(), enrolment, papers].map(String::into_bytes);
        let all = [calls, responses].into_iter().chain(texts).enumerate();
        all.map(|(kind, bytes)| [&[kind as u8][..], &bytes].concat()).collect()
    }

    fn words(&self) -> Vec<String> {
        ["\"protocol\":2", "token: ", "address: :0", "\n", "null", "\0"].map(str::to_owned).to_vec()
    }

    fn head(&self) -> usize {
        1
    }

    fn run(&self, input: &[u8], _: Reach) -> Met {
        let Some((kind, bytes)) = input.split_first() else { return Met::nothing() };
        let text = std::str::from_utf8(bytes);
        match (kind % 7, text) {
            (0, _) => to_the_desk(bytes).expect("memory can be written"),
            (1, _) => to_an_agent(bytes).expect("memory can be written"),
            (_, Err(_)) => Met::no_text(),
            // Whoever changes a sheet knows its SHA-256 too.
            (2, Ok(text)) => Met::of(StudySheet::read(text, Digest::of(bytes)).map(|sheet| {
                let again = StudySheet::read(&sheet.text(), sheet.digest()).expect("what was written can be read");
                assert_eq!(again, sheet, "a sheet is not written as it was read");
            })),
            (3, Ok(text)) => Met::of(RunSheet::read(text, &study())),
            (4, Ok(text)) => Met::of(text.parse::<Invitation>().map(|read| {
                let again = read.to_string().parse::<Invitation>();
                assert_eq!(again, Ok(read), "an invitation is not written as it was read");
            })),
            (5, Ok(text)) => Met::of(serde_json::from_str::<Enrolment>(text)),
            (_, Ok(text)) => Met::of(serde_json::from_str::<Papers>(text)),
        }
    }
}
