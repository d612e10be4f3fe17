//! Sorted by label, cut into shards, dealt at random.
//!
//! McMahan, Moore, Ramage, Hampson, Agüera y Arcas. *Communication-Efficient Learning of Deep Networks
//! from Decentralized Data*. AISTATS 2017.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng};
use serde::{Deserialize, Serialize};

use super::contiguous::blocks;
use super::{Deal, Partition, served, shuffled_rows};
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;

/// Examples sorted by label, cut into equal shards, a few shards per client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct LabelShards {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Shards per client: about as many labels as it sees (default 2).
    #[serde(default = "two")]
    pub shards: NonZeroU32,
}

impl Kind for LabelShards {
    const NAME: &'static str = "label-shards";
}

fn two() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(1)
}

impl Deal for LabelShards {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let clients = served(self.clients.get(), self.shards.get(), data)?;
        let mut rows = shuffled_rows(data, rng);
        // Stable: within a label the order of the dice remains.
        match &data.targets {
            Targets::Classes { labels, .. } => rows.sort_by_key(|&row| labels[row as usize]),
            Targets::Numbers(numbers) => rows.sort_by(|&a, &b| numbers[a as usize].total_cmp(&numbers[b as usize])),
            Targets::Tags { starts, tags, .. } => rows.sort_by_key(|&row| tags[starts[row as usize]..].first()),
        }
        let mut shards = blocks(&rows, clients * self.shards.get() as usize);
        rng.shuffle(&mut shards);
        let hands = blocks(&shards, clients).into_iter().map(|hand| hand.concat()).collect();
        Ok(Partition::new(hands, data.len()))
    }
}
