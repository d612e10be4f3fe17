//! A run and all it left; runs that differ only by their seed.

use std::collections::BTreeMap;

use motet_core::{Metrics, Outcome, Row, UpDown};
use motet_records::{ClientRow, Records, RunCard, RunSummary};

/// Runs that differ only by their seed.
pub struct Group<'a> {
    /// The runs' label; with several folders, the folder's name comes first.
    pub label: String,
    /// Position of their folder.
    pub folder: usize,
    /// One per seed.
    pub runs: Vec<Run<'a>>,
}

/// One run and all it left.
pub struct Run<'a> {
    /// What was planned.
    pub card: &'a RunCard,
    /// What was measured, by round.
    pub rows: Vec<&'a Row>,
    /// Its clients at the end.
    pub clients: Vec<&'a ClientRow>,
    /// What came of it; absent if it was cut short.
    pub summary: Option<&'a RunSummary>,
}

impl Group<'_> {
    /// Name of the method.
    pub fn method(&self) -> &str {
        self.runs.first().map_or("", |run| &run.card.method)
    }

    /// Did some seed diverge?
    pub fn diverged(&self) -> bool {
        self.runs.iter().any(|run| matches!(run.outcome(), Some(Outcome::Diverged { .. })))
    }

    /// The metric at the end: one value per seed that has it.
    pub fn finals(&self, metric: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.last().get(metric).copied()).collect()
    }
}

impl<'a> Run<'a> {
    pub(crate) fn new(records: &'a Records, card: &'a RunCard) -> Self {
        // Each round once: a run that was resumed may have measured a round twice.
        let rows: BTreeMap<u64, &Row> = records.rows_of(card.run).map(|row| (row.round, row)).collect();
        let clients = records.clients.iter().filter(|c| c.run == card.run).collect();
        Self { card, rows: rows.into_values().collect(), clients, summary: summary_of(records, card) }
    }

    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<&'a Outcome> {
        self.summary.map(|s| &s.outcome)
    }

    /// Rounds completed.
    pub fn rounds(&self) -> u64 {
        self.summary.map_or_else(|| self.rows.last().map_or(0, |row| row.round), |s| s.rounds)
    }

    /// The last metrics: the summary's or, for a run that was cut short, the last row's.
    pub fn last(&self) -> &'a Metrics {
        static NONE: Metrics = Metrics::new();
        match (self.summary, self.rows.last()) {
            (Some(summary), _) => &summary.last,
            (None, Some(row)) => &row.metrics,
            (None, None) => &NONE,
        }
    }

    /// Bits and bytes sent.
    pub fn traffic(&self) -> (UpDown, UpDown) {
        match (self.summary, self.rows.last()) {
            (Some(summary), _) => (summary.bits, summary.bytes),
            (None, Some(row)) => (row.bits, row.bytes),
            (None, None) => Default::default(),
        }
    }

    /// Examples differentiated.
    pub fn gradients(&self) -> u64 {
        self.summary.map_or_else(|| self.rows.last().map_or(0, |row| row.gradients), |s| s.gradients)
    }

    /// Wall time of training.
    pub fn seconds(&self) -> Option<f64> {
        self.summary.map(|s| s.seconds).or_else(|| self.rows.last().and_then(|row| row.seconds))
    }

    /// The bound after `round` rounds, where the theorem bounds this metric.
    pub(crate) fn promised(&self, metric: &str, round: u64) -> Option<f64> {
        let promise = self.card.promise.as_ref().filter(|p| p.metric == metric)?;
        promise.at(round, &self.rows.first().filter(|row| row.round == 0)?.metrics)
    }
}

/// Summaries are in the manifest's order; label and seed are compared all the same, in case they are not.
fn summary_of<'a>(records: &'a Records, card: &RunCard) -> Option<&'a RunSummary> {
    let same = |s: &&RunSummary| s.label == card.label && s.seed == card.seed;
    let runs = &records.summary.as_ref()?.runs;
    runs.get(card.run).filter(same).or_else(|| runs.iter().find(same))
}
