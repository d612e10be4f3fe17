//! Rows that the source gives for validation and test: who is judged on which.

use std::collections::BTreeMap;

use motet_core::Rng;

use super::Partition;
use crate::dataset::{Dataset, Targets, Usage};

/// What a client has besides the rows it was dealt for training.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// To choose on.
    pub validation: Vec<u32>,
    /// To be judged on.
    pub test: Vec<u32>,
}

impl Extra {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.validation.len() + self.test.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn usage(&mut self, lot: Usage) -> &mut Vec<u32> {
        if lot == Usage::Validation { &mut self.validation } else { &mut self.test }
    }
}

/// To each natural client its own; the given rows of clients who have none to train on, by key.
pub(super) fn by_key(data: &Dataset, clients: &[u32]) -> (Vec<Extra>, BTreeMap<u32, Vec<u32>>) {
    let (mut extras, mut strangers) = (vec![Extra::default(); clients.len()], BTreeMap::<u32, Vec<u32>>::new());
    let (Some(keys), Some(usages)) = (&data.keys, &data.usages) else { return (extras, strangers) };
    let place: BTreeMap<u32, usize> = clients.iter().enumerate().map(|(place, &key)| (key, place)).collect();
    let trained: std::collections::BTreeSet<u32> =
        keys.iter().zip(usages).filter(|(_, lot)| **lot == Usage::Train).map(|(key, _)| *key).collect();
    for (row, (&key, &lot)) in keys.iter().zip(usages).enumerate().filter(|(_, (_, lot))| **lot != Usage::Train) {
        match place.get(&key) {
            Some(&place) => extras[place].usage(lot).push(row as u32),
            // A client that was left out on purpose is no stranger.
            None if trained.contains(&key) => {}
            None => strangers.entry(key).or_default().push(row as u32),
        }
    }
    (extras, strangers)
}

/// Deals the given rows so that each client is judged on the classes it trains on, in the same proportions; by size where
/// targets are not classes.
pub(crate) fn in_proportion(data: &Dataset, partition: &Partition, rng: &mut Rng) -> Vec<Extra> {
    let mut extras = vec![Extra::default(); partition.clients.len()];
    let (classes, class_of): (usize, Box<dyn Fn(u32) -> usize>) = match &data.targets {
        Targets::Classes { labels, classes } => (*classes as usize, Box::new(|row| labels[row as usize] as usize)),
        _ => (1, Box::new(|_| 0)),
    };
    let mut demand = vec![vec![0usize; partition.clients.len()]; classes];
    for (client, rows) in partition.clients.iter().enumerate() {
        rows.iter().for_each(|&row| demand[class_of(row)][client] += 1);
    }
    for lot in [Usage::Validation, Usage::Test] {
        let mut by_class = vec![Vec::new(); classes];
        data.rows_for(lot).into_iter().for_each(|row| by_class[class_of(row)].push(row));
        for (mut rows, demand) in by_class.into_iter().zip(&demand) {
            let total: usize = demand.iter().sum();
            if total == 0 || rows.is_empty() {
                continue;
            }
            rng.shuffle(&mut rows);
            let (mut reached, mut dealt) = (0, 0);
            for (extra, count) in extras.iter_mut().zip(demand) {
                reached += count;
                let end = (rows.len() * reached + total / 2) / total;
                extra.usage(lot).extend_from_slice(&rows[dealt..end]);
                dealt = end;
            }
        }
    }
    extras.iter_mut().for_each(|extra| {
        extra.validation.sort_unstable();
        extra.test.sort_unstable();
    });
    extras
}
