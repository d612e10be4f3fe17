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
    /// Too few were there to be asked; the round is tried again when somebody has come or gone, however often.
    #[error("{there} of {asked} clients are there")]
    Away {
        /// How many are needed, with those who could be missing.
        asked: usize,
        /// How many are there.
        there: usize,
    },
    /// Whoever watches has asked for a stop while the clients were waited for.
    #[error("the run was stopped")]
    Interrupted,
    /// A reply holds NaN or infinity.
    #[error("client {client} sent a number that is not finite")]
    NotFinite {
        /// The client concerned.
        client: u32,
    },
    /// A message of ours does not survive the wire.
    #[error("a message to or from client {client} cannot be sent as bytes and read back: {reason}")]
    Protocol {
        /// The client concerned.
        client: u32,
        /// The reason, in words for people.
        reason: String,
    },
    /// A client that the method cannot do without is no longer asked.
    #[error("client {client} is needed but is no longer asked: {reason}")]
    Excluded {
        /// The client concerned.
        client: u32,
        /// How it last broke the protocol, or why it has gone for good.
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
    #[error("the clients can no longer be reached: {0}")]
    Closed(String),
}
