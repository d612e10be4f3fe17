//! The sockets: HTTP/1.1 over TLS 1.3. The only file that knows them, and the only one that waits asynchronously.
//!
//! ```text
//! POST /v1/enrol           a token and a certificate request → a certificate; the only path without a certificate
//! POST /v1/renew           a certificate request for the same key → a certificate
//! GET  /v1/sheet?wait      the study's sheet and that of the run under way; waits until there is one
//! POST /v1/poll            something to do; waits until there is
//! POST /v1/fetch, offer, piece, lost, decline, bye
//! ```
//!
//! Bodies of the last two lines are the messages of [`Call`] and [`Response`]; what a response means is in its status too.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Method, Request as HttpRequest, Response as HttpResponse, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use motet_core::whole;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::call::{Call, Request, Response};
use crate::digest::bytes_of;
use crate::limits::Limits;
use crate::pki::{Holder, Identity};
use crate::service::{Enrolled, Enrolment, Papers, Service};

/// Who has not shown a certificate has this long, and a head and a body of this size at most.
const STRANGERS_TIME: Duration = Duration::from_secs(10);
const STRANGERS_BYTES: usize = 16 << 10;
/// So many connections are open at once, and so many of them without a certificate.
const MOST_CONNECTIONS: usize = 4096;
const MOST_STRANGERS: usize = 256;
/// A poll waits so long.
const POLL: Duration = Duration::from_secs(25);
/// A message of a known client has so long to arrive.
const MESSAGE_TIME: Duration = Duration::from_secs(60);

/// Random bytes for tokens and nonces, from the provider of the cryptography.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes)
}

/// Bytes that went over the wire, whatever they were.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Towards the clients.
    pub down: AtomicU64,
    /// From the clients.
    pub up: AtomicU64,
}

/// A listener and its thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    traffic: Arc<Traffic>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Listens at `address` with this identity. Certificates of clients must come from `authority`, as PEM.
    pub fn start(address: &str, identity: &Identity, authority: &str, service: Arc<Service>, limits: Limits) -> io::Result<Self> {
        let tls = TlsAcceptor::from(Arc::new(server_tls(identity, authority)?));
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let traffic = Arc::<Traffic>::default();
        let bells: Arc<Vec<Notify>> = Arc::new(service.everyone().iter().map(|_| Notify::new()).collect());
        let ringing = Arc::clone(&bells);
        service.tell(Box::new(move |client| match client {
            Some(client) => ringing.get(client as usize).into_iter().for_each(Notify::notify_one),
            None => ringing.iter().for_each(Notify::notify_one),
        }));
        let shared = Arc::new(Shared {
            service,
            bells,
            limits,
            traffic: Arc::clone(&traffic),
            open: AtomicUsize::new(0),
            strangers: AtomicUsize::new(0),
        });
        let thread = thread::Builder::new().name("motet-listener".into()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(listener, tls, shared) => {}
                    _ = stopped => {}
                }
            });
            // Responses under way are brought to their ends.
            runtime.shutdown_timeout(Duration::from_millis(100));
        })?;
        Ok(Self { address, traffic, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What went over the wire so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(authority: &str) -> io::Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.map_err(unreadable)?).map_err(io::Error::other)?;
    }
    if roots.is_empty() { Err(invalid("there is no certificate of an authority")) } else { Ok(Arc::new(roots)) }
}

fn chain(identity: &Identity) -> io::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let certificates =
        CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(unreadable)?;
    if certificates.is_empty() { Err(invalid("there is no certificate")) } else { Ok((certificates, key)) }
}

fn unreadable(error: rustls::pki_types::pem::Error) -> io::Error {
    invalid(&format!("a certificate or key cannot be read: {error}"))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

fn server_tls(identity: &Identity, authority: &str) -> io::Result<ServerConfig> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(authority)?, provider()).allow_unauthenticated().build();
    let (certificates, key) = chain(identity)?;
    ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .with_client_cert_verifier(verifier.map_err(io::Error::other)?)
        .with_single_cert(certificates, key)
        .map_err(io::Error::other)
}

