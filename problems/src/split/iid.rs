//! Equal random shares for everyone.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng};
use serde::{Deserialize, Serialize};

use super::contiguous::blocks;
use super::{Deal, Partition, served, shuffled_rows};
use crate::dataset::Dataset;
use crate::error::ProblemError;

/// Equal shares of the shuffled examples, so that clients differ by chance only.
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
