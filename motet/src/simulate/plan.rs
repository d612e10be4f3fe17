//! Which runs an experiment is made of: problems built, methods fitted to them, trials before what they are for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use motet_core::{ClientId, Memo, Roster};
use motet_problems::{Problem, ProblemConfig, ProblemError};
use motet_runtime::Pool;

use super::{Built, MOST_CLIENTS, Planned, Role};
use crate::affordable::Locals;
use crate::config::{Experiment, MethodEntry, Tune, closest};
use crate::error::Error;
use crate::estimates::Estimates;
use crate::method::AnyMethod;
use crate::tuning::Trials;

/// Everything that is planned, in the order of the manifest.
pub(super) struct Plans<'a> {
    experiment: &'a Experiment,
    pool: &'a Arc<Pool>,
    pub(super) problems: Vec<Built>,
    /// Methods as they fit a problem.
    pub(super) entries: Vec<MethodEntry>,
    pub(super) runs: Vec<Planned>,
    pub(super) tunings: Vec<Trials>,
    /// (method, combination of values, problem if it matters) → place among the entries.
    places: BTreeMap<(usize, Option<usize>, Option<usize>), usize>,
}

/// Makes the problem that a run with this seed works on.
pub(super) type Build<'a> = dyn Fn(&ProblemConfig, u64) -> Result<Problem, ProblemError> + 'a;

impl<'a> Plans<'a> {
    /// `build` makes the problem of a draw; `memo`: where the local solves of a problem are kept.
    pub(super) fn make(
        experiment: &'a Experiment,
        pool: &'a Arc<Pool>,
        build: &Build<'_>,
        memo: &dyn Fn(&Problem) -> Arc<Memo>,
    ) -> Result<Self, Error> {
        let empty = (vec![], vec![], vec![], vec![], BTreeMap::new());
        let (problems, entries, runs, tunings, places) = empty;
        let mut plans = Self { experiment, pool, problems, entries, runs, tunings, places };
        let mut index = BTreeMap::new();
        for (variant, config) in experiment.problems.iter().enumerate() {
            for &seed in &experiment.seeds {
                if let Entry::Vacant(place) = index.entry((variant, config.config.draw_of(seed))) {
                    let problem = build(&config.config, seed).map_err(|source| Error::problem(&experiment.document, source))?;
                    place.insert(plans.problems.len());
                    plans.problems.push(Built { memo: memo(&problem), problem, optima: RefCell::default() });
                }
            }
            for method in 0..experiment.methods.len() {
                let mut tuned = BTreeMap::new();
                for &seed in &experiment.seeds {
                    let problem = index[&(variant, config.config.draw_of(seed))];
                    let run = Planned { variant, problem, entry: plans.fitted(method, None, problem)?, seed, role: Role::Plain };
                    let role = match &experiment.methods[method].tune {
                        None => Role::Plain,
                        // Values are chosen once on each problem, with the first seed that runs on it.
                        Some(tune) => Role::Tuned {
                            tuning: match tuned.get(&problem) {
                                Some(tuning) => *tuning,
                                None => *tuned.entry(problem).or_insert(plans.try_out(method, tune, run)?),
                            },
                        },
                    };
                    plans.runs.push(Planned { role, ..run });
                    if experiment.methods[method].pick.is_some_and(|rule| rule.retrain) {
                        let of = plans.runs.len() - 1;
                        plans.runs.push(Planned { role: Role::Retrained { of }, ..run });
                    }
                }
            }
        }
        Ok(plans)
    }

    /// Plans the trials of a method on a problem.
    fn try_out(&mut self, method: usize, tune: &Tune, run: Planned) -> Result<usize, Error> {
        let entry = &self.experiment.methods[method];
        let names = self.measured(run.problem)?;
        if !names.contains(&tune.rule.by) {
            let near =
                closest(&tune.rule.by, names.iter().map(String::as_str)).map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
            let held =
                if tune.rule.by.starts_with("validation.") { ": hold some out with [problem] holdout = { validation = 0.2 }" } else { "" };
            let key = if self.experiment.run.tune.as_ref().is_some_and(|rule| rule.by == tune.rule.by) {
                "run.tune.by".into()
            } else {
                format!("{}.tune.by", entry.key)
            };
            return Err(
                self.unsuited(&key, format!("\"{}\" is not measured here{near}{held} There are: {}", tune.rule.by, names.join(", ")))
            );
        }
        let tuning = self.tunings.len();
        let mut candidates = vec![];
        for (k, (values, _)) in tune.candidates.iter().enumerate() {
            candidates.push((values.clone(), self.fitted(method, Some(k), run.problem)?));
        }
        let mut rungs = vec![];
        for (rung, (rounds, count)) in tune.rule.rungs(self.experiment.run.rounds).into_iter().enumerate() {
            let first = self.runs.len();
            let trial = |place: usize| Planned { entry: candidates[place].1, role: Role::Trial { tuning, rung, place }, ..run };
            self.runs.extend((0..count).map(trial));
            rungs.push((rounds, first..self.runs.len()));
        }
        let (label, kind) = (entry.label.clone(), entry.kind().to_owned());
        self.tunings.push(Trials { rule: tune.rule.clone(), candidates, rungs, label, method: kind, problem: run.problem, seed: run.seed });
        Ok(tuning)
    }

