//! The runs of an experiment, laid out so that claims can pick them by parameter.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use motet_core::{Merit, Outcome, Row};
use motet_records::{ClientRow, Manifest, ProblemCard, Records, RunCard};
use serde_json::{Map, Value as Json};

use super::ast::Relation;
use super::error::{Fault, Problem, Span};
use super::truth::show;
use crate::former_names;

/// A value of a parameter.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The run has no such parameter.
    Absent,
    Number(f64),
    /// Words, yes and no; lists as JSON.
    Text(String),
}

/// Runs that were planned and, if the experiment is done, what they left.
pub(super) struct Book<'r> {
    pub(super) runs: Vec<Run<'r>>,
    /// Every parameter of every run, and `method`, `problem`, `seed`.
    keys: BTreeSet<String>,
    pub(super) problems: &'r [ProblemCard],
    left: Allowance,
}

/// How much may still be looked at: quantifiers multiply, and a line of text can ask for more than any machine can do.
#[derive(Clone)]
pub(super) struct Allowance {
    left: Rc<Cell<u64>>,
    /// Is there as much again for the next view of the seeds?
    renews: bool,
}

impl Allowance {
    /// Some seconds, and some hundred megabytes.
    const MOST: u64 = 20_000_000;
    /// What a case costs beside a number, which costs 1.
    pub(super) const CASE: u64 = 200;
    /// The same of a comparison, and of a value that is run through.
    pub(super) const STEP: u64 = 10;

    /// For one view of a claim after the other.
    pub(super) fn of_a_view() -> Self {
        Self { left: Rc::new(Cell::new(Self::MOST)), renews: true }
    }

    /// For everything that is tried together: a claim over long runs is judged a few dozen times before a record is found on which it fails.
    pub(super) fn of_a_search() -> Self {
        Self { left: Rc::new(Cell::new(10 * Self::MOST)), renews: false }
    }

    fn spend(&self, cost: u64, span: &Span) -> Result<(), Fault> {
        let left = self.left.get().checked_sub(cost);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| Fault::new(span, Problem::TooMany))
    }

    /// Did somebody ask for more than there was?
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

pub(super) struct Run<'r> {
    pub(super) card: &'r RunCard,
    values: BTreeMap<String, Value>,
    about: &'r str,
    /// In the order of rounds.
    pub(super) rows: Vec<&'r Row>,
    pub(super) clients: Vec<&'r ClientRow>,
    /// In the order of rounds.
    pub(super) merits: Vec<&'r Merit>,
    pub(super) outcome: Option<&'r Outcome>,
}

impl<'r> Book<'r> {
    /// Before the experiment is run.
    pub(super) fn planned(manifest: &'r Manifest) -> Self {
        let numbers = numbers(manifest);
        let results = manifest.runs.iter().filter(|card| card.trial.is_none());
        let runs: Vec<_> = results.map(|card| Run::planned(card, &manifest.problems, &numbers)).collect();
        let keys = runs.iter().flat_map(|run| run.values.keys().cloned()).collect();
        Self { runs, keys, problems: &manifest.problems, left: Allowance::of_a_view() }
    }

    /// The same book, looked at within what is left of something larger.
    pub(super) fn within(self, left: &Allowance) -> Self {
        Self { left: left.clone(), ..self }
    }

    /// For the next claim, or the next view of one.
    pub(super) fn renew(&self) {
        if self.left.renews {
            self.left.left.set(Allowance::MOST);
        }
    }

    /// Refuses what a view of a claim may not cost.
    pub(super) fn enough_for(cost: u64, span: &Span) -> Result<(), Fault> {
        if cost <= Allowance::MOST { Ok(()) } else { Err(Fault::new(span, Problem::TooMany)) }
    }

    /// Books what is looked at.
    pub(super) fn spend(&self, cost: u64, span: &Span) -> Result<(), Fault> {
        self.left.spend(cost, span)
    }

    /// After it.
    pub(super) fn done(records: &'r Records) -> Self {
        let mut book = Self::planned(&records.manifest);
        let place: BTreeMap<usize, usize> = book.runs.iter().enumerate().map(|(at, run)| (run.card.run, at)).collect();
        for row in &records.rows {
            if let Some(&at) = place.get(&row.run) {
                book.runs[at].rows.push(row);
            }
        }
        for client in &records.clients {
            if let Some(&at) = place.get(&client.run) {
                book.runs[at].clients.push(client);
            }
        }
        for merit in &records.merits {
            if let Some(&at) = place.get(&(merit.run as usize)) {
                book.runs[at].merits.push(merit);
            }
        }
        for (number, summary) in records.summary.iter().flat_map(|s| &s.runs).enumerate() {
            if let Some(&at) = place.get(&number) {
                book.runs[at].outcome = Some(&summary.outcome);
            }
        }
        book.runs.iter_mut().for_each(|run| run.rows.sort_by_key(|row| row.round));
        book.runs.iter_mut().for_each(|run| run.merits.sort_by_key(|merit| merit.round));
        book
    }

