//! A change to a made-up record: one metric of some runs, times a factor.

use std::collections::BTreeSet;

use motet_core::{Row, UpDown};
use motet_records::{ClientRow, Records, RunCard};
use serde_json::{Map, Value as Json};

use super::super::ast::{Claim, What, Who};
use super::super::book::{Book, Run, Value};
use super::super::error::Fault;
use super::super::eval::{Eval, View};
use super::super::truth::show;
use super::synthetic::{measures, possible, rounds_named};
use super::undecided::{Undecided, nearest};

/// Something that can be multiplied.
pub(super) struct Bend<'u> {
    /// Where the measure stands in the claim.
    span: std::ops::Range<usize>,
    what: Target,
    /// The runs with these labels.
    labels: BTreeSet<String>,
    part: Part,
    undecided: &'u Undecided,
}

#[derive(Clone)]
enum Target {
    /// Metrics of the rows with these names.
    Metrics(Vec<String>),
    /// A metric of these clients at the end.
    Clients(String, std::ops::RangeInclusive<u32>),
    Total(String),
    Parameter(String),
    Chosen(String),
}

/// Which rounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    From(u64),
    Until(u64),
    /// From the first on and before the second.
    Between(u64, u64),
    /// Every second row: it changes how much a curve moves.
    Alternate,
}

/// What bent records were.
pub(super) struct Before {
    rows: Vec<(usize, Row)>,
    clients: Vec<(usize, ClientRow)>,
    cards: Vec<(usize, RunCard)>,
}

/// A share of the model that nobody decided yet begins in the middle: from 1, its stand-in, it could only fall.
pub(super) fn begin(records: &mut Records, undecided: &Undecided) {
    for card in &mut records.manifest.runs {
        if let Some((path @ "alpha", [])) = undecided.of(&card.label, "alpha") {
            [&mut card.chosen, &mut card.params].into_iter().for_each(|table| change(table, path, &|_| 0.5));
        }
    }
}

/// Everything that can be bent: whole curves of all runs that a measure selects, of single ones, then parts of curves.
pub(super) fn bends<'u>(claim: &Claim, records: &Records, undecided: &'u Undecided) -> Result<Vec<Bend<'u>>, Fault> {
    let book = Book::done(records);
    let end = records.rows.iter().map(|row| row.round).max().unwrap_or(0);
    let named = rounds_named(claim, end);
    let between = named.iter().zip(named.iter().skip(1)).map(|(first, next)| Part::Between(*first, *next));
    let parts = named.iter().flat_map(|round| [Part::From(*round), Part::Until(*round)]).chain(between);
    let parts: Vec<Part> = parts.chain([Part::From(end / 2), Part::Until(end / 2), Part::Alternate]).collect();
    let mut all: Vec<(usize, Bend<'u>)> = vec![];
    for (node, measure) in measures(claim) {
        let Some(what) = Target::of(&measure.what, &book)? else { continue };
        let runs = Eval::new(&claim.text, &book, &[], View::Plan).runs(&measure.selector).unwrap_or_default();
        let mut labels: BTreeSet<String> = runs.iter().map(|run| run.card.label.clone()).collect();
        if let Target::Parameter(key) | Target::Chosen(key) = &what {
            labels.retain(|label| undecided.of(label, key).is_some());
        }
        if labels.is_empty() {
            continue;
        }
        let alone = labels.iter().filter(|_| labels.len() > 1).map(|label| BTreeSet::from([label.clone()]));
        // All together first: one bend may do for the whole grid.
        for (at, labels) in std::iter::once(labels.clone()).chain(alone).enumerate() {
            let bend = |part| Bend { span: node.span.clone(), what: what.clone(), labels: labels.clone(), part, undecided };
            all.push((at, bend(Part::Whole)));
            if matches!(what, Target::Metrics(_)) {
                all.extend(parts.iter().map(|part| (1_000_000 + at, bend(*part))));
            }
        }
    }
    all.sort_by_key(|(order, _)| *order);
    Ok(all.into_iter().map(|(_, bend)| bend).collect())
}

