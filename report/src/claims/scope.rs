//! Which grid values are compared with which.
//!
//! A selector without a filter on a gridded parameter leaves it *open*, and the claim is checked for every
//! value; selectors that leave the same parameter open are bound to the same value. In the words of
//! databases: the cases of a claim are the natural join of its selectors' open parameters.

use std::collections::{BTreeMap, BTreeSet};

use super::ast::{Claim, Domain, Kind, Node, Pick, Relation, Selector};
use super::book::{Allowance, Book, Run, Value};
use super::error::{Fault, Problem};
use super::eval::{Eval, View};

/// One value for each parameter left open.
pub(super) type Case = BTreeMap<String, Value>;

pub(super) struct Scope {
    /// By selector: what it leaves open.
    pub(super) open: Vec<BTreeSet<String>>,
    pub(super) cases: Vec<Case>,
    pub(super) seeds: BTreeSet<u64>,
}

/// A selector and the runs it can mean.
struct Candidate<'c, 'b> {
    selector: &'c Selector,
    /// Parameters that an enclosing `over=` runs through.
    over: Vec<String>,
    runs: Vec<&'b Run<'b>>,
    /// Parameters with an `=` filter.
    given: BTreeSet<String>,
    varying: BTreeMap<String, BTreeSet<Value>>,
}

impl Scope {
    /// Looks every selector up; errors name what exists.
    pub(super) fn of(claim: &Claim, book: &Book<'_>) -> Result<Self, Fault> {
        listed_cases(claim)?;
        let mut candidates = vec![];
        let listed = claim.binders.iter().flat_map(|binder| match &binder.domain {
            Domain::Listed(values) => values.iter().collect(),
            Domain::Key(_) => vec![],
        });
        for node in listed.chain(&claim.condition).chain([&claim.body]) {
            collect(node, &mut vec![], claim, book, &mut candidates)?;
        }
        for binder in &claim.binders {
            if let Domain::Key(key) = &binder.domain
                && key.text != "round"
            {
                book.key(key)?;
            }
        }
        candidates.sort_by_key(|candidate| candidate.selector.id);
        let open: Vec<_> = (0..candidates.len()).map(|at| open_keys(at, &candidates)).collect();
        let cases = join(&candidates, &open, book)?;
        let seeds = candidates.iter().flat_map(|c| c.runs.iter().map(|run| run.card.seed)).collect();
        Ok(Self { open, cases, seeds })
    }
}

/// Refuses lists that multiply to more cases than can be looked at.
fn listed_cases(claim: &Claim) -> Result<(), Fault> {
    let lists = claim.binders.iter().filter_map(|binder| match &binder.domain {
        Domain::Listed(values) => Some(values.len() as u64),
        Domain::Key(_) => None,
    });
    let cases = lists.fold(1u64, u64::saturating_mul);
    Book::enough_for(cases.saturating_mul(Allowance::CASE), &claim.body.span)
}

fn collect<'c, 'b>(
    node: &'c Node,
    over: &mut Vec<String>,
    claim: &Claim,
    book: &'b Book<'b>,
    into: &mut Vec<Candidate<'c, 'b>>,
) -> Result<(), Fault> {
    let before = into.len();
    let key = match &node.kind {
        Kind::Over(_, _, key) if key.text != "round" => Some((key, book.key(key)?)),
        _ => None,
    };
    over.extend(key.iter().map(|(_, key)| key.clone()));
    if let Kind::Measure(measure) = &node.kind {
        into.push(Candidate::of(&measure.selector, over.clone(), claim, book)?);
    }
    for child in node.children() {
        collect(child, over, claim, book, into)?;
    }
    if let Some((word, key)) = key {
        over.pop();
        let values: BTreeSet<_> = into[before..].iter().flat_map(|c| &c.runs).map(|run| run.value(&key)).collect();
        if values.into_iter().filter(|value| **value != Value::Absent).count() < 2 {
            return Err(Fault::new(&word.span, Problem::Constant(word.text.clone())));
        }
    }
    Ok(())
}

impl<'c, 'b> Candidate<'c, 'b> {
    fn of(selector: &'c Selector, over: Vec<String>, claim: &Claim, book: &'b Book<'b>) -> Result<Self, Fault> {
        let mut runs = picked(selector, book)?;
        let mut given = BTreeSet::new();
        for filter in &selector.filters {
            let key = book.key(&filter.key)?;
            if !runs.iter().any(|run| *run.value(&key) != Value::Absent) {
                let known = book.keys().filter(|k| runs.iter().any(|run| *run.value(k) != Value::Absent)).cloned();
                return Err(Fault::unknown(&filter.key.span, "parameter", &filter.key.text, known));
            }
            // Filters with variables are looked at case by case.
            if let Ok(wanted) = Eval::new(&claim.text, book, &[], View::Plan).value(&filter.value) {
                let (fitting, others): (Vec<_>, Vec<_>) = runs.iter().copied().partition(|run| run.fits(&key, filter.relation, &wanted));
                if fitting.is_empty() {
                    let there = others.iter().map(|run| run.value(&key)).collect::<BTreeSet<_>>();
                    let there = there.into_iter().map(|value| format!("{key}={value}")).collect();
                    let (selector, filter_text) = (claim.text[selector.span.clone()].into(), claim.text[filter.span.clone()].into());
                    return Err(Fault::new(&filter.span, Problem::NoMatch { selector, filter: filter_text, there }));
                }
                runs = fitting;
            }
            if filter.relation == Relation::Equal {
                given.insert(key);
            }
        }
        let mut varying: BTreeMap<String, BTreeSet<Value>> = BTreeMap::new();
        for key in book.keys().filter(|key| *key != "seed" && !given.contains(*key)) {
            let values: BTreeSet<_> = runs.iter().map(|run| run.value(key).clone()).collect();
            if values.len() > 1 {
                varying.insert(key.clone(), values);
            }
        }
        Ok(Self { selector, over, runs, given, varying })
    }

