//! Everyone alike.

use std::num::NonZeroU32;

use motet_core::Rng;

use super::contiguous::blocks;
use super::{Partition, served, shuffled_rows};
use crate::dataset::Dataset;
use crate::error::ProblemError;
use crate::keys::keys;

keys! {
    /// Equal shares of the shuffled examples: clients do not differ but by chance.
    pub struct Iid {
        /// How many clients.
        pub clients: NonZeroU32,
    }
}

impl Iid {
    pub(super) fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let clients = served(self.clients.get(), 1, data)?;
        Ok(Partition::new(blocks(&shuffled_rows(data, rng), clients), data.len()))
    }
}