/// A parameter with several values that are numbers.
pub(super) struct Grid {
    /// By run: the place of its value among all of them.
    ranks: Vec<u32>,
}

/// The grids of made-up runs.
pub(super) fn grids(records: &Records) -> Vec<Grid> {
    let book = Book::done(records);
    let mut found = vec![];
    for key in book.keys().filter(|key| !["seed", "problem"].contains(&key.as_str())) {
        let values: BTreeSet<_> = book.runs.iter().map(|run| run.value(key)).filter(|value| matches!(value, Value::Number(_))).collect();
        if values.len() > 1 {
            let rank = |run: &Run<'_>| values.iter().position(|value| *value == run.value(key)).unwrap_or(0) as u32;
            found.push(Grid { ranks: book.runs.iter().map(rank).collect() });
        }
    }
    found
}

impl Grid {
    /// All metrics times a power of the place on the grid.
    pub(super) fn tilted(&self, records: &Records, power: i32) -> Records {
        let mut tilted = records.clone();
        for row in &mut tilted.rows {
            let factor = f64::from(1 + self.ranks.get(row.run).copied().unwrap_or(0)).powi(power);
            row.metrics.iter_mut().for_each(|(name, value)| *value = possible(name, *value * factor));
            row.totals.values_mut().for_each(|value| *value *= factor);
        }
        tilted
    }
}

impl Target {
    fn of(what: &What, book: &Book<'_>) -> Result<Option<Self>, Fault> {
        Ok(Some(match what {
            What::Final(metric, Some(who)) => Self::Clients(metric.text.clone(), who.clone()),
            What::Note(note, _) => Self::Total(note.text.clone()),
            What::Weight(Who::Clients(who), _) => Self::Metrics(who.clone().map(|client| format!("weight.{client}")).collect()),
            What::Weight(Who::Group(group), _) => Self::Metrics(vec![format!("weight.group.{group}")]),
            What::Parameter(key) => Self::Parameter(book.key(key)?),
            What::Chosen(key) => Self::Chosen(key.text.clone()),
            What::Rounds => return Ok(None),
            other => match other.metric() {
                Some(metric) => Self::Metrics(vec![metric.text.clone()]),
                None => return Ok(None),
            },
        }))
    }

    fn bend_row(&self, row: &mut Row, factor: f64) {
        match self {
            Self::Metrics(names) => names.iter().for_each(|name| bend_metric(row, name, factor)),
            Self::Total(note) => {
                row.totals.get_mut(note).into_iter().for_each(|total| *total *= factor);
            }
            _ => {}
        }
    }
}

