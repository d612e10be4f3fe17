//! Everyone alike.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng};
use serde::{Deserialize, Serialize};

use super::contiguous::blocks;
use super::{Deal, Partition, served, shuffled_rows};
use crate::dataset::Dataset;
use crate::error::ProblemError;

/// Equal shares of the shuffled examples: clients do not differ but by chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Iid {
    /// How many clients.
    pub clients: NonZeroU32,
}

impl Kind for Iid {
    const NAME: &'static str = "iid";
}

impl Deal for Iid {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let clients = served(self.clients.get(), 1, data)?;
        Ok(Partition::new(blocks(&shuffled_rows(data, rng), clients), data.len()))
    }
}
