//! Ways to run an algorithm in one machine, and stores for client state.
//!
//! Every fleet here carries the same messages to the same [`Host`](motet_core::Host); rows are equal
//! to the last bit on all of them.

mod bytes;
mod byzantine;
mod byzantine_clients;
mod checkpoints;
mod deployed;
mod devices;
mod inline;
#[doc(hidden)]
pub mod kill;
mod lossy;
mod pool;
mod store;
mod threads;

pub use bytes::Bytes;
pub use byzantine::Byzantine;
pub use byzantine_clients::{Attack, ByzantineClients};
pub use checkpoints::{Checkpoints, Found, Holdings, KEPT};
pub use deployed::Deployed;
pub use devices::Devices;
pub use inline::Inline;
pub use lossy::Lossy;
pub use pool::Pool;
pub use store::{Disk, Frozen, Memory, OpenError, Solves};
pub use threads::Threads;
