//! Numbers read off the rows of one run.

use motet_core::{Outcome, Row, Vector, larger_is_better};

use super::ast::{Axis, Clients};
use super::book::Run;
use crate::compare::BITS_PER_FLOAT;

/// Gaps below this are rounding: they are not compared, and not part of a slope.
const FLOOR: f64 = 1e-12;

/// Why a number cannot be read.
pub(super) enum Gap {
    /// No row has this metric.
    NoMetric,
    /// The run did not get this far.
    TooShort(String),
}

/// Rounds to look at, both ends included.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Only this many, counted from the end.
    pub(super) last: Option<f64>,
}

impl Run<'_> {
    /// Where on the axis the metric first reaches the threshold; infinity if it never does.
    pub(super) fn reach(&self, axis: Axis, metric: &str, threshold: f64) -> Result<f64, Gap> {
        let up = larger_is_better(metric);
        let threshold = floored(metric, threshold);
        let reached = |&&(_, value): &&(&Row, f64)| if up { value >= threshold } else { value <= threshold };
        Ok(self.series(metric)?.iter().find(reached).map_or(f64::INFINITY, |(row, _)| axis.of(row)))
    }

    /// The metric where the budget ends: in the last row that does not exceed it. A run that stopped by its
    /// rule keeps its last value; one that diverged has the worst there is.
    pub(super) fn at(&self, metric: &str, axis: Axis, budget: f64) -> Result<f64, Gap> {
        let within = self.rows.partition_point(|row| axis.of(row) <= budget);
        let ended = within == self.rows.len() && self.rows.last().is_some_and(|row| axis.of(row) < budget);
        match self.outcome {
            Some(Outcome::Diverged { .. }) if ended => return Ok(worst(metric)),
            Some(Outcome::Stopped { .. }) => {}
            _ if ended => {
                return Err(Gap::TooShort(format!("{} ends before {} {}", self.card.label, axis.words(), super::truth::show(budget))));
            }
            _ => {}
        }
        match self.rows[..within].iter().rev().find_map(|row| read(row, metric)) {
            Some(value) => Ok(value),
            None if self.has(metric) => Err(Gap::TooShort(format!("{} has no row up to {} {budget}", self.card.label, axis.words()))),
            None => Err(Gap::NoMetric),
        }
    }

    pub(super) fn last(&self, metric: &str) -> Result<f64, Gap> {
        if matches!(self.outcome, Some(Outcome::Diverged { .. })) && self.has(metric) {
            return Ok(worst(metric));
        }
        self.rows.iter().rev().find_map(|row| read(row, metric)).ok_or(Gap::NoMetric)
    }

    /// The mean over these clients at the end of the run.
    pub(super) fn clients(&self, metric: &str, who: &Clients) -> Result<f64, Gap> {
        let values: Vec<f64> =
            self.clients.iter().filter(|c| who.contains(&c.client)).filter_map(|c| c.metrics.get(metric).copied()).collect();
        if values.is_empty() { Err(Gap::NoMetric) } else { Ok(mean(&values)) }
    }

    pub(super) fn first(&self, metric: &str) -> Result<f64, Gap> {
        self.rows.iter().find_map(|row| read(row, metric)).ok_or(Gap::NoMetric)
    }

    pub(super) fn extreme(&self, metric: &str, best: bool) -> Result<f64, Gap> {
        let values = self.series(metric)?.into_iter().map(|(_, value)| value);
        Ok(if larger_is_better(metric) == best { values.fold(f64::NEG_INFINITY, f64::max) } else { values.fold(f64::INFINITY, f64::min) })
    }

    /// Least squares: change of log₁₀(metric) per round, over rows above the floor.
    pub(super) fn slope(&self, metric: &str, rounds: Rounds) -> Result<f64, Gap> {
        let above = |&(_, value): &(&Row, f64)| value > FLOOR && value.is_finite();
        let points: Vec<_> = self.window(metric, rounds)?.into_iter().filter(above).map(|(row, v)| (row.round as f64, v.log10())).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let (x, y) = (mean(&x), mean(&y));
        let over: f64 = points.iter().map(|(k, v)| (k - x) * (v - y)).sum();
        let under: f64 = points.iter().map(|(k, _)| (k - x).powi(2)).sum();
        // Undefined (0/0) for fewer than two rounds.
        Ok(over / under)
    }

    pub(super) fn average(&self, metric: &str, rounds: Rounds) -> Result<f64, Gap> {
        Ok(mean(&self.values(metric, rounds)?))
    }

    pub(super) fn deviation(&self, metric: &str, rounds: Rounds) -> Result<f64, Gap> {
        let values = self.values(metric, rounds)?;
        let centre = mean(&values);
        Ok(mean(&values.iter().map(|v| (v - centre).powi(2)).collect::<Vec<_>>()).sqrt())
    }

    /// max over k of k · metric(k): bounded if the metric falls like 1/k.
    pub(super) fn envelope(&self, metric: &str, rounds: Rounds) -> Result<f64, Gap> {
        Ok(self.window(metric, rounds)?.iter().map(|(row, v)| row.round as f64 * v).fold(f64::NEG_INFINITY, f64::max))
    }

    /// What was noted in all rounds of a window, measured or not: the difference of two totals. Between two rows nobody knows
    /// the total, so a window begins after the last row before it and ends with the last row within it.
    pub(super) fn total(&self, note: &str, rounds: Rounds) -> Result<f64, Gap> {
        let totals = || self.rows.iter().filter_map(|row| Some((row.round as f64, *row.totals.get(note)?)));
        let Some((end, _)) = totals().next_back() else { return Err(Gap::NoMetric) };
        let from = rounds.last.map_or(rounds.from, |last| rounds.from.max(end - last + 1.0));
        let until = |inside: &dyn Fn(f64) -> bool| totals().take_while(|(round, _)| inside(*round)).last();
        match until(&|round| round <= rounds.to) {
            Some((round, total)) if round >= from => Ok(total - until(&|round| round < from).map_or(0.0, |(_, before)| before)),
            _ => Err(Gap::TooShort(format!("{} has no row in those rounds", self.card.label))),
        }
    }

    /// Total weight of clients, averaged over the rounds asked for, or at the end: by the merit ledger, or `weight.7`
    /// in the rows, or else `weight` of each client at the end of the run.
    pub(super) fn weight(&self, who: &Clients, rounds: Option<Rounds>) -> Result<f64, Gap> {
        if !self.merits.is_empty() {
            return self.merit(who, rounds);
        }
        let mut total = 0.0;
        for client in who.clone() {
            let metric = format!("weight.{client}");
            total += match rounds {
                Some(rounds) => self.average(&metric, rounds)?,
                None => match self.last(&metric) {
                    Ok(weight) => weight,
                    Err(_) => self.clients("weight", &(client..=client))?,
                },
            };
        }
        Ok(total)
    }

    /// Of the ledger's totals, the mean over rounds, or the last round's; with several targets, their mean. A record
    /// counts for all rounds it stands for if they lie within the window, else for its own.
    fn merit(&self, who: &Clients, rounds: Option<Rounds>) -> Result<f64, Gap> {
        let end = self.merits.last().map_or(0, |merit| merit.round);
        let (from, to) = match rounds {
            None => (end as f64, end as f64),
            Some(Rounds { from, to, last: None }) => (from, to),
            Some(Rounds { from, to, last: Some(count) }) => (from.max(end as f64 - count + 1.0), to),
        };
        let (mut total, mut seen) = (0.0, 0.0);
        for merit in self.merits.iter().filter(|merit| (from..=to).contains(&(merit.round as f64))) {
            let whole = from <= merit.round.saturating_sub(merit.rounds.saturating_sub(1)) as f64;
            let (weights, counts) = if whole { (merit.average(), merit.rounds as f64) } else { (&merit.weights, 1.0) };
            total += counts * weight_of(weights, who);
            seen += counts;
        }
        if seen == 0.0 { Err(Gap::TooShort(format!("{} has no weights in these rounds", self.card.label))) } else { Ok(total / seen) }
    }

    /// Everything the rows have a number for.
    pub(super) fn metrics(&self) -> Vec<String> {
        let mut names: Vec<_> = self.rows.iter().flat_map(|row| row.metrics.keys().chain(row.notes.keys()).cloned()).collect();
        names.extend(READ_OFF_ROWS.map(Into::into));
        names.sort();
        names.dedup();
        names
    }

    fn has(&self, metric: &str) -> bool {
        self.rows.iter().any(|row| read(row, metric).is_some())
    }

    fn series(&self, metric: &str) -> Result<Vec<(&Row, f64)>, Gap> {
        let series: Vec<_> = self.rows.iter().filter_map(|row| Some((*row, read(row, metric)?))).collect();
        if series.is_empty() { Err(Gap::NoMetric) } else { Ok(series) }
    }

    fn window(&self, metric: &str, rounds: Rounds) -> Result<Vec<(&Row, f64)>, Gap> {
        let series = self.series(metric)?;
        let end = series.last().map_or(0.0, |(row, _)| row.round as f64);
        let from = rounds.last.map_or(rounds.from, |last| rounds.from.max(end - last + 1.0));
        let inside: Vec<_> = series.into_iter().filter(|(row, _)| (from..=rounds.to).contains(&(row.round as f64))).collect();
        if inside.is_empty() {
            return Err(Gap::TooShort(format!("{} has no row in those rounds", self.card.label)));
        }
        Ok(inside)
    }

    fn values(&self, metric: &str, rounds: Rounds) -> Result<Vec<f64>, Gap> {
        Ok(self.window(metric, rounds)?.into_iter().map(|(_, value)| value).collect())
    }
}

