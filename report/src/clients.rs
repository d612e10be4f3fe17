//! What each client gets out of each method.

use std::collections::BTreeMap;

use crate::compare::{Comparison, mean};
use crate::evidence::client_name;
use crate::mixture::Role;

/// A metric of every client's personal model, for every group of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTable {
    /// Which metric.
    pub metric: String,
    /// The groups that measured it: own models first, then one for all, then mixtures, then the rest.
    pub columns: Vec<usize>,
    /// By client. Where every draw of the data has clients of its own, client 3 of another draw is somebody else.
    pub lines: Vec<ClientLine>,
    /// Clients left out.
    pub omitted: usize,
}

/// One client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientLine {
    /// Which of the manifest's problems it belongs to; the first of several with the same clients.
    pub problem: usize,
    /// Which client.
    pub client: u32,
    /// What it is called.
    pub name: String,
    /// Its training examples.
    pub examples: u64,
    /// One per column: the mean over seeds; NaN where it was not measured.
    pub values: Vec<f64>,
}

/// The most clients that a page shows: more would make it slow without telling more.
pub const MOST_CLIENTS: usize = 200;

impl ClientTable {
    /// None if no client has the metric.
    pub fn new(comparison: &Comparison<'_>, metric: &str) -> Option<Self> {
        let mut columns: Vec<usize> = vec![];
        let mut cells: BTreeMap<(usize, u32, usize), Vec<f64>> = BTreeMap::new();
        let mut examples: BTreeMap<(usize, u32), (u64, String)> = BTreeMap::new();
        for (at, group) in comparison.groups.iter().enumerate() {
            let home = |problem: usize| first_of_its_people(comparison, group.folder, problem);
            let rows = group.runs.iter().flat_map(|run| run.clients.iter().map(move |row| (home(run.card.problem), *row)));
            for (problem, row) in rows {
                let Some(&value) = row.metrics.get(metric) else { continue };
                cells.entry((problem, row.client, at)).or_default().push(value);
                examples.insert((problem, row.client), (row.examples, client_name(row)));
                if columns.last() != Some(&at) {
                    columns.push(at);
                }
            }
        }
        columns.sort_by_key(|&at| match comparison.groups[at].role() {
            Some(Role::Local) => 0,
            Some(Role::Global) => 1,
            Some(Role::Mixture) => 2,
            None => 3,
        });
        let line = |(&(problem, client), (examples, name)): (&(usize, u32), &(u64, String))| {
            let values = columns.iter().map(|&at| cells.get(&(problem, client, at)).map_or(f64::NAN, |v| mean(v))).collect();
            ClientLine { problem, client, name: name.clone(), examples: *examples, values }
        };
        let lines: Vec<_> = examples.iter().take(MOST_CLIENTS).map(line).collect();
        let omitted = examples.len() - lines.len();
        (!lines.is_empty()).then(|| Self { metric: metric.to_owned(), columns, lines, omitted })
    }
}

/// The first problem with the same clients.
fn first_of_its_people(comparison: &Comparison<'_>, folder: usize, problem: usize) -> usize {
    let cards = &comparison.folders[folder].1.manifest.problems;
    let people = |at: usize| cards.get(at).map(|card| (card.people.as_str(), card.clients));
    (0..problem).find(|&at| people(at).is_some() && people(at) == people(problem)).unwrap_or(problem)
}
