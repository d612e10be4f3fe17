//! Groups of clients with different mixtures of labels.
//!
//! As in the image experiment of MeritFed (Tupitsa et al., 2024): a target with classes 0, 1, 2; a group
//! with a part of those and the rest 3, 4, 5; a group with 6, 7, 8 only:
//!
//! ```toml
//! split = { kind = "label-mixtures", per_client = 750, groups = [
//!     { clients = 1,  mix = [{ labels = [0, 1, 2], share = 1.0 }] },
//!     { clients = 10, mix = [{ labels = [0, 1, 2], share = 0.9 }, { labels = [3, 4, 5], share = 0.1 }] },
//!     { clients = 9,  mix = [{ labels = [6, 7, 8], share = 1.0 }] },
//! ] }
//! ```
//!
//! Examples that no group wants are left out. Where the source gives rows for test, a group may take some of each of its
//! labels to choose on, and the rest to be judged on: `validation = 300, test = "rest"`; with the latter go the rows that the source gives
//! for validation. If no group does, all of these are dealt in proportion to what clients train on. `proportional = true` in a
//! part takes its labels as often as the source has them, instead of equally often.

use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Probability, Rng};
use serde::{Deserialize, Serialize};

use super::{Deal, Extra, Partition, rows_by_class};
use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;

/// Groups of clients, each with its own mixture of labels; what no group wants is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct LabelMixtures {
    /// Each { clients, mix = [{ labels, share, proportional }, ...], validation, test }; the shares of a group add up to 1.
    pub groups: Vec<MixtureGroup>,
    /// Examples per client (default: as many as the scarcest label allows).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_client: Option<NonZeroU32>,
}

impl Kind for LabelMixtures {
    const NAME: &'static str = "label-mixtures";
}

/// Clients that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixtureGroup {
    /// How many clients there are.
    pub clients: NonZeroU32,
    /// What they have.
    pub mix: Vec<MixturePart>,
    /// How many test rows of each of their labels are taken as validation rows instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<NonZeroU32>,
    /// The others of these labels are theirs to be judged on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Rest>,
}

/// What is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rest {
    /// `"rest"`
    #[serde(rename = "rest")]
    Rest,
}

/// A part of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixturePart {
    /// Classes, in equal numbers.
    pub labels: Vec<u32>,
    /// Of a client's examples.
    pub share: Probability,
    /// In the proportions that the source has them, instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proportional: bool,
}

impl Deal for LabelMixtures {
    fn deal(&self, data: &Dataset, rng: &mut Rng) -> Result<Partition, ProblemError> {
        let mut pools = rows_by_class(data, rng, "label-mixtures")?;
        self.check(pools.len())?;
        let supply: Vec<usize> = pools.iter().map(Vec::len).collect();
        let size = match self.per_client {
            Some(size) => size.get() as usize,
            None => self.largest(&supply),
        };
        if let Some((label, wanted)) = self.short(size, &supply) {
            let wanted = format!("label {label} would be needed {wanted} times and is there {} times", supply[label]);
            return Err(ProblemError::Value { key: "split.per_client", value: size.to_string(), wanted });
        }
        let mut clients = Vec::new();
        for group in &self.groups {
            let needs = needs(group, size, &supply);
            for _ in 0..group.clients.get() {
                let take = |(pool, &count): (&mut Vec<u32>, &usize)| pool.split_off(pool.len() - count);
                clients.push(pools.iter_mut().zip(&needs).flat_map(take).collect());
            }
        }
        Ok(Partition { extras: self.extras(data, rng)?, ..Partition::new(clients, data.len()) })
    }
}

