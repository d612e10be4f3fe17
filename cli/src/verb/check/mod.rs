//! `motet check`: an experiment fully resolved, its constants, theory's predictions, and what it will cost.

mod acceleration;
mod budget;
mod local_updates;
mod preflight;
mod solves;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use motet_core::{
    Algorithm, Direction, Host, Keeper, Memo, Moment, Next, Outcome, Plan, ProblemCard, Promise, Rhythm, Seed, TrainError, Trained, Wire,
    train_from,
};
use motet_methods::{Method, Visitor};
use motet_runtime::{Pool, Threads};
use serde::Serialize;
use serde_json::{Value, json};

use self::budget::Trade;
use self::preflight::{Needs, Scales, Seen};
use self::solves::{Solved, Solves};
use super::console::Console;
use super::run::HowArgs;
use crate::config::{Document, Experiment, StoreSection};
use crate::error::Error;
use crate::simulate::{Built, Simulation, visit};

/// Check an experiment without running it: resolved values, constants, predictions, cost.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  motet check mushrooms.toml --set method.alpha=0.3")]
pub struct CheckArgs {
    /// The experiment.
    experiment: PathBuf,
    #[command(flatten)]
    how: HowArgs,
}

/// Rounds of the trial behind the estimates, unless they take longer than we wait: then it ends with the round under way.
const TRIAL: u64 = 5;
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Serialize)]
struct Estimate {
    label: String,
    promise: Option<Promise>,
    budget: Option<Trade>,
    /// Rounds until the theorem's bound is 1e-3, 1e-6, 1e-9 of the start.
    rounds_to: Option<[u64; 3]>,
    seconds_per_round: f64,
    bytes_per_round: [u64; 2],
    seconds: f64,
    bytes: [u64; 2],
    needs: Needs,
    /// Why the trial did not get to its end, if it did not.
    trouble: Option<Trouble>,
}

/// A trial that went wrong.
#[derive(Serialize)]
struct Trouble {
    reason: String,
    /// Will the run itself fail? Divergence is a result, and its rounds still tell the cost.
    fatal: bool,
}

impl Trouble {
    fn of<A: Algorithm>(trial: &Result<Trained<A>, TrainError>) -> Option<Self> {
        match trial {
            Err(error) => {
                let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| cause.source());
                Some(Self { reason: causes.map(ToString::to_string).collect::<Vec<_>>().join(": "), fatal: true })
            }
            Ok(Trained { outcome: Outcome::Finished | Outcome::Stopped { .. } | Outcome::Interrupted { .. }, .. }) => None,
            Ok(Trained { outcome, .. }) => Some(Self { reason: outcome.to_string(), fatal: matches!(outcome, Outcome::Failed { .. }) }),
        }
    }

    fn line(&self) -> String {
        let unknown = if self.fatal { "; what a run costs and needs is not known" } else { "" };
        format!("  trial: {}{unknown}\n", self.reason)
    }
}

