//! A federation between machines.
//!
//! A [`Desk`] is the coordinator's side and an [`Agent`] the client's: two state machines without sockets, threads or clocks, which
//! are tried with a network that loses, doubles, delays and reorders everything while both sides are killed. [`Remote`] is a
//! [`Fleet`](motet_core::Fleet) over a desk that threads share, and [`HostWork`] answers tasks with the same
//! [`Host`](motet_core::Host) that simulations use: a run between machines ends in the bits of the run in one machine.
//!
//! ```
//! use std::{io, time::Duration};
//! use motet_core::Slot;
//! use motet_link::{Agent, Ask, Body, Desk, Digest, Limits, Mark, MemorySpool, Next, Outcome, Progress, TaskHead, Work};
//!
//! // A client that sends back what it is asked.
//! struct Echo;
//! impl Work for Echo {
//!     fn answer(&mut self, _: &TaskHead, _: bool, ask: &[u8]) -> io::Result<Outcome> {
//!         Ok(Outcome::Reply(Body::new(ask.to_vec())))
//!     }
//!     fn commit(&mut self, _: Mark) -> io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! let (run, limits, now) = (Digest::of(b"the run sheet"), Limits::default(), Duration::ZERO);
//! let mut desk = Desk::new(run, 1, [0], Box::new(MemorySpool::default()), limits, now);
//! let mut agent = Agent::start(Echo, run, Mark::default(), 1, limits)?;
//!
//! let slot = Slot { round: 1, attempt: 0, exchange: 0 };
//! let body = Body::new(b"hello".to_vec()).into();
//! let task = desk.ask(0, Ask { is_probe: false, slot, heard: None, floor: None, body, longest_reply: 100, until: None })?;
//! while desk.progress(0, task) == Progress::Waiting {
//!     let response = desk.handle(0, agent.call(), now);
//!     assert_eq!(agent.hear(response)?, Next::Now);
//! }
//! assert_eq!(desk.take(0, task)?.map(|reply| reply.bytes()).transpose()?.as_deref(), Some(&b"hello"[..]));
//! # Ok::<(), io::Error>(())
//! ```

mod agent;
mod call;
mod desk;
mod digest;
mod event;
mod http;
mod invitation;
mod limits;
mod members;
mod name;
mod office;
mod payload;
mod pki;
mod pocket;
mod remote;
mod service;
mod sheet;
mod spool;
mod vigil;
mod work;

pub use agent::{Agent, Ended, Mark, Next, Outcome, Work};
pub use call::{Call, PROTOCOL, Request, Response, Session, TaskHead, TaskNumber};
pub use desk::{Ask, Desk, Progress, Tally};
pub use digest::{Digest, NoDigest};
pub use event::{Event, Noted};
pub use http::{Complaint, Line, LineError, Server, Traffic, random};
pub use invitation::{Invitation, InvitationError, Token};
pub use limits::Limits;
pub use members::{Member, Members, NotEnrolled, TOKEN_SECONDS};
pub use name::{Name, NoName};
pub use office::{Courier, Office};
pub use payload::{Body, Payload};
pub use pki::{Authority, Holder, Identity, Validity, is_ageing, new_request, request_for};
pub use pocket::{Pocket, PocketKeep};
pub use remote::Remote;
pub use service::{Enrolled, Enrolment, Papers, Service};
pub use sheet::{RunSheet, RunTerms, SheetError, StudySheet};
pub use spool::{FolderSpool, Forgets, MemorySpool, Reply, ReplyKey, Spool};
pub use work::{Consent, FolderKeep, HostWork, Keep};