impl Axis {
    fn of(self, row: &Row) -> f64 {
        match self {
            Self::Round => row.round as f64,
            Self::Bits => row.bits.up as f64,
            Self::Floats => row.bits.up as f64 / BITS_PER_FLOAT,
            Self::Gradients => row.gradients as f64,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Round => "round",
            Self::Bits => "uplink bits",
            Self::Floats => "uplink floats",
            Self::Gradients => "gradients",
        }
    }
}

/// Totals that every row has, readable like metrics.
pub(super) const READ_OFF_ROWS: [&str; 7] = ["bits.up", "bits.down", "bytes.up", "bytes.down", "gradients", "deployed", "round"];

/// A metric, a note or a total of a row. What is not finite is the worst there is.
fn read(row: &Row, metric: &str) -> Option<f64> {
    if let Some(&value) = row.metrics.get(metric).or_else(|| row.notes.get(metric)) {
        return Some(if value.is_finite() { floored(metric, value) } else { worst(metric) });
    }
    Some(match metric {
        "bits.up" => row.bits.up as f64,
        "bits.down" => row.bits.down as f64,
        "bytes.up" => row.bytes.up as f64,
        "bytes.down" => row.bytes.down as f64,
        "gradients" => row.gradients as f64,
        "deployed" => row.deployed?,
        "round" => row.round as f64,
        _ => return None,
    })
}

/// The total weight of these clients; whom it does not list has none.
fn weight_of(weights: &Vector, who: &Clients) -> f64 {
    let listed = weights.len() as u32;
    who.clone().take_while(|client| *client < listed).map(|client| weights.at(client as usize)).sum()
}

fn floored(metric: &str, value: f64) -> f64 {
    if is_gap(metric) { value.max(FLOOR) } else { value }
}

/// Is this a value too small to be compared?
pub(super) fn at_floor(value: f64) -> bool {
    // A little above: the mean of several floors may differ from the floor in its last digit.
    value.abs() <= FLOOR * (1.0 + 1e-9)
}

fn is_gap(metric: &str) -> bool {
    metric.split('.').any(|part| part == "gap")
}

fn worst(metric: &str) -> f64 {
    if larger_is_better(metric) { f64::NEG_INFINITY } else { f64::INFINITY }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
