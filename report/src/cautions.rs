//! What a reader should know before trusting the results: seeds that repeat each other, best values at the edge of their grid.

use std::collections::BTreeMap;

use motet_core::larger_is_better;
use motet_records::{Records, Tuning};
use serde_json::{Map, Value};

use crate::compare::{Comparison, mean};
use crate::group::Group;
use crate::number;

/// A grid of fewer values has nothing but edges.
const LEAST_VALUES: usize = 3;

/// Parameters that end at 0 and at 1: there is nothing beyond.
const SHARES: [&str; 4] = ["alpha", "p", "q", "momentum"];

/// In whole sentences, for page, terminal and `summary.json`.
pub fn cautions(records: &[(String, Records)]) -> Vec<String> {
    of(&Comparison::new(records))
}

pub(crate) fn of(comparison: &Comparison<'_>) -> Vec<String> {
    let tunings = comparison.folders.iter().filter_map(|(_, records)| records.summary.as_ref()).flat_map(|summary| &summary.tuning);
    let mut all: Vec<String> = repeated(comparison).into_iter().collect();
    all.extend(grid_edges(comparison));
    all.extend(tunings.flat_map(tuned_edges));
    all.dedup();
    all
}

/// Seeds that change nothing.
fn repeated(comparison: &Comparison<'_>) -> Option<String> {
    let same = |group: &&Group<'_>| {
        let mut runs = group.runs.iter().map(|run| Some((run.summary?, run.card.problem)));
        let Some(Some((first, problem))) = runs.next() else { return false };
        let equal = |other: Option<(&motet_records::RunSummary, usize)>| {
            other.is_some_and(|(run, on)| on == problem && run.digest == first.digest && run.last == first.last)
        };
        group.runs.len() > 1 && !first.digest.is_empty() && runs.all(equal)
    };
    let groups: Vec<&Group<'_>> = comparison.groups.iter().filter(same).collect();
    let seeds: Vec<String> = groups.first()?.runs.iter().map(|run| run.card.seed.to_string()).collect();
    let which = if groups.len() == comparison.groups.len() { "every method".to_owned() } else { names(&groups) };
    Some(format!("Seeds {} give identical runs of {which}: nothing in them depends on the seed, so they count as one.", seeds.join(", ")))
}

fn names(groups: &[&Group<'_>]) -> String {
    let labels: Vec<&str> = groups.iter().map(|group| group.label.as_str()).collect();
    match labels.len() {
        0..=3 => labels.join(", "),
        more => format!("{} and {} more", labels[..3].join(", "), more - 3),
    }
}

/// Of runs that differ by one number, the best has the least or the largest that was tried.
fn grid_edges(comparison: &Comparison<'_>) -> Vec<String> {
    let mut families: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut order: Vec<(String, String, String, &'static str)> = vec![];
    for group in &comparison.groups {
        let Some(run) = group.runs.first() else { continue };
        let Some((by, worth)) = worth(group) else { continue };
        for (name, value) in numbers(&run.card.params) {
            let mut others = run.card.params.clone();
            others.remove(&name);
            let key = format!("{} {} {} {name} {}", group.folder, run.card.method, run.card.problem, Value::Object(others));
            if !families.contains_key(&key) {
                order.push((key.clone(), run.card.method.clone(), name.clone(), by));
            }
            families.entry(key).or_default().push((value, worth));
        }
    }
    let flagged = order.into_iter().filter_map(|(key, method, name, by)| edge(&families[&key], &method, &name, by));
    flagged.collect()
}

/// What a setting is judged by: validation data if there are any; larger is better.
fn worth(group: &Group<'_>) -> Option<(&'static str, f64)> {
    let found = ["validation.loss", "test.loss", "loss"].into_iter().find_map(|metric| {
        let value = mean(&group.finals(metric));
        (!value.is_nan()).then_some((metric, -value))
    });
    found.map(|(by, value)| (by, if group.diverged() { f64::NEG_INFINITY } else { value }))
}

fn tuned_edges(tuning: &Tuning) -> Vec<String> {
    let sign = if larger_is_better(&tuning.by) { 1.0 } else { -1.0 };
    let each = numbers(&tuning.chosen).into_iter().filter_map(|(name, chosen)| {
        let tried =
            tuning.trials.iter().filter_map(|t| Some((t.values.get(&name)?.as_f64()?, t.score.map_or(f64::NEG_INFINITY, |s| sign * s))));
        // What was chosen is the best, whatever a shorter trial said.
        let known: Vec<(f64, f64)> = tried.map(|(value, score)| (value, if value == chosen { f64::INFINITY } else { score })).collect();
        edge(&known, &tuning.label, &name, "the trials")
    });
    each.collect()
}

/// The sentence, if the best of (value, worth) stands at an end of at least three values.
fn edge(tried: &[(f64, f64)], who: &str, name: &str, by: &str) -> Option<String> {
    let mut values: Vec<f64> = tried.iter().map(|(value, _)| *value).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (best, worth) = tried.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let (least, most) = (*values.first()?, *values.last()?);
    let natural = SHARES.contains(&name) && (best == 0.0 || best == 1.0);
    if values.len() < LEAST_VALUES || natural || worth == f64::NEG_INFINITY || (best != least && best != most) {
        return None;
    }
    let (word, beyond) = if best == least { ("least", "smaller") } else { ("largest", "larger") };
    let range = format!("{} to {}", number::plain(least), number::plain(most));
    Some(format!("The best {name} of {who}, {}, is the {word} of its grid ({range}), by {by}: try {beyond} ones.", number::plain(best)))
}

fn numbers(params: &Map<String, Value>) -> Vec<(String, f64)> {
    params.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}
