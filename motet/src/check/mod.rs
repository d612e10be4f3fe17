//! An experiment fully resolved, its constants, theory's predictions, and what it will cost, without running it.

mod acceleration;
mod budget;
mod local_updates;
mod preflight;
mod solves;
mod spread;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use motet_core::{AfterRound, Direction, Outcome, Plan, Promise, Rhythm, Seed, TrainError, Wire};
use motet_methods::Reads;
use motet_methods::parts::budget::steps_enough;
use motet_records::ProblemCard;
use motet_runtime::Pool;
use serde::Serialize;
use serde_json::Value;

use self::acceleration::Acceleration;
use self::budget::Trade;
use self::local_updates::LocalUpdates;
use self::preflight::{Needs, Scales, Seen};
use self::solves::{Solved, Solves};
pub use self::spread::Layout;
use self::spread::{Line, Spread};
use crate::config::{Experiment, StoreSection};
use crate::error::Error;
use crate::estimates::Estimates;
use crate::method::AnyMethod;
use crate::network::Network;
use crate::session::{AnyCheckpointer, AnyRunState, Ended, States};
use crate::simulate::{Built, Simulation};

/// Rounds of the trial behind the estimates, unless they take longer than we wait: then it ends with the round under way.
const TRIAL: u64 = 5;
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Serialize)]
struct Estimate {
    label: String,
    promise: Option<Promise>,
    budget: Option<Trade>,
    /// What `"estimate"` comes to.
    estimated: Option<Estimates>,
    /// Rounds until the theorem's bound is 1e-3, 1e-6, 1e-9 of the start.
    rounds_to: Option<[u64; 3]>,
    seconds_per_round: f64,
    bytes_per_round: [u64; 2],
    replies_per_round: f64,
    /// Of one message down, and of one up.
    ask_bytes: f64,
    reply_bytes: f64,
    /// Are replies only added up?
    #[serde(skip)]
    sums: bool,
    seconds: f64,
    bytes: [u64; 2],
    needs: Needs,
    /// What a round takes on a cluster, where one is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<(Layout, Spread)>,
    /// Why the trial did not get to its end, if it did not.
    trouble: Option<Trouble>,
}

impl Estimate {
    /// Of a method whose α a budget decides, where finding it takes longer than we wait: what depends on α is not known.
    fn without_alpha(self) -> Self {
        let reason = format!("what the budget affords is not known: it takes local solves of more than {:.0} s", PATIENCE.as_secs_f64());
        let trouble = self.trouble.or(Some(Trouble { reason, fatal: false }));
        Self { promise: None, rounds_to: None, budget: None, trouble, ..self }
    }
}

/// A trial that went wrong.
#[derive(Serialize)]
struct Trouble {
    reason: String,
    /// Will the run itself fail? Divergence is a result, and its rounds still tell the cost.
    fatal: bool,
}

impl Trouble {
    fn of(trial: &Result<Ended, TrainError>) -> Option<Self> {
        match trial {
            Err(error) => {
                let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| cause.source());
                Some(Self { reason: causes.map(ToString::to_string).collect::<Vec<_>>().join(": "), fatal: true })
            }
            Ok(Ended { outcome: Outcome::Finished | Outcome::Stopped { .. } | Outcome::Interrupted { .. }, .. }) => None,
            Ok(Ended { outcome, .. }) => Some(Self { reason: outcome.to_string(), fatal: matches!(outcome, Outcome::Failed { .. }) }),
        }
    }

    fn line(&self) -> String {
        let unknown = if self.fatal { "; what a run costs and needs is not known" } else { "" };
        format!("  trial: {}{unknown}\n", self.reason)
    }
}

/// An experiment looked at without being run. Its `Display` is a page for people.
#[derive(Serialize)]
pub struct Check {
    /// Everything, defaults filled in.
    experiment: Value,
    problems: Vec<ProblemCard>,
    solves: Vec<Option<Solved>>,
    methods: Vec<Estimate>,
    acceleration: Vec<Acceleration>,
    local_updates: Vec<LocalUpdates>,
    /// Names of claims that no made-up record contradicts.
    cannot_fail: Vec<String>,
    /// What a reader should know before the run.
    notes: Vec<String>,
    estimate: Total,
}

