//! The loop: rounds in, rows out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::algorithm::{Algorithm, ClientId};
use crate::fleet::{Fleet, Heard, Look, Probe, Roster, Score};
use crate::ledger::{Direction, Ledger};
use crate::mean::Mean;
use crate::message::Wire;
use crate::record::{Metrics, Outcome, Row, Sink, UpDown, larger_is_better};
use crate::round::{Abort, Books, Cohort, Round, everyone};
use crate::seed::{Purpose, Seed, Slot};
use crate::vector::Vector;

/// What to run and what to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of the run, copied into its rows.
    pub run: usize,
    /// How many rounds.
    pub rounds: u64,
    /// Of all dice.
    pub seed: Seed,
    /// Least share of a cohort that must answer.
    pub quorum: f64,
    /// How often a round is tried.
    pub attempts: u32,
    /// When to measure.
    pub rhythm: Rhythm,
    /// What to measure.
    pub look: Look,
    /// How many clients to measure; all if absent, and none of a population without end.
    pub probe_clients: Option<u32>,
    /// How many coordinates of the shared model to record: `x` if it is one number, else `x.1`, `x.2`, …
    pub coordinates: u32,
    /// The best that can be reached.
    pub reference: Option<Reference>,
    /// When to stop early.
    pub stop: Vec<Stop>,
}

impl Plan {
    /// `rounds` rounds, measured after each.
    pub fn new(rounds: u64, seed: Seed) -> Self {
        Self {
            run: 0,
            rounds,
            seed,
            quorum: 1.0,
            attempts: 100,
            rhythm: Rhythm::Every(1),
            look: Look::default(),
            probe_clients: None,
            coordinates: 0,
            reference: None,
            stop: vec![],
        }
    }
}

/// When to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// Before the first round, after each k-th and after the last.
    Every(u64),
    /// After these rounds and after the last.
    At(Vec<u64>),
    /// Never.
    Never,
}

impl Rhythm {
    fn due(&self, round: u64, last: bool) -> bool {
        match self {
            Rhythm::Every(k) => round.is_multiple_of(*k) || last,
            Rhythm::At(rounds) => rounds.contains(&round) || last,
            Rhythm::Never => false,
        }
    }
}

/// The minimum of the function a method is measured against.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// F*
    pub value: f64,
    /// x^α, where there is one.
    pub x: Option<Vector>,
}

/// A stopping rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// A metric, or `bits_up`, `gradients`, or a note such as `steps`.
    pub metric: String,
    /// Stop when it is reached: from above for losses, from below for scores and costs.
    pub value: f64,
}

impl Stop {
    fn holds(&self, row: &Row, spent: &Metrics) -> bool {
        let cost = match self.metric.as_str() {
            "bits_up" => Some(row.bits.up as f64),
            "gradients" => Some(row.gradients as f64),
            name => spent.get(name).copied(),
        };
        match (cost, row.metrics.get(&self.metric)) {
            (Some(cost), _) => cost >= self.value,
            (None, Some(&value)) if larger_is_better(&self.metric) => value >= self.value,
            (None, Some(&value)) => value <= self.value,
            (None, None) => false,
        }
    }
}