impl Bend<'_> {
    pub(super) fn is_partial(&self) -> bool {
        self.part != Part::Whole
    }

    /// Multiplies, and gives what was.
    pub(super) fn apply(&self, records: &mut Records, factor: f64) -> Before {
        let Records { manifest, rows, clients, .. } = records;
        let meant: BTreeSet<usize> = manifest.runs.iter().filter(|c| self.labels.contains(&c.label)).map(|c| c.run).collect();
        let mut before = Before { rows: vec![], clients: vec![], cards: vec![] };
        match &self.what {
            Target::Metrics(_) | Target::Total(_) => {
                for (at, row) in rows.iter_mut().enumerate().filter(|(_, row)| meant.contains(&row.run)) {
                    before.rows.push((at, row.clone()));
                    if self.part.holds(row.round, at) {
                        self.what.bend_row(row, factor);
                    }
                }
            }
            Target::Clients(metric, who) => {
                for (at, row) in clients.iter_mut().enumerate().filter(|(_, row)| meant.contains(&row.run) && who.contains(&row.client)) {
                    before.clients.push((at, row.clone()));
                    row.metrics.get_mut(metric).into_iter().for_each(|value| *value = possible(metric, *value * factor));
                }
            }
            Target::Parameter(key) | Target::Chosen(key) => {
                for (at, card) in manifest.runs.iter_mut().enumerate().filter(|(_, card)| meant.contains(&card.run)) {
                    before.cards.push((at, card.clone()));
                    let Some((path, values)) = self.undecided.of(&card.label, key) else { continue };
                    // A stand-in of zero says that nothing is known.
                    let bend = |number: f64| nearest(path, if number == 0.0 { factor } else { number * factor }, values);
                    // What trials chose stands in both.
                    [&mut card.chosen, &mut card.params].into_iter().for_each(|table| change(table, path, &bend));
                }
            }
        }
        before
    }

    /// `final(flix, gap)` of flix alpha=0.1 times 10, from round 5 on
    pub(super) fn words(&self, claim: &Claim, factor: f64) -> String {
        let labels: Vec<&str> = self.labels.iter().map(String::as_str).collect();
        let of = if labels.len() > 2 { format!("all {} runs", labels.len()) } else { labels.join(" and ") };
        let part = match self.part {
            Part::Whole => String::new(),
            Part::From(round) => format!(", from round {round} on"),
            Part::Until(round) => format!(", until round {round}"),
            Part::Between(first, next) => format!(", from round {first} to before {next}"),
            Part::Alternate => ", in every second row".into(),
        };
        let listed =
            |key: &str| self.labels.iter().any(|label| self.undecided.of(label, key).is_some_and(|(_, values)| !values.is_empty()));
        let near = match &self.what {
            Target::Parameter(key) | Target::Chosen(key) if listed(key) => ", or what comes closest among the values tried",
            _ => "",
        };
        format!("`{}` of {of} times {}{near}{part}", &claim.text[self.span.clone()], show(factor))
    }
}

impl Part {
    fn holds(self, round: u64, row: usize) -> bool {
        match self {
            Self::Whole => true,
            Self::From(first) => round >= first,
            Self::Until(last) => round <= last,
            Self::Between(first, next) => (first..next).contains(&round),
            Self::Alternate => row.is_multiple_of(2),
        }
    }
}

impl Before {
    pub(super) fn restore(self, records: &mut Records) {
        self.rows.into_iter().for_each(|(at, row)| records.rows[at] = row);
        self.clients.into_iter().for_each(|(at, row)| records.clients[at] = row);
        self.cards.into_iter().for_each(|(at, card)| records.manifest.runs[at] = card);
    }
}

fn bend_metric(row: &mut Row, name: &str, factor: f64) {
    let times = |count: u64| (count as f64 * factor).clamp(0.0, 1e18) as u64;
    let both = |of: UpDown, up: bool| if up { UpDown { up: times(of.up), ..of } } else { UpDown { down: times(of.down), ..of } };
    if let Some(value) = row.metrics.get_mut(name) {
        *value = possible(name, *value * factor);
    }
    match name {
        "bits.up" | "bits.down" => row.bits = both(row.bits, name == "bits.up"),
        "bytes.up" | "bytes.down" => row.bytes = both(row.bytes, name == "bytes.up"),
        "gradients" => row.gradients = times(row.gradients),
        "deployed" => row.deployed = row.deployed.map(|seconds| seconds * factor),
        _ => {}
    }
}

/// `compressor.k`: changes a number at a dotted place, or under that very name.
fn change(table: &mut Map<String, Json>, path: &str, to: &dyn Fn(f64) -> f64) {
    if let Some(number) = table.get_mut(path).filter(|value| value.is_number()) {
        *number = number.as_f64().map_or(Json::Null, |n| to(n).into());
        return;
    }
    if let Some((first, rest)) = path.split_once('.')
        && let Some(Json::Object(inner)) = table.get_mut(first)
    {
        change(inner, rest, to);
    }
}