    /// The metrics of a row that may decide: none of test data.
    fn measured(&self, problem: usize) -> Result<Vec<String>, Error> {
        let (problem, probe) = (&self.problems[problem].problem, &self.experiment.run.probe);
        let mut names = vec!["loss".to_owned()];
        if problem.population.roster() != Roster::Unbounded {
            let shard = problem.population.shard(ClientId(0)).map_err(|error| self.unsuited("problem.source", error.to_string()))?;
            for (evaluator, prefix) in [(&shard.train_evaluator, ""), (&shard.validation_evaluator, "validation.")] {
                let found = evaluator.iter().flat_map(|evaluator| evaluator.metrics(&problem.start(), shard.train.buffers().as_ref()));
                names.extend(found.map(|(name, _)| format!("{prefix}{name}")).filter(|name| name != "loss"));
            }
        }
        names = names.into_iter().flat_map(|name| [format!("{name}.weighted"), format!("{name}.worst"), name]).collect();
        names.extend(["gap", "distance"].map(str::to_owned));
        names.extend(probe.gradient.then(|| "grad_norm2".to_owned()));
        names.sort_by_key(|name| (name.matches('.').count(), name.clone()));
        Ok(names)
    }

    /// The place of a method, or of one of its combinations, as it fits a problem.
    fn fitted(&mut self, method: usize, candidate: Option<usize>, problem: usize) -> Result<usize, Error> {
        let base = &self.experiment.methods[method];
        let entry = candidate.and_then(|k| Some(&base.tune.as_ref()?.candidates.get(k)?.1)).unwrap_or(base);
        let built = &self.problems[problem];
        suits(&*entry.method, &built.problem).map_err(|reason| self.unsuited(&entry.key, reason))?;
        if let Some(rule) = entry.pick {
            let key = format!("{}.alpha", entry.key);
            if !entry.method.has_objective() || entry.method.share(ClientId(0)) != *rule.start {
                return Err(self.unsuited(
                    &key,
                    format!("\"validation\" is for mixtures of a shared and a local model, and {} deploys none", entry.kind()),
                ));
            }
            let shards = &built.problem.shards;
            // Whoever has none keeps the α that training began with.
            if shards.iter().all(|shard| shard.validation_evaluator.is_none()) {
                let help = "hold some out with [problem] holdout = { validation = 0.2 }";
                return Err(self.unsuited(&key, format!("\"validation\" needs validation data, and no client has any: {help}")));
            }
            if shards.is_empty() || shards.len() > MOST_CLIENTS {
                return Err(
                    self.unsuited(&key, format!("\"validation\" is for 1 to {MOST_CLIENTS} clients, the problem has {}", shards.len()))
                );
            }
        }
        let key = (method, candidate, (entry.budget.is_some() || entry.estimates.beforehand().any()).then_some(problem));
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let mut entry = entry.clone();
        if let Some(rule) = &entry.budget {
            let key = format!("{}.alpha.budget", entry.key);
            let alpha = Locals::find(&entry, built, self.pool)?.afford(rule).map_err(|reason| self.unsuited(&key, reason))?;
            let method = entry.method.with_alpha(alpha);
            entry.method = method.ok_or_else(|| self.unsuited(&key, format!("{} mixes no models", entry.kind())))?;
        }
        let estimates =
            Estimates::of(&entry, &entry.estimates.beforehand(), built, self.pool).map_err(|reason| self.unsuited(&entry.key, reason))?;
        if let Some(found) = &estimates {
            entry.method = found.applied(&entry.method).map_err(|reason| self.unsuited(&entry.key, reason))?;
        }
        self.places.insert(key, self.entries.len());
        self.entries.push(entry);
        Ok(self.entries.len() - 1)
    }

    fn unsuited(&self, key: &str, reason: String) -> Error {
        Error::Unsuited { file: self.experiment.document.file.clone(), key: key.to_owned(), reason }
    }
}

/// How many clients train, unless they have no end.
pub(super) fn clients(problem: &Problem) -> Option<u32> {
    match &problem.population.roster() {
        Roster::Listed(ids) => Some(ids.len() as u32),
        Roster::Counted(n) => Some(*n),
        Roster::Unbounded => None,
    }
}

/// Does a method suit the clients of a problem? What it lists for each client must be there for the unseen too.
fn suits(method: &dyn AnyMethod, problem: &Problem) -> Result<(), String> {
    let clients = clients(problem);
    method.suits(clients).map_err(|e| e.to_string())?;
    match clients.filter(|_| problem.unseen > 0) {
        Some(n) => method.suits(Some(n + problem.unseen)).map_err(|e| format!("{e} (counting {} unseen clients)", problem.unseen)),
        None => Ok(()),
    }
}
