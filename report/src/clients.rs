//! What each client gets out of each way of training.

use std::collections::{BTreeMap, BTreeSet};

use motet_core::larger_is_better;

use crate::compare::{Comparison, mean};
use crate::mixture::{Contest, Role, better, gain};

/// A metric of every client's personal model, for every group of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTable {
    /// Which metric.
    pub metric: String,
    /// The groups that measured it: own models first, then one for all, then mixtures, then the rest.
    pub columns: Vec<usize>,
    /// By problem and client: client 3 of another draw of the data is somebody else.
    pub lines: Vec<ClientLine>,
    /// Clients left out.
    pub omitted: usize,
}

/// One client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientLine {
    /// Which of the manifest's problems it belongs to.
    pub problem: usize,
    /// Which client.
    pub client: u32,
    /// What the source calls it, where it has a name.
    pub name: Option<String>,
    /// Its training examples.
    pub examples: u64,
    /// One per column: the mean over seeds; NaN where it was not measured.
    pub values: Vec<f64>,
}

/// How much a client gains by the mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Which of the manifest's problems it belongs to.
    pub problem: usize,
    /// Which client.
    pub client: u32,
    /// Over its own model, as a fraction; positive is better.
    pub over_local: Option<f64>,
    /// Over one model for all.
    pub over_global: Option<f64>,
}

/// More clients than this make a page slow and nobody wiser.
pub const MOST_CLIENTS: usize = 200;

impl ClientTable {
    /// None if no client has the metric.
    pub fn new(comparison: &Comparison<'_>, metric: &str) -> Option<Self> {
        let mut columns: Vec<usize> = vec![];
        let mut cells: BTreeMap<(usize, u32, usize), Vec<f64>> = BTreeMap::new();
        let mut examples: BTreeMap<(usize, u32), (u64, Option<&str>)> = BTreeMap::new();
        for (at, group) in comparison.groups.iter().enumerate() {
            let rows = group.runs.iter().flat_map(|run| run.clients.iter().map(|row| (run.card.problem, *row)));
            for (problem, row) in rows {
                let Some(&value) = row.metrics.get(metric) else { continue };
                cells.entry((problem, row.client, at)).or_default().push(value);
                examples.insert((problem, row.client), (row.examples, row.name.as_deref()));
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
        let line = |(&(problem, client), &(examples, name)): (&(usize, u32), &(u64, Option<&str>))| {
            let values = columns.iter().map(|&at| cells.get(&(problem, client, at)).map_or(f64::NAN, |v| mean(v))).collect();
            ClientLine { problem, client, name: name.map(str::to_owned), examples, values }
        };
        let lines: Vec<_> = examples.iter().take(MOST_CLIENTS).map(line).collect();
        let omitted = examples.len() - lines.len();
        (!lines.is_empty()).then(|| Self { metric: metric.to_owned(), columns, lines, omitted })
    }

    /// The gains of every client, by the contest's best mixture. Empty without a mixture or a rival.
    pub fn gains(&self, contest: &Contest) -> Vec<Gain> {
        let column = |way: Option<(usize, f64)>| way.and_then(|(group, _)| self.columns.iter().position(|&c| c == group));
        let Some(mixture) = column(contest.mixture) else { return vec![] };
        let (local, global) = (column(contest.local), column(contest.global));
        let over = |line: &ClientLine, rival: Option<usize>| {
            rival.map(|r| gain(&self.metric, line.values[mixture], line.values[r])).filter(|g| g.is_finite())
        };
        let gains = self.lines.iter().map(|line| Gain {
            problem: line.problem,
            client: line.client,
            over_local: over(line, local),
            over_global: over(line, global),
        });
        gains.filter(|g| g.over_local.is_some() || g.over_global.is_some()).collect()
    }
}

impl ClientLine {
    /// The columns with the best value; all that tie.
    pub fn best(&self, metric: &str) -> BTreeSet<usize> {
        let finite = || self.values.iter().copied().filter(|v| v.is_finite());
        let best = if larger_is_better(metric) { finite().reduce(f64::max) } else { finite().reduce(f64::min) };
        let Some(best) = best else { return BTreeSet::new() };
        (0..self.values.len()).filter(|&k| self.values[k].is_finite() && !better(metric, best, self.values[k])).collect()
    }
}
