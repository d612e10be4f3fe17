//! Bodies: read within limits, and sent from where they lie.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::{Method, Request as HttpRequest, Response as HttpResponse, StatusCode, header};
use serde::Serialize;
use tokio::time::timeout;

use super::{BUFFER, MESSAGE};
use crate::call::Response;
use crate::payload::Payload;

pub(super) type Answer = HttpResponse<Parts>;

/// A message whose last field is sent from where it lies, a little at a time.
#[derive(Debug, Default)]
pub(super) struct Parts {
    head: Bytes,
    last: Payload,
}

impl Parts {
    pub(super) fn new(head: Vec<u8>, last: Payload) -> Self {
        // Two short ones are written in one go.
        if last.len() < BUFFER / 2 {
            return Self::of([&head[..], &last.as_bytes()].concat());
        }
        Self { head: head.into(), last }
    }

    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self { head: bytes.into(), last: Payload::default() }
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = if self.head.is_empty() {
            let (next, rest) = (self.last.piece(0, BUFFER / 2), self.last.piece(BUFFER / 2, usize::MAX));
            self.last = rest;
            next.as_bytes().into_owned().into()
        } else {
            std::mem::take(&mut self.head)
        };
        Poll::Ready((!next.is_empty()).then_some(Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_empty() && self.last.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.head.len() + self.last.len()) as u64)
    }
}

/// The body of a request, if it is short enough and comes in time.
pub(super) async fn body(request: HttpRequest<Incoming>, method: &Method, most: usize, time: Duration) -> Result<Bytes, Answer> {
    if request.method() != method {
        return Err(said(StatusCode::METHOD_NOT_ALLOWED, "this path wants another method"));
    }
    if request.body().size_hint().lower() > most as u64 {
        return Err(said(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {most} bytes are taken here")));
    }
    match timeout(time, Limited::new(request.into_body(), most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(said(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {most} bytes are taken here")))
        }
        Ok(Err(_)) => Err(broken_off()),
        Err(_) => Err(said(StatusCode::REQUEST_TIMEOUT, "the message did not come in time")),
    }
}

/// A message whose end never came may be sent again.
pub(super) fn broken_off() -> Answer {
    said(StatusCode::REQUEST_TIMEOUT, "the message broke off")
}

/// Words for whoever looks; the connection ends with them.
pub(super) fn said(status: StatusCode, words: &str) -> Answer {
    let mut answer = HttpResponse::new(Parts::of(format!("{words}\n").into_bytes()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    answer.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    answer
}

pub(super) fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(text) => {
            let mut answer = HttpResponse::new(Parts::of(text));
            answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
            answer
        }
        Err(error) => said(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// A response as bytes, with a status that says the same to whoever cannot read them.
pub(super) fn of_response(response: Response) -> Answer {
    let status = match &response {
        Response::Nothing {} => StatusCode::NO_CONTENT,
        Response::Closed { .. } | Response::Over {} => StatusCode::GONE,
        Response::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Response::Later { .. } => StatusCode::TOO_MANY_REQUESTS,
        Response::Full {} => StatusCode::INSUFFICIENT_STORAGE,
        Response::OtherRun { .. } | Response::OlderStart { .. } | Response::Displaced {} => StatusCode::CONFLICT,
        Response::OtherProtocol { .. } => StatusCode::UPGRADE_REQUIRED,
        Response::Refused { .. } => StatusCode::FORBIDDEN,
        Response::Task { .. } | Response::Piece { .. } | Response::SendFrom { .. } | Response::HaveIt { .. } => StatusCode::OK,
    };
    let later = if let Response::Later { milliseconds } = response { Some(milliseconds.div_ceil(1000)) } else { None };
    let (head, last) = if status == StatusCode::NO_CONTENT { (vec![], Payload::default()) } else { response.split() };
    let mut answer = HttpResponse::new(Parts::new(head, last));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(MESSAGE));
    if let Some(seconds) = later {
        answer.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    answer
}
