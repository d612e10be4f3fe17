//! An experiment's runs, one after the other, on one pool of threads.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_core::{ClientId, Fraction, LastReplies, Memo, ModelShape, PerClient, Plan, Reference, Roster, Seed};
use motet_link::Remote;
use motet_problems::{Folders, Problem, ProblemConfig, ProblemError};
use motet_records::{ClientRow, EventKind, Format, Manifest, OptimumCard, Records, RunCard, Summary, Trial, Utc, names};
use motet_report::claims::judge;
use motet_report::{cautions, render, render_as, tensorboard, verdict};
use motet_runtime::{Crew, Homes, Pool, Shelf, Solves};
use serde_json::{Map, Value};

use crate::cluster::dismiss;
use crate::config::{Experiment, MethodEntry, StoreSection};
use crate::error::Error;
use crate::method::AnyMethod;
use crate::observer::{Event, Observer, Unobserved};
use crate::recorders::{Journal, Recorder};
use crate::session::{Ground, States};
use crate::tuning::{TrialHistory, Trials};

mod aside;
mod dealing;
mod plan;
mod run;

use aside::{Assigned, Progress};
use plan::Plans;
use run::{Begun, Simulate};

/// How many clients' final models and scores are written at most.
const MOST_CLIENTS: usize = 10_000;

/// A problem and what all runs on it share.
pub struct Built {
    /// Data and functions.
    pub problem: Problem,
    /// Pure local models.
    pub memo: Arc<Memo>,
    /// Minima already found, by the function they are minima of.
    optima: RefCell<Optima>,
}

/// Digest of a function → its minimum; none if it could not be found.
type Optima = BTreeMap<[u8; 32], Option<(Reference, OptimumCard)>>;

/// A run that is planned.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    variant: usize,
    problem: usize,
    entry: usize,
    seed: u64,
    role: Role,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A result.
    Plain,
    /// Trying values out: one place of a rung.
    Trial { tuning: usize, rung: usize, place: usize },
    /// A result with the values that trials chose.
    Tuned { tuning: usize },
    /// A result with the αᵢ that the clients of an earlier run picked.
    Retrained { of: usize },
}

/// An experiment whose problems are built and whose methods fit them.
pub struct Simulation {
    experiment: Experiment,
    pool: Arc<Pool>,
    /// Bytes of client states that may stay in memory, and as many of local solves.
    limit: u64,
    problems: Vec<Built>,
    /// Methods as they fit a problem: one whose α a budget decides is here once for each, one whose values trials choose
    /// once for each combination too.
    entries: Vec<MethodEntry>,
    runs: Vec<Planned>,
    tunings: Vec<Trials>,
    /// The ranks that clients are spread over, if there are several.
    crew: Option<Arc<dyn Crew>>,
    /// Where the clients are, if not here.
    elsewhere: Option<Box<dyn Elsewhere>>,
}

/// Clients on other machines, for every run of an experiment.
pub(crate) trait Elsewhere {
    /// A run begins, or goes on: the fleet of its clients.
    fn begin(&self, card: &RunCard, outset: Outset) -> io::Result<Remote>;
    /// Everything before this round is durable, in a checkpoint that was made when so much was heard.
    fn settled(&self, next_round: u64, heard: LastReplies) -> io::Result<()>;
    /// What happened since this was last asked. What was not recorded meanwhile is given to `record`.
    fn events(&self, record: &mut dyn FnMut(&motet_records::Event) -> io::Result<()>) -> io::Result<Vec<motet_records::Event>>;
    /// The run under way is over.
    fn end(&self);
}

/// What a run elsewhere begins with.
pub(crate) struct Outset {
    pub(crate) model: ModelShape,
    /// Least share of a cohort that must answer.
    pub(crate) quorum: f64,
    /// Records events while the run waits.
    pub(crate) journal: Option<Journal>,
}

impl Simulation {
    /// Builds the problems and checks that every method fits; nothing is written yet. Runs use all cores.
    pub fn new(experiment: Experiment) -> Result<Self, Error> {
        Self::on(experiment, Arc::new(Pool::all_cores()))
    }

    /// Like [`new`](Self::new), on the threads of a pool.
    pub fn on(experiment: Experiment, pool: Arc<Pool>) -> Result<Self, Error> {
        Self::solving_with(experiment, pool, &|_| Arc::default())
    }