/// What connections share.
struct Shared {
    service: Arc<Service>,
    bells: Arc<Vec<Notify>>,
    limits: Limits,
    traffic: Arc<Traffic>,
    open: AtomicUsize,
    strangers: AtomicUsize,
}

/// Counts a connection for as long as it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn below(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let counted = Self(count);
        (count.fetch_add(1, Ordering::Relaxed) < most).then_some(counted)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, tls.clone(), Arc::clone(&shared)));
            }
            // Out of file descriptors, most likely: some will be closed.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// One connection, from its first byte to its last. Whatever goes wrong is the peer's to notice.
async fn connection(stream: TcpStream, tls: TlsAcceptor, shared: Arc<Shared>) {
    let (Some(_open), Some(stranger)) = (Counted::below(&shared.open, MOST_CONNECTIONS), Counted::below(&shared.strangers, MOST_STRANGERS))
    else {
        return;
    };
    let began = Instant::now();
    let _ = stream.set_nodelay(true);
    let stream = Metered { stream, traffic: Arc::clone(&shared.traffic) };
    let Ok(Ok(stream)) = timeout(STRANGERS_TIME, tls.accept(stream)).await else { return };
    let holder = stream.get_ref().1.peer_certificates().and_then(|chain| Holder::of(chain.first()?));
    let known = holder.as_ref().is_some_and(|holder| shared.service.who(holder).is_some());
    let service = service_fn(|request| {
        let (shared, holder) = (Arc::clone(&shared), holder.clone());
        async move { Ok::<_, Infallible>(answer(&shared, holder.as_ref(), request).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).max_header_size(STRANGERS_BYTES);
    if known {
        drop(stranger);
        http.header_read_timeout(None).max_buf_size(shared.limits.longest_message().max(STRANGERS_BYTES));
        let _ = http.serve_connection(TokioIo::new(stream), service).await;
    } else {
        http.header_read_timeout(STRANGERS_TIME).max_buf_size(STRANGERS_BYTES);
        let _ = timeout(STRANGERS_TIME.saturating_sub(began.elapsed()), http.serve_connection(TokioIo::new(stream), service)).await;
        drop(stranger);
    }
}

type Answer = HttpResponse<Full<Bytes>>;

async fn answer(shared: &Shared, holder: Option<&Holder>, request: HttpRequest<Incoming>) -> Answer {
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
    let Some(holder) = holder else { return said(StatusCode::UNAUTHORIZED, "a certificate of this study is needed: enrol first") };
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
        kind @ ("poll" | "fetch" | "offer" | "piece" | "lost" | "decline" | "bye") => {
            let most = if matches!(kind, "offer" | "piece") { shared.limits.longest_message() } else { STRANGERS_BYTES };
            let body = match body(request, &Method::POST, most, MESSAGE_TIME).await {
                Ok(body) => body,
                Err(refused) => return refused,
            };
            match whole::<Call>(&body) {
                Ok(call) if name_of(&call.request) == kind => of_response(&handle(shared, client, call).await),
                _ => said(StatusCode::BAD_REQUEST, "the body is not the call that the path names"),
            }
        }
        _ => said(StatusCode::NOT_FOUND, "there is no such path"),
    }
}

/// The path of a request.
fn name_of(request: &Request) -> &'static str {
    match request {
        Request::Poll { .. } => "poll",
        Request::Fetch { .. } => "fetch",
        Request::Offer { .. } => "offer",
        Request::Piece { .. } => "piece",
        Request::Lost { .. } => "lost",
        Request::Decline { .. } => "decline",
        Request::Bye { .. } => "bye",
    }
}

/// Answers a call; a poll when there is something to do, or after a while.
async fn handle(shared: &Shared, client: u32, call: Call) -> Response {
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

/// The body of a request, if it is short enough and comes in time.
async fn body(request: HttpRequest<Incoming>, method: &Method, most: usize, time: Duration) -> Result<Bytes, Answer> {
    if request.method() != method {
        return Err(said(StatusCode::METHOD_NOT_ALLOWED, "this path wants another method"));
    }
    if request.body().size_hint().lower() > most as u64 {
        return Err(said(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {most} bytes are taken here")));
    }
    match timeout(time, Limited::new(request.into_body(), most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(said(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {most} bytes are taken here, and all that are announced"))),
        Err(_) => Err(said(StatusCode::REQUEST_TIMEOUT, "the message did not come in time")),
    }
}

/// Words for whoever looks; the connection ends with them.
fn said(status: StatusCode, words: &str) -> Answer {
    let mut answer = HttpResponse::new(Full::new(Bytes::from(format!("{words}\n"))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    answer.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    answer
}

fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(text) => {
            let mut answer = HttpResponse::new(Full::new(text.into()));
            answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
            answer
        }
        Err(error) => said(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// A response as bytes, with a status that says the same to whoever cannot read them.
fn of_response(response: &Response) -> Answer {
    let status = match response {
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
    let body = if status == StatusCode::NO_CONTENT { vec![] } else { bytes_of(response) };
    let mut answer = HttpResponse::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(MESSAGE));
    if let Response::Later { milliseconds } = response {
        answer.headers_mut().insert(header::RETRY_AFTER, milliseconds.div_ceil(1000).into());
    }
    answer
}

/// What says that a body is a message of ours.
const MESSAGE: &str = "application/x-motet";

/// A stream whose bytes are counted.
struct Metered {
    stream: TcpStream,
    traffic: Arc<Traffic>,
}

impl AsyncRead for Metered {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.traffic.up.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        done
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = done {
            self.traffic.down.fetch_add(written as u64, Ordering::Relaxed);
        }
        done
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// An agent's way to its coordinator: one connection, made anew when it breaks.
#[derive(Debug)]
pub struct Line {
    runtime: Runtime,
    address: String,
    host: ServerName<'static>,
    tls: Arc<ClientConfig>,
    limits: Limits,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// Why a call came to nothing.
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
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_root_certificates(roots(authority)?);
        let tls = match identity {
            Some(identity) => {
                let (certificates, key) = chain(identity)?;
                builder.with_client_auth_cert(certificates, key).map_err(io::Error::other)?
            }
            None => builder.with_no_client_auth(),
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, address: address.into(), host, tls: Arc::new(tls), limits, connection: None })
    }

    /// Says something to the desk, and hears what it says.
    pub fn call(&mut self, call: &Call) -> Result<Response, LineError> {
        let path = format!("/v1/{}", name_of(&call.request));
        let (status, body) = self.send(Method::POST, &path, bytes_of(call))?;
        match status {
            StatusCode::NO_CONTENT => Ok(Response::Nothing {}),
            _ => whole(&body).map_err(|_| refusal(status, &body)),
        }
    }

    /// Enrols with a token and a certificate request.
    pub fn enrol(&mut self, enrolment: &Enrolment) -> Result<Enrolled, LineError> {
        self.json(Method::POST, "/v1/enrol", serde_json::to_vec(enrolment).unwrap_or_default())
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
        let (status, body) = self.send(method, path, body)?;
        if status != StatusCode::OK {
            return Err(refusal(status, &body));
        }
        serde_json::from_slice(&body).map_err(|e| LineError::Strange(e.to_string()))
    }

    fn send(&mut self, method: Method, path: &str, body: Vec<u8>) -> Result<(StatusCode, Bytes), LineError> {
        let request = HttpRequest::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.as_str())
            .body(Full::new(Bytes::from(body)))
            .map_err(|e| LineError::Strange(e.to_string()))?;
        let (address, host, tls, most) = (self.address.clone(), self.host.clone(), Arc::clone(&self.tls), self.limits.longest_message());
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

async fn connect(address: &str, host: ServerName<'static>, tls: Arc<ClientConfig>) -> Result<SendRequest<Full<Bytes>>, LineError> {
    let stream = TcpStream::connect(address).await.map_err(LineError::Broken)?;
    let _ = stream.set_nodelay(true);
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

fn refusal(status: StatusCode, body: &[u8]) -> LineError {
    let words: String = String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).take(300).collect();
    LineError::Refused { status: status.as_u16(), words: if words.is_empty() { status.to_string() } else { words } }
}
