//! Limits to the memory and time that others may cost.

use std::time::Duration;

use motet_core::ModelShape;

/// Sizes and times within which peers are served. Equal on both sides by default, and nobody depends on the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// An agent that is silent for this long counts as gone.
    pub lease: Duration,
    /// Asks and replies of at most so many bytes travel whole, in one message.
    pub whole: usize,
    /// The longest piece of a longer one, in bytes. It is never in memory as a whole at the coordinator.
    pub piece: usize,
    /// How many long replies are received at once.
    pub uploads: usize,
    /// A long reply that does not grow for this long makes room for others.
    pub stalled: Duration,
    /// After this many breaches of the protocol an agent is refused.
    pub strikes: u32,
    /// The longest ask that an agent takes, in bytes.
    pub longest_ask: u64,
    /// How many vectors a reply may hold at most.
    pub reply_vectors: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            whole: 48 << 10,
            piece: 4 << 20,
            uploads: 8,
            stalled: Duration::from_secs(10),
            strikes: 3,
            longest_ask: 16 << 30,
            reply_vectors: 16,
        }
    }
}

impl Limits {
    /// How many bytes a reply may have if models have this shape: room for its vectors with their rows, and for names and
    /// numbers beside them.
    pub fn longest_reply(&self, model: ModelShape) -> u64 {
        let vector = (model.dim as u64).saturating_mul(model.precision.bits() / 8 + 4).saturating_add(64);
        self.reply_vectors.saturating_mul(vector).saturating_add(64 << 10)
    }

    /// How many bytes a message may have that comes in one go: a short ask or reply, and the words around it.
    pub fn longest_message(&self) -> usize {
        self.whole.saturating_add(16 << 10)
    }

    /// The same of a message with a piece.
    pub fn longest_piece(&self) -> usize {
        self.piece.max(self.whole).saturating_add(16 << 10)
    }
}