impl LabelMixtures {
    /// What groups take of the rows that the source gives for test; nothing if no group says so.
    fn extras(&self, data: &Dataset, rng: &mut Rng) -> Result<Vec<Extra>, ProblemError> {
        let asks = |group: &MixtureGroup| group.validation.is_some() || group.test.is_some();
        let Targets::Classes { labels, classes } = &data.targets else { return Ok(Vec::new()) };
        if !self.groups.iter().any(asks) {
            return Ok(Vec::new());
        }
        let mut pools = vec![Vec::new(); *classes as usize];
        data.rows_for(Usage::Test).into_iter().for_each(|row| pools[labels[row as usize] as usize].push(row));
        pools.iter_mut().for_each(|pool| rng.shuffle(pool));
        let mut chosen_on = vec![Vec::new(); *classes as usize];
        data.rows_for(Usage::Validation).into_iter().for_each(|row| chosen_on[labels[row as usize] as usize].push(row));
        let mut extras = Vec::new();
        for group in &self.groups {
            let mut own: Vec<u32> = group.mix.iter().flat_map(|part| &part.labels).copied().collect();
            own.sort_unstable();
            own.dedup();
            let (mut takers, clients) = (vec![Extra::default(); group.clients.get() as usize], group.clients.get() as usize);
            for label in own.into_iter().filter(|_| asks(group)) {
                let (pool, each) = (&mut pools[label as usize], group.validation.map_or(0, |each| each.get() as usize));
                if each * clients > pool.len() || (group.test.is_some() && each * clients == pool.len()) {
                    let wanted = format!("of label {label} the source gives {} for test, and {clients} client(s) share them", pool.len());
                    return Err(ProblemError::Value { key: "split.groups.validation", value: each.to_string(), wanted });
                }
                takers.iter_mut().for_each(|taker| taker.validation.extend(pool.drain(..each)));
                if group.test.is_some() {
                    for (k, row) in pool.drain(..).enumerate() {
                        takers[k % clients].test.push(row);
                    }
                    for (k, row) in chosen_on[label as usize].drain(..).enumerate() {
                        takers[k % clients].validation.push(row);
                    }
                }
            }
            extras.append(&mut takers);
        }
        Ok(extras)
    }

    fn check(&self, classes: usize) -> Result<(), ProblemError> {
        let wrong = |value: String, wanted: &str| Err(ProblemError::Value { key: "split.groups", value, wanted: wanted.into() });
        if self.groups.is_empty() {
            return wrong("[]".into(), "at least one group is needed");
        }
        for (number, group) in self.groups.iter().enumerate() {
            let sum: f64 = group.mix.iter().map(|part| *part.share).sum();
            if (sum - 1.0).abs() > 1e-9 {
                return wrong(format!("shares of group {number} add up to {sum}"), "they must add up to 1");
            }
            for part in &group.mix {
                if part.labels.is_empty() {
                    return wrong(format!("a part of group {number} has no labels"), "name at least one");
                }
                if let Some(label) = part.labels.iter().find(|&&label| label as usize >= classes) {
                    return wrong(format!("label {label} of group {number}"), &format!("classes are numbered 0 to {}", classes - 1));
                }
            }
        }
        Ok(())
    }

    /// A label of which clients of this size would need more than there is, and how much.
    fn short(&self, size: usize, supply: &[usize]) -> Option<(usize, usize)> {
        let mut total = vec![0usize; supply.len()];
        for group in &self.groups {
            let clients = group.clients.get() as usize;
            total.iter_mut().zip(needs(group, size, supply)).for_each(|(total, need)| *total += clients.saturating_mul(need));
        }
        (0..supply.len()).find(|&label| total[label] > supply[label]).map(|label| (label, total[label]))
    }

    /// The largest size for which there is enough of every label; 1 at least, so that `short` can say why not.
    fn largest(&self, supply: &[usize]) -> usize {
        let (mut enough, mut too_much) = (1, supply.iter().sum::<usize>() + 1);
        while too_much - enough > 1 {
            let middle = enough.midpoint(too_much);
            if self.short(middle, supply).is_none() { enough = middle } else { too_much = middle }
        }
        enough
    }
}

/// How many of each label a client of the group has. Parts and labels round as `array_split` does, so
/// that the sum is `size`.
fn needs(group: &MixtureGroup, size: usize, supply: &[usize]) -> Vec<usize> {
    let mut needs = vec![0; supply.len()];
    let (mut share, mut dealt) = (0.0, 0);
    for (k, part) in group.mix.iter().enumerate() {
        share += *part.share;
        let end = if k + 1 == group.mix.len() { size } else { ((share * size as f64).round() as usize).clamp(dealt, size) };
        let (count, labels) = (end - dealt, part.labels.len());
        let all: usize = part.labels.iter().map(|&label| supply[label as usize]).sum();
        let (mut reached, mut given) = (0, 0);
        for (j, &label) in part.labels.iter().enumerate() {
            needs[label as usize] += if part.proportional && all > 0 {
                reached += supply[label as usize];
                let upto = (count * reached + all / 2) / all;
                upto - std::mem::replace(&mut given, upto)
            } else {
                count / labels + usize::from(j < count % labels)
            };
        }
        dealt = end;
    }
    needs
}
