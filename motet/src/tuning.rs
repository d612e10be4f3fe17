//! Trials: which runs they are, what they are ranked by, and what is chosen.

use std::collections::BTreeMap;
use std::ops::Range;

use motet_core::{Metrics, Outcome, Row, larger_is_better};
use motet_records::{RunSummary, Tried, Tuning};
use serde_json::{Map, Value};

use crate::config::TuneRule;

/// The trials for one method on one problem.
#[derive(Clone, Debug)]
pub(crate) struct Trials {
    pub(crate) rule: TuneRule,
    /// Parameter → value, and the place of the method with these among the entries of the simulation.
    pub(crate) candidates: Vec<(Map<String, Value>, usize)>,
    /// Rounds and runs of each rung.
    pub(crate) rungs: Vec<(u64, Range<usize>)>,
    pub(crate) label: String,
    pub(crate) method: String,
    pub(crate) problem: usize,
    pub(crate) seed: u64,
}

/// What is there to judge by.
#[derive(Clone, Copy)]
pub(crate) struct TrialHistory<'a> {
    /// How runs ended that are done.
    pub(crate) runs: &'a BTreeMap<usize, RunSummary>,
    pub(crate) rows: &'a [&'a Row],
}

/// How a combination did at the end of a rung.
#[derive(Clone)]
struct Standing {
    candidate: usize,
    /// Its runs, one for each rung so far.
    runs: Vec<usize>,
    /// Small is good; infinite if it diverged.
    cost: f64,
    stable: bool,
}

impl Trials {
    /// All of its runs.
    pub(crate) fn runs(&self) -> Range<usize> {
        self.rungs.first().map_or(0, |rung| rung.1.start)..self.rungs.last().map_or(0, |rung| rung.1.end)
    }

    /// Is there a rung after this one?
    pub(crate) fn goes_on(&self, rung: usize) -> bool {
        rung + 1 < self.rungs.len()
    }

    /// The rounds of a rung.
    pub(crate) fn rounds(&self, rung: usize) -> u64 {
        self.rungs[rung].0
    }

    /// Which combination comes at a place of a rung, and the run that it goes on from.
    pub(crate) fn at(&self, rung: usize, place: usize, past: TrialHistory<'_>) -> (usize, Option<usize>) {
        let Some(before) = rung.checked_sub(1) else { return (place, None) };
        let ladder = self.ladder(rung, past);
        let goes_on = self.survivors(&ladder[before], rung).nth(place);
        goes_on.map_or((0, None), |standing| (standing.candidate, standing.runs.last().copied()))
    }

    /// The combination that the runs are made with.
    pub(crate) fn chosen(&self, past: TrialHistory<'_>) -> usize {
        let standings = self.ladder(self.rungs.len(), past).pop().unwrap_or_default();
        let Some(name) = &self.rule.stable else { return best(standings.iter()) };
        let value = |s: &Standing| self.candidates[s.candidate].0.get(name).and_then(Value::as_f64).unwrap_or(f64::NEG_INFINITY);
        let stable = || standings.iter().filter(|s| s.stable);
        if let Some(largest) = stable().map(value).reduce(f64::max) {
            return best(stable().filter(|s| value(s) == largest));
        }
        // If everything diverges, the smallest value diverges least.
        let smallest = standings.iter().map(value).fold(f64::INFINITY, f64::min);
        best(standings.iter().filter(|s| value(s) == smallest))
    }

    /// The first so many rungs, each with its combinations in the order of the file.
    fn ladder(&self, rungs: usize, past: TrialHistory<'_>) -> Vec<Vec<Standing>> {
        let mut rows: BTreeMap<usize, Vec<&Row>> = BTreeMap::new();
        let mine = self.runs();
        past.rows.iter().filter(|row| mine.contains(&row.run)).for_each(|row| rows.entry(row.run).or_default().push(row));
        let begin = |candidate| Standing { candidate, runs: vec![], cost: 0.0, stable: true };
        let mut field: Vec<Standing> = (0..self.candidates.len()).map(begin).collect();
        let mut ladder: Vec<Vec<Standing>> = vec![];
        for rung in 0..rungs {
            if let Some(before) = ladder.last() {
                field = self.survivors(before, rung).cloned().collect();
            }
            for (place, standing) in field.iter_mut().enumerate() {
                standing.runs.push(self.rungs[rung].1.start + place);
                self.judge(standing, past.runs, &rows);
            }
            ladder.push(field.clone());
        }
        ladder
    }

