//! Callers with wrong certificates, and known ones that announce, send and dawdle as they please: over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use motet_core::{Slot, Wire};
use motet_link::{
    Ask, Body, Call, Desk, Digest, Identity, LineError, MemorySpool, Office, PROTOCOL, Payload, Request, Response, Session, TaskNumber,
};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use time::OffsetDateTime;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::sockets::{Study, limits, refused, study};

/// A certificate of the study's own authority for the key of `of`, valid so many days from now on, and so many more.
fn signed(study: &Study, of: &Identity, from: i64, days: i64) -> Identity {
    let authority = |file: &str| std::fs::read_to_string(study.folder.path().join(file)).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&authority("ca.pem"), KeyPair::from_pem(&authority("ca.key")).unwrap()).unwrap();
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "ward 0");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let begin = OffsetDateTime::now_utc() + time::Duration::days(from);
    (params.not_before, params.not_after) = (begin, begin + time::Duration::days(days));
    let key = KeyPair::from_pem(&of.key).unwrap();
    Identity { certificate: params.signed_by(&key, &issuer).unwrap().pem(), key: of.key.clone() }
}

#[test]
fn expired_early_and_foreign_certificates_are_refused_before_a_byte_of_a_body() {
    let study = study(2);
    let [own, other] = [study.enrolled(0), study.enrolled(1)];
    let at_tls = |identity: &Identity, what: &str| {
        let said = study.line(Some(identity)).papers(false);
        assert!(matches!(said, Err(LineError::Refused { status: 495, .. } | LineError::Broken(_))), "{what}: {said:?}");
    };
    assert_eq!(study.line(Some(&signed(&study, &own, -1, 2))).papers(false).unwrap().client, 0, "this way of signing works");
    at_tls(&signed(&study, &own, -3, 1), "expired");
    at_tls(&signed(&study, &own, 2, 1), "not valid yet");
    // The certificate of another participant is no use without its key.
    let stolen = Identity { certificate: other.certificate.clone(), key: own.key.clone() };
    let line = motet_link::Line::new(&study.server.address().to_string(), &study.authority, Some(&stolen), limits());
    match line {
        Err(_) => {}
        Ok(mut line) => assert!(line.papers(false).is_err(), "a certificate with another key"),
    }
    // A key that nobody enrolled, under the name of one who did.
    let unknown = signed(&study, &Identity { certificate: String::new(), key: KeyPair::generate().unwrap().serialize_pem() }, -1, 2);
    assert_eq!(refused(study.line(Some(&unknown)).papers(false)).0, 403, "the name in a certificate counts for nothing");
}

/// A connection that says what it likes.
fn raw(study: &Study, identity: Option<&Identity>) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(study.authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap()).unwrap()
        }
    };
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("127.0.0.1").unwrap()).unwrap();
    let stream = TcpStream::connect(study.server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    StreamOwned::new(connection, stream)
}

fn head(path: &str, length: &str) -> String {
    format!("POST /v1/{path} HTTP/1.1\r\nhost: study\r\n{length}\r\n\r\n")
}

/// The status of what comes back; none if the connection ends without.
fn status(stream: &mut impl Read) -> Option<u16> {
    let mut bytes = [0; 512];
    let count = stream.read(&mut bytes).ok()?;
    let line = bytes[..count].split(|byte| *byte == b'\r').next()?;
    std::str::from_utf8(line).ok()?.split(' ').nth(1)?.parse().ok()
}

#[test]
fn whatever_is_announced_no_more_than_64_kib_of_it_is_read() {
    let study = study(1);
    let identity = study.enrolled(0);
    for (path, known) in [("enrol", false), ("poll", false), ("renew", true), ("poll", true), ("offer", true), ("piece", true)] {
        for length in [10_000_000u64, 1 << 30, 100 << 30, u64::MAX / 2] {
            let mut stream = raw(&study, known.then_some(&identity));
            stream.write_all(head(path, &format!("content-length: {length}")).as_bytes()).unwrap();
            let expected = if path == "poll" && !known { 401 } else { 413 };
            assert_eq!(status(&mut stream), Some(expected), "{path} with {length} bytes announced");
        }
        // In chunks nothing is announced: it ends when it has become too much.
        let before = study.server.traffic().up.load(Ordering::Relaxed);
        let mut stream = raw(&study, known.then_some(&identity));
        stream.write_all(head(path, "transfer-encoding: chunked").as_bytes()).unwrap();
        let chunk = [&b"2000\r\n"[..], &[7; 0x2000], b"\r\n"].concat();
        let sent = (0..4096).take_while(|_| stream.write_all(&chunk).is_ok()).count();
        assert!(sent < 4096, "{path}: 32 MiB were taken");
        let read = study.server.traffic().up.load(Ordering::Relaxed) - before;
        // What the kernel has taken beyond that, nobody reads. A handshake and a head are some kilobytes.
        assert!(read <= (64 << 10) + (64 << 10), "{path}: {read} bytes were read");
    }
    assert_eq!(study.line(Some(&identity)).papers(false).unwrap().client, 0, "and the honest one is served");
}

