//! Records made up for one claim: the runs it selects, with smooth curves for what it measures.

use std::collections::{BTreeMap, BTreeSet};

use motet_core::{Row, UpDown, is_quality, larger_is_better};
use motet_records::{ClientRow, Manifest, Records, RunCard};

use super::super::ast::{Claim, Domain, Kind, Measure, Node, What, Who};
use super::super::book::Book;
use super::super::curve::READ_OFF_ROWS;
use super::super::error::Fault;
use super::super::eval::{Eval, View};

/// Every node of a claim, those in lists and conditions included.
pub(super) fn nodes(claim: &Claim) -> Vec<&Node> {
    let listed = claim.binders.iter().filter_map(|binder| match &binder.domain {
        Domain::Listed(values) => Some(values.iter()),
        Domain::Key(_) => None,
    });
    let mut all: Vec<&Node> = listed.flatten().chain(&claim.condition).chain([&claim.body]).collect();
    let mut at = 0;
    while at < all.len() {
        all.extend(all[at].children());
        at += 1;
    }
    all
}

/// Every measure of a claim.
pub(super) fn measures(claim: &Claim) -> Vec<(&Node, &Measure)> {
    let all = nodes(claim).into_iter();
    all.filter_map(|node| if let Kind::Measure(measure) = &node.kind { Some((node, &**measure)) } else { None }).collect()
}

/// Whole numbers that the claim names, as far as they can be rounds.
pub(super) fn rounds_named(claim: &Claim, rounds: u64) -> BTreeSet<u64> {
    let number = |node: &Node| match node.kind {
        Kind::Number(number) if number >= 1.0 && number.fract() == 0.0 && number <= rounds as f64 => Some(number as u64),
        _ => None,
    };
    nodes(claim).into_iter().filter_map(number).collect()
}

/// Runs, rows and clients for a claim.
pub(super) fn made_up(claim: &Claim, manifest: &Manifest, rounds: u64) -> Result<Records, Fault> {
    let mut records = Records { manifest: manifest.clone(), ..Records::default() };
    let cards = selected(claim, manifest)?;
    let labels: Vec<String> = cards.iter().map(|card| card.label.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let rounds = measured(claim, rounds);
    let largest = nodes(claim).into_iter().filter_map(|node| if let Kind::Number(n) = node.kind { Some(n) } else { None });
    // Budgets of bits, floats and gradients end before the run does.
    let traffic = (1e6 + 256.0 * largest.fold(0.0, f64::max)).min(1e15) as u64;
    for (run, card) in cards.iter().enumerate() {
        let place = labels.iter().position(|label| *label == card.label).unwrap_or(0);
        let end = rounds.last().copied().unwrap_or(1).max(1);
        for &round in &rounds {
            let sent = UpDown { up: traffic * round / end, down: traffic * round / end };
            let mut row = Row { run, round, bits: sent, bytes: sent, gradients: traffic * round / end, ..Row::default() };
            row.deployed = Some(round as f64);
            for (_, measure) in measures(claim) {
                fill(&mut row, &measure.what, round as f64 / end as f64, place);
            }
            records.rows.push(row);
        }
        let mut clients: BTreeMap<u32, ClientRow> = BTreeMap::new();
        for (_, measure) in measures(claim) {
            if let What::Final(metric, Some(who)) = &measure.what {
                for client in who.clone() {
                    let row = ClientRow { run, client, examples: 1, ..ClientRow::default() };
                    clients.entry(client).or_insert(row).metrics.insert(metric.text.clone(), value(&metric.text, 1.0, place));
                }
            }
        }
        records.clients.extend(clients.into_values());
    }
    records.manifest.runs = cards;
    Ok(records)
}

/// The planned runs that some selector may mean, of one seed, numbered anew.
fn selected(claim: &Claim, manifest: &Manifest) -> Result<Vec<RunCard>, Fault> {
    let book = Book::planned(manifest);
    let mut meant = BTreeSet::new();
    for (_, measure) in measures(claim) {
        let runs = Eval::new(&claim.text, &book, &[], View::Plan).runs(&measure.selector);
        meant.extend(runs.unwrap_or_default().into_iter().map(|run| run.card.run));
        // A selector whose filters nothing fits is an error of the claim, which judging names.
        meant.extend(book.runs.iter().filter(|run| run.picked_by(&measure.selector.pick)).map(|run| run.card.run));
    }
    // One seed is its own mean: what fails with it fails by every rule about seeds.
    let first = manifest.runs.iter().map(|card| card.seed).min();
    let named = nodes(claim)
        .into_iter()
        .any(|node| matches!(&node.kind, Kind::Measure(m) if m.selector.filters.iter().any(|f| f.key.text == "seed")));
    let cards = manifest.runs.iter().filter(|card| meant.contains(&card.run) && (named || Some(card.seed) == first));
    Ok(cards.cloned().enumerate().map(|(run, card)| RunCard { run, ..card }).collect())
}

/// Rounds that are measured: evenly spread, those that the claim names, and some between.
fn measured(claim: &Claim, rounds: u64) -> Vec<u64> {
    let mut all: BTreeSet<u64> = (0..=4).map(|part| rounds * part / 4).collect();
    for round in rounds_named(claim, rounds) {
        all.extend([round, rounds - round + 1, round + 1].into_iter().filter(|round| *round <= rounds));
    }
    let between: Vec<u64> = all.iter().zip(all.iter().skip(1)).map(|(a, b)| a.midpoint(*b)).collect();
    all.extend(between);
    all.into_iter().collect()
}

/// Puts what a measure reads into a row, `part` of the way through the run.
fn fill(row: &mut Row, what: &What, part: f64, place: usize) {
    if let Some(metric) = what.metric().filter(|metric| !READ_OFF_ROWS.contains(&metric.text.as_str())) {
        row.metrics.insert(metric.text.clone(), value(&metric.text, part, place));
    }
    let mut put = |name: String, value: f64| {
        row.metrics.insert(name, value);
    };
    match what {
        What::Weight(Who::Clients(who), _) => {
            who.clone().for_each(|client| put(format!("weight.{client}"), 1.0 / f64::from(who.end() + 1)))
        }
        What::Weight(Who::Group(group), _) => put(format!("weight.group.{group}"), 0.1),
        What::Note(note, _) => {
            row.totals.insert(note.text.clone(), row.round as f64 * (1.0 + 0.01 * place as f64));
        }
        _ => {}
    }
}

/// A loss that falls by two decades, an accuracy that rises, a coordinate that stays; a little different in each run.
fn value(metric: &str, part: f64, place: usize) -> f64 {
    let apart = 1.0 + 0.01 * place as f64;
    match metric {
        _ if !is_quality(metric) => 0.7 * apart,
        _ if larger_is_better(metric) => possible(metric, (0.3 + 0.5 * part) * apart),
        _ => 0.5 * 10f64.powf(-2.0 * part) * apart,
    }
}

/// The value that comes closest to this among those that the metric can have: accuracies and weights are between 0 and 1.
pub(super) fn possible(metric: &str, value: f64) -> f64 {
    if larger_is_better(metric) || metric.starts_with("weight.") { value.clamp(0.0, 1.0) } else { value }
}
