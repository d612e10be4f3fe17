//! The loop: rounds in, rows out.

use std::collections::BTreeSet;
use std::io;

use crate::abort::Abort;
use crate::algorithm::{Algorithm, ClientId};
use crate::breach::Breaches;
use crate::cohort::{Everyone, everyone};
use crate::fit::ReplyError;
use crate::fleet::{Fleet, LastReplies, Probe, ProbeRequest, Roster, Score};
use crate::ledger::{Direction, Ledger};
use crate::merit::{Merit, Tally};
use crate::message::Wire;
use crate::record::{Outcome, Row, Sink, UpDown, larger_is_better};
use crate::round::{Attempt, NotFinite, Round, Rules};
use crate::run_state::{Account, AfterRound, Checkpointer, NoCheckpoints, RunState};
use crate::seed::{Purpose, Seed, Slot};
use crate::study::Study;
use crate::table::Table;
use crate::train_error::TrainError;
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
    /// What becomes of replies that are not numbers.
    pub not_finite: NotFinite,
    /// How often a round is tried.
    pub attempts: u32,
    /// When to measure.
    pub rhythm: Rhythm,
    /// What to measure.
    pub look: ProbeRequest,
    /// How many clients to measure; all if absent, and none of a population without end.
    pub probe_clients: Option<u32>,
    /// Clients outside of the roster who never train: they are judged with the model they would be given, under `unseen.`.
    pub unseen: Vec<ClientId>,
    /// How many coordinates of the shared model to record: `x` if it is one number, else `x.1`, `x.2`, …
    pub coordinates: u32,
    /// The best that can be reached.
    pub reference: Option<Reference>,
    /// When to stop early.
    pub stop: Vec<Stop>,
    /// Do clients pick their own αᵢ on validation data when training is over? One more row, numbered as the round after the last, then tells what that gives: it costs no communication.
    pub pick: bool,
}

impl Plan {
    /// `rounds` rounds, measured after each.
    pub fn new(rounds: u64, seed: Seed) -> Self {
        Self {
            run: 0,
            rounds,
            seed,
            quorum: 1.0,
            not_finite: NotFinite::Fatal,
            attempts: 100,
            rhythm: Rhythm::Every(1),
            look: ProbeRequest::default(),
            probe_clients: None,
            unseen: vec![],
            coordinates: 0,
            reference: None,
            stop: vec![],
            pick: false,
        }
    }
}

