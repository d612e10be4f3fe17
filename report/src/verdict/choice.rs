//! Choosing among settings without looking at what they are judged by.
//!
//! In every draw the setting of a way is the one with the best validation value in that draw, and its test value in the same draw
//! is what counts. Without validation data a draw's setting is chosen on the test parts of the *other* draws; with one draw there
//! is no other, and the choice sees the very rows that judge it: tests then count every setting that was tried.

use std::collections::BTreeMap;

use motet_core::larger_is_better;
use serde::Serialize;

use super::interval::mean;
use super::study::{Score, Study};

/// What the choice among settings has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// There was nothing to choose.
    #[default]
    Nothing,
    /// Validation data of the same draw.
    Validation,
    /// Test data of the other draws.
    OtherDraws,
    /// The test rows themselves.
    TestRows,
}

/// A way whose setting has been chosen in every draw.
pub(super) struct Chosen<'a> {
    pub(super) name: String,
    pub(super) alone: bool,
    /// (draw, client) → which contender, and its score.
    pub(super) cells: BTreeMap<(usize, usize), (usize, &'a Score)>,
    /// Among how many settings the choice saw the test rows themselves; 1 if it did not.
    pub(super) tries: usize,
    /// By how much a choice on test data flatters itself, where one was made and draws can tell.
    pub(super) flattery: Option<f64>,
}

impl<'a> Chosen<'a> {
    pub(super) fn scores(&self) -> impl Iterator<Item = &'a Score> + '_ {
        self.cells.values().map(|(_, score)| *score)
    }
}