/// What all runs take together.
#[derive(Serialize)]
struct Total {
    runs: usize,
    memory_bytes: u64,
    /// How much of that ranks of one machine hold once.
    shared_bytes: u64,
    seconds: f64,
}

impl Check {
    /// Resolves values, finds constants and predictions, and tries a few rounds of each method.
    pub fn of(experiment: Experiment, pool: Arc<Pool>) -> Result<Self, Error> {
        let (solves, clock) = (RefCell::new(vec![]), Arc::default());
        let simulation = Simulation::solving_with(experiment, pool, &|problem| {
            let (of_one, memo) = Solves::new(problem.start().into_owned(), Arc::clone(&clock));
            solves.borrow_mut().push(of_one);
            memo
        })?;
        let (simulation, solves) = (&simulation, solves.into_inner());
        // What a budget affords is found while the runs are planned: from stand-ins it would be wrong.
        let budget_is_known: Vec<bool> = solves.iter().map(|of_one| of_one.are_all_made()).collect();
        let (experiment, pool) = (simulation.experiment(), simulation.pool());
        let manifest = simulation.manifest();
        simulation.check_claims()?;
        let mut methods = vec![];
        for (card, planned) in manifest.runs.iter().zip(simulation.runs()) {
            if card.seed == experiment.seeds[0] && simulation.is_result(planned) {
                let (entry, built) = (simulation.entry(planned), &simulation.problems()[card.problem]);
                let budget = Trade::of(entry, experiment, built, &solves[card.problem], pool)?;
                let (rounds, store) = (experiment.run.rounds, experiment.run.store);
                let trial = Trial { built, pool, label: &card.label, rounds, store };
                let unsuited = |reason| Error::Unsuited { file: experiment.document.file.clone(), key: entry.key.clone(), reason };
                let estimated = match Estimates::of(entry, &entry.estimates, built, pool) {
                    // What is learnt in rounds needs less than what this shows beside it.
                    Err(_) if !entry.estimates.beforehand().any() => None,
                    found => found.map_err(unsuited)?,
                };
                let estimate = Estimate { budget, estimated, ..trial.of(&entry.method)? };
                let is_known = entry.budget.is_none() || budget_is_known[card.problem];
                methods.push(if is_known { estimate } else { estimate.without_alpha() });
            }
        }
        let counts = manifest.problems.iter().map(|card| card.clients);
        let seconds = methods.iter().map(|e| e.seconds).sum::<f64>() * experiment.seeds.len() as f64;
        Ok(Self {
            experiment: experiment.resolved(),
            solves: solves.iter().zip(counts).map(|(solves, clients)| solves.solved(clients)).collect(),
            problems: manifest.problems,
            methods,
            acceleration: acceleration::accelerations(simulation),
            local_updates: local_updates::of(simulation.problems(), &experiment.methods),
            cannot_fail: cannot_fail(simulation),
            notes: simulation.idle_settings(),
            estimate: Total {
                runs: manifest.runs.len(),
                memory_bytes: simulation.problems().iter().map(|b| b.problem.memory_bytes).sum(),
                shared_bytes: simulation.problems().iter().map(|b| b.problem.shared_bytes).sum(),
                seconds,
            },
        })
    }

    /// The same, with what a round takes on many ranks that reach each other so fast.
    #[must_use]
    pub fn spread_over(mut self, on: Layout, network: &Network) -> Self {
        let data = [self.estimate.memory_bytes, self.estimate.shared_bytes];
        for method in &mut self.methods {
            method.spread = Some((on, Spread::of(method, data, on, network)));
        }
        self
    }

    /// Did the trial of some run fail, so that the run itself will?
    pub fn fails(&self) -> bool {
        self.methods.iter().any(|e| e.trouble.as_ref().is_some_and(|trouble| trouble.fatal))
    }

    /// Why the experiment does not fit this machine, if it does not; records would go to `folder`.
    pub fn misfit(&self, folder: &Path) -> Option<String> {
        let needs: Vec<Needs> = self.methods.iter().map(|e| e.needs).collect();
        preflight::misfit(self.estimate.memory_bytes, &needs, folder)
    }
}

