//! Why a run ends without an outcome.

use std::io;

use crate::abort::Abort;
use crate::store::StoreError;

/// The loop itself could not go on; everything already handed to the sink is safe.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A row could not be kept.
    #[error("cannot write the row of round {round}")]
    Sink {
        /// The round in which it happened.
        round: u64,
        /// The error underneath.
        #[source]
        source: io::Error,
    },
    /// What had been reached could not be kept.
    #[error("cannot write a checkpoint after round {round}")]
    Keep {
        /// The round in which it happened.
        round: u64,
        /// The error underneath.
        #[source]
        source: io::Error,
    },
    /// A client's state could not be fetched or kept; the round did not happen.
    #[error("round {round} could not be finished")]
    Store {
        /// The round in which it happened.
        round: u64,
        /// The error underneath.
        #[source]
        source: StoreError,
    },
    /// The clients could not be told that a round is over.
    #[error("round {round} could not be closed")]
    Settle {
        /// The round in which it happened.
        round: u64,
        /// The error underneath.
        #[source]
        source: Abort,
    },
    /// The clients could not be measured.
    #[error("cannot measure after round {round}")]
    Probe {
        /// The round in which it happened.
        round: u64,
        /// The error underneath.
        #[source]
        source: Abort,
    },
}
