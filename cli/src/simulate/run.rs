//! One run, from its host to its summary.

use std::cell::RefCell;
use std::sync::Arc;

use motet_core::{
    Algorithm, ClientId, ClientRow, Direction, Fleet, Host, Look, Merit, Metrics, Moment, OptimumCard, Outcome, Plan, Probe, Reference,
    Row, RunCard, RunSummary, Seed, Trained, UpDown, Wire, larger_is_better, train_from,
};
use motet_methods::{Method, Visitor};
use motet_problems::reference::{Part, minimise};
use motet_runtime::{Byzantine, Deployed, Threads};
use sha2::{Digest, Sha256};

use super::{Planned, Role, Simulation};
use crate::config::ReferenceSection;
use crate::digest::digest;
use crate::error::Error;
use crate::models::{Passport, save_models};
use crate::output::Output;
use crate::progress::Progress;
use crate::recorder::{Recorder, Timed, Watch};
use crate::resume::{Past, Saved, Saver};

/// What one run leaves.
pub(super) struct Done {
    pub(super) summary: RunSummary,
    pub(super) clients: Vec<ClientRow>,
    pub(super) rows: Vec<Row>,
    pub(super) merits: Vec<Merit>,
}

/// What an earlier go at a run left.
#[derive(Default)]
pub(super) struct Begun {
    pub(super) saved: Vec<Saved>,
    pub(super) rows: Vec<Row>,
    pub(super) merits: Vec<Merit>,
}

pub(super) struct Simulate<'a, 'b> {
    pub(super) of: &'b Simulation<'a>,
    pub(super) run: usize,
    pub(super) planned: Planned,
    pub(super) card: &'b mut RunCard,
    pub(super) output: &'b mut Output,
    pub(super) progress: &'b Progress,
    pub(super) begun: Begun,
    /// Do clients pick their own α at the end?
    pub(super) picks: bool,
}

impl Visitor for Simulate<'_, '_> {
    type Out = Result<Done, Error>;

    fn visit<M: Method>(mut self, method: M) -> Self::Out {
        let (experiment, built, seed) = (self.of.experiment, &self.of.problems[self.planned.problem], Seed(self.planned.seed));
        let method = Arc::new(method);
        let begin = Moment::before(&*method, built.problem.start.clone());
        let folder = self.output.kept().run();
        self.of.archive(self.planned.problem, self.output)?;
        let unkept = |source| Error::Write { path: folder.clone(), source };
        if let (Some(from), true) = (self.card.trial.as_ref().and_then(|trial| trial.from), self.begun.saved.is_empty()) {
            self.begun.saved = self.output.kept().go_on_from(from).map_err(unkept)?;
        }
        let past = Past::of(&self.begun.saved, begin, &folder, self.of.limit);
        let Past { moment, states, seconds, generations } = past.map_err(unkept)?;
        let host =
            Host::new(Arc::clone(&method), Arc::clone(&built.problem.population), Arc::clone(&states) as _, Arc::clone(&built.memo), seed);
        let reference = self.reference(&*method, &host);
        self.card.promise = built.promise(&*method, Some((&host, reference.as_ref().and_then(|r| r.x.as_ref()))));
        let plan = Plan {
            run: self.run,
            quorum: *experiment.run.quorum,
            attempts: experiment.run.attempts,
            not_finite: experiment.run.not_finite,
            rhythm: experiment.run.rhythm(),
            look: Look { test: self.card.trial.is_none(), ..experiment.run.look() },
            probe_clients: experiment.run.probe.clients,
            unseen: built.problem.unseen_ids(),
            coordinates: experiment.run.probe.coordinates,
            reference,
            stop: experiment.run.stops(),
            pick: self.picks,
            ..Plan::new(self.rounds(), seed)
        };
        let watch = Watch::after(seconds);
        let honest = Threads::new(host, Arc::clone(&self.of.pool));
        let liars = Byzantine::new(honest, built.problem.liars, seed);
        let mut fleet = Timed { inner: Deployed::new(liars, built.problem.devices, seed), probing: watch.probing() };
        self.progress.begin(&self.card.label, self.planned.seed, plan.rounds);
        if moment.next > 0 {
            self.progress.tell(&format!("{} seed {}: going on after round {}", self.card.label, self.planned.seed, moment.next - 1));
        }
        let (label, seed, goes_on) = (self.card.label.clone(), self.planned.seed, self.goes_on());
        let output = RefCell::new(&mut *self.output);
        let Begun { rows, merits, .. } = &mut self.begun;
        let mut sink = Recorder { output: &output, rows, merits, progress: self.progress, watch: &watch };
        let mut keeper =
            Saver::new(self.run, experiment.run.checkpoint, &folder, (states, generations), &output, &watch).with_the_end(goes_on);
        let trained = train_from(&*method, moment, &plan, &mut fleet, &mut sink, &mut keeper);
        let trained = trained.map_err(|source| Error::Run { label: label.clone(), seed, source })?;
        if let Outcome::Interrupted { round } = trained.outcome {
            let what = format!("stopped after round {round} of \"{label}\", seed {seed}");
            return Err(Error::Interrupted { what, folder: self.output.folder().into() });
        }
        let seconds = watch.seconds();
        let clients = match self.card.trial {
            None => self.clients(&*method, &trained, &plan, &mut fleet)?,
            Some(_) => vec![],
        };
        if goes_on && matches!(trained.outcome, Outcome::Finished | Outcome::Stopped { .. }) {
            self.output.kept().keep_trial(self.run).map_err(|source| Error::Write { path: folder.clone(), source })?;
        }
        let summary = self.summary(&trained, seconds);
        self.progress.end(&summary);
        let Begun { rows, merits, .. } = self.begun;
        Ok(Done { summary, clients, rows, merits })
    }
}

