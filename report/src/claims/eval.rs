//! A claim's numbers and truth, for one case and one view of the seeds.

use std::collections::BTreeSet;

use super::ast::{Elementary, Kind, Link, Measure, Node, Pick, Selector, What, Who, Window};
use super::book::{Allowance, Book, Run, Value};
use super::curve::{Gap, Rounds};
use super::error::{Fault, Problem, Span};
use super::scope::Case;
use super::truth::Judged;

/// Whose numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Nothing has been measured yet.
    Plan,
    /// Every measure is averaged over the seeds before it is compared.
    Mean,
    Seed(u64),
}

/// Why there is no value.
pub(super) enum Halt {
    /// The case does not exist (a grid has no such value, a run is too short): it is passed over.
    Missing(String),
    /// A variable has no value yet, or nothing has been measured yet.
    Unbound,
    Fault(Fault),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

pub(super) struct Eval<'a> {
    text: &'a str,
    pub(super) book: &'a Book<'a>,
    open: &'a [BTreeSet<String>],
    view: View,
    /// Values of open parameters.
    pub(super) pins: Case,
    /// Values of variables, the innermost last.
    pub(super) variables: Vec<(String, Value)>,
    /// Every comparison made so far: those of one chain, or of one `increasing`, together.
    pub(super) comparisons: Vec<Vec<Judged>>,
}

/// So many rows are read while one number is computed.
const ROWS: u64 = 1024;

impl<'a> Eval<'a> {
    pub(super) fn new(text: &'a str, book: &'a Book<'a>, open: &'a [BTreeSet<String>], view: View) -> Self {
        Self { text, book, open, view, pins: Case::new(), variables: vec![], comparisons: vec![] }
    }

    pub(super) fn truth(&mut self, node: &Node) -> Result<Judged, Halt> {
        match &node.kind {
            Kind::And(a, b) => Ok(self.truth(a)?.worse(self.truth(b)?)),
            Kind::Or(a, b) => Ok(self.truth(a)?.better(self.truth(b)?)),
            Kind::Not(a) => Ok(self.truth(a)?.not()),
            Kind::Chain(first, links) => self.chain(first, links),
            Kind::Over(fold, body, key) => self.monotone(*fold, body, key),
            _ => unreachable!("sorts were checked when the claim was read"),
        }
    }

    fn chain(&mut self, first: &Node, links: &[Link]) -> Result<Judged, Halt> {
        let mut left = self.number(first)?;
        let (mut all, mut each): (Option<Judged>, Vec<Judged>) = (None, vec![]);
        for link in links {
            self.book.spend(Allowance::STEP, &first.span)?;
            let right = self.number(&link.right)?;
            let tolerance = match &link.tolerance {
                None => 0.0,
                Some(tolerance) if tolerance.percent => self.number(&tolerance.amount)? / 100.0 * right.abs(),
                Some(tolerance) => self.number(&tolerance.amount)?,
            };
            let judged = Judged::compare(left, link.relation, right, tolerance);
            each.push(judged.clone());
            all = Some(match all {
                Some(before) => before.worse(judged),
                None => judged,
            });
            left = right;
        }
        self.comparisons.push(each);
        Ok(all.expect("a chain has at least one link"))
    }

    pub(super) fn number(&mut self, node: &Node) -> Result<f64, Halt> {
        self.book.spend(1, &node.span)?;
        Ok(match &node.kind {
            Kind::Number(number) => *number,
            Kind::Variable(name) => match self.variable(name, &node.span)? {
                Value::Number(number) => number,
                other => return Err(not_number(&node.span, name, &other)),
            },
            Kind::Negative(a) => -self.number(a)?,
            Kind::Arithmetic(sign, a, b) => arithmetic(*sign, self.number(a)?, self.number(b)?),
            Kind::Apply(function, arguments) => {
                let values = arguments.iter().map(|a| self.number(a)).collect::<Result<Vec<_>, _>>()?;
                apply(*function, &values)
            }
            Kind::Over(fold, body, key) => self.fold(*fold, body, key)?,
            Kind::Measure(measure) => self.measure(measure)?,
            _ => unreachable!("sorts were checked when the claim was read"),
        })
    }

    /// The right side of a filter: a number or a word.
    pub(super) fn value(&mut self, node: &Node) -> Result<Value, Halt> {
        match &node.kind {
            Kind::Text(text) => Ok(Value::Text(text.clone())),
            Kind::Variable(name) => self.variable(name, &node.span),
            _ => Ok(Value::Number(self.number(node)?)),
        }
    }