    /// Those of the rung before who come to this one.
    fn survivors<'s>(&self, before: &'s [Standing], rung: usize) -> impl Iterator<Item = &'s Standing> {
        let mut ranked: Vec<&Standing> = before.iter().collect();
        ranked.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.candidate.cmp(&b.candidate)));
        ranked.truncate(self.rungs[rung].1.len());
        ranked.sort_by_key(|s| s.candidate);
        ranked.into_iter()
    }

    fn judge(&self, standing: &mut Standing, runs: &BTreeMap<usize, RunSummary>, rows: &BTreeMap<usize, Vec<&Row>>) {
        let rows: Vec<&Row> = standing.runs.iter().filter_map(|run| rows.get(run)).flatten().copied().collect();
        let ended = |run: &RunSummary| matches!(run.outcome, Outcome::Finished | Outcome::Stopped { .. });
        let ended = standing.runs.last().and_then(|run| runs.get(run)).is_some_and(ended);
        let score = self.score(&rows).filter(|score| ended && score.is_finite());
        let [first, last] =
            [rows.first(), rows.last()].map(|row| row.map_or(f64::NAN, |row| self.sign() * of(&row.metrics, &self.rule.by)));
        standing.cost = score.map_or(f64::INFINITY, |score| self.sign() * score);
        standing.stable = score.is_some() && last <= first;
    }

    fn sign(&self) -> f64 {
        if larger_is_better(&self.rule.by) { -1.0 } else { 1.0 }
    }

    /// The mean of the metric over the last rounds; what was measured before the first counts only if nothing else was.
    fn score(&self, rows: &[&Row]) -> Option<f64> {
        let end = rows.iter().map(|row| row.round).max()?;
        let counts = |row: &&&Row| row.round > end.saturating_sub(self.rule.last) && (row.round > 0 || end == 0);
        let values: Vec<f64> = rows.iter().filter(counts).map(|row| of(&row.metrics, &self.rule.by)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// What became of the trials, for the summary.
    pub(crate) fn summary(&self, past: TrialHistory<'_>) -> Tuning {
        let mut reached: BTreeMap<usize, Standing> = BTreeMap::new();
        for standing in self.ladder(self.rungs.len(), past).into_iter().flatten() {
            reached.insert(standing.candidate, standing);
        }
        let tried = |(candidate, s): (usize, Standing)| {
            let run = s.runs.last().copied().unwrap_or_default();
            Tried {
                run,
                values: self.candidates[candidate].0.clone(),
                rounds: past.runs.get(&run).map_or(0, |run| run.rounds),
                score: s.cost.is_finite().then_some(self.sign() * s.cost),
                stable: s.stable,
            }
        };
        let trials = reached.into_iter().map(tried).collect();
        Tuning {
            label: self.label.clone(),
            method: self.method.clone(),
            problem: self.problem,
            seed: self.seed,
            by: self.rule.by.clone(),
            last: self.rule.last,
            stable: self.rule.stable.clone(),
            chosen: self.candidates[self.chosen(past)].0.clone(),
            trials,
        }
    }
}

fn of(metrics: &Metrics, name: &str) -> f64 {
    metrics.get(name).copied().unwrap_or(f64::NAN)
}

/// The cheapest, the first of equals.
fn best<'a>(standings: impl Iterator<Item = &'a Standing>) -> usize {
    standings.min_by(|a, b| a.cost.total_cmp(&b.cost)).map_or(0, |s| s.candidate)
}
