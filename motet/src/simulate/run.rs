//! One run, from its host to its summary.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use motet_core::{
    Abort, ClientId, Direction, Merit, Metrics, ModelShape, Outcome, Plan, ProbeRequest, Reference, Row, Scattered, Seed, TrainError,
    UpDown, Wire, is_quality, larger_is_better,
};
use motet_problems::reference::{Part, minimise};
use motet_records::{ClientRow, EventKind, Models, OptimumCard, RightRows, RunCard, RunSummary, sha256};
use motet_runtime::Crew;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Outset, Planned, Role, Simulation, keep, note};
use crate::client_states::in_the_same_files;
use crate::cluster::{self, Opening};
use crate::config::ReferenceSection;
use crate::error::Error;
use crate::method::AnyMethod;
use crate::observer::{Event, Observer};
use crate::passport::Passport;
use crate::recorders::Recorder;
use crate::resume::{Saved, Saver};
use crate::session::{Ended, Ground, Session, States, TrainedSession};
use crate::timed::{RowSink, Watch};

/// Of a client with more test examples than this it is not kept which of them are right: an interval over seeds will do.
const MOST_ROWS: usize = 1 << 16;

/// What one run leaves.
pub(super) struct Done {
    pub(super) summary: RunSummary,
    pub(super) clients: Vec<ClientRow>,
    pub(super) rows: Vec<Row>,
    pub(super) merits: Vec<Merit>,
    pub(super) events: Vec<motet_records::Event>,
    /// Where they stay in memory.
    pub(super) models: Option<Arc<Models>>,
}

/// What an earlier go at a run left.
#[derive(Default)]
pub(super) struct Begun {
    pub(super) saved: Vec<Saved>,
    pub(super) rows: Vec<Row>,
    pub(super) merits: Vec<Merit>,
    /// What was noted of it.
    pub(super) notes: Vec<String>,
}

pub(super) struct Simulate<'b> {
    pub(super) of: &'b Simulation,
    pub(super) run: usize,
    pub(super) planned: Planned,
    pub(super) card: &'b mut RunCard,
    pub(super) recorder: &'b mut dyn Recorder,
    pub(super) observer: &'b dyn Observer,
    pub(super) begun: Begun,
    /// What happened beside the rounds.
    pub(super) events: Vec<motet_records::Event>,
    /// Do clients pick their own α at the end?
    pub(super) picks: bool,
    /// The ranks that clients are spread over, if there are several.
    pub(super) crew: Option<Arc<dyn Crew>>,
}

