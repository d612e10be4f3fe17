//! Equal blocks of neighbouring examples.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng};
use serde::{Deserialize, Serialize};

use super::{Deal, Partition, all_rows, served, shuffled_rows};
use crate::dataset::Dataset;
use crate::error::ProblemError;

/// Equal blocks in the source's order; the first blocks have one more if the examples cannot be divided evenly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Contiguous {
    /// How many clients.
    pub clients: NonZeroU32,
    /// Shuffle the rows first, for files whose classes are clustered (default false).
    #[serde(default)]
    pub shuffle: bool,
}

impl Kind for Contiguous {
    const NAME: &'static str = "contiguous";
}

impl Deal for Contiguous {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let clients = served(self.clients.get(), 1, data)?;
        let rows = if self.shuffle { shuffled_rows(data, rng) } else { all_rows(data) };
        Ok(Partition::new(blocks(&rows, clients), data.len()))
    }
}

/// Numpy's `array_split`: `len mod count` blocks are one longer than the rest and come first.
pub(super) fn blocks<T: Clone>(items: &[T], count: usize) -> Vec<Vec<T>> {
    let (least, longer) = (items.len() / count, items.len() % count);
    let mut rest = items;
    (0..count)
        .map(|k| {
            let (block, after) = rest.split_at(least + usize::from(k < longer));
            rest = after;
            block.to_vec()
        })
        .collect()
}
