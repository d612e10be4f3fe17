//! Clients on several ranks: processes of a cluster, each with some of the clients, one of them the server.
//!
//! Rank 0 runs the loop and sends orders to everyone; the others [`serve`] until they are told to leave. A client with a state
//! lives where its home is ([`Homes`]); one without is sent where there is least to do. Replies are handed over in the order
//! asked, wherever they come from: rows are equal to the last bit on any number of ranks.

mod homes;
mod local;
#[cfg(feature = "mpi")]
mod mpi;
mod orders;
mod ranks;
mod serve;

use motet_core::Abort;

pub use homes::Homes;
pub use local::LocalCrew;
#[cfg(feature = "mpi")]
pub use mpi::{MpiCrew, MpiSession};
pub use ranks::{Ranks, Team};
pub use serve::{Keeps, serve};

/// Processes that send each other bytes. Messages between two of them arrive in the order sent.
pub trait Crew: Send + Sync {
    /// Which one this is; 0 is the server.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// From rank 0 to all others, who find the message where they put an empty list. Everyone must call it.
    fn broadcast(&self, message: &mut Vec<u8>) -> Result<(), CrewGone>;
    /// To one of them. May wait until the other asks for it.
    fn send(&self, to: usize, message: &[u8]) -> Result<(), CrewGone>;
    /// The next message of one of them.
    fn receive(&self, from: usize) -> Result<Vec<u8>, CrewGone>;
    /// Hands message k to rank k, and returns what each rank had for this one. Everyone must call it.
    fn swap(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CrewGone>;
}

/// Another rank is not there any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {0} is gone")]
pub struct CrewGone(pub usize);

impl From<CrewGone> for Abort {
    fn from(gone: CrewGone) -> Self {
        Abort::Closed(gone.to_string())
    }
}
