//! Clients on several ranks: processes of a cluster, each with some of the clients, one of them the server.
//!
//! Rank 0 runs the loop and sends orders to everyone; the others [`serve`] until they are told to leave. A client with a state
//! lives where its home is ([`Homes`]); one without is sent where there is least to do. Replies are handed over in the order
//! asked, wherever they come from, and large sums are added up by all ranks together ([`sums`]): rows are equal to the last bit on any
//! number of ranks.

#[cfg(not(feature = "ranks"))]
mod absent;
mod group;
mod homes;
mod local;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(feature = "ranks")]
mod orders;
#[cfg(feature = "ranks")]
mod ranks;
#[cfg(feature = "ranks")]
mod serve;
#[cfg(feature = "ranks")]
mod shelf;
#[cfg(feature = "ranks")]
mod sums;
#[cfg(feature = "ranks")]
mod times;

use motet_core::{Abort, StoreError};

#[cfg(not(feature = "ranks"))]
pub use absent::{Frame, Ranks, Shelf, Team, leave, serve};
pub use group::Group;
pub use homes::Homes;
pub use local::LocalCrew;
#[cfg(feature = "mpi")]
pub use mpi::{MpiCrew, MpiSession};
#[cfg(feature = "ranks")]
pub use ranks::{Ranks, Team};
#[cfg(feature = "ranks")]
pub use serve::{leave, serve};
#[cfg(feature = "ranks")]
pub use shelf::{Frame, Shelf};

/// Processes that send each other bytes. Messages between two of them arrive in the order sent.
pub trait Crew: Send + Sync {
    /// Which one this is; 0 is the server.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// The ranks on the same machine, this one too, in rising order.
    fn neighbours(&self) -> Vec<usize>;
    /// From rank 0 to all others, who find the message where they put an empty list. Everyone must call it.
    fn broadcast(&self, message: &mut Vec<u8>) -> Result<(), CrewGone>;
    /// To one of them. May wait until the other asks for it.
    fn send(&self, to: usize, message: &[u8]) -> Result<(), CrewGone>;
    /// The next message of one of them.
    fn receive(&self, from: usize) -> Result<Vec<u8>, CrewGone>;
    /// The next message of one of them, if it is there already.
    fn look_for(&self, from: usize) -> Result<Option<Vec<u8>>, CrewGone>;
    /// Hands message k to rank k, and returns what each rank had for this one. Everyone must call it.
    fn swap(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone>;
}

/// All ranks add up a sum together where as many bytes of replies, or more, would come to rank 0 otherwise: they are worth two more messages.
pub const TOGETHER_FROM: u64 = 1 << 20;

/// Another rank is not there any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {0} is gone")]
pub struct CrewGone(pub usize);

impl From<CrewGone> for Abort {
    fn from(gone: CrewGone) -> Self {
        Abort::Closed(gone.to_string())
    }
}

/// Makes the client states of one rank durable.
pub trait Keeps {
    /// The number of this version, and what finds the states again.
    fn commit(&self) -> Result<(u64, Vec<u8>), StoreError>;
    /// Versions before this one are needed no more.
    fn release(&self, oldest: u64);
}
