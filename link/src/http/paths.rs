//! What is said on each path.

use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request as HttpRequest, StatusCode};
use motet_core::whole;
use tokio::time::{Instant, timeout, timeout_at};

use super::body::{Answer, body, broken_off, json, of_response, said};
use super::server::Shared;
use super::{MESSAGE_TIME, POLL, STRANGERS_BYTES, STRANGERS_TIME, name_of};
use crate::call::{Call, Request, Response};
use crate::payload::Payload;
use crate::pki::{Holder, clock};
use crate::service::Enrolment;

pub(super) async fn answer(shared: &Shared, holder: Option<&Holder>, request: HttpRequest<Incoming>) -> Answer {
    let (service, path) = (&shared.service, request.uri().path().to_owned());
    if path == "/v1/enrol" {
        let body = match body(request, &Method::POST, STRANGERS_BYTES, STRANGERS_TIME).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        let Ok(enrolment) = serde_json::from_slice::<Enrolment>(&body) else {
            return said(StatusCode::BAD_REQUEST, "this is no enrolment");
        };
        return match service.enrol(&enrolment) {
            Ok(enrolled) => json(&enrolled),
            Err(refused) => said(StatusCode::FORBIDDEN, &refused.to_string()),
        };
    }
    // Before a byte of the body is read.
    let Some(holder) = holder else { return said(StatusCode::UNAUTHORIZED, &no_certificate()) };
    let Some(client) = service.who(holder) else {
        return said(StatusCode::FORBIDDEN, "the holder of this certificate does not take part in this study, or no longer");
    };
    match path.strip_prefix("/v1/").unwrap_or_default() {
        "renew" => match body(request, &Method::POST, STRANGERS_BYTES, MESSAGE_TIME).await {
            Err(refused) => refused,
            Ok(body) => match service.renew(client, holder, &String::from_utf8_lossy(&body)) {
                Ok(renewed) => json(&renewed),
                Err(refused) => said(StatusCode::FORBIDDEN, &refused.to_string()),
            },
        },
        "sheet" if request.method() == Method::GET => {
            let waits = request.uri().query() == Some("wait");
            papers(shared, client, waits).await
        }
        "piece" => piece(shared, client, request).await,
        kind @ ("poll" | "fetch" | "offer" | "lost" | "decline" | "bye") => {
            let most = if kind == "offer" { shared.limits.longest_message() } else { STRANGERS_BYTES };
            let body = match body(request, &Method::POST, most, MESSAGE_TIME).await {
                Ok(body) => body,
                Err(refused) => return refused,
            };
            match whole::<Call>(&body) {
                Ok(call) if name_of(&call.request) == kind => of_response(handle(shared, client, call).await),
                _ => said(StatusCode::BAD_REQUEST, "the body is not the call that the path names"),
            }
        }
        _ => said(StatusCode::NOT_FOUND, "there is no such path"),
    }
}

/// Whoever wonders why its certificate is not accepted compares clocks.
fn no_certificate() -> String {
    format!("a certificate of this study is needed: enrol first; the coordinator's clock says {}", clock())
}

/// Answers a call; a poll when there is something to do, or after a while.
async fn handle(shared: &Shared, client: u32, call: Call) -> Response {
    if !matches!(call.request, Request::Poll { .. }) {
        return shared.service.call(client, call);
    }
    let until = Instant::now() + POLL;
    loop {
        let response = shared.service.call(client, call.clone());
        let (Response::Nothing {}, Some(bell)) = (&response, shared.bells.get(client as usize)) else { return response };
        // A bell that rang since the last look is remembered.
        if timeout(until.saturating_duration_since(Instant::now()), bell.notified()).await.is_err() {
            return response;
        }
    }
}

async fn papers(shared: &Shared, client: u32, waits: bool) -> Answer {
    let until = Instant::now() + POLL;
    loop {
        let papers = shared.service.papers(client);
        let news = papers.over || papers.run.is_some();
        let Some(bell) = shared.bells.get(client as usize).filter(|_| waits && !news) else { return json(&papers) };
        if timeout(until.saturating_duration_since(Instant::now()), bell.notified()).await.is_err() {
            return json(&papers);
        }
    }
}

/// A piece of a reply. It goes to the desk as it arrives, so that no more of it is in memory than a connection holds anyway, and
/// what came before a connection breaks need not come again.
async fn piece(shared: &Shared, client: u32, request: HttpRequest<Incoming>) -> Answer {
    let most = shared.limits.longest_piece();
    if request.method() != Method::POST {
        return said(StatusCode::METHOD_NOT_ALLOWED, "this path wants another method");
    }
    let announced = request.body().size_hint().lower();
    if announced > most as u64 {
        return said(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {most} bytes are taken here"));
    }
    let until = Instant::now() + MESSAGE_TIME * (1 + (announced >> 20) as u32);
    let mut incoming = request.into_body();
    let (mut head, mut coming): (Vec<u8>, Option<Coming>) = (vec![], None);
    loop {
        let frame = match timeout_at(until, incoming.frame()).await {
            Err(_) => return said(StatusCode::REQUEST_TIMEOUT, "the message did not come in time"),
            Ok(Some(Err(_))) => return broken_off(),
            Ok(None) => break,
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        let mut data = &data[..];
        if coming.is_none() {
            let rest = Call::bytes_before_piece() - head.len();
            let (first, after) = data.split_at(rest.min(data.len()));
            head.extend_from_slice(first);
            data = after;
            if head.len() < Call::bytes_before_piece() {
                continue;
            }
            let Some((call, length)) = Call::before_piece(&head) else {
                return said(StatusCode::BAD_REQUEST, "the body is not the call that the path names");
            };
            if length as usize > shared.limits.piece {
                return said(StatusCode::PAYLOAD_TOO_LARGE, &format!("a piece has at most {} bytes", shared.limits.piece));
            }
            coming = Some(Coming { call, left: length as usize, said: None });
        }
        if let Some(coming) = &mut coming
            && !coming.take(shared, client, data)
        {
            return said(StatusCode::BAD_REQUEST, "more bytes came than were announced");
        }
    }
    match coming {
        Some(Coming { left: 0, call, said: None }) => of_response(shared.service.call(client, call)),
        Some(Coming { left: 0, said: Some(response), .. }) => of_response(response),
        _ => said(StatusCode::BAD_REQUEST, "fewer bytes came than were announced"),
    }
}

/// A piece under way.
struct Coming {
    /// With the place of the bytes that come next.
    call: Call,
    left: usize,
    /// What the desk has said last; once it wants no more, the rest is let pass.
    said: Option<Response>,
}

impl Coming {
    /// More of it; false if it is too much.
    fn take(&mut self, shared: &Shared, client: u32, data: &[u8]) -> bool {
        if data.len() > self.left {
            return false;
        }
        self.left -= data.len();
        let Request::Piece { task, offset, .. } = self.call.request else { return false };
        let goes_on = match &self.said {
            None => true,
            Some(Response::SendFrom { offset: next, .. }) => *next == offset,
            Some(_) => false,
        };
        if data.is_empty() || !goes_on {
            return true;
        }
        let with = |bytes, offset| Call { request: Request::Piece { task, offset, bytes }, ..self.call.clone() };
        self.said = Some(shared.service.call(client, with(Payload::from(data.to_vec()), offset)));
        self.call = with(Payload::default(), offset + data.len() as u64);
        true
    }
}