/// Runs above which the search for falsifiers would take longer than a check should.
const FEW_RUNS: usize = 100;

/// The claims for which no falsifier is found.
fn cannot_fail(simulation: &Simulation) -> Vec<String> {
    let (experiment, outline) = (simulation.experiment(), simulation.experiment().outline());
    let (undecided, mut names) = (experiment.undecided(), vec![]);
    for claim in experiment.claims.0.iter().filter(|_| outline.runs.len() <= FEW_RUNS) {
        let found = motet_report::claims::falsify(claim, &outline, &undecided, experiment.run.rounds);
        // What the outline does not know (n and d of a problem) is no fault of the claim.
        if found.is_ok_and(|found| found.holds.is_some() && found.fails.is_none()) {
            names.push(claim.name.clone());
        }
    }
    names
}

/// Ends a trial of long rounds.
struct Patience(Instant);

impl AnyCheckpointer for Patience {
    fn after(&mut self, moment: &dyn AnyRunState) -> io::Result<AfterRound> {
        Ok(self.next(moment.next_round()))
    }

    fn end(&mut self, _: &dyn AnyRunState) -> io::Result<()> {
        Ok(())
    }
}

impl Patience {
    fn next(&self, round: u64) -> AfterRound {
        let enough = round > 1 && self.0.elapsed() > PATIENCE;
        if enough { AfterRound::Stop } else { AfterRound::GoOn }
    }
}

struct Trial<'a> {
    built: &'a Built,
    pool: &'a Arc<Pool>,
    label: &'a str,
    rounds: u64,
    store: StoreSection,
}

