//! The merit ledger read: who helped whom, since when, and whom it hurt.

use std::collections::{BTreeMap, BTreeSet};

use motet_core::Merit;

use crate::Comparison;
use crate::mixture::{Role, better};

/// How much each client counted, for one target over the rounds of one run or for all targets at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct MeritMap {
    /// Which of the comparison's groups.
    pub group: usize,
    /// The seed of the run shown.
    pub seed: u64,
    /// Clients in the order shown: by group, then by number.
    pub clients: Vec<u32>,
    /// How many of them are in each group; one entry if there are no groups.
    pub sizes: Vec<usize>,
    /// What the columns are: rounds of the one target, or targets at the end.
    pub columns: Columns,
    /// By column, in the order of `clients`.
    pub weights: Vec<Vec<f64>>,
}

/// What a column of a [`MeritMap`] stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// A round; the weights are for this target.
    Rounds(u32, Vec<u64>),
    /// A target; the weights are those of the last round.
    Targets(Vec<u32>),
}

/// One helper of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Help {
    /// Who is helped.
    pub target: u32,
    /// Who helps: a client, or a group by its number.
    pub by: Helper,
    /// Its weight at the end.
    pub weight: f64,
    /// The first measured round from which on it had at least its equal share; none if it does not at the end.
    pub since: Option<u64>,
}

/// A client or a group of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Helper {
    /// One client.
    Client(u32),
    /// A group: its number and size.
    Group(usize, usize),
}

/// A target whose model is worse than what it has alone, in some seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Which client.
    pub client: u32,
    /// The mean over seeds of its metric alone.
    pub alone: f64,
    /// With the others.
    pub together: f64,
    /// In how many seeds together is worse than alone.
    pub worse: usize,
    /// Of how many.
    pub seeds: usize,
}

/// The records of the first run of a group that has any, and its seed.
fn first_run<'a>(comparison: &'a Comparison<'_>, group: usize) -> Option<(u64, usize, Vec<&'a Merit>)> {
    let group = &comparison.groups[group];
    let records = &comparison.folders[group.folder].1;
    group.runs.iter().find_map(|run| {
        let merits: Vec<&Merit> = records.merits.iter().filter(|merit| merit.run as usize == run.card.run).collect();
        (!merits.is_empty()).then_some((run.card.seed, run.card.problem, merits))
    })
}

/// More columns than this are finer than a screen.
const MOST_COLUMNS: usize = 120;

impl MeritMap {
    /// None for a group whose runs weigh nobody.
    pub fn new(comparison: &Comparison<'_>, group: usize) -> Option<Self> {
        let (seed, problem, merits) = first_run(comparison, group)?;
        let card = comparison.folders[comparison.groups[group].folder].1.manifest.problems.get(problem)?;
        let count = merits.iter().map(|m| m.weights.len()).max().unwrap_or(0).max(card.clients as usize);
        let clients: Vec<u32> = (0..count as u32).collect();
        let known: usize = card.groups.iter().map(|size| *size as usize).sum();
        let sizes = if known == count { card.groups.iter().map(|size| *size as usize).collect() } else { vec![count] };
        let targets: BTreeSet<u32> = merits.iter().map(|m| m.target).collect();
        let last = merits.iter().map(|m| m.round).max()?;
        let shown: Vec<&Merit> = match targets.len() {
            1 => thinned(&merits),
            _ => thinned(&merits.iter().copied().filter(|m| m.round == last).collect::<Vec<_>>()),
        };
        let columns = match targets.first() {
            Some(&target) if targets.len() == 1 => Columns::Rounds(target, shown.iter().map(|m| m.round).collect()),
            _ => Columns::Targets(shown.iter().map(|m| m.target).collect()),
        };
        let weights = shown.iter().map(|m| clients.iter().map(|&k| weight(m, k)).collect()).collect();
        Some(Self { group, seed, clients, sizes, columns, weights })
    }