impl CheckArgs {
    /// Prints it.
    pub fn execute(&self, console: Console) -> Result<bool, Error> {
        let experiment = self.how.experiment(Document::read(&self.experiment)?)?;
        let pool = self.how.pool();
        let simulation = Simulation::prepare(&experiment, Arc::clone(&pool))?;
        let manifest = simulation.manifest();
        let claims = motet_report::claims::check(&experiment.claims.0, &manifest, &[]);
        claims.map_err(|source| Error::Claim { file: experiment.document.file.clone(), source })?;
        let solves: Vec<_> = simulation.problems().iter().map(|built| Solves::new(built.problem.start.clone())).collect();
        let mut estimates = vec![];
        for (card, planned) in manifest.runs.iter().zip(simulation.runs()) {
            if card.seed == experiment.seeds[0] && simulation.is_result(planned) {
                let (entry, built) = (simulation.entry(planned), &simulation.problems()[card.problem]);
                let budget = Trade::of(entry, &experiment, built, &pool)?;
                let (memo, rounds, store) = (&solves[card.problem].1, experiment.run.rounds, experiment.run.store);
                let trial = Trial { built, memo, pool: &pool, label: &card.label, rounds, store };
                estimates.push(Estimate { budget, ..visit(entry, trial)? });
            }
        }
        let accelerations = acceleration::accelerations(&simulation)?;
        let local_updates = local_updates::of(simulation.problems(), &experiment.methods);
        let counts = manifest.problems.iter().map(|card| card.clients);
        let solved: Vec<Option<Solved>> = solves.iter().zip(counts).map(|((solves, _), clients)| solves.solved(clients)).collect();
        let memory: u64 = simulation.problems().iter().map(|b| b.problem.memory_bytes).sum();
        let total: f64 = estimates.iter().map(|e| e.seconds).sum::<f64>() * experiment.seeds.len() as f64;
        let json = json!({
            "experiment": experiment.resolved(),
            "problems": manifest.problems,
            "solves": solved,
            "methods": estimates,
            "acceleration": accelerations,
            "local_updates": local_updates,
            "estimate": { "runs": manifest.runs.len(), "memory_bytes": memory, "seconds": total },
        });
        console.result(&json, || {
            let theory = acceleration::table(&accelerations) + &local_updates::table(&local_updates);
            page(&experiment, &manifest.problems, &solved, &theory, &estimates, &json["estimate"])
        });
        let needs: Vec<Needs> = estimates.iter().map(|e| e.needs).collect();
        let folder = self.how.out.as_deref().filter(|out| out.exists()).unwrap_or(Path::new("."));
        match preflight::misfit(memory, &needs, folder) {
            None => Ok(!estimates.iter().any(|e| e.trouble.as_ref().is_some_and(|trouble| trouble.fatal))),
            Some(reason) => Err(Error::Unfit { file: experiment.document.file.clone(), reason }),
        }
    }
}

/// Ends a trial of long rounds.
struct Patience(Instant);

impl<A: Algorithm> Keeper<A> for Patience {
    fn after(&mut self, moment: &Moment<A>) -> io::Result<Next> {
        let enough = moment.next > 1 && self.0.elapsed() > PATIENCE;
        Ok(if enough { Next::Stop } else { Next::GoOn })
    }
}

struct Trial<'a> {
    built: &'a Built,
    memo: &'a Arc<Memo>,
    pool: &'a Arc<Pool>,
    label: &'a str,
    rounds: u64,
    store: StoreSection,
}

impl Visitor for Trial<'_> {
    type Out = Estimate;
    fn visit<M: Method>(self, method: M) -> Estimate {
        let promise = self.built.promise(&method, None);
        let (method, seed) = (Arc::new(method), Seed(0));
        let problem = &self.built.problem;
        let scales = Arc::new(Scales::default());
        let host = Host::new(Arc::clone(&method), Arc::clone(&problem.population), Arc::clone(&scales) as _, Arc::clone(self.memo), seed);
        let run = |rounds: u64| {
            let plan = Plan { rhythm: Rhythm::Never, ..Plan::new(rounds, seed) };
            let mut fleet = Threads::new(host.clone(), Arc::clone(self.pool));
            let began = Instant::now();
            let start = Moment::before(&*method, problem.start.clone());
            let trained = train_from(&*method, start, &plan, &mut fleet, &mut Vec::new(), &mut Patience(began));
            // A trial that fails still took its time.
            let spent = trained.as_ref().map(|t| t.ledger.clone()).unwrap_or_default();
            (began.elapsed().as_secs_f64(), spent.total(Direction::Up).bytes, spent.total(Direction::Down).bytes, trained)
        };
        // Local solves of methods that ask for all of them at first are made here; what fails here fails again below.
        let _ = run(0);
        let (none, some) = (run(0), run(TRIAL.min(self.rounds)));
        let trial = match &some.3 {
            Ok(Trained { outcome: Outcome::Interrupted { round }, .. }) => *round,
            _ => TRIAL.min(self.rounds),
        };
        let seen = |trained: &Trained<M>| Seen {
            roster: problem.population.roster(),
            heard: trained.heard.clone(),
            trial,
            rounds: self.rounds,
            state_bytes: scales.largest(),
            server_bytes: trained.server.bytes(),
            model_bytes: problem.start.bytes(),
            threads: self.pool.threads() as u64,
            store: self.store,
        };
        let needs = some.3.as_ref().map(|trained| Needs::of(&*method, &seen(trained))).unwrap_or_default();
        let seconds_per_round = (some.0 - none.0).max(0.0) / trial.max(1) as f64;
        let bytes_per_round = [some.1 - none.1, some.2 - none.2].map(|bytes| bytes / trial.max(1));
        Estimate {
            label: self.label.to_owned(),
            rounds_to: promise
                .as_ref()
                .filter(|p| p.factor < 1.0)
                .map(|p| [1e-3f64, 1e-6, 1e-9].map(|eps| (eps.ln() / p.factor.ln()).ceil() as u64)),
            promise,
            budget: None,
            seconds_per_round,
            bytes_per_round,
            seconds: seconds_per_round * self.rounds as f64,
            bytes: bytes_per_round.map(|b| b * self.rounds),
            needs,
            trouble: Trouble::of(&some.3),
        }
    }
}

