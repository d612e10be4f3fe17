//! To each its own.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use motet_core::Rng;

use super::{Partition, given};
use crate::dataset::{Dataset, Lot};
use crate::error::ProblemError;
use crate::keys::keys;

keys! {
    /// The source's own clients: writers, patients, hospitals.
    pub struct Natural {
        /// Take only the first so many; all unless told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub clients: Option<NonZeroU32>,
        /// Leave out clients with fewer examples; 1 unless told.
        #[serde(default = "one")]
        pub min: NonZeroU32,
    }
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Default for Natural {
    fn default() -> Self {
        Self { clients: None, min: one() }
    }
}

impl Natural {
    pub(super) fn deal(&self, data: &Dataset, _rng: &mut Rng) -> Result<Partition, ProblemError> {
        let keys = data.keys.as_ref().ok_or(ProblemError::NoKeys)?;
        let mut by_key: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for row in data.rows_for(Lot::Train) {
            by_key.entry(keys[row as usize]).or_default().push(row);
        }
        let least = self.min.get() as usize;
        let mut clients: Vec<(u32, Vec<u32>)> = by_key.into_iter().filter(|(_, rows)| rows.len() >= least).collect();
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
        let (keys, rows): (Vec<u32>, Vec<Vec<u32>>) = clients.into_iter().unzip();
        let (extras, strangers) = given::by_key(data, &keys);
        let strangers = strangers.into_values().filter(|rows| rows.len() >= least).collect();
        Ok(Partition { extras, strangers, ..Partition::new(rows, data.len()) })
    }
}