impl Simulate<'_, '_> {
    /// How many rounds.
    fn rounds(&self) -> u64 {
        match self.planned.role {
            Role::Trial { tuning, rung, .. } => self.of.tunings[tuning].rounds(rung),
            Role::Plain | Role::Tuned { .. } | Role::Retrained { .. } => self.of.experiment.run.rounds,
        }
    }

    /// May a longer trial go on from its end?
    fn goes_on(&self) -> bool {
        matches!(self.planned.role, Role::Trial { tuning, rung, .. } if self.of.tunings[tuning].goes_on(rung))
    }

    /// F* of the function this method is measured against, found once for all runs that share it.
    fn reference<M: Method>(&mut self, method: &M, host: &Host<M>) -> Option<Reference> {
        let (experiment, built) = (self.of.experiment, &self.of.problems[self.planned.problem]);
        let shards = &built.problem.shards;
        let convex = shards.iter().all(|s| s.train.constants().convexity.is_some());
        let shares: Vec<f64> = (0..shards.len() as u32).map(|k| method.share(ClientId(k))).collect();
        if experiment.run.reference == ReferenceSection::Off || !method.mixes() || !convex || shares.iter().all(|&share| share == 0.0) {
            return None;
        }
        self.progress.say("finding the minimum to measure from");
        let mut anchors = vec![None; shards.len()];
        let (host, mixed) = (host.clone(), shares.clone());
        self.of.pool.scatter(
            shards.len(),
            move |k| (mixed[k] < 1.0).then(|| host.anchor(ClientId(k as u32))),
            |k, anchor| anchors[k] = anchor,
        );
        let mut key = Sha256::new();
        for (share, anchor) in shares.iter().zip(&anchors) {
            key.update(share.to_le_bytes());
            let mut bytes = vec![];
            anchor.encode(&mut bytes);
            key.update(&bytes);
        }
        // A model made for one client is measured against the best that client can have.
        let counted = method.target().map_or(0..shards.len(), |target| target.0 as usize..target.0 as usize + 1);
        key.update([counted.start, counted.end].map(usize::to_le_bytes).concat());
        let parts: Vec<Part<'_>> =
            counted.map(|k| Part { alpha: shares[k], local: anchors[k].as_ref(), objective: &*shards[k].train }).collect();
        // Ten times the run, as the product asks where no minimiser exists.
        let found = || match minimise(&parts, 10 * experiment.run.rounds.max(1000)) {
            Ok(best) => Some((
                Reference { value: best.value, x: best.exact.then_some(best.x) },
                OptimumCard { value: best.value, exact: best.exact, how: best.how },
            )),
            Err(reason) => {
                self.progress.tell(&format!("{}: no gap is measured, since no minimum could be found: {reason}", self.card.label));
                None
            }
        };
        let (reference, optimum) = built.optima.borrow_mut().entry(key.finalize().into()).or_insert_with(found).clone()?;
        self.card.optimum = Some(optimum);
        Some(reference)
    }

