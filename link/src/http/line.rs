//! An agent's side of the sockets.

use std::io;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Method, Request as HttpRequest, StatusCode, header};
use hyper_util::rt::TokioIo;
use motet_core::whole;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use super::body::Parts;
use super::tls::{client_tls, invalid};
use super::{MESSAGE_TIME, POLL, STRANGERS_TIME, name_of};
use crate::call::{Call, Response};
use crate::limits::Limits;
use crate::pki::Identity;
use crate::service::{Enrolled, Enrolment, Papers};

/// An agent's connection to its coordinator, made anew when it breaks.
#[derive(Debug)]
pub struct Line {
    runtime: Runtime,
    address: String,
    host: ServerName<'static>,
    tls: Arc<ClientConfig>,
    limits: Limits,
    connection: Option<SendRequest<Parts>>,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The coordinator cannot be reached just now, or the connection broke.
    #[error("the coordinator cannot be reached: {0}")]
    Broken(io::Error),
    /// The coordinator is not the one that the authority vouches for, or refuses this certificate.
    #[error("the coordinator's certificate is not accepted: {0}")]
    Untrusted(String),
    /// The coordinator says no.
    #[error("the coordinator refuses: {words}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// In words.
        words: String,
    },
    /// Not what a coordinator says.
    #[error("what answers is no coordinator: {0}")]
    Strange(String),
}

impl Line {
    /// The way to `host:port`, whose certificate must come from `authority`, with an identity once there is one.
    pub fn new(address: &str, authority: &str, identity: Option<&Identity>, limits: Limits) -> io::Result<Self> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']).to_owned();
        let host = ServerName::try_from(host).map_err(|e| invalid(&format!("{address} is no name of a host: {e}")))?;
        let tls = client_tls(authority, identity)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, address: address.into(), host, tls: Arc::new(tls), limits, connection: None })
    }

    /// Sends a call to the desk and returns its response.
    pub fn call(&mut self, call: Call) -> Result<Response, LineError> {
        let path = format!("/v1/{}", name_of(&call.request));
        let (head, last) = call.split();
        let (status, body) = self.send(Method::POST, &path, Parts::new(head, last))?;
        match status {
            StatusCode::NO_CONTENT => Ok(Response::Nothing {}),
            _ => whole(&body).map_err(|_| refusal(status, &body)),
        }
    }

    /// Enrols with a token and a certificate request.
    pub fn enrol(&mut self, enrolment: &Enrolment) -> Result<Enrolled, LineError> {
        let body = serde_json::to_vec(enrolment).map_err(|e| LineError::Strange(format!("the enrolment cannot be written: {e}")))?;
        self.json(Method::POST, "/v1/enrol", body)
    }

    /// Renews its certificate.
    pub fn renew(&mut self, request: &str) -> Result<Enrolled, LineError> {
        self.json(Method::POST, "/v1/renew", request.as_bytes().to_vec())
    }

    /// Reads the sheets. Where it should, it waits a while for a run to be under way, or for the end.
    pub fn papers(&mut self, waits: bool) -> Result<Papers, LineError> {
        self.json(Method::GET, if waits { "/v1/sheet?wait" } else { "/v1/sheet" }, vec![])
    }

    fn json<T: serde::de::DeserializeOwned>(&mut self, method: Method, path: &str, body: Vec<u8>) -> Result<T, LineError> {
        let (status, body) = self.send(method, path, Parts::of(body))?;
        if status != StatusCode::OK {
            return Err(refusal(status, &body));
        }
        serde_json::from_slice(&body).map_err(|e| LineError::Strange(e.to_string()))
    }

    fn send(&mut self, method: Method, path: &str, body: Parts) -> Result<(StatusCode, Bytes), LineError> {
        let request = HttpRequest::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.as_str())
            .body(body)
            .map_err(|e| LineError::Strange(e.to_string()))?;
        let (address, host, tls, most) = (self.address.clone(), self.host.clone(), Arc::clone(&self.tls), self.limits.longest_piece());
        let connection = self.connection.take().filter(|connection| !connection.is_closed());
        let (answer, connection) = self.runtime.block_on(async move {
            let mut connection = match connection {
                Some(connection) => connection,
                None => timeout(STRANGERS_TIME, connect(&address, host, tls)).await.map_err(|_| late())??,
            };
            let exchange = async {
                connection.ready().await.map_err(broken)?;
                let answer = connection.send_request(request).await.map_err(broken)?;
                let status = answer.status();
                let body = Limited::new(answer.into_body(), most).collect().await.map_err(|e| LineError::Broken(io::Error::other(e)))?;
                Ok::<_, LineError>((status, body.to_bytes()))
            };
            let answer = timeout(POLL + MESSAGE_TIME, exchange).await.map_err(|_| late())??;
            Ok::<_, LineError>((answer, connection))
        })?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

async fn connect(address: &str, host: ServerName<'static>, tls: Arc<ClientConfig>) -> Result<SendRequest<Parts>, LineError> {
    let stream = TcpStream::connect(address).await.map_err(LineError::Broken)?;
    stream.set_nodelay(true).map_err(LineError::Broken)?;
    let stream = TlsConnector::from(tls).connect(host, stream).await.map_err(|e| {
        let ours =
            e.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()).filter(|e| matches!(e, rustls::Error::InvalidCertificate(_)));
        ours.map(|e| LineError::Untrusted(e.to_string())).unwrap_or_else(|| LineError::Broken(e))
    })?;
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Ends with the connection; whoever sends hears of it.
    tokio::spawn(connection);
    Ok(sender)
}

fn broken(error: hyper::Error) -> LineError {
    // What the other side thinks of our certificate comes as an alert when the first answer is read.
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(inner) = cause {
        if let Some(rustls::Error::AlertReceived(alert)) = inner.downcast_ref::<rustls::Error>() {
            return LineError::Refused { status: 495, words: format!("this agent's certificate is not accepted ({alert:?})") };
        }
        if let Some(rustls::Error::AlertReceived(alert)) =
            inner.downcast_ref::<io::Error>().and_then(|e| e.get_ref()).and_then(|e| e.downcast_ref::<rustls::Error>())
        {
            return LineError::Refused { status: 495, words: format!("this agent's certificate is not accepted ({alert:?})") };
        }
        cause = inner.source();
    }
    LineError::Broken(io::Error::other(error))
}

fn late() -> LineError {
    LineError::Broken(io::ErrorKind::TimedOut.into())
}

/// What a status that comes without an answer means. Whoever was interrupted in the middle of a message, or meets a coordinator or a
/// proxy in trouble, may say the same again; everything else is said by somebody who means it.
fn refusal(status: StatusCode, body: &[u8]) -> LineError {
    let words: String = String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).take(300).collect();
    let words = if words.is_empty() { status.to_string() } else { words };
    if status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) {
        return LineError::Broken(io::Error::other(words));
    }
    LineError::Refused { status: status.as_u16(), words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_is_no_refusal() {
        for passes in [408, 429, 500, 502, 503, 504] {
            let said = refusal(StatusCode::from_u16(passes).unwrap(), b"once more");
            assert!(matches!(&said, LineError::Broken(why) if why.to_string() == "once more"), "{passes}: {said:?}");
        }
        for stays in [400, 401, 403, 404, 413, 426] {
            let said = refusal(StatusCode::from_u16(stays).unwrap(), b"");
            assert!(matches!(said, LineError::Refused { status, .. } if status == stays), "{stays}: {said:?}");
        }
    }
}