    fn variable(&self, name: &str, span: &Span) -> Result<Value, Halt> {
        if let Some((_, value)) = self.variables.iter().rev().find(|(bound, _)| bound == name) {
            return Ok(value.clone());
        }
        match name {
            "inf" => Ok(Value::Number(f64::INFINITY)),
            "n" | "d" => self.constant(name, span),
            _ => Err(Halt::Unbound),
        }
    }

    /// n or d of the problem; with several problems, of the one this case is about.
    fn constant(&self, name: &str, span: &Span) -> Result<Value, Halt> {
        let about = |at: usize| match self.pins.get("problem") {
            Some(Value::Number(problem)) => *problem as usize == at,
            _ => true,
        };
        let cards = self.book.problems.iter().enumerate().filter(|(at, _)| about(*at)).map(|(_, card)| card);
        let values: BTreeSet<u64> = cards.map(|card| if name == "n" { card.clients } else { card.dim }).collect();
        match (values.first(), values.len()) {
            (Some(&value), 1) => Ok(Value::Number(value as f64)),
            _ => Err(Fault::new(span, Problem::Ambiguous(values.iter().map(|value| format!("{name}={value}")).collect())).into()),
        }
    }

    /// All runs a selector means now, of every seed. Filters on what has no value yet are left out.
    pub(super) fn runs(&mut self, selector: &Selector) -> Result<Vec<&'a Run<'a>>, Halt> {
        let mut filters = vec![];
        for filter in &selector.filters {
            match self.value(&filter.value) {
                Ok(wanted) => filters.push((self.book.key(&filter.key)?, filter.relation, wanted)),
                Err(Halt::Unbound) => {}
                Err(halt) => return Err(halt),
            }
        }
        let open = self.open.get(selector.id);
        let pins: Vec<_> = self.pins.iter().filter(|(key, _)| open.is_some_and(|open| open.contains(*key))).collect();
        let book = self.book;
        let fits = |run: &&Run<'a>| {
            run.picked_by(&selector.pick)
                && filters.iter().all(|(key, relation, wanted)| run.fits(key, *relation, wanted))
                && pins.iter().all(|(key, value)| run.value(key) == *value)
        };
        Ok(book.runs.iter().filter(fits).collect())
    }

    fn measure(&mut self, measure: &Measure) -> Result<f64, Halt> {
        if self.view == View::Plan {
            return Err(Halt::Unbound);
        }
        let selector = &measure.selector;
        let mut runs = self.runs(selector)?;
        let own_seed = selector.filters.iter().any(|filter| filter.key.text == "seed");
        if let View::Seed(seed) = self.view
            && runs.len() > 1
            && !own_seed
        {
            // A single run stands for every seed: without dice there is nothing to repeat.
            runs.retain(|run| run.card.seed == seed);
        }
        if runs.is_empty() {
            return Err(Halt::Missing(format!("there is no run of `{}` {}", &self.text[selector.span.clone()], self.place())));
        }
        let seeds: BTreeSet<_> = runs.iter().map(|run| run.card.seed).collect();
        if seeds.len() < runs.len() {
            let labels: BTreeSet<_> = runs.iter().map(|run| run.card.label.clone()).collect();
            return Err(Fault::new(&selector.span, Problem::Ambiguous(labels.into_iter().collect())).into());
        }
        let mut total = 0.0;
        for run in &runs {
            self.book.spend(run.rows.len() as u64 / ROWS, &selector.span)?;
            total += self.read(run, &measure.what, &selector.span)?;
        }
        Ok(total / runs.len() as f64)
    }

    fn read(&mut self, run: &Run<'_>, what: &What, span: &Span) -> Result<f64, Halt> {
        let (name, number) = match what {
            What::Parameter(key) => {
                let key_name = self.book.key(key)?;
                return match run.value(&key_name) {
                    Value::Number(number) => Ok(*number),
                    other => Err(not_number(&key.span, &key.text, other)),
                };
            }
            What::Chosen(key) => {
                return match run.chosen(&key.text) {
                    Some(Value::Number(number)) => Ok(number),
                    Some(other) => Err(not_number(&key.span, &key.text, &other)),
                    None => Err(Fault::unknown(&key.span, "tuned parameter", &key.text, run.card.chosen.keys().cloned()).into()),
                };
            }
            // A run that failed at once: undefined, and no comparison with it holds.
            _ if run.rows.is_empty() => return Ok(f64::NAN),
            What::Rounds => return Ok(run.rows.last().map_or(f64::NAN, |row| row.round as f64)),
            What::Reach(axis, metric, threshold) => (metric, run.reach(*axis, &metric.text, self.number(threshold)?)),
            What::At(metric, axis, budget) => (metric, run.at(&metric.text, *axis, self.number(budget)?)),
            What::Final(metric, Some(who)) => (metric, run.clients(&metric.text, who)),
            What::Final(metric, None) => (metric, run.last(&metric.text)),
            What::Start(metric) => (metric, run.first(&metric.text)),
            What::Best(metric) => (metric, run.extreme(&metric.text, true)),
            What::Worst(metric) => (metric, run.extreme(&metric.text, false)),
            What::Slope(metric, window) => (metric, run.slope(&metric.text, self.rounds(window)?)),
            What::Average(metric, window) => (metric, run.average(&metric.text, self.rounds(window)?)),
            What::Deviation(metric, window) => (metric, run.deviation(&metric.text, self.rounds(window)?)),
            What::Envelope(metric, window) => (metric, run.envelope(&metric.text, self.rounds(window)?)),
            What::Note(note, window) => (note, run.total(&note.text, self.rounds(window)?)),
            What::Weight(who, window) => {
                let rounds = if *window == Window::default() { None } else { Some(self.rounds(window)?) };
                let read = match (who, rounds) {
                    (Who::Clients(clients), rounds) => run.weight(clients, rounds),
                    (Who::Group(group), Some(rounds)) => run.average(&format!("weight.group.{group}"), rounds),
                    (Who::Group(group), None) => run.last(&format!("weight.group.{group}")),
                };
                return read.map_err(|gap| stopped(gap, run, span, "weight"));
            }
        };
        number.map_err(|gap| stopped(gap, run, &name.span, &name.text))
    }

    fn rounds(&mut self, window: &Window) -> Result<Rounds, Halt> {
        let mut or = |node: &Option<Node>, otherwise: f64| node.as_ref().map_or(Ok(otherwise), |node| self.number(node));
        let (from, to) = (or(&window.from, 0.0)?, or(&window.to, f64::INFINITY)?);
        Ok(Rounds { from, to, last: window.last.as_ref().map(|node| self.number(node)).transpose()? })
    }

    /// The case in words: `with alpha=0.1, e=1e-6`.
    fn place(&self) -> String {
        let pins = self.pins.iter().map(|(key, value)| format!("{key}={value}"));
        let all: Vec<_> = pins.chain(self.variables.iter().map(|(name, value)| format!("{name}={value}"))).collect();
        if all.is_empty() { "here".into() } else { format!("with {}", all.join(", ")) }
    }
}