    /// The heaviest helpers of each target, and every group; `most` clients per target.
    pub fn helps(&self, comparison: &Comparison<'_>, most: usize) -> Vec<Help> {
        let Some((_, _, merits)) = first_run(comparison, self.group) else { return vec![] };
        let mut by_target: BTreeMap<u32, Vec<&Merit>> = BTreeMap::new();
        merits.into_iter().for_each(|merit| by_target.entry(merit.target).or_default().push(merit));
        let (mut helps, n) = (vec![], self.clients.len().max(1) as f64);
        for (target, mut merits) in by_target {
            merits.sort_by_key(|merit| merit.round);
            let help = |by: Helper, share: f64, of: &dyn Fn(&Merit) -> f64| {
                let since = merits.iter().rev().take_while(|m| of(m) >= share * (1.0 - 1e-6)).last().map(|m| m.round);
                Help { target, by, weight: merits.last().map_or(0.0, |m| of(m)), since }
            };
            let mut from = 0;
            for (group, &size) in self.sizes.iter().enumerate().filter(|_| self.sizes.len() > 1) {
                let members = from..from + size;
                let total = |m: &Merit| members.clone().map(|k| weight(m, k as u32)).sum();
                helps.push(help(Helper::Group(group, size), size as f64 / n, &total));
                from += size;
            }
            let mut clients: Vec<Help> =
                self.clients.iter().map(|&k| help(Helper::Client(k), 1.0 / n, &|m: &Merit| weight(m, k))).collect();
            clients.sort_by(|a, b| b.weight.total_cmp(&a.weight));
            helps.extend(clients.into_iter().take(most).filter(|help| help.weight >= 1.0 / n));
        }
        helps
    }
}

/// Evenly chosen, the first and the last among them.
fn thinned<'a>(merits: &[&'a Merit]) -> Vec<&'a Merit> {
    let n = merits.len();
    if n <= MOST_COLUMNS {
        return merits.to_vec();
    }
    (0..MOST_COLUMNS).map(|k| merits[k * (n - 1) / (MOST_COLUMNS - 1)]).collect()
}

fn weight(merit: &Merit, client: u32) -> f64 {
    if (client as usize) < merit.weights.len() { merit.weights.at(client as usize) } else { 0.0 }
}

/// Every target of a group's runs against its model in the run of `local` on the same problem with the same seed.
/// Empty where nobody trained alone.
pub fn transfers(comparison: &Comparison<'_>, group: usize, metric: &str) -> Vec<Transfer> {
    let ours = &comparison.groups[group];
    let records = &comparison.folders[ours.folder].1;
    let alone = |seed: u64, problem: usize, client: u32| {
        let local = comparison.groups.iter().filter(|g| g.folder == ours.folder && g.role() == Some(Role::Local)).flat_map(|g| &g.runs);
        let run = local.into_iter().find(|run| run.card.seed == seed && run.card.problem == problem)?;
        run.clients.iter().find(|row| row.client == client)?.metrics.get(metric).copied()
    };
    let mut cells: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for run in &ours.runs {
        let targets: BTreeSet<u32> = records.merits.iter().filter(|m| m.run as usize == run.card.run).map(|m| m.target).collect();
        for row in run.clients.iter().filter(|row| targets.contains(&row.client)) {
            let with = row.metrics.get(metric).copied();
            if let (Some(with), Some(without)) = (with, alone(run.card.seed, run.card.problem, row.client)) {
                cells.entry(row.client).or_default().push((without, with));
            }
        }
    }
    let mean = |values: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| values.iter().map(pick).sum::<f64>() / values.len() as f64;
    let transfer = |(client, values): (u32, Vec<(f64, f64)>)| Transfer {
        client,
        alone: mean(&values, |v| v.0),
        together: mean(&values, |v| v.1),
        worse: values.iter().filter(|(alone, together)| better(metric, *alone, *together) || !together.is_finite()).count(),
        seeds: values.len(),
    };
    cells.into_iter().map(transfer).collect()
}
