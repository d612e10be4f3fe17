//! Why a round, or the run, cannot go on.

use crate::store::StoreError;

/// Why a round, or the run, cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Abort {
    /// Too few answered; the round is tried again.
    #[error("{answered} of {asked} clients answered")]
    Quorum {
        /// How many were asked.
        asked: usize,
        /// How many answered.
        answered: usize,
    },
    /// A reply holds NaN or infinity.
    #[error("client {client} sent a number that is not finite")]
    NotFinite {
        /// Whose.
        client: u32,
    },
    /// A message of ours does not survive the wire.
    #[error("a message for or from client {client} does not survive the wire: {reason}")]
    Protocol {
        /// Who.
        client: u32,
        /// How.
        reason: String,
    },
    /// A client that the method cannot do without is no longer asked.
    #[error("client {client} is needed, but it is excluded since it broke the protocol too often, last by this: {reason}")]
    Excluded {
        /// Who.
        client: u32,
        /// How it last broke the protocol.
        reason: String,
    },
    /// Client state is lost.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Everyone was asked, of a population without end.
    #[error("this method asks every client, but the population has no end: sample clients instead")]
    Unbounded,
    /// The problem lacks what the method needs.
    #[error("{0}")]
    Unsuited(String),
    /// The fleet is gone.
    #[error("the clients are gone: {0}")]
    Closed(String),
}