impl Run<'_> {
    pub(super) fn picked_by(&self, pick: &Pick) -> bool {
        match pick {
            Pick::Any => true,
            Pick::Method(name) => self.card.method == *name,
            Pick::Label(name) => self.card.label == *name,
        }
    }
}

fn stopped(gap: Gap, run: &Run<'_>, span: &Span, name: &str) -> Halt {
    match gap {
        Gap::NoMetric => Halt::Fault(Fault::unknown(span, "metric", name, run.metrics())),
        Gap::TooShort(why) => Halt::Missing(why),
    }
}

fn not_number(span: &Span, name: &str, value: &Value) -> Halt {
    Halt::Fault(Fault::new(span, Problem::NotNumber { name: name.into(), value: value.to_string() }))
}

fn arithmetic(sign: char, a: f64, b: f64) -> f64 {
    match sign {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' => a / b,
        _ => a.powf(b),
    }
}

fn apply(function: Elementary, values: &[f64]) -> f64 {
    // NaN must stay NaN: `f64::min` would drop it.
    let pick = |better: fn(f64, f64) -> bool| values.iter().copied().reduce(|a, b| if b.is_nan() || better(b, a) { b } else { a });
    match function {
        Elementary::Max => pick(|b, a| b > a).unwrap_or(f64::NAN),
        Elementary::Min => pick(|b, a| b < a).unwrap_or(f64::NAN),
        Elementary::Abs => values[0].abs(),
        Elementary::Ceil => values[0].ceil(),
        Elementary::Floor => values[0].floor(),
        Elementary::Log10 => values[0].log10(),
        Elementary::Sqrt => values[0].sqrt(),
    }
}

/// Every selector below, in reading order.
pub(super) fn selectors<'n>(node: &'n Node, into: &mut Vec<&'n Selector>) {
    if let Kind::Measure(measure) = &node.kind {
        into.push(&measure.selector);
    }
    node.children().into_iter().for_each(|child| selectors(child, into));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_numbers_stay_undefined() {
        assert!(apply(Elementary::Min, &[f64::NAN, 1.0]).is_nan() && apply(Elementary::Max, &[1.0, f64::NAN]).is_nan());
        assert_eq!(apply(Elementary::Max, &[1.0, 3.0, 2.0]), 3.0);
    }
}