    /// Do these parameters tell the value of `key` in every run?
    fn tells<'k>(&self, by: impl Iterator<Item = &'k String> + Clone, key: &str) -> bool {
        let mut told: BTreeMap<Vec<&Value>, &Value> = BTreeMap::new();
        self.runs.iter().all(|run| {
            let seen = told.entry(by.clone().map(|k| run.value(k)).collect()).or_insert_with(|| run.value(key));
            *seen == run.value(key)
        })
    }
}

/// The runs a selector names before its filters.
fn picked<'b>(selector: &Selector, book: &'b Book<'b>) -> Result<Vec<&'b Run<'b>>, Fault> {
    let runs: Vec<_> = book.runs.iter().filter(|run| run.picked_by(&selector.pick)).collect();
    if !runs.is_empty() {
        return Ok(runs);
    }
    let unknown = |what, name: &str, known: BTreeSet<&String>| Fault::unknown(&selector.span, what, name, known);
    Err(match &selector.pick {
        Pick::Method(name) => unknown("method", name, book.runs.iter().map(|run| &run.card.method).collect()),
        Pick::Label(name) => unknown("label", name, book.runs.iter().map(|run| &run.card.label).collect()),
        Pick::Any => Fault::new(&selector.span, Problem::Empty("the experiment has no runs".into())),
    })
}

/// What a selector leaves open: the parameters its runs differ in, without those that follow from others
/// (a step tuned for each alpha is not a second grid).
fn open_keys(at: usize, candidates: &[Candidate<'_, '_>]) -> BTreeSet<String> {
    let this = &candidates[at];
    let mut order: Vec<_> = this.varying.iter().map(|(key, values)| (wanted(at, key, values, candidates), key)).collect();
    // Least wanted first; among equals the last in the alphabet.
    order.sort_by(|(a, x), (b, y)| a.cmp(b).then(y.cmp(x)));
    let mut open: BTreeSet<String> = this.varying.keys().cloned().collect();
    for (_, key) in order {
        let others = open.iter().filter(|k| *k != key).chain(&this.given);
        if this.tells(others, key) {
            open.remove(key);
        }
    }
    open
}

/// How much a parameter is worth keeping when it or another can go: those a fold runs through most, those
/// with values in common with other selectors next, those that could not be bound to others least.
fn wanted(at: usize, key: &str, values: &BTreeSet<Value>, candidates: &[Candidate<'_, '_>]) -> u8 {
    if candidates[at].over.iter().any(|over| over == key) {
        return 3;
    }
    let others = candidates.iter().enumerate().filter(|(other, _)| *other != at).filter_map(|(_, c)| c.varying.get(key));
    others.map(|other| if other.is_disjoint(values) { 0 } else { 2 }).min().unwrap_or(1)
}

fn join(candidates: &[Candidate<'_, '_>], open: &[BTreeSet<String>], book: &Book<'_>) -> Result<Vec<Case>, Fault> {
    let mut cases = BTreeSet::from([Case::new()]);
    for (candidate, open) in candidates.iter().zip(open) {
        let bound: Vec<_> = open.iter().filter(|key| !candidate.over.contains(key)).collect();
        let offers: BTreeSet<Case> =
            candidate.runs.iter().map(|run| bound.iter().map(|key| ((*key).clone(), run.value(key).clone())).collect()).collect();
        let agree = |case: &Case, offer: &Case| offer.iter().all(|(key, value)| case.get(key).is_none_or(|there| there == value));
        book.spend((cases.len() as u64).saturating_mul(offers.len() as u64).saturating_mul(Allowance::STEP), &candidate.selector.span)?;
        let joined = cases.iter().flat_map(|case| {
            let fitting = offers.iter().filter(|offer| agree(case, offer));
            fitting.map(|offer| case.iter().chain(offer).map(|(k, v)| (k.clone(), v.clone())).collect::<Case>())
        });
        cases = joined.collect();
        if cases.is_empty() {
            let keys = bound.into_iter().cloned().collect();
            return Err(Fault::new(&candidate.selector.span, Problem::Disjoint(keys)));
        }
    }
    Ok(cases.into_iter().collect())
}
