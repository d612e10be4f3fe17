//! The sockets: HTTP/1.1 over TLS 1.3. The only module that knows them, and the only one that waits asynchronously.
//!
//! ```text
//! POST /v1/enrol           a token and a certificate request → a certificate; the only path without a certificate
//! POST /v1/renew           a certificate request for the same key → a certificate
//! GET  /v1/sheet?wait      the study's sheet and that of the run under way; waits until there is one
//! POST /v1/poll            something to do; waits until there is
//! POST /v1/fetch, offer, piece, lost, decline, bye
//! ```
//!
//! Bodies of the last two lines are the messages of [`Call`](crate::Call) and [`Response`](crate::Response); what a response means
//! is in its status too. Pieces of asks are sent from the one copy there is, and pieces of replies go to the spool as they arrive.

mod body;
mod line;
mod paths;
mod rooms;
mod server;
mod tls;
mod traffic;

use std::time::Duration;

use crate::call::Request;

pub use line::{Line, LineError};
pub use server::{Complaint, Server};
pub use tls::random;
pub use traffic::Traffic;

/// Who has not shown a certificate has this long, and a head and a body of this size at most.
const STRANGERS_TIME: Duration = Duration::from_secs(10);
const STRANGERS_BYTES: usize = 16 << 10;
/// So many connections are open at once, and so many of them without a certificate.
const MOST_CONNECTIONS: usize = 4096;
const MOST_STRANGERS: usize = 256;
/// A known client that has not begun a message for so long has lost its connection, or makes another one.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// A connection on which nothing comes for so long is asked whether the other end is still there, by the system.
const SILENCE: Duration = Duration::from_secs(60);
/// A poll waits so long.
const POLL: Duration = Duration::from_secs(25);
/// A message of a known client has so long to arrive; one with a piece so long for each mebibyte.
const MESSAGE_TIME: Duration = Duration::from_secs(60);
/// So many bytes of a connection are in memory at once, in each direction.
const BUFFER: usize = 64 << 10;
/// What says that a body is a message of ours.
const MESSAGE: &str = "application/x-motet";

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
