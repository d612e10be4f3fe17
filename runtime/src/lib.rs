//! Ways to run an algorithm in one machine, and stores for client state.
//!
//! Every fleet here carries the same messages to the same [`Host`](motet_core::Host); rows are equal
//! to the last bit on all of them. [`Inline`] serves one client after another, [`Threads`] those of a chunk on each thread of a
//! [`Pool`], [`Bytes`] sends everything as bytes; [`Lossy`], [`Deployed`] and [`Byzantine`] are fleets around a fleet, which lose
//! messages, keep the clock of [`Devices`], and lie. [`Ranks`] has clients on several processes of a [`Crew`], such as MPI's (feature `mpi`). Client states sleep in [`Memory`] or on [`Disk`].
//!
//! ```
//! use motet_core::{ClientId, Store};
//! use motet_runtime::{Disk, Memory};
//!
//! fn remembers(store: &dyn Store<u64>) -> Result<(), Box<dyn std::error::Error>> {
//!     store.put(ClientId(3), 42)?;
//!     assert_eq!(store.read(ClientId(3))?, Some(42));
//!     // Who works on a state takes it and puts back what has become of it.
//!     let state = store.take(ClientId(3))?.unwrap_or_default();
//!     store.put(ClientId(3), state + 1)?;
//!     assert_eq!((store.read(ClientId(3))?, store.read(ClientId(4))?), (Some(43), None));
//!     Ok(())
//! }
//!
//! remembers(&Memory::default())?;
//! let folder = tempfile::tempdir()?;
//! // No byte of it stays in memory.
//! remembers(&Disk::create(&folder.path().join("states"), 0)?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How a method, a host and a fleet go together is on the first page of `motet-methods`; `motet::Run` does it in one line.

mod bytes;
mod byzantine;
mod byzantine_clients;
mod checkpoints;
mod crew;
mod deployed;
mod devices;
mod inline;
mod lossy;
mod pool;
mod store;
mod threads;

pub use bytes::Bytes;
pub use byzantine::Byzantine;
pub use byzantine_clients::{Attack, ByzantineClients};
pub use checkpoints::{Checkpoints, Found, Holdings, KEPT};
pub use crew::*;
pub use deployed::Deployed;
pub use devices::Devices;
pub use inline::Inline;
pub use lossy::Lossy;
pub use pool::Pool;
pub use store::{Disk, Frozen, Memory, OpenError, Solves};
pub use threads::Threads;
