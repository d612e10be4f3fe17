//! Where client state is kept between two asks.

use crate::algorithm::ClientId;

/// Keeps each client's state while the client is not working.
///
/// `take` moves the state out: at any time it is in exactly one place.
pub trait Store<S>: Send + Sync {
    /// Moves a client's state out; `None` if it never had one.
    fn take(&self, client: ClientId) -> Result<Option<S>, StoreError>;
    /// Moves a client's state in.
    fn put(&self, client: ClientId, state: S) -> Result<(), StoreError>;
    /// A look: probes never write or create state.
    fn read(&self, client: ClientId) -> Result<Option<S>, StoreError>;
    /// These are about to be asked for, in this order.
    fn expect(&self, _clients: &[ClientId]) {}
}

/// A client's state, or its data, could not be fetched or kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("state of client {client}: {reason}")]
pub struct StoreError {
    /// The client concerned.
    pub client: u32,
    /// The reason, in words for people.
    pub reason: String,
}

impl StoreError {
    /// Somebody asks for a client that there is not.
    pub fn unknown(client: ClientId) -> Self {
        Self { client: client.0, reason: "there is no such client".into() }
    }
}