impl Plan {
    /// The clients a probe looks at: all, or a sample that is the same in every round and run.
    pub fn probed(&self, roster: &Roster) -> Vec<ClientId> {
        let everyone = everyone(roster, &Breaches::default());
        let ids = everyone.ids();
        let mut dice = Seed(0).fixed(ClientId(0), Purpose::Probe);
        match self.probe_clients {
            Some(count) if *roster == Roster::Unbounded => {
                (0..count).map(|_| ClientId(dice.next_u64() as u32)).collect::<BTreeSet<_>>().into_iter().collect()
            }
            Some(count) if (count as usize) < ids.len() => {
                dice.choose(count as usize, ids.len()).into_iter().map(|k| ids[k as usize]).collect()
            }
            _ => ids.to_vec(),
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
    /// A metric, or `bits_up`, `gradients`, a note, or `iterations`: local steps as the method notes them
    /// (`steps`), rounds if it takes one step in each and notes none.
    pub metric: String,
    /// Stop when it is reached: from above for losses, from below for scores and costs.
    pub value: f64,
}

impl Stop {
    fn holds(&self, row: &Row) -> bool {
        let cost = match self.metric.as_str() {
            "bits_up" => Some(row.bits.up as f64),
            "gradients" => Some(row.gradients as f64),
            "iterations" => Some(row.totals.get("steps").copied().unwrap_or(row.round as f64)),
            name => row.totals.get(name).copied(),
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
    pub heard: LastReplies,
    /// What was spent.
    pub ledger: Ledger,
    /// Clients who broke the protocol too often or have gone for good: they are neither asked nor measured any more.
    pub excluded: Vec<ClientId>,
    /// Rounds completed.
    pub rounds: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Runs an algorithm on a fleet. Round 0 is [`Algorithm::open`].
pub fn train<A: Study>(
    algorithm: &A,
    start: Vector,
    plan: &Plan,
    fleet: &mut dyn Fleet<A>,
    sink: &mut dyn Sink,
) -> Result<Trained<A>, TrainError> {
    train_from(algorithm, RunState::before(algorithm, start), plan, fleet, sink, &mut NoCheckpoints)
}

/// Goes on from a state of a run as if nothing had happened since, and offers every later one to `checkpointer`. The clients
/// must have the states of that time.
pub fn train_from<A: Study>(
    algorithm: &A,
    from: RunState<A>,
    plan: &Plan,
    fleet: &mut dyn Fleet<A>,
    sink: &mut dyn Sink,
    checkpointer: &mut dyn Checkpointer<A>,
) -> Result<Trained<A>, TrainError> {
    let roster = fleet.roster();
    let probed = algorithm.target().map_or_else(|| plan.probed(&roster), |target| vec![target]);
    let (mut now, mut attempt) = (from, Attempt::new());
    let mut everyone = Everyone::new(roster, &now.account.breaches);
    let mut outcome = Outcome::Finished;
    for index in now.next..=plan.rounds {
        if let Some(end) = attempt_round(algorithm, plan, index, &mut everyone, fleet, &mut now, &mut attempt)? {
            outcome = end;
            break;
        }
        fleet.round_closed(&mut attempt.heard(), &now.account.heard).map_err(|source| TrainError::Settle { round: index, source })?;
        now.next = index + 1;
        if plan.rhythm != Rhythm::Never {
            tally(algorithm, &probed, &mut now);
        }
        let last = index == plan.rounds || algorithm.done(&now.server);
        if plan.rhythm.due(index, last) {
            let Some(mut row) = measure(algorithm, plan, index, &probed, fleet, &mut now)? else {
                outcome = interrupted(index);
                break;
            };
            let account = &mut now.account;
            row.notes = account.notes.to_metrics();
            row.excluded = std::mem::take(&mut account.excluded);
            row.breaches = account.breaches.take_events();
            let kept = sink.row(&row).and_then(|()| merits(algorithm, plan.run, index, &probed, &mut now, sink));
            kept.map_err(|source| TrainError::Sink { round: index, source })?;
            if let Some(end) = verdict(plan, &row) {
                outcome = end;
                break;
            }
        }
        if last {
            break;
        }
        if checkpointer.after(&now).map_err(|source| TrainError::Keep { round: index, source })? == AfterRound::Stop {
            outcome = Outcome::Interrupted { round: index };
            break;
        }
    }
    if matches!(outcome, Outcome::Finished | Outcome::Stopped { .. }) {
        if plan.pick {
            let (round, look) = (now.next, ProbeRequest { pick: true, gradient: false, ..plan.look });
            let plan = Plan { look, reference: None, ..plan.clone() };
            match measure(algorithm, &plan, round, &probed, fleet, &mut now)? {
                Some(mut row) => {
                    row.breaches = now.account.breaches.take_events();
                    sink.row(&row).map_err(|source| TrainError::Sink { round, source })?;
                }
                None => outcome = interrupted(round),
            }
        }
        checkpointer.end(&now).map_err(|source| TrainError::Keep { round: now.next.saturating_sub(1), source })?;
    }
    let RunState { server, next, account: Account { heard, ledger, breaches, .. } } = now;
    Ok(Trained { server, heard, ledger, excluded: breaches.all_excluded(), rounds: next.saturating_sub(1), outcome })
}

/// Adds up who counted how much for whom, of those who are measured: in every round, measured or not.
fn tally<A: Study>(algorithm: &A, of: &[ClientId], now: &mut RunState<A>) {
    for (k, id) in of.iter().enumerate() {
        let Some(weights) = algorithm.merit(&now.server, *id) else { return };
        if now.account.merits.len() == k {
            now.account.merits.push(Tally::new());
        }
        now.account.merits[k].add(&weights);
    }
}

/// Hands over who counted how much for whom since the last row.
fn merits<A: Study>(algorithm: &A, run: usize, round: u64, of: &[ClientId], now: &mut RunState<A>, sink: &mut dyn Sink) -> io::Result<()> {
    for (id, tally) in of.iter().zip(std::mem::take(&mut now.account.merits)) {
        if let Some(weights) = algorithm.merit(&now.server, *id) {
            sink.merit(&Merit::new(run, round, id.0, &weights).over(&tally))?;
        }
    }
    Ok(())
}

/// Does this row end the run?
fn verdict(plan: &Plan, row: &Row) -> Option<Outcome> {
    if !row.metrics.get("loss").is_none_or(|loss| loss.is_finite()) {
        return Some(Outcome::Diverged { round: row.round, client: None });
    }
    let rule = plan.stop.iter().find(|rule| rule.holds(row))?;
    Some(Outcome::Stopped { rule: format!("{} reached {:e}", rule.metric, rule.value) })
}

/// How a run ends that was stopped within a round.
fn interrupted(within: u64) -> Outcome {
    Outcome::Interrupted { round: within.saturating_sub(1) }
}

/// Tries a round until it happens whole; `Some` if the run ends here. Attempts that too few were there for do not count: they are as
/// good as waiting, but have dice of their own.
fn attempt_round<A: Algorithm>(
    algorithm: &A,
    plan: &Plan,
    index: u64,
    everyone: &mut Everyone,
    fleet: &mut dyn Fleet<A>,
    now: &mut RunState<A>,
    attempt: &mut Attempt<A::Server>,
) -> Result<Option<Outcome>, TrainError> {
    let (mut tried, mut waited) = (0, 0);
    while tried < plan.attempts {
        let RunState { server, account, .. } = &mut *now;
        let changes = fleet.participants().map_or(0, |participants| participants.changes());
        if let Some(participants) = fleet.participants() {
            account.breaches.exclude(participants.gone());
        }
        everyone.renew(&account.breaches);
        if let Some(nobody) = everyone.gone(&account.breaches) {
            return Ok(Some(Outcome::Failed { round: index, reason: nobody.to_string() }));
        }
        let already = account.breaches.count_excluded();
        // What was is kept until the method has decided: if the round fails, only the ledger and the breaches remember it, since
        // the bits were spent.
        attempt.begin(server.clone(), account);
        let slot = Slot { round: index, attempt: tried + waited, exchange: 0 };
        let rules = Rules { quorum: plan.quorum, not_finite: plan.not_finite };
        let mut round = Round::new(algorithm, (slot, plan.seed, rules), &everyone.cohort, fleet, (account, attempt));
        let done = if index == 0 { algorithm.open(server, &mut round) } else { algorithm.round(server, &mut round) };
        if let Some(participants) = fleet.participants() {
            account.breaches.exclude(participants.gone());
            // Who was silent may be back by now, so that nobody looks away: that somebody has come since says it.
            let others = account.breaches.count_excluded() > already || participants.changes() != changes;
            if is_for_lack_of_clients(&done, others, attempt)
                && let Some(before) = attempt.before.take()
            {
                attempt.roll_back(account);
                *server = before;
                if participants.wait(changes).is_err() {
                    return Ok(Some(interrupted(index)));
                }
                waited += 1;
                continue;
            }
        }
        account.attempts += 1;
        // Another attempt may meet fewer losses, and does without those whom this one has excluded.
        let excluded = account.breaches.count_excluded() > already;
        let hope = matches!(done, Err(Abort::Quorum { .. })) || excluded && matches!(done, Err(Abort::Excluded { .. }));
        let again = tried + 1 < plan.attempts && hope;
        if again {
            attempt.roll_back(account);
        }
        let end = match done {
            Ok(()) if attempt.declared_finite.unwrap_or_else(|| is_finite(server)) => {
                std::mem::swap(&mut account.notes, &mut attempt.notes);
                account.notes.add_to(&mut account.totals);
                std::mem::swap(&mut account.excluded, &mut attempt.excluded);
                attempt.before = None;
                return Ok(None);
            }
            Ok(()) => Outcome::Diverged { round: index, client: None },
            Err(Abort::Interrupted) => interrupted(index),
            Err(Abort::NotFinite { client }) => Outcome::Diverged { round: index, client: Some(client) },
            // Not the method's failure but the machine's: the run can go on from what was kept.
            Err(Abort::Store(source)) => return Err(TrainError::Store { round: index, source }),
            Err(fatal) => Outcome::Failed { round: index, reason: fatal.to_string() },
        };
        if let Some(before) = attempt.before.take() {
            *server = before;
        }
        if !again {
            return Ok(Some(end));
        }
        tried += 1;
    }
    Ok(Some(Outcome::Failed { round: index, reason: "no attempts were allowed".into() }))
}

/// Did an attempt come to nothing because participants are away, or because `others` are there than when it began?
fn is_for_lack_of_clients<S>(done: &Result<(), Abort>, others: bool, attempt: &Attempt<S>) -> bool {
    match done {
        Ok(()) => attempt.missed_everyone(),
        Err(Abort::Away { .. }) => true,
        Err(Abort::Quorum { .. } | Abort::Excluded { .. }) => others,
        Err(_) => false,
    }
}

fn is_finite(server: &mut impl Wire) -> bool {
    let mut finite = true;
    server.vectors(&mut |v| finite &= v.is_finite());
    finite
}

/// A row; none if whoever watches asked for a stop meanwhile.
fn measure<A: Study>(
    algorithm: &A,
    plan: &Plan,
    round: u64,
    to: &[ClientId],
    fleet: &mut dyn Fleet<A>,
    now: &mut RunState<A>,
) -> Result<Option<Row>, TrainError> {
    match row(algorithm, plan, round, to, fleet, now) {
        Err(Abort::Interrupted) => Ok(None),
        row => row.map(Some).map_err(|source| TrainError::Probe { round, source }),
    }
}

fn row<A: Study>(
    algorithm: &A,
    plan: &Plan,
    round: u64,
    to: &[ClientId],
    fleet: &mut dyn Fleet<A>,
    now: &mut RunState<A>,
) -> Result<Row, Abort> {
    let mut table = Table::default();
    let RunState { server, account, .. } = now;
    let Account { model, heard, ledger, breaches, attempts, totals, .. } = account;
    // Whoever is no longer asked to train is not asked for scores either.
    let to = &*breaches.without(to);
    // A score whose vectors are no models is a breach like a reply that does not fit, and as good as none.
    let mut add = |table: &mut Table, id: ClientId, score: Score| match score.fits(*model) {
        Ok(()) => table.add(score),
        Err(misfit) => breaches.add(round, id, ReplyError::Misfit { kind: "Score", misfit }.to_string()),
    };
    let shared = |id: ClientId| algorithm.shared(server, id);
    let reference = plan.reference.as_ref().and_then(|r| r.x.as_ref());
    let look = ProbeRequest { rate: algorithm.local_rate(server), ..plan.look };
    let probe = Probe { round, to, shared: &shared, heard, look, reference };
    if !to.is_empty() {
        fleet.probe(&probe, &mut |id, score| add(&mut table, id, score))?;
    }
    let mut metrics = table.finish();
    if !plan.unseen.is_empty() && algorithm.target().is_none() {
        let mut table = Table::default();
        let unseen = Probe { to: &plan.unseen, look: ProbeRequest { gradient: false, model: false, ..look }, reference: None, ..probe };
        fleet.probe(&unseen, &mut |id, score| add(&mut table, id, score))?;
        metrics.extend(table.finish().into_iter().map(|(name, value)| (format!("unseen.{name}"), value)));
    }
    let x = shared(ClientId(0));
    for k in 0..x.len().min(plan.coordinates as usize) {
        metrics.insert(if x.len() == 1 { "x".into() } else { format!("x.{}", k + 1) }, x.at(k));
    }
    if let (Some(reference), Some(loss)) = (&plan.reference, metrics.get("loss")) {
        metrics.insert("gap".into(), loss - reference.value);
    }
    let (up, down) = (ledger.total(Direction::Up), ledger.total(Direction::Down));
    Ok(Row {
        run: plan.run,
        round,
        metrics,
        bits: UpDown::bits(up, down),
        bytes: UpDown::bytes(up, down),
        gradients: ledger.gradients,
        attempts: *attempts,
        totals: totals.clone(),
        deployed: (ledger.nanoseconds > 0).then_some(ledger.nanoseconds as f64 / 1e9),
        ..Row::default()
    })
}
