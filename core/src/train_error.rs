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
        /// Which.
        round: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What had been reached could not be kept.
    #[error("cannot keep what was reached after round {round}")]
    Keep {
        /// Which.
        round: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A client's state could not be fetched or kept; the round did not happen.
    #[error("round {round} could not be finished")]
    Store {
        /// Which.
        round: u64,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// The clients could not be told that a round is over.
    #[error("round {round} could not be closed")]
    Settle {
        /// Which.
        round: u64,
        /// Why.
        #[source]
        source: Abort,
    },
    /// The clients could not be measured.
    #[error("cannot measure after round {round}")]
    Probe {
        /// Which.
        round: u64,
        /// Why.
        #[source]
        source: Abort,
    },
}