    /// The same on one of several ranks, which hold data once for each machine: they have this shelf in common, and all of a machine
    /// build the same experiment.
    pub fn on_shelf(experiment: Experiment, pool: Arc<Pool>, shelf: Option<Arc<Shelf>>) -> Result<Self, Error> {
        let folders = Folders { shelf, ..Folders::beside(&experiment.document.folder) };
        Self::planned(experiment, pool, &|config, seed| Problem::build_from(config, &folders, seed), &|_| Arc::default())
    }

    /// The same, with a memo for the local solves of each problem.
    pub(crate) fn solving_with(experiment: Experiment, pool: Arc<Pool>, memo: &dyn Fn(&Problem) -> Arc<Memo>) -> Result<Self, Error> {
        let folder = experiment.document.folder.clone();
        Self::planned(experiment, pool, &|config, seed| Problem::build(config, &folder, seed), memo)
    }

    /// The same with clients on other machines, whose data are never here: `build` makes what is known of their problems. They are
    /// reached through what `reached` makes of the planned study.
    pub(crate) fn between_machines<E: Elsewhere + 'static>(
        experiment: Experiment,
        build: impl Fn(&ProblemConfig, u64) -> Result<Problem, ProblemError>,
        reached: impl FnOnce(&Self) -> Result<E, Error>,
    ) -> Result<Self, Error> {
        let mut simulation = Self::planned(experiment, Arc::new(Pool::new(1)), &build, &|_| Arc::default())?;
        simulation.elsewhere = Some(Box::new(reached(&simulation)?));
        Ok(simulation)
    }

    fn planned(
        experiment: Experiment,
        pool: Arc<Pool>,
        build: &plan::Build<'_>,
        memo: &dyn Fn(&Problem) -> Arc<Memo>,
    ) -> Result<Self, Error> {
        let Plans { problems, entries, runs, tunings, .. } = Plans::make(&experiment, &pool, build, memo)?;
        Ok(Self {
            limit: experiment.run.store.limit() / 2,
            experiment,
            problems,
            entries,
            runs,
            tunings,
            pool,
            crew: None,
            elsewhere: None,
        })
    }

    /// Spreads the clients over the ranks of a crew. Rank 0 of it runs the experiment, the others must [`serve`](Self::serve) the same one. They are
    /// dismissed when it has run.
    pub fn spread_over(self, crew: Arc<dyn Crew>) -> Self {
        let limit = self.experiment.run.store.limit_of_each(crew.neighbours().len()) / 2;
        Self { limit, crew: Some(crew).filter(|crew| crew.size() > 1), ..self }
    }

    pub(crate) fn entries(&self) -> &[MethodEntry] {
        &self.entries
    }

    /// Bytes of client states that may stay in the memory of a rank.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Lets the other ranks go.
    fn dismiss(&self) -> Result<(), Error> {
        self.crew.as_ref().map_or(Ok(()), |crew| dismiss(&**crew))
    }

    /// What was asked for.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The threads that runs use.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The problems, in the order of the manifest.
    pub fn problems(&self) -> &[Built] {
        &self.problems
    }

    /// The runs, in the order of the manifest.
    pub fn runs(&self) -> &[Planned] {
        &self.runs
    }

    /// Is a run a result, or does it try values out?
    pub fn is_result(&self, planned: &Planned) -> bool {
        !matches!(planned.role, Role::Trial { .. })
    }

    /// The method of a run, as it fits the run's problem; with the first of the values that trials choose from.
    pub fn entry(&self, planned: &Planned) -> &MethodEntry {
        &self.entries[planned.entry]
    }

    /// Lets local solves of a problem sleep on disk, unless the experiment wants everything in memory.
    fn archive(&self, problem: usize, recorder: &mut dyn Recorder) -> Result<(), Error> {
        let memo = &self.problems[problem].memo;
        if let Some(path) = recorder.workplace().solves(problem)
            && self.experiment.run.store != StoreSection::Memory
            && !memo.is_archived()
        {
            let solves = Solves::open(&path, self.limit).map_err(|source| Error::Write { path, source })?;
            memo.archive(|| Arc::new(solves));
        }
        Ok(())
    }

    /// What is planned.
    pub fn manifest(&self) -> Manifest {
        let mut inputs = vec![];
        for input in self.problems.iter().flat_map(|b| &b.problem.inputs) {
            if !inputs.contains(input) {
                inputs.push(input.clone());
            }
        }
        Manifest {
            format: Format::CURRENT,
            motet: env!("CARGO_PKG_VERSION").into(),
            started: None,
            experiment: self.experiment.name.clone(),
            resolved: self.experiment.resolved(),
            inputs,
            problems: self.problems.iter().map(|b| b.problem.card()).collect(),
            runs: self.runs.iter().enumerate().map(|(run, planned)| self.card(run, planned)).collect(),
        }
    }

    fn card(&self, run: usize, planned: &Planned) -> RunCard {
        let entry = self.entry(planned);
        RunCard {
            run,
            label: self.label(planned),
            method: entry.kind().to_owned(),
            params: entry.method.params(),
            problem: planned.problem,
            seed: planned.seed,
            trial: match planned.role {
                Role::Trial { tuning, rung, .. } => Some(Trial { tuning, rung, ..Trial::default() }),
                Role::Plain | Role::Tuned { .. } | Role::Retrained { .. } => None,
            },
            chosen: match planned.role {
                Role::Tuned { tuning } => self.tunings[tuning].candidates[0].0.clone(),
                Role::Retrained { .. } => alpha_of(&*entry.method),
                // What was estimated differs from draw to draw of a problem: it is a result, and does not tell runs apart.
                Role::Plain => entry.estimates.values(&entry.method.params()),
                Role::Trial { .. } => Map::new(),
            },
            fits_validation: Some(entry.method.fits_validation()),
            ..RunCard::default()
        }
    }

    /// The method of a run, with what earlier runs decide: which values come to a trial, or were chosen, or picked.
    fn decide(
        &self,
        planned: &Planned,
        cards: &mut [RunCard],
        run: usize,
        past: TrialHistory<'_>,
        clients: &[&ClientRow],
    ) -> Result<MethodEntry, Error> {
        let mut entry = self.entries[planned.entry].clone();
        match planned.role {
            Role::Plain => {}
            Role::Trial { tuning, rung, place } => {
                let (candidate, from) = self.tunings[tuning].at(rung, place, past);
                let (values, place) = &self.tunings[tuning].candidates[candidate];
                entry = self.entries[*place].clone();
                cards[run].trial = Some(Trial { tuning, values: values.clone(), rung, from });
                cards[run].label = self.label(&Planned { entry: *place, ..*planned });
            }
            Role::Tuned { tuning } => {
                let (values, place) = self.chosen(tuning, past);
                entry = self.entries[place].clone();
                cards[run].chosen = values.clone();
            }
            Role::Retrained { of } => {
                // Trials may have chosen its other values.
                if let Role::Tuned { tuning } = self.runs[of].role {
                    entry.method = Arc::clone(&self.entries[self.chosen(tuning, past).1].method);
                }
                let problem = &self.problems[planned.problem].problem;
                // Whoever picked nothing, as those who never trained, keeps what all began with.
                let start = entry.pick.unwrap_or_default().start;
                let mut each = vec![start; problem.shards.len() + problem.unseen as usize];
                for row in clients.iter().filter(|row| row.run == of) {
                    if let (Some(place), Some(alpha)) = (each.get_mut(row.client as usize), row.metrics.get("alpha")) {
                        *place = Fraction::new(*alpha).map_err(|reason| Error::Unsuited {
                            file: self.experiment.document.file.clone(),
                            key: format!("{}.alpha", entry.key),
                            reason: format!("what client {} picked in run {of} {reason}", row.client),
                        })?;
                    }
                }
                // A method that cannot be given its αᵢ was refused when the runs were planned.
                if let Some(method) = entry.method.with_alpha(PerClient::Each(each)) {
                    entry.method = method;
                }
                entry.pick = None;
                cards[run].chosen = cards[of].chosen.clone();
                cards[run].chosen.extend(alpha_of(&*entry.method));
            }
        }
        cards[run].params = entry.method.params();
        Ok(entry)
    }

    /// The values that trials chose, and the place of the method with these.
    fn chosen(&self, tuning: usize, past: TrialHistory<'_>) -> (&Map<String, Value>, usize) {
        let (values, place) = &self.tunings[tuning].candidates[self.tunings[tuning].chosen(past)];
        (values, *place)
    }

    fn label(&self, planned: &Planned) -> String {
        let mut label = self.entries[planned.entry].label.clone();
        let variant = &self.experiment.problems[planned.variant].label;
        if !variant.is_empty() {
            let _ = write!(label, " {variant}");
        }
        if matches!(planned.role, Role::Retrained { .. }) {
            label.push_str(" retrained");
        }
        label
    }

    /// Do the claims speak of runs and parameters that there will be?
    pub fn check_claims(&self) -> Result<(), Error> {
        let experiment = &self.experiment;
        let checked = motet_report::claims::check(&experiment.claims.0, &self.manifest(), &[]);
        checked.map_err(|source| Error::Claim { file: experiment.document.file.clone(), source })
    }

    /// Settings that do not do what they say: cohorts of more clients than there are.
    pub(crate) fn idle_settings(&self) -> Vec<String> {
        let mut all = vec![];
        for planned in self.runs.iter().filter(|planned| self.is_result(planned)) {
            let entry = &self.entries[planned.entry];
            let params = entry.method.params();
            let asked = ["clients", "passes"].iter().find_map(|word| params.get("sampling")?.get(word)?.as_u64());
            let there = plan::clients(&self.problems[planned.problem].problem);
            if let (Some(asked), Some(there)) = (asked, there)
                && asked > u64::from(there)
            {
                let line =
                    format!("{}: sampling asks for {asked} clients a round, and there are {there}: all of them take part.", entry.key);
                all.extend((!all.contains(&line)).then_some(line));
            }
        }
        all
    }

    /// Runs everything that is not done yet, judges the claims and, where there is a folder, draws the report. What was
    /// recorded before an error stays; in a folder, the experiment can go on from it.
    pub fn run(&self, recorder: &mut dyn Recorder) -> Result<Records, Error> {
        self.run_observed(recorder, &Unobserved)
    }

    /// Like [`run`](Self::run), watched by an observer, who can also stop it.
    pub fn run_observed(&self, recorder: &mut dyn Recorder, observer: &dyn Observer) -> Result<Records, Error> {
        let experiment = &self.experiment;
        let executed = self.execute(recorder, observer);
        self.dismiss()?;
        let mut records = executed?;
        if let Some(mut summary) = records.summary.take() {
            records.summary = Some(summary.clone());
            let named = [(experiment.name.clone(), records)];
            (summary.verdict, summary.cautions) = (verdict::written(&verdict::of_records(&named)), cautions(&named));
            summary.cautions.extend(self.idle_settings());
            [(_, records)] = named;
            match judge(&experiment.claims.0, &records) {
                Ok(verdicts) => summary.claims = verdicts,
                // The rows are there; only the claims do not fit what was run (a changed grid, say).
                Err(source) => {
                    let error = Error::Claim { file: experiment.document.file.clone(), source };
                    records.events.push(note(recorder, observer, None, format!("claims not judged: {error}"))?);
                }
            }
            recorder.summary(&summary)?;
            records.summary = Some(summary);
        }
        let named = [(experiment.name.clone(), records)];
        if let Some(folder) = recorder.folder() {
            render(&named, folder).map_err(|e| Error::Report(e.to_string()))?;
            if experiment.report.csv {
                render_as("csv", &named, folder).map_err(|e| Error::Report(e.to_string()))?;
            }
            if experiment.report.tensorboard {
                tensorboard(&named[0].1, folder).map_err(|e| Error::Report(e.to_string()))?;
            }
        }
        recorder.end()?;
        recorder.workplace().clear();
        let [(_, records)] = named;
        Ok(records)
    }

    /// Runs everything that is not done yet, recording as it goes.
    fn execute(&self, recorder: &mut dyn Recorder, observer: &dyn Observer) -> Result<Records, Error> {
        let unkept = |recorder: &dyn Recorder| {
            let path = recorder.folder().map_or_else(std::env::temp_dir, PathBuf::from);
            move |source| Error::Write { path, source }
        };
        recorder.workplace().prepare(self.experiment.run.store).map_err(unkept(recorder))?;
        let mut progress = Progress::default();
        progress.records.manifest = self.manifest();
        let (records, mut begun) = (&mut progress.records, Begun::default());
        records.manifest.started = Some(Utc::now());
        if let Some((standing, before)) = recorder.workplace().past() {
            records.manifest.started = before.manifest.started;
            records.events = before.events;
            let under_way = standing.finished.len();
            let noted = records.events.iter().filter(|event| event.run == Some(under_way) && event.kind == EventKind::Note);
            begun.notes = noted.map(|event| event.text.clone()).collect();
            for (card, done) in records.manifest.runs.iter_mut().zip(standing.finished) {
                *card = done.card;
                progress.runs.insert(progress.taken, done.summary);
                progress.taken += 1;
            }
            let (mine, done) = before.rows.into_iter().partition(|row| row.run == under_way);
            (begun.rows, records.rows) = (mine, done);
            let (mine, done) = before.merits.into_iter().partition(|merit| merit.run as usize == under_way);
            (begun.merits, records.merits) = (mine, done);
            (begun.saved, records.clients) = (standing.saved, before.clients);
        }
        recorder.begin(&progress.records.manifest)?;
        if let Some(main) = recorder.folder().map(PathBuf::from) {
            progress.find(&main, self.runs.len())?;
        }
        while progress.taken < self.runs.len() {
            let run = progress.taken;
            if observer.stop() {
                return Err(Error::Interrupted {
                    what: format!("{run} of {} runs are done", self.runs.len()),
                    folder: recorder.folder().map(PathBuf::from),
                });
            }
            // A run that is under way in the usual place is ended there.
            if begun.saved.is_empty() && self.beside(&mut progress, recorder, observer)? {
                continue;
            }
            let (planned, begun, crew) = (self.runs[run], std::mem::take(&mut begun), self.crew.clone());
            let Assigned { method, mut card, picks, .. } = self.assigned(run, &mut progress, recorder)?;
            let (of, events) = (self, vec![]);
            let simulate = Simulate { of, run, planned, card: &mut card, recorder: &mut *recorder, observer, begun, events, picks, crew };
            let done = simulate.run(&method)?;
            let records = &mut progress.records;
            recorder.run_done(&card, &done.summary)?;
            records.manifest.runs[run] = card;
            recorder.workplace().clear_run().map_err(unkept(recorder))?;
            records.rows.extend(done.rows);
            records.clients.extend(done.clients);
            records.merits.extend(done.merits);
            records.events.extend(done.events);
            records.models.extend(done.models);
            progress.runs.insert(run, done.summary);
            progress.taken += 1;
            recorder.manifest(&progress.records.manifest)?;
        }
        let tuning = progress.past(|past, _| self.tunings.iter().map(|trials| trials.summary(past)).collect());
        let Progress { mut records, runs, .. } = progress;
        let runs = runs.into_values().collect();
        records.summary =
            Some(Summary { experiment: self.experiment.name.clone(), finished: Some(Utc::now()), runs, tuning, ..Summary::default() });
        Ok(records)
    }
}