/// What a run ends with.
#[derive(Clone, Debug)]
pub struct Trained<A: Algorithm> {
    /// The server's last state.
    pub server: A::Server,
    /// What was heard of each client.
    pub heard: Heard,
    /// What was spent.
    pub ledger: Ledger,
    /// Rounds completed.
    pub rounds: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// The loop itself could not go on; everything already handed to the sink is safe.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A row could not be kept.
    #[error("cannot write the row of round {round}")]
    Sink {
        /// Which.
        round: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The clients could not be measured.
    #[error("cannot measure after round {round}")]
    Probe {
        /// Which.
        round: u64,
        /// Why.
        #[source]
        source: Abort,
    },
}

/// Runs an algorithm on a fleet. Round 0 is [`Algorithm::open`].
pub fn train<A: Algorithm>(
    algorithm: &A,
    start: Vector,
    plan: &Plan,
    fleet: &mut dyn Fleet<A>,
    sink: &mut dyn Sink,
) -> Result<Trained<A>, TrainError> {
    let roster = fleet.roster();
    let everyone = everyone(&roster);
    let probed = probed(plan, &roster, &everyone);
    let mut run = Trained {
        server: algorithm.server(start),
        heard: Heard::default(),
        ledger: Ledger::default(),
        rounds: 0,
        outcome: Outcome::Finished,
    };
    let mut notes = BTreeMap::new();
    let mut spent = Metrics::new();
    let mut attempts = 0;
    for index in 0..=plan.rounds {
        if let Some(outcome) = attempt_round(algorithm, plan, index, &everyone, fleet, &mut run, &mut notes, &mut attempts) {
            run.outcome = outcome;
            break;
        }
        run.rounds = index;
        let last = index == plan.rounds || algorithm.done(&run.server);
        if plan.rhythm.due(index, last) {
            let mut row =
                measure(algorithm, plan, index, &probed, fleet, &run).map_err(|source| TrainError::Probe { round: index, source })?;
            row.attempts = std::mem::take(&mut attempts);
            for (name, value) in std::mem::take(&mut notes) {
                *spent.entry(name.to_owned()).or_insert(0.0) += value;
                row.notes.insert(name.to_owned(), value);
            }
            sink.row(&row).map_err(|source| TrainError::Sink { round: index, source })?;
            if let Some(outcome) = verdict(plan, &row, &spent) {
                run.outcome = outcome;
                break;
            }
        }
        if last {
            break;
        }
    }
    Ok(run)
}

/// Does this row end the run?
fn verdict(plan: &Plan, row: &Row, spent: &Metrics) -> Option<Outcome> {
    if !row.metrics.get("loss").is_none_or(|loss| loss.is_finite()) {
        return Some(Outcome::Diverged { round: row.round, client: None });
    }
    let rule = plan.stop.iter().find(|rule| rule.holds(row, spent))?;
    Some(Outcome::Stopped { rule: format!("{} reached {:e}", rule.metric, rule.value) })
}

/// Tries a round until it happens whole; `Some` if the run ends here.
#[allow(clippy::too_many_arguments)] // the loop's own variables, lent for one round
fn attempt_round<A: Algorithm>(
    algorithm: &A,
    plan: &Plan,
    index: u64,
    everyone: &Cohort,
    fleet: &mut dyn Fleet<A>,
    run: &mut Trained<A>,
    notes: &mut BTreeMap<&'static str, f64>,
    attempts: &mut u64,
) -> Option<Outcome> {
    for attempt in 0..plan.attempts {
        *attempts += 1;
        // Work on a copy: if the round fails, only the ledger remembers, since the bits were spent.
        let (mut server, mut noted) = (run.server.clone(), notes.clone());
        let slot = Slot { round: index, attempt, exchange: 0 };
        let books = Books { ledger: &mut run.ledger, heard: &mut run.heard, notes: &mut noted };
        let mut round = Round::new(slot, plan.seed, plan.quorum, everyone, fleet, books);
        let done = if index == 0 { algorithm.open(&mut server, &mut round) } else { algorithm.round(&mut server, &mut round) };
        match done {
            Ok(()) => {
                let mut finite = true;
                server.vectors(&mut |v| finite &= v.is_finite());
                if !finite {
                    return Some(Outcome::Diverged { round: index, client: None });
                }
                (run.server, *notes) = (server, noted);
                return None;
            }
            Err(Abort::Quorum { .. }) if attempt + 1 < plan.attempts => round.roll_back(),
            Err(Abort::NotFinite { client }) => return Some(Outcome::Diverged { round: index, client: Some(client) }),
            Err(fatal) => return Some(Outcome::Failed { round: index, reason: fatal.to_string() }),
        }
    }
    Some(Outcome::Failed { round: index, reason: "no attempts were allowed".into() })
}

/// The clients a probe looks at: all, or a sample that is the same in every round and run.
fn probed(plan: &Plan, roster: &Roster, everyone: &Cohort) -> Vec<ClientId> {
    let ids = everyone.ids();
    let mut dice = Seed(0).fixed(ClientId(0), Purpose::Probe);
    match plan.probe_clients {
        Some(count) if *roster == Roster::Unbounded => {
            (0..count).map(|_| ClientId(dice.next_u64() as u32)).collect::<BTreeSet<_>>().into_iter().collect()
        }
        Some(count) if (count as usize) < ids.len() => {
            dice.choose(count as usize, ids.len()).into_iter().map(|k| ids[k as usize]).collect()
        }
        _ => ids.to_vec(),
    }
}

fn measure<A: Algorithm>(
    algorithm: &A,
    plan: &Plan,
    round: u64,
    to: &[ClientId],
    fleet: &mut dyn Fleet<A>,
    run: &Trained<A>,
) -> Result<Row, Abort> {
    let mut table = Table::default();
    let shared = |id: ClientId| algorithm.shared(&run.server, id);
    let reference = plan.reference.as_ref().and_then(|r| r.x.as_ref());
    let probe = Probe { round, to, shared: &shared, heard: &run.heard, look: plan.look, reference };
    if !to.is_empty() {
        fleet.probe(&probe, &mut |_, score| table.add(score))?;
    }
    let mut metrics = table.finish();
    let x = shared(ClientId(0));
    for k in 0..x.len().min(plan.coordinates as usize) {
        metrics.insert(if x.len() == 1 { "x".into() } else { format!("x.{}", k + 1) }, x.at(k));
    }
    if let (Some(reference), Some(loss)) = (&plan.reference, metrics.get("loss")) {
        metrics.insert("gap".into(), loss - reference.value);
    }
    let (up, down) = (run.ledger.total(Direction::Up), run.ledger.total(Direction::Down));
    Ok(Row {
        run: plan.run,
        round,
        metrics,
        bits: UpDown::bits(up, down),
        bytes: UpDown::bytes(up, down),
        gradients: run.ledger.gradients,
        ..Row::default()
    })
}

/// Scores of many clients → one row's metrics: the plain mean under the metric's own name, the mean
/// weighted by examples under `.weighted`, the mean of the worst tenth of the clients under `.worst`.
#[derive(Default)]
struct Table {
    columns: BTreeMap<String, Vec<(f64, u64)>>,
    distance: Option<f64>,
    gradient: Option<Mean>,
    clients: u64,
}

impl Table {
    fn add(&mut self, score: Score) {
        self.clients += 1;
        self.column("loss").push((score.loss, score.examples));
        for (name, value, examples) in score.metrics {
            self.column(&name).push((value, examples));
        }
        if let Some(distance) = score.distance {
            *self.distance.get_or_insert(0.0) += distance;
        }
        if let Some(g) = score.gradient {
            self.gradient.get_or_insert_with(|| Mean::like(&g)).add(1.0, &g);
        }
    }

    fn column(&mut self, name: &str) -> &mut Vec<(f64, u64)> {
        if !self.columns.contains_key(name) {
            self.columns.insert(name.to_owned(), vec![]);
        }
        self.columns.get_mut(name).expect("the column was just made")
    }

    fn finish(self) -> Metrics {
        let mut metrics = Metrics::new();
        for (name, mut values) in self.columns {
            let count = values.len() as f64;
            let examples: u64 = values.iter().map(|v| v.1).sum();
            metrics.insert(name.clone(), values.iter().map(|v| v.0).sum::<f64>() / count);
            metrics.insert(format!("{name}.weighted"), values.iter().map(|v| v.0 * v.1 as f64).sum::<f64>() / examples as f64);
            values.sort_by(|a, b| if larger_is_better(&name) { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) });
            values.truncate(values.len().div_ceil(10));
            metrics.insert(format!("{name}.worst"), values.iter().map(|v| v.0).sum::<f64>() / values.len() as f64);
        }
        if let Some(total) = self.distance {
            metrics.insert("distance".into(), total / self.clients as f64);
        }
        if let Some(mean) = self.gradient {
            metrics.insert("grad_norm2".into(), mean.finish().norm2());
        }
        metrics
    }
}