fn page(
    experiment: &Experiment,
    problems: &[ProblemCard],
    solved: &[Option<Solved>],
    accelerations: &str,
    estimates: &[Estimate],
    total: &Value,
) -> String {
    let mut text = toml::to_string(&without_nulls(&experiment.resolved())).unwrap_or_default();
    text.push('\n');
    for (p, solved) in problems.iter().zip(solved) {
        let clients = if p.clients == 0 { "no end of".to_owned() } else { p.clients.to_string() };
        text.push_str(&format!("Problem: {}\n  {clients} clients, dimension {}, {} examples\n", p.about, p.dim, p.examples));
        if let (Some([_, l, l_max]), Some([mu_min, mu, _])) = (p.smoothness, p.convexity) {
            text.push_str(&format!(
                "  L = {l:.6} (largest {l_max:.6}), mu = {mu:.6}, kappa = {:.2} (worst client {:.2})\n",
                l / mu,
                l_max / mu_min
            ));
        }
        text.push_str(&solved.as_ref().map_or_else(String::new, Solved::line));
    }
    text.push_str(accelerations);
    for e in estimates {
        text.push_str(&format!("{}\n", e.label));
        if let (Some(p), Some([a, b, c])) = (&e.promise, e.rounds_to) {
            text.push_str(&format!(
                "  theory: {} falls by {:.6} a round ({}): rounds to 1e-3, 1e-6, 1e-9 of the start: {a}, {b}, {c}\n",
                p.metric, p.factor, p.source
            ));
        }
        if let Some(trade) = &e.budget {
            text.push_str(&format!("{}\n", trade.line()));
        }
        if let Some(trouble) = &e.trouble {
            text.push_str(&trouble.line());
        }
        let [up, down] = e.bytes;
        text.push_str(&format!(
            "  cost: {:.1} us a round, {:.2} s in all; {up} bytes up, {down} bytes down\n",
            1e6 * e.seconds_per_round,
            e.seconds
        ));
        text.push_str(&e.needs.line());
    }
    let (runs, memory, seconds) = (&total["runs"], total["memory_bytes"].as_u64().unwrap_or(0), total["seconds"].as_f64().unwrap_or(0.0));
    text.push_str(&format!("Estimate: {runs} runs, {:.1} MB of data, {seconds:.1} s without probes\n", memory as f64 / 1e6));
    text
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
    use motet_core::Vector;
    use motet_methods::flix::Flix;

    #[test]
    fn a_trial_of_long_rounds_ends_with_the_one_under_way() {
        let method: Flix = serde_json::from_value(json!({"alpha": 1})).unwrap();
        let mut moment = Moment::before(&method, Vector::from(vec![0.0]));
        let (now, long_ago) = (Instant::now(), Instant::now().checked_sub(2 * PATIENCE).unwrap());
        let mut after = |next: u64, began: Instant| {
            moment.next = next;
            Patience(began).after(&moment).unwrap()
        };
        assert_eq!(after(1, long_ago), Next::GoOn, "opening is not a round");
        assert_eq!(after(2, long_ago), Next::Stop);
        assert_eq!(after(2, now), Next::GoOn);
    }
}