impl Simulate<'_> {
    pub(super) fn run(mut self, method: &Arc<dyn AnyMethod>) -> Result<Done, Error> {
        let (experiment, built, seed) = (&self.of.experiment, &self.of.problems[self.planned.problem], Seed(self.planned.seed));
        let folder = self.recorder.workplace().run();
        self.of.archive(self.planned.problem, self.recorder)?;
        let unkept = |source| Error::Write { path: folder.clone().unwrap_or_default(), source };
        if let (Some(from), true) = (self.card.trial.as_ref().and_then(|trial| trial.from), self.begun.saved.is_empty()) {
            self.begun.saved = self.recorder.workplace().go_on_from(from).map_err(unkept)?;
        }
        let saved = std::mem::take(&mut self.begun.saved);
        let states = States::Durable { folder: folder.as_deref(), limit: self.of.limit, saved: &saved };
        let ranks = self.crew.as_ref().map_or(1, |crew| crew.size());
        let remote = self.of.elsewhere.as_ref().map(|elsewhere| {
            let (model, quorum) = (ModelShape::of(&built.problem.start()), *experiment.run.quorum);
            elsewhere.begin(self.card, Outset { model, quorum, journal: self.recorder.journal() })
        });
        let remote = remote.transpose().map_err(unkept)?;
        let ground = Ground {
            disturbed: true,
            remote,
            crew: self.crew.clone(),
            homes: built.homes(ranks),
            ..built.ground(&self.of.pool, seed, states)
        };
        let opened = self.open_elsewhere(&**method, folder.as_deref(), &saved);
        // Whoever has opened the run is told to leave when this session goes, also where another rank could not. Where there is none, since
        // this rank could not, they are told here: they wait for orders.
        let session = Arc::clone(method).on(ground).or_else(|error| {
            self.crew.as_deref().map_or(Ok(()), cluster::let_leave)?;
            Err(unkept(error))
        })?;
        opened?;
        let generations = in_the_same_files(&saved, ranks).map_err(unkept)?.iter().rev().map(|saved| saved.generation).collect();
        let seconds_before = saved.first().map_or(0.0, |newest| newest.seconds);
        drop(saved);
        if let Some(elsewhere) = &self.of.elsewhere {
            for heard in session.heard_before() {
                elsewhere.settled(session.next_round(), heard).map_err(unkept)?;
            }
        }
        let reference = self.reference(&**method, &*session)?;
        self.sound()?;
        let promise = built.promise(&**method, Some((&*session, reference.as_ref().and_then(|r| r.x.as_ref()))));
        self.card.promise = promise.map_err(|source| Error::Run {
            label: self.card.label.clone(),
            seed: self.planned.seed,
            source: TrainError::Store { round: session.next_round(), source },
        })?;
        let plan = Plan {
            run: self.run,
            quorum: *experiment.run.quorum,
            attempts: experiment.run.attempts,
            not_finite: experiment.run.not_finite,
            rhythm: experiment.run.rhythm(),
            look: ProbeRequest { test: self.card.trial.is_none(), ..experiment.run.look() },
            probe_clients: experiment.run.probe.clients,
            unseen: built.problem.unseen_ids(),
            coordinates: experiment.run.probe.coordinates,
            reference,
            stop: experiment.run.stops(),
            pick: self.picks,
            ..Plan::new(self.rounds(), seed)
        };
        let watch = Watch::after(seconds_before, session.probing());
        self.observer.notice(Event::Begin { label: &self.card.label, seed: self.planned.seed, rounds: plan.rounds });
        if let Some(round) = session.next_round().checked_sub(1) {
            let text = format!("{} seed {}: going on after round {round}", self.card.label, self.planned.seed);
            self.observer.notice(Event::Note(&text));
            if self.card.trial.as_ref().is_none_or(|trial| trial.from.is_none()) {
                let event = motet_records::Event::now(EventKind::Resumed, text).in_run(self.run).in_round(round + 1);
                self.events.push(keep(self.recorder, event)?);
            }
        }
        let (label, seed, goes_on) = (self.card.label.clone(), self.planned.seed, self.goes_on());
        let recorder: RefCell<&mut dyn Recorder> = RefCell::new(&mut *self.recorder);
        let Begun { rows, merits, .. } = &mut self.begun;
        let elsewhere = self.of.elsewhere.as_deref();
        let mut sink =
            RowSink { recorder: &recorder, rows, merits, events: &mut self.events, observer: self.observer, watch: &watch, elsewhere };
        let saver = Saver::new(self.run, experiment.run.checkpoint, folder.as_deref(), generations, &recorder, &watch, self.observer);
        let session = session.train(&plan, &mut sink, &mut saver.with_the_end(goes_on).between_machines(elsewhere));
        self.sound()?;
        let mut session = session.map_err(|source| Error::Run { label: label.clone(), seed, source })?;
        let trained = session.ended();
        if let Outcome::Interrupted { round } = trained.outcome {
            return Err(self.stopped(round));
        }
        let seconds = watch.seconds();
        let (clients, models) = match self.card.trial {
            None => self.clients(&trained, &plan, &mut *session)?,
            Some(_) => (vec![], None),
        };
        self.sound()?;
        if let Some(elsewhere) = elsewhere {
            elsewhere.end();
            let told = elsewhere.events(&mut |event| self.recorder.event(event)).map_err(unkept)?;
            self.events.extend(told);
        }
        if goes_on && matches!(trained.outcome, Outcome::Finished | Outcome::Stopped { .. }) {
            self.recorder.workplace().keep_trial(self.run).map_err(unkept)?;
        }
        let summary = self.summary(&trained, sha256(&session.server()), seconds);
        self.observer.notice(Event::End(&summary));
        let Begun { rows, merits, .. } = self.begun;
        Ok(Done { summary, clients, rows, merits, events: self.events, models })
    }

    /// An error if something that the run computes with has failed: what came of it is no result.
    fn sound(&self) -> Result<(), Error> {
        let Some(reason) = self.observer.failure() else { return Ok(()) };
        Err(Error::Failed { label: self.card.label.clone(), seed: self.planned.seed, reason })
    }

    /// Somebody asked for a stop, and this round is the last that is kept.
    fn stopped(&self, round: u64) -> Error {
        let what = format!("stopped after round {round} of \"{}\", seed {}", self.card.label, self.planned.seed);
        Error::Interrupted { what, folder: self.recorder.folder().map(Into::into) }
    }

    /// Lets the other ranks open the run.
    fn open_elsewhere(&mut self, method: &dyn AnyMethod, folder: Option<&Path>, saved: &[Saved]) -> Result<(), Error> {
        let Some(crew) = &self.crew else { return Ok(()) };
        let written = |path: &Path| path.to_string_lossy().into_owned();
        let solves = self.recorder.workplace().solves(self.planned.problem);
        cluster::open(
            &**crew,
            &Opening {
                more: true,
                groups: 0,
                problem: self.planned.problem as u32,
                entry: self.planned.entry as u32,
                params: Value::Object(method.params()).to_string(),
                seed: self.planned.seed,
                folder: folder.map(written),
                solves: solves.as_deref().map(written),
                saved: saved.iter().map(|saved| Saved { moment: Scattered::default(), ..saved.clone() }).collect(),
            },
        )
    }

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
    fn reference(&mut self, method: &dyn AnyMethod, session: &dyn Session) -> Result<Option<Reference>, Error> {
        let (experiment, built) = (&self.of.experiment, &self.of.problems[self.planned.problem]);
        let shards = &built.problem.shards;
        let convex = shards.iter().all(|s| s.train.constants().convexity.is_some());
        let shares: Vec<f64> = (0..shards.len() as u32).map(|k| method.share(ClientId(k))).collect();
        if experiment.run.reference == ReferenceSection::Off
            || !method.has_objective()
            || !convex
            || shares.iter().all(|&share| share == 0.0)
        {
            return Ok(None);
        }
        self.observer.notice(Event::Working("finding the minimum to measure from"));
        let anchors = session.anchors(shares.iter().map(|share| *share < 1.0).collect()).map_err(|source| Error::Run {
            label: self.card.label.clone(),
            seed: self.planned.seed,
            source: TrainError::Store { round: session.next_round(), source },
        })?;
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
        let mut unfound = None;
        let found = || match minimise(&parts, experiment.run.rounds.max(1000).saturating_mul(10)) {
            Ok(best) => Some((
                Reference { value: best.value, x: best.exact.then_some(best.x) },
                OptimumCard { value: best.value, exact: best.exact, how: best.how },
            )),
            Err(reason) => {
                unfound = Some(reason);
                None
            }
        };
        let optimum = built.optima.borrow_mut().entry(key.finalize().into()).or_insert_with(found).clone();
        if let Some(reason) = unfound {
            let text = format!("{}: no gap is measured, since no minimum could be found: {reason}", self.card.label);
            // An earlier go at this run has said so already.
            if !self.begun.notes.contains(&text) {
                self.events.push(note(self.recorder, self.observer, Some(self.run), text)?);
            }
        }
        let Some((reference, optimum)) = optimum else { return Ok(None) };
        self.card.optimum = Some(optimum);
        Ok(Some(reference))
    }

    /// Every client's final scores and models.
    fn clients(
        &mut self,
        trained: &Ended,
        plan: &Plan,
        session: &mut dyn TrainedSession,
    ) -> Result<(Vec<ClientRow>, Option<Arc<Models>>), Error> {
        let built = &self.of.problems[self.planned.problem];
        let names = &built.problem.census.clients;
        // Everyone picks, whoever is measured on the way.
        let ids = if self.picks { built.judged(&Plan { probe_clients: None, ..plan.clone() }) } else { built.judged(plan) };
        let look = ProbeRequest { gradient: false, pick: self.picks, model: self.of.experiment.run.models, right: true, ..plan.look };
        let (mut rows, mut unkept) = (vec![], None);
        let probed = session.probe(&ids, look, &mut |id, score| {
            let mut metrics = Metrics::from([("loss".to_owned(), score.loss)]);
            metrics.extend(score.metrics.iter().map(|(name, value, _)| (name.to_string(), *value)));
            let name = names.get(id.0 as usize).and_then(|household| household.name.clone());
            let tested = score.metrics.iter().find(|(name, ..)| name.starts_with("test.")).map_or(0, |(_, _, examples)| *examples);
            let right = score.right.filter(|right| right.len() <= MOST_ROWS).map(RightRows);
            rows.push(ClientRow { run: self.run, client: id.0, name, examples: score.examples, tested, right, metrics });
            if let (Some(model), None) = (score.model, &unkept) {
                unkept = self.recorder.model(self.card, id, model).err();
            }
        });
        probed.map_err(|source| match source {
            Abort::Interrupted => self.stopped(trained.rounds.saturating_sub(1)),
            source => Error::Run {
                label: self.card.label.clone(),
                seed: self.planned.seed,
                source: TrainError::Probe { round: trained.rounds, source },
            },
        })?;
        unkept.map_or(Ok(()), Err)?;
        self.recorder.clients(&rows)?;
        if !self.of.experiment.run.models {
            return Ok((rows, None));
        }
        let odd = |source| Error::problem(&self.of.experiment.document, source);
        let passport = Passport::of(&self.of.experiment.problems[self.planned.variant].config, &built.problem).map_err(odd)?;
        let passport = passport.as_ref().map(Passport::text);
        Ok((rows, self.recorder.models(self.card, session.shared(ClientId(0)), passport)?))
    }

    fn summary(&self, trained: &Ended, digest: String, seconds: f64) -> RunSummary {
        let mut best = Metrics::new();
        for (name, &value) in self.begun.rows.iter().flat_map(|row| &row.metrics).filter(|(name, _)| is_quality(name)) {
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
            digest,
        }
    }
}
