//! `[run] checkpoint` and `[run] store`: what is kept, and where.

use std::num::NonZeroU64;

use motet_core::Positive;
pub use motet_files::free_memory;
use serde::{Deserialize, Serialize};

use super::size::Size;

/// `checkpoint = { rounds = 100, seconds = 60 }`: whichever comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckpointSection {
    /// A checkpoint after every this many rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<NonZeroU64>,
    /// A checkpoint after this many seconds (default: 30, if rounds are not given).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Positive>,
}

/// What may be lost by a kill where nothing is said.
const SECONDS: f64 = 30.0;

impl CheckpointSection {
    /// Seconds between two checkpoints, if time counts.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds.map(|s| *s).or(self.rounds.is_none().then_some(SECONDS))
    }
}

/// `store = { kind = "disk", memory = "2 GB" }`: where client states and local solves sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum StoreSection {
    /// In memory, and on disk what does not fit into half of what is free. Ranks of one machine share that half.
    #[default]
    Auto,
    /// In memory, whatever it takes.
    Memory,
    /// On disk, with a limit to what stays in memory.
    Disk {
        /// The limit; each rank of a cluster has one of its own.
        #[serde(default = "two_gigabytes")]
        memory: Size,
    },
}

fn two_gigabytes() -> Size {
    Size(2_000_000_000)
}

impl StoreSection {
    /// Bytes that may stay in memory.
    pub fn limit(self) -> u64 {
        match self {
            StoreSection::Auto => free_memory().map_or(two_gigabytes().0, |free| free / 2),
            StoreSection::Memory => u64::MAX,
            StoreSection::Disk { memory } => memory.0,
        }
    }

    /// The same for each of so many ranks on one machine: what is free is for all of them, and what somebody gave is for each.
    pub fn limit_of_each(self, ranks: usize) -> u64 {
        match self {
            StoreSection::Auto => self.limit() / ranks.max(1) as u64,
            StoreSection::Memory | StoreSection::Disk { .. } => self.limit(),
        }
    }
}