/// A call with a piece whose message says that it has `length` bytes.
fn piece(run: Digest, task: TaskNumber, length: u32) -> Vec<u8> {
    let request = Request::Piece { task, offset: 0, bytes: Payload::default() };
    let call = Call { protocol: PROTOCOL, run, session: Session { count: 1, nonce: 1 }, request };
    let mut bytes = vec![];
    call.encode(&mut bytes);
    let end = bytes.len() - 4;
    bytes[end..].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn asked(study: &Study) -> (Arc<Office>, Digest, TaskNumber) {
    let run = study.run(0);
    let desk = Desk::new(run.digest(), 1, 0..2, Box::new(MemorySpool::default()), limits(), Duration::ZERO);
    let office = study.service.begin(&run, desk);
    let slot = Slot { round: 1, attempt: 0, exchange: 0 };
    let ask = Ask { is_probe: false, slot, heard: None, floor: None, body: Body::new(vec![1]).into(), longest_reply: 1 << 20, until: None };
    let task = office.post(0, ask).unwrap();
    (office, run.digest(), task)
}

#[test]
fn lengths_that_lie_are_noticed_whichever_of_the_two_it_is() {
    let study = study(2);
    let identity = study.enrolled(0);
    let (_office, run, task) = asked(&study);
    let said = |message: u32, body: usize| {
        let bytes = [piece(run, task, message), vec![7; body]].concat();
        let mut stream = raw(&study, Some(&identity));
        stream.write_all(head("piece", &format!("content-length: {}", bytes.len())).as_bytes()).unwrap();
        stream.write_all(&bytes).unwrap();
        status(&mut stream)
    };
    assert_eq!(said(10, 9), Some(400), "fewer than the message says");
    assert_eq!(said(10, 11), Some(400), "more");
    assert_eq!(said(u32::MAX, 10), Some(413), "more than a piece has");
    assert_eq!(said(10, 10), Some(410), "right, but nothing was offered");
}

#[test]
fn a_call_with_any_byte_flipped_or_cut_is_answered_and_the_coordinator_goes_on() {
    let study = study(2);
    let [bad, honest] = [study.enrolled(0), study.enrolled(1)];
    let (_office, run, task) = asked(&study);
    let request = Request::Offer { task, length: 1, hash: Digest::of(&[5]), whole: Payload::from(vec![5]) };
    let call = Call { protocol: PROTOCOL, run, session: Session { count: 1, nonce: 1 }, request };
    let mut sound = vec![];
    call.encode(&mut sound);
    let said = |body: &[u8]| {
        let mut stream = raw(&study, Some(&bad));
        stream.write_all(head("offer", &format!("content-length: {}", body.len())).as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        status(&mut stream)
    };
    for at in 0..sound.len() {
        assert_eq!(said(&sound[..at]), Some(400), "cut after {at} bytes");
        let mut flipped = sound.clone();
        flipped[at] ^= 1 << (at % 8);
        // At a desk that has heard nothing before: a client that was struck out would be refused whatever it says.
        let (office, _, fresh) = asked(&study);
        assert_eq!(fresh, task);
        let status = said(&flipped);
        assert!(status.is_some_and(|status| (200..500).contains(&status)), "byte {at}: {status:?}");
        let taken = office.desk().take(0, task).unwrap().map(|reply| reply.bytes().unwrap());
        assert!(taken.as_ref().is_none_or(|reply| *reply == [5]), "byte {at}: {taken:?} is not what was announced");
    }
    let (office, ..) = asked(&study);
    assert_eq!(said(&sound), Some(200));
    assert_eq!(office.desk().take(0, task).unwrap().map(|reply| reply.bytes().unwrap()), Some(vec![5]), "and the sound one arrives");
    assert_eq!(study.line(Some(&honest)).papers(false).unwrap().client, 1);
}

#[test]
fn a_client_has_eight_connections_at_most_and_the_oldest_goes() {
    let study = study(2);
    let [busy, other] = [study.enrolled(0), study.enrolled(1)];
    let ask = |stream: &mut StreamOwned<ClientConnection, TcpStream>| {
        let sent = stream.write_all(b"GET /v1/sheet HTTP/1.1\r\nhost: study\r\n\r\n").and_then(|()| stream.flush());
        sent.ok().and_then(|()| status(stream))
    };
    let mut honest = raw(&study, Some(&other));
    assert_eq!(ask(&mut honest), Some(200));
    let mut all: Vec<_> = (0..12)
        .map(|_| {
            let mut stream = raw(&study, Some(&busy));
            assert_eq!(ask(&mut stream), Some(200));
            stream
        })
        .collect();
    let served: Vec<bool> = all.iter_mut().map(|stream| ask(stream).is_some()).collect();
    assert_eq!(served, (0..12).map(|k| k >= 4).collect::<Vec<_>>());
    assert_eq!(ask(&mut honest), Some(200), "others have theirs");
}

#[test]
fn slow_senders_cost_the_others_nothing() {
    let study = study(2);
    let [slow, honest] = [study.enrolled(0), study.enrolled(1)];
    let (_office, run, task) = asked(&study);
    let mut line = study.line(Some(&honest));
    let mut time = || {
        let began = Instant::now();
        (0..200).for_each(|_| assert_eq!(line.papers(false).unwrap().client, 1));
        began.elapsed()
    };
    time();
    let alone = time();
    // An upload must be under way, or the first byte of a piece is the last that anybody reads.
    let request = Request::Offer { task, length: 99_000, hash: Digest::of(&[7; 99_000]), whole: Payload::default() };
    let offer = Call { protocol: PROTOCOL, run, session: Session { count: 1, nonce: 1 }, request };
    let said = study.line(Some(&slow)).call(offer).unwrap();
    assert_eq!(said, Response::SendFrom { task, offset: 0 });
    let senders: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = raw(&study, Some(&slow));
            stream.write_all(head("piece", "content-length: 100000").as_bytes()).unwrap();
            stream.write_all(&piece(run, task, 99_000)).unwrap();
            stream
        })
        .collect();
    let beside = time();
    drop(senders);
    // Times of a machine with other work on it: the slow check measures whole rounds.
    assert!(beside < 3 * alone + Duration::from_millis(200), "{beside:?} beside slow senders, {alone:?} without");
}