    /// The full name of a parameter: itself, or the only one that ends so (`k` is `compressor.k`).
    pub(super) fn key(&self, word: &super::ast::Word) -> Result<String, Fault> {
        if let Some(key) = former_names::current(&word.text, |name| self.keys.contains(name)) {
            return Ok(key);
        }
        let ending = format!(".{}", word.text);
        let mut fitting = self.keys.iter().filter(|key| key.ends_with(&ending));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key.clone()),
            _ => Err(Fault::unknown(&word.span, "parameter", &word.text, self.keys.iter().cloned())),
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.keys.iter()
    }
}

impl<'r> Run<'r> {
    fn planned(card: &'r RunCard, problems: &'r [ProblemCard], numbers: &BTreeMap<usize, usize>) -> Self {
        let mut values = BTreeMap::new();
        flatten(&card.params, "", &mut values);
        // What was chosen is a result: it does not tell runs apart.
        values.retain(|key, _| !card.chosen.keys().any(|name| key == name || key.starts_with(&format!("{name}."))));
        if !card.chosen.is_empty() {
            values.insert("tuned".into(), Value::Number(1.0));
        }
        values.insert("method".into(), Value::Text(card.method.clone()));
        values.insert("problem".into(), Value::Number(numbers.get(&card.problem).copied().unwrap_or(card.problem) as f64));
        values.insert("seed".into(), Value::Number(card.seed as f64));
        let about = problems.get(card.problem).map_or("", |problem| &problem.about);
        Self { card, values, about, rows: vec![], clients: vec![], merits: vec![], outcome: None }
    }

    /// What trials chose for a parameter, or for the only one that ends so.
    pub(super) fn chosen(&self, key: &str) -> Option<Value> {
        let key = former_names::current(key, |name| self.card.chosen.contains_key(name)).unwrap_or_else(|| key.to_owned());
        let ending = format!(".{key}");
        let mut fitting = self.card.chosen.iter().filter(|(name, _)| **name == key || name.ends_with(&ending));
        fitting.next().map(|(_, value)| Value::from(value))
    }

    pub(super) fn value(&self, key: &str) -> &Value {
        self.values.get(key).unwrap_or(&Value::Absent)
    }

    /// Does the parameter stand in this relation to the wanted value? A problem can also be picked by a
    /// part of its description.
    pub(super) fn fits(&self, key: &str, relation: Relation, wanted: &Value) -> bool {
        if let ("problem", Value::Text(part)) = (key, wanted) {
            return self.about.contains(part) == (relation == Relation::Equal);
        }
        self.value(key).stands(relation, wanted)
    }
}

/// The number of each problem as claims count them: draws of one problem, a new one for each seed, have one number, that
/// of the first; else every seed would be a case of its own and no mean be taken.
fn numbers(manifest: &Manifest) -> BTreeMap<usize, usize> {
    let (mut first, mut numbers) = (BTreeMap::new(), BTreeMap::new());
    for card in manifest.runs.iter().filter(|card| card.trial.is_none()) {
        let known = *first.entry((&card.label, &card.method)).or_insert(card.problem);
        let number = numbers.get(&known).copied().unwrap_or(known);
        numbers.entry(card.problem).or_insert(number);
    }
    numbers
}

/// `{"compressor": {"k": 3}}` → `compressor.k` = 3
fn flatten(table: &Map<String, Json>, prefix: &str, into: &mut BTreeMap<String, Value>) {
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        match value {
            Json::Object(inner) => flatten(inner, &format!("{path}."), into),
            Json::Null => {}
            other => drop(into.insert(path, Value::from(other))),
        }
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        match json {
            Json::String(text) => Self::Text(text.clone()),
            other => other.as_f64().map_or_else(|| Self::Text(other.to_string()), Self::Number),
        }
    }
}

impl Value {
    /// Numbers are equal to nine digits, so that `a/10` finds the 0.01 of a grid.
    fn stands(&self, relation: Relation, other: &Self) -> bool {
        let order = match (self, other) {
            (Self::Number(a), Self::Number(b)) if near(*a, *b) => Ordering::Equal,
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            // Words have no size: they can only be equal or not.
            _ => return (self == other && relation == Relation::Equal) || (self != other && relation == Relation::Unequal),
        };
        match relation {
            Relation::Less => order.is_lt(),
            Relation::AtMost => order.is_le(),
            Relation::Equal => order.is_eq(),
            Relation::Unequal => order.is_ne(),
            Relation::AtLeast => order.is_ge(),
            Relation::Greater => order.is_gt(),
        }
    }
}

/// Equal but for rounding.
pub(super) fn near(a: f64, b: f64) -> bool {
    a == b || ((a - b).is_finite() && (a - b).abs() <= 1e-9 * a.abs().max(b.abs()))
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Absent, Self::Absent) => Ordering::Equal,
            (Self::Absent, _) | (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (_, Self::Absent) | (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("(none)"),
            Self::Number(number) => f.write_str(&show(*number)),
            Self::Text(text) => f.write_str(text),
        }
    }
}