impl Trial<'_> {
    fn of(self, method: &Arc<dyn AnyMethod>) -> Result<Estimate, Error> {
        let promise = self.built.promise(&**method, None).map_err(|e| Error::Unknown(e.to_string()))?;
        let problem = &self.built.problem;
        let scales = Arc::new(Scales::default());
        let run = |rounds: u64| {
            let plan = Plan { rhythm: Rhythm::Never, ..Plan::new(rounds, Seed(0)) };
            let ground = self.built.ground(self.pool, Seed(0), States::Sized(Arc::clone(&scales) as _));
            let session = Arc::clone(method).on(ground).map_err(|source| Error::Write { path: self.label.into(), source })?;
            let began = Instant::now();
            let session = session.train(&plan, &mut Vec::new(), &mut Patience(began));
            let server_bytes = session.as_ref().map_or(0, |session| session.server().len() as u64);
            let trained = session.map(|session| session.ended());
            // A trial that fails still took its time.
            let spent = trained.as_ref().map(|t| t.ledger.clone()).unwrap_or_default();
            let [up, down] = [Direction::Up, Direction::Down].map(|direction| spent.total(direction).bytes);
            let counts =
                [true, false].map(|up| spent.entries().iter().filter(|entry| entry.up == up).map(|entry| entry.count).sum::<u64>());
            Ok::<_, Error>((began.elapsed().as_secs_f64(), up, down, trained, server_bytes, counts))
        };
        // Local solves of methods that ask for all of them at first are made here; what fails here fails again below.
        let _ = run(0)?;
        let (none, some) = (run(0)?, run(TRIAL.min(self.rounds))?);
        let trial = match &some.3 {
            Ok(Ended { outcome: Outcome::Interrupted { round }, .. }) => *round,
            _ => TRIAL.min(self.rounds),
        };
        let seen = |trained: &Ended| Seen {
            roster: problem.population.roster(),
            heard: trained.heard.clone(),
            trial,
            rounds: self.rounds,
            state_bytes: scales.largest(),
            server_bytes: some.4,
            model_bytes: problem.start().bytes(),
            threads: self.pool.threads() as u64,
            store: self.store,
        };
        let needs = some.3.as_ref().map(|trained| Needs::of(&**method, &seen(trained))).unwrap_or_default();
        let seconds_per_round = (some.0 - none.0).max(0.0) / trial.max(1) as f64;
        let bytes_per_round = [some.1 - none.1, some.2 - none.2].map(|bytes| bytes / trial.max(1));
        let [replies, asks] = [0, 1].map(|way| some.5[way].saturating_sub(none.5[way]) as f64);
        Ok(Estimate {
            label: self.label.to_owned(),
            rounds_to: promise
                .as_ref()
                .filter(|p| p.factor < 1.0)
                .map(|p| [1e-3f64, 1e-6, 1e-9].map(|eps| steps_enough(-eps.ln(), -p.factor.ln()).unwrap_or(u64::MAX))),
            promise,
            budget: None,
            estimated: None,
            seconds_per_round,
            bytes_per_round,
            replies_per_round: replies / trial.max(1) as f64,
            ask_bytes: some.2.saturating_sub(none.2) as f64 / asks.max(1.0),
            reply_bytes: some.1.saturating_sub(none.1) as f64 / replies.max(1.0),
            sums: method.card().reads == Reads::Sums,
            spread: None,
            seconds: seconds_per_round * self.rounds as f64,
            bytes: bytes_per_round.map(|b| b.saturating_mul(self.rounds)),
            needs,
            trouble: Trouble::of(&some.3),
        })
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", toml::to_string(&without_nulls(&self.experiment)).map_err(|_| fmt::Error)?)?;
        for (p, solved) in self.problems.iter().zip(&self.solves) {
            let clients = if p.clients == 0 { "endlessly many".to_owned() } else { p.clients.to_string() };
            writeln!(f, "Problem: {}\n  {clients} clients, dimension {}, {} examples", p.about, p.dim, p.examples)?;
            if let (Some([_, l, l_max]), Some([mu_min, mu, _])) = (p.smoothness, p.convexity) {
                let (mean, worst) = (l / mu, l_max / mu_min);
                writeln!(f, "  L = {l:.6} (largest {l_max:.6}), mu = {mu:.6}, kappa = {mean:.2} (worst client {worst:.2})")?;
            }
            f.write_str(&solved.as_ref().map_or_else(String::new, Solved::line))?;
        }
        f.write_str(&acceleration::table(&self.acceleration))?;
        f.write_str(&local_updates::table(&self.local_updates))?;
        for name in &self.cannot_fail {
            writeln!(f, "Claim \"{name}\" shows nothing: it holds for every made-up record that was tried, so it cannot fail")?;
        }
        self.methods.iter().try_for_each(|estimate| write!(f, "{estimate}"))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "Note: {note}"))?;
        let Total { runs, memory_bytes, seconds, .. } = self.estimate;
        writeln!(f, "Estimate: {runs} runs, {:.1} MB of data, {seconds:.1} s without probes", memory_bytes as f64 / 1e6)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.label)?;
        if let (Some(p), Some([a, b, c])) = (&self.promise, self.rounds_to) {
            let Promise { metric, factor, source, .. } = p;
            let to = "rounds to 1e-3, 1e-6, 1e-9 of the start";
            writeln!(f, "  theory: {metric} falls by {factor:.6} a round ({source}): {to}: {a}, {b}, {c}")?;
        }
        if let Some(trade) = &self.budget {
            writeln!(f, "{}", trade.line())?;
        }
        if let Some(estimated) = &self.estimated {
            f.write_str(&estimated.line())?;
        }
        if let Some(trouble) = &self.trouble {
            f.write_str(&trouble.line())?;
        }
        let ([up, down], micros) = (self.bytes, 1e6 * self.seconds_per_round);
        writeln!(f, "  cost: {micros:.1} us a round, {:.2} s in all; {up} bytes up, {down} bytes down", self.seconds)?;
        f.write_str(&self.needs.line())?;
        self.spread.as_ref().map_or(Ok(()), |(on, spread)| write!(f, "{}", Line(*on, spread)))
    }
}

/// TOML has no null.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(table) => table.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), without_nulls(v))).collect(),
        Value::Array(items) => items.iter().filter(|v| !v.is_null()).map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_of_long_rounds_ends_with_the_one_under_way() {
        let (now, long_ago) = (Instant::now(), Instant::now().checked_sub(2 * PATIENCE).unwrap());
        assert_eq!(Patience(long_ago).next(1), AfterRound::GoOn, "opening is not a round");
        assert_eq!(Patience(long_ago).next(2), AfterRound::Stop);
        assert_eq!(Patience(now).next(2), AfterRound::GoOn);
    }
}