    /// Every client's final scores and models.
    fn clients<M: Method>(
        &mut self,
        method: &M,
        trained: &Trained<M>,
        plan: &Plan,
        fleet: &mut dyn Fleet<M>,
    ) -> Result<Vec<ClientRow>, Error> {
        let built = &self.of.problems[self.planned.problem];
        let names = &built.problem.census.clients;
        // Everyone picks, whoever is measured on the way.
        let ids = if self.picks { built.judged(&Plan { probe_clients: None, ..plan.clone() }) } else { built.judged(plan) };
        let look = Look { gradient: false, pick: self.picks, model: self.of.experiment.run.models, ..plan.look };
        let shared = |id: ClientId| method.shared(&trained.server, id);
        let probe = Probe { round: trained.rounds, to: &ids, shared: &shared, heard: &trained.heard, look, reference: None };
        let (mut rows, mut models) = (vec![], vec![]);
        let probed = fleet.probe(&probe, &mut |id, score| {
            let mut metrics = Metrics::from([("loss".to_owned(), score.loss)]);
            metrics.extend(score.metrics.iter().map(|(name, value, _)| (name.to_string(), *value)));
            let name = names.get(id.0 as usize).and_then(|household| household.name.clone());
            rows.push(ClientRow { run: self.run, client: id.0, name, examples: score.examples, metrics });
            models.extend(score.model.map(|model| (id, model)));
        });
        probed.map_err(|source| Error::Run {
            label: self.card.label.clone(),
            seed: self.planned.seed,
            source: motet_core::TrainError::Probe { round: trained.rounds, source },
        })?;
        self.output.clients(&rows)?;
        if self.of.experiment.run.models {
            let passport = Passport::of(&self.of.experiment.problems[self.planned.variant].config, &built.problem);
            save_models(self.output.folder(), self.card, shared(ClientId(0)), &models, passport.as_ref())?;
        }
        Ok(rows)
    }

    fn summary<A: Algorithm>(&self, trained: &Trained<A>, seconds: f64) -> RunSummary {
        let mut best = Metrics::new();
        for (name, &value) in self.begun.rows.iter().flat_map(|row| &row.metrics) {
            let held = best.entry(name.clone()).or_insert(value);
            if value < *held && !larger_is_better(name) || value > *held && larger_is_better(name) || held.is_nan() {
                *held = value;
            }
        }
        let (up, down) = (trained.ledger.total(Direction::Up), trained.ledger.total(Direction::Down));
        RunSummary {
            label: self.card.label.clone(),
            method: self.card.method.clone(),
            params: self.card.params.clone(),
            seed: self.planned.seed,
            rounds: trained.rounds,
            outcome: trained.outcome.clone(),
            last: self.begun.rows.last().map(|row| row.metrics.clone()).unwrap_or_default(),
            best,
            bits: UpDown::bits(up, down),
            bytes: UpDown::bytes(up, down),
            messages: trained.ledger.entries().to_vec(),
            gradients: trained.ledger.gradients,
            seconds,
            digest: digest(&trained.server),
        }
    }
}