/// What was measured of each contender in each draw, where it can be chosen.
pub(super) struct Chooser<'a> {
    study: &'a Study,
    /// Contender → draw → scores, all finite.
    measured: Vec<BTreeMap<usize, Vec<&'a Score>>>,
    validated: bool,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(study: &'a Study) -> Self {
        let by_draw = |scores: &'a [Score]| {
            let mut draws: BTreeMap<usize, Vec<&Score>> = BTreeMap::new();
            scores.iter().for_each(|score| draws.entry(score.draw).or_default().push(score));
            draws.retain(|_, scores| scores.iter().all(|score| score.test.is_finite()));
            draws
        };
        let measured: Vec<_> = study.contenders.iter().map(|contender| by_draw(&contender.scores)).collect();
        let seen = |scores: &Vec<&Score>| scores.iter().any(|score| score.validation.is_some_and(f64::is_finite));
        let validated = study.chosen_by.is_some() && measured.iter().flat_map(BTreeMap::values).all(seen);
        Self { study, measured, validated }
    }

    /// The contenders of a way.
    fn settings(&self, way: &str) -> Vec<usize> {
        (0..self.measured.len()).filter(|&c| self.study.contenders[c].way == way).collect()
    }

    /// Of these, those that stand in a draw, with as many clients as any of them.
    fn standing(&self, settings: &[usize], draw: usize) -> Vec<usize> {
        let clients = |c: &usize| self.measured[*c].get(&draw).map_or(0, Vec::len);
        let most = settings.iter().map(clients).max().unwrap_or(0);
        settings.iter().copied().filter(|c| most > 0 && clients(c) == most).collect()
    }

    /// The mean over clients on test data; larger is better.
    fn test(&self, contender: usize, draw: usize) -> Option<f64> {
        let scores = self.measured[contender].get(&draw)?;
        Some(sign(&self.study.metric) * mean(&scores.iter().map(|score| score.test).collect::<Vec<_>>()))
    }

    /// The mean over clients on validation data; larger is better.
    fn validation(&self, contender: usize, draw: usize) -> Option<f64> {
        let values: Vec<f64> = self.measured[contender].get(&draw)?.iter().filter_map(|score| score.validation).collect();
        let by = self.study.chosen_by.as_deref()?;
        Some(sign(by) * mean(&values)).filter(|v| v.is_finite())
    }

    /// The mean over the other draws on test data; larger is better.
    fn elsewhere(&self, contender: usize, draw: usize) -> Option<f64> {
        let values: Vec<f64> = (0..self.study.draws).filter(|d| *d != draw).filter_map(|d| self.test(contender, d)).collect();
        (!values.is_empty()).then(|| mean(&values))
    }

    /// The one to take in a draw.
    fn choose(&self, settings: &[usize], draw: usize) -> Option<usize> {
        let standing = self.standing(settings, draw);
        let worth = |&c: &usize| match (self.validated, self.study.draws) {
            (true, _) => self.validation(c, draw),
            (false, 1) => self.test(c, draw),
            (false, _) => self.elsewhere(c, draw),
        };
        best(standing.iter().map(|c| (*c, worth(c).unwrap_or(f64::NEG_INFINITY))))
    }

    /// What the choices have seen.
    pub(super) fn kind(&self) -> Choice {
        let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
        self.study.contenders.iter().for_each(|contender| *ways.entry(&contender.way).or_default() += 1);
        let joint = self.study.contenders.iter().filter(|contender| !contender.alone).count();
        match (self.validated, self.study.draws) {
            _ if joint < 2 && ways.values().all(|settings| *settings < 2) => Choice::Nothing,
            (true, _) => Choice::Validation,
            (false, 0 | 1) => Choice::TestRows,
            (false, _) => Choice::OtherDraws,
        }
    }

    /// A way with its setting chosen; the reason why it is out if it does not stand in every draw.
    pub(super) fn way(&self, name: &str) -> Result<Chosen<'a>, String> {
        let settings = self.settings(name);
        let mut cells = BTreeMap::new();
        for draw in 0..self.study.draws {
            let Some(chosen) = self.choose(&settings, draw) else {
                let fault = settings.iter().find_map(|&c| self.study.contenders[c].fault.clone());
                return Err(fault.unwrap_or_else(|| "not measured in every draw".into()));
            };
            cells.extend(self.measured[chosen][&draw].iter().map(|score| ((draw, score.client), (chosen, *score))));
        }
        Ok(Chosen {
            name: name.into(),
            alone: settings.iter().all(|&c| self.study.contenders[c].alone),
            cells,
            tries: self.tries(&settings),
            flattery: self.flattery(&settings),
        })
    }

    /// What every client would take of several ways: on its own validation data, or like everybody on the test data of other draws.
    pub(super) fn each_clients_own(&self, ways: &[&Chosen<'a>], name: &str) -> Chosen<'a> {
        let settings: Vec<usize> = ways.iter().flat_map(|way| self.settings(&way.name)).collect();
        let mut cells = BTreeMap::new();
        let keys = || ways.iter().flat_map(|way| way.cells.keys().copied());
        for (draw, client) in keys() {
            let offers = ways.iter().filter_map(|way| way.cells.get(&(draw, client)).copied());
            let taken = if self.validated {
                let by = self.study.chosen_by.as_deref().unwrap_or_default();
                let own = |(c, score): (usize, &Score)| score.validation.map_or_else(|| self.validation(c, draw), |v| Some(sign(by) * v));
                best(offers.map(|(c, score)| ((c, score), own((c, score)).unwrap_or(f64::NEG_INFINITY))))
            } else {
                let having = |c: &usize| self.measured[*c].get(&draw).is_some_and(|all| all.iter().any(|score| score.client == client));
                let able: Vec<usize> = settings.iter().copied().filter(having).collect();
                let chosen = self.choose(&able, draw);
                chosen.and_then(|c| Some((c, *self.measured[c].get(&draw)?.iter().find(|score| score.client == client)?)))
            };
            cells.extend(taken.map(|taken| ((draw, client), taken)));
        }
        Chosen { name: name.into(), alone: false, cells, tries: self.tries(&settings), flattery: self.flattery(&settings) }
    }

    fn tries(&self, settings: &[usize]) -> usize {
        if self.validated || self.study.draws > 1 { 1 } else { self.standing(settings, 0).len().max(1) }
    }

    /// The best of a draw, there and in the draws that did not choose it: the difference is what choosing on test data adds.
    fn flattery(&self, settings: &[usize]) -> Option<f64> {
        if self.validated || settings.len() < 2 || self.study.draws < 2 {
            return None;
        }
        // What a setting is above the average setting of its draw, so that hard draws weigh no more than easy ones.
        let above = |c: usize, draw: usize| {
            let all: Vec<f64> = settings.iter().filter_map(|&other| self.test(other, draw)).collect();
            Some(self.test(c, draw)? - mean(&all))
        };
        let mut flattered = vec![];
        for draw in 0..self.study.draws {
            let here = settings.iter().filter_map(|&c| Some((c, above(c, draw)?)));
            let Some((chosen, value)) = here.reduce(|a, b| if b.1 > a.1 { b } else { a }) else { continue };
            let others: Vec<f64> = (0..self.study.draws).filter(|d| *d != draw).filter_map(|d| above(chosen, d)).collect();
            if !others.is_empty() {
                flattered.push(value - mean(&others));
            }
        }
        (!flattered.is_empty()).then(|| mean(&flattered))
    }
}

/// 1 where larger is better, else −1.
pub(super) fn sign(metric: &str) -> f64 {
    if larger_is_better(metric) { 1.0 } else { -1.0 }
}

/// The first of the largest.
fn best<T>(all: impl Iterator<Item = (T, f64)>) -> Option<T> {
    all.reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|(found, _)| found)
}