/// α as the parameters have it, for the record of what was chosen.
fn alpha_of(method: &dyn AnyMethod) -> Map<String, Value> {
    method.params().into_iter().filter(|(name, _)| name == "alpha").collect()
}

/// Tells whoever watches, and whoever reads the records later.
fn note(recorder: &mut dyn Recorder, observer: &dyn Observer, run: Option<usize>, text: String) -> Result<motet_records::Event, Error> {
    observer.notice(Event::Note(&text));
    let event = motet_records::Event { run, ..motet_records::Event::now(EventKind::Note, text) };
    keep(recorder, event)
}

/// Records an event.
fn keep(recorder: &mut dyn Recorder, event: motet_records::Event) -> Result<motet_records::Event, Error> {
    let kept = recorder.event(&event);
    kept.map_err(|source| Error::Write { path: recorder.folder().unwrap_or(Path::new("")).join(names::EVENTS), source })?;
    Ok(event)
}

impl Built {
    /// What a run of some method stands on here, without liars and devices.
    pub(crate) fn ground<'a>(&'a self, pool: &Arc<Pool>, seed: Seed, states: States<'a>) -> Ground<'a> {
        let (memo, pool) = (Arc::clone(&self.memo), Arc::clone(pool));
        Ground {
            problem: &self.problem,
            memo,
            pool,
            seed,
            states,
            disturbed: false,
            crew: None,
            homes: Homes::new(1, vec![]),
            remote: None,
        }
    }

    /// The clients that are scored one by one at the end: those that are probed, but nobody of a population without end.
    fn judged(&self, plan: &Plan) -> Vec<ClientId> {
        let mut ids = match self.problem.population.roster() {
            Roster::Unbounded => vec![],
            roster => plan.probed(&roster),
        };
        ids.truncate(MOST_CLIENTS);
        ids
    }
}
