//! Each client keeps the examples that the source says are its own.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use motet_core::{Documented, Kind, Rng};
use serde::{Deserialize, Serialize};

use super::{Deal, Partition, given};
use crate::dataset::{Dataset, Usage};
use crate::error::ProblemError;

/// The source's own clients: writers, patients, hospitals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Natural {
    /// Take only this many clients, the first ones (default all).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<NonZeroU32>,
    /// Leave out clients with fewer examples (default 1).
    #[serde(default = "one")]
    pub min: NonZeroU32,
    /// Take only this many examples of each client, the first ones (default all).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<NonZeroU32>,
}

impl Kind for Natural {
    const NAME: &'static str = "natural";
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Default for Natural {
    fn default() -> Self {
        Self { clients: None, min: one(), most: None }
    }
}

impl Natural {
    /// How many of a source's clients there are, if all have examples.
    pub(crate) fn count(&self, there: u32) -> Result<u32, ProblemError> {
        match self.clients.map(NonZeroU32::get) {
            Some(value) if value > there => {
                let wanted = format!("the source has {there} client(s)");
                Err(ProblemError::Value { key: "split.clients", value: value.to_string(), wanted })
            }
            wanted => Ok(wanted.unwrap_or(there)),
        }
    }
}

impl Deal for Natural {
    fn deal(&self, data: &Dataset, _rng: &mut Rng) -> Result<Partition, ProblemError> {
        let least = self.min.get() as usize;
        let mut clients = rows_by_key(data, "natural")?;
        clients.retain(|(_, rows)| rows.len() >= least);
        let there = clients.len();
        let short = |key, value: u32| {
            let wanted = format!("the source has {there} client(s) with at least {} example(s)", self.min);
            Err(ProblemError::Value { key, value: value.to_string(), wanted })
        };
        match self.clients.map(NonZeroU32::get) {
            Some(wanted) if wanted as usize > there => return short("split.clients", wanted),
            Some(wanted) => clients.truncate(wanted as usize),
            None if there == 0 => return short("split.min", self.min.get()),
            None => {}
        }
        let (keys, mut rows): (Vec<u32>, Vec<Vec<u32>>) = clients.into_iter().unzip();
        if let Some(most) = self.most {
            rows.iter_mut().for_each(|rows| rows.truncate(most.get() as usize));
        }
        let (extras, strangers) = given::by_key(data, &keys);
        let strangers = strangers.into_values().filter(|rows| rows.len() >= least).collect();
        Ok(Partition { extras, strangers, ..Partition::new(rows, data.len()) })
    }
}

/// The rows for training of each natural client, by key.
pub(super) fn rows_by_key(data: &Dataset, split: &'static str) -> Result<Vec<(u32, Vec<u32>)>, ProblemError> {
    let keys = data.keys.as_ref().ok_or(ProblemError::NoKeys { split })?;
    let mut by_key: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for row in data.rows_for(Usage::Train) {
        by_key.entry(keys[row as usize]).or_default().push(row);
    }
    Ok(by_key.into_iter().collect())
}
