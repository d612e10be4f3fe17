//! The coordinator's listener: one thread, and a task for each connection.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::paths::answer;
use super::rooms::Rooms;
use super::tls::server_tls;
use super::traffic::{Metered, Traffic};
use super::{BUFFER, IDLE, MOST_CONNECTIONS, MOST_STRANGERS, SILENCE, STRANGERS_BYTES, STRANGERS_TIME};
use crate::limits::Limits;
use crate::pki::{Holder, Identity};
use crate::service::Service;

/// A connection that ended in an error.
#[derive(Clone, Debug)]
pub struct Complaint {
    /// Who called; none if nobody could.
    pub peer: Option<SocketAddr>,
    /// In words.
    pub why: String,
}

/// Is told of connections that end in an error.
pub(crate) type Complain = Box<dyn Fn(Complaint) + Send + Sync>;

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
    /// Connections that end in an error are told to `complain`, on the listener's thread.
    pub fn start(
        address: &str,
        (identity, authority): (&Identity, &str),
        service: Arc<Service>,
        limits: Limits,
        complain: Complain,
    ) -> io::Result<Self> {
        let tls = TlsAcceptor::from(Arc::new(server_tls(identity, authority)?));
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
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
            rooms: Rooms::default(),
            open: AtomicUsize::new(0),
            strangers: AtomicUsize::new(0),
            complain,
        });
        let thread = thread::Builder::new().name("motet-listener".into()).spawn(move || {
            runtime.block_on(async {
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

/// What connections share.
pub(super) struct Shared {
    pub(super) service: Arc<Service>,
    pub(super) bells: Arc<Vec<Notify>>,
    pub(super) limits: Limits,
    traffic: Arc<Traffic>,
    rooms: Rooms,
    open: AtomicUsize,
    strangers: AtomicUsize,
    complain: Complain,
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
            Ok((stream, peer)) => {
                let (tls, shared) = (tls.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    if let Err(why) = connection(stream, tls, &shared).await {
                        (shared.complain)(Complaint { peer: Some(peer), why });
                    }
                });
            }
            // Out of file descriptors, most likely: some will be closed.
            Err(error) => {
                (shared.complain)(Complaint { peer: None, why: format!("no connection can be accepted: {error}") });
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// One connection, from its first byte to its last. The error is for whoever runs the coordinator: the peer notices by itself.
async fn connection(stream: TcpStream, tls: TlsAcceptor, shared: &Arc<Shared>) -> Result<(), String> {
    let (Some(_open), Some(stranger)) = (Counted::below(&shared.open, MOST_CONNECTIONS), Counted::below(&shared.strangers, MOST_STRANGERS))
    else {
        return Err("too many connections are open, or too many without a certificate".into());
    };
    let began = Instant::now();
    stream.set_nodelay(true).map_err(|e| e.to_string())?;
    let keepalive = TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE / 4);
    SockRef::from(&stream).set_tcp_keepalive(&keepalive).map_err(|e| e.to_string())?;
    let stream = Metered { stream, traffic: Arc::clone(&shared.traffic) };
    let shaken = timeout(STRANGERS_TIME, tls.accept(stream)).await.map_err(|_| "no TLS handshake came in time".to_owned())?;
    let stream = shaken.map_err(|error| format!("no TLS connection came about: {error}"))?;
    let holder = stream.get_ref().1.peer_certificates().and_then(|chain| Holder::of(chain.first()?));
    let known = holder.as_ref().and_then(|holder| shared.service.who(holder));
    let service = service_fn(|request| {
        let (shared, holder) = (Arc::clone(shared), holder.clone());
        async move { Ok::<_, Infallible>(answer(&shared, holder.as_ref(), request).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).max_header_size(STRANGERS_BYTES);
    let served = if let Some(client) = known {
        drop(stranger);
        let room = shared.rooms.enter(client);
        http.header_read_timeout(IDLE).max_buf_size(BUFFER);
        tokio::select! {
            served = http.serve_connection(TokioIo::new(stream), service) => served,
            () = room.is_wanted() => return Err("a participant has opened too many connections: its oldest was closed".into()),
        }
    } else {
        http.header_read_timeout(STRANGERS_TIME).max_buf_size(STRANGERS_BYTES);
        let time = STRANGERS_TIME.saturating_sub(began.elapsed());
        let served = timeout(time, http.serve_connection(TokioIo::new(stream), service)).await;
        drop(stranger);
        served.map_err(|_| "a caller without a certificate of the study took too long".to_owned())?
    };
    served.map_err(|error| format!("the connection broke: {}", innermost(&error)))
}

/// The cause at the bottom of an error, which says most.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
