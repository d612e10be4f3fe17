//! A few large clients, many small ones.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, NonNegative, Rng};
use serde::{Deserialize, Serialize};

use super::{Deal, Partition, served, shuffled_rows};
use crate::dataset::Dataset;
use crate::error::ProblemError;

/// Shuffled examples in shares that fall as a power: client i has about (i+1)^-exponent of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct PowerLaw {
    /// How many clients.
    pub clients: NonZeroU32,
    /// 0 is equal shares, 1 is Zipf's law.
    pub exponent: NonNegative,
    /// Examples each client has at least (default 1).
    #[serde(default = "one")]
    pub min: NonZeroU32,
}

impl Kind for PowerLaw {
    const NAME: &'static str = "power-law";
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Deal for PowerLaw {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let clients = served(self.clients.get(), self.min.get(), data)?;
        let mut rows = shuffled_rows(data, rng);
        let sizes = power_law_sizes(rows.len(), clients, *self.exponent, self.min.get() as usize);
        let hands = sizes.into_iter().map(|size| rows.split_off(rows.len() - size)).collect();
        Ok(Partition::new(hands, data.len()))
    }
}

/// Sizes that add up to `rows`: `least` for each, the rest in shares ∝ (i+1)^−exponent.
pub(crate) fn power_law_sizes(rows: usize, clients: usize, exponent: f64, least: usize) -> Vec<usize> {
    let weights: Vec<f64> = (0..clients).map(|i| (i as f64 + 1.0).powf(-exponent)).collect();
    let (total, spare) = (weights.iter().sum::<f64>(), rows - clients * least);
    let (mut reached, mut dealt) = (0.0, 0);
    let mut sizes = Vec::with_capacity(clients);
    for (k, weight) in weights.iter().enumerate() {
        reached += weight;
        // Rounding the running sum, not the shares, makes the sizes add up.
        let end = if k + 1 == clients { spare } else { ((spare as f64 * reached / total).round() as usize).clamp(dealt, spare) };
        sizes.push(least + end - dealt);
        dealt = end;
    }
    sizes
}
