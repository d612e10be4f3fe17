//! An experiment's runs, one after the other, on one pool of threads.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use motet_core::{
    Algorithm, ClientId, ClientRow, Direction, Fleet, Host, Look, Manifest, Memo, Merit, Metrics, OptimumCard, Plan, Probe, Reference,
    Roster, Row, RunCard, RunSummary, Seed, Summary, Trained, UpDown, Wire, larger_is_better, train,
};
use motet_methods::{Method, Visitor};
use motet_problems::Problem;
use motet_problems::reference::{Part, minimise};
use motet_report::Records;
use motet_runtime::{Byzantine, Memory, Pool, Threads};
use sha2::{Digest, Sha256};

use crate::affordable::Locals;
use crate::config::{Experiment, MethodEntry, ReferenceSection};
use crate::digest::digest;
use crate::error::Error;
use crate::models::save_models;
use crate::output::Output;
use crate::progress::Progress;
use crate::recorder::{Recorder, Timed};

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

/// One run to be.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    variant: usize,
    problem: usize,
    entry: usize,
    seed: u64,
}

/// An experiment whose problems are built and whose methods fit them.
pub struct Simulation<'a> {
    experiment: &'a Experiment,
    pool: Arc<Pool>,
    problems: Vec<Built>,
    /// The experiment's methods; one whose α a budget decides is here once for each problem.
    entries: Vec<MethodEntry>,
    runs: Vec<Planned>,
}

impl<'a> Simulation<'a> {
    /// Builds the problems and checks that every method fits; nothing is written yet.
    pub fn prepare(experiment: &'a Experiment, pool: Arc<Pool>) -> Result<Self, Error> {
        let file = &experiment.document.file;
        let (mut problems, mut index, mut runs) = (vec![], BTreeMap::new(), vec![]);
        for (variant, config) in experiment.problems.iter().enumerate() {
            for &seed in &experiment.seeds {
                if let Entry::Vacant(place) = index.entry((variant, config.config.seed_of(seed))) {
                    let built = Problem::build(&config.config, &experiment.document.folder, seed);
                    let problem = built.map_err(|source| Error::Problem { file: file.clone(), source })?;
                    place.insert(problems.len());
                    problems.push(Built { problem, memo: Arc::default(), optima: RefCell::default() });
                }
            }
            for method in 0..experiment.methods.len() {
                runs.extend(experiment.seeds.iter().map(|&seed| Planned {
                    variant,
                    problem: index[&(variant, config.config.seed_of(seed))],
                    entry: method,
                    seed,
                }));
            }
        }
        let mut entries = experiment.methods.clone();
        let mut afforded = BTreeMap::new();
        for run in &mut runs {
            let (entry, built) = (&experiment.methods[run.entry], &problems[run.problem]);
            let unsuited = |key: &str, reason| Error::Unsuited { file: file.clone(), key: key.to_owned(), reason };
            if let Some(reason) = visit(entry, Fits { roster: built.problem.population.roster() })? {
                return Err(unsuited(&entry.key, reason));
            }
            let Some(rule) = &entry.budget else { continue };
            if let Entry::Vacant(place) = afforded.entry((run.entry, run.problem)) {
                let mut entry = entry.clone();
                let alpha = Locals::find(&entry, built, &pool)?.afford(rule);
                entry.params.insert("alpha".into(), alpha.map_err(|reason| unsuited(&format!("{}.alpha.budget", entry.key), reason))?);
                place.insert(entries.len());
                entries.push(entry);
            }
            run.entry = afforded[&(run.entry, run.problem)];
        }
        Ok(Self { experiment, pool, problems, entries, runs })
    }

    /// The problems, in the order of the manifest.
    pub fn problems(&self) -> &[Built] {
        &self.problems
    }

    /// The runs, in the order of the manifest.
    pub fn runs(&self) -> &[Planned] {
        &self.runs
    }

    /// The method of a run, as it fits the run's problem.
    pub fn entry(&self, planned: &Planned) -> &MethodEntry {
        &self.entries[planned.entry]
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
            motet: env!("CARGO_PKG_VERSION").into(),
            experiment: self.experiment.name.clone(),
            resolved: self.experiment.resolved(),
            inputs,
            problems: self.problems.iter().map(|b| b.problem.card()).collect(),
            runs: self.runs.iter().enumerate().map(|(run, planned)| self.card(run, planned)).collect(),
        }
    }

    fn card(&self, run: usize, planned: &Planned) -> RunCard {
        let entry = self.entry(planned);
        let mut label = entry.label.clone();
        let variant = &self.experiment.problems[planned.variant].label;
        if !variant.is_empty() {
            let _ = write!(label, " {variant}");
        }
        RunCard {
            run,
            label,
            method: entry.kind.clone(),
            params: entry.params.clone(),
            problem: planned.problem,
            seed: planned.seed,
            ..RunCard::default()
        }
    }

    /// Runs everything, writing as it goes. What was written before an error stays.
    pub fn execute(&self, output: &mut Output, progress: &Progress) -> Result<Records, Error> {
        let mut records = Records { manifest: self.manifest(), ..Records::default() };
        output.experiment(&self.experiment.document.text)?;
        output.manifest(&records.manifest)?;
        let mut runs = vec![];
        for run in 0..self.runs.len() {
            let (done, rows) = self.execute_one(run, &mut records.manifest.runs[run], output, progress)?;
            records.rows.extend(rows);
            records.clients.extend(done.clients);
            records.merits.extend(done.merits);
            runs.push(done.summary);
            output.manifest(&records.manifest)?;
        }
        records.summary = Some(Summary { experiment: self.experiment.name.clone(), runs, claims: vec![] });
        Ok(records)
    }

    fn execute_one(&self, run: usize, card: &mut RunCard, output: &mut Output, progress: &Progress) -> Result<(Done, Vec<Row>), Error> {
        let planned = self.runs[run];
        let entry = self.entry(&planned);
        let simulate = Simulate { of: self, run, planned, card, output, progress, rows: vec![], merits: vec![] };
        visit(entry, simulate)?
    }
}

/// Hands the method of an entry to a visitor. Its parameters were checked when the file was read.
pub fn visit<V: Visitor>(entry: &MethodEntry, visitor: V) -> Result<V::Out, Error> {
    let params = serde_json::Value::Object(entry.params.clone());
    let unreadable = |reason: String| Error::Unsuited { file: entry.kind.clone(), key: entry.key.clone(), reason };
    motet_methods::with(&entry.kind, params, visitor).map_err(|e| unreadable(e.to_string()))?.map_err(|e| unreadable(e.to_string()))
}

/// Does a method fit the number of clients?
struct Fits {
    roster: Roster,
}

impl Visitor for Fits {
    type Out = Option<String>;
    fn visit<M: Method>(self, method: M) -> Self::Out {
        method.refuse(match &self.roster {
            Roster::Listed(ids) => Some(ids.len() as u32),
            Roster::Counted(n) => Some(*n),
            Roster::Unbounded => None,
        })
    }
}

/// What one run leaves besides its rows.
struct Done {
    summary: RunSummary,
    clients: Vec<ClientRow>,
    merits: Vec<Merit>,
}

struct Simulate<'a, 'b> {
    of: &'b Simulation<'a>,
    run: usize,
    planned: Planned,
    card: &'b mut RunCard,
    output: &'b mut Output,
    progress: &'b Progress,
    rows: Vec<Row>,
    merits: Vec<Merit>,
}

impl Visitor for Simulate<'_, '_> {
    type Out = Result<(Done, Vec<Row>), Error>;

    fn visit<M: Method>(mut self, method: M) -> Self::Out {
        let (experiment, built, seed) = (self.of.experiment, &self.of.problems[self.planned.problem], Seed(self.planned.seed));
        let method = Arc::new(method);
        let host = Host::new(
            Arc::clone(&method),
            Arc::clone(&built.problem.population),
            Arc::new(Memory::default()),
            Arc::clone(&built.memo),
            seed,
        );
        let reference = self.reference(&*method, &host);
        self.card.promise = built.promise(&*method, Some((&host, reference.as_ref().and_then(|r| r.x.as_ref()))));
        let plan = Plan {
            run: self.run,
            quorum: *experiment.run.quorum,
            attempts: experiment.run.attempts,
            rhythm: experiment.run.rhythm(),
            look: experiment.run.look(),
            probe_clients: experiment.run.probe.clients,
            coordinates: experiment.run.probe.coordinates,
            reference,
            stop: experiment.run.stops(),
            ..Plan::new(experiment.run.rounds, seed)
        };
        let probing = Rc::new(Cell::new(Duration::ZERO));
        let honest = Threads::new(host, Arc::clone(&self.of.pool));
        let mut fleet = Timed { inner: Byzantine::new(honest, built.problem.liars, seed), probing: Rc::clone(&probing) };
        self.progress.begin(&self.card.label, self.planned.seed, experiment.run.rounds);
        let began = Instant::now();
        let mut sink = Recorder {
            output: self.output,
            rows: &mut self.rows,
            merits: &mut self.merits,
            progress: self.progress,
            began,
            probing: &probing,
        };
        let trained = train(&*method, built.problem.start.clone(), &plan, &mut fleet, &mut sink).map_err(|source| Error::Run {
            label: self.card.label.clone(),
            seed: self.planned.seed,
            source,
        })?;
        let seconds = (began.elapsed().saturating_sub(probing.get())).as_secs_f64();
        let clients = self.clients(&*method, &trained, &plan, &mut fleet)?;
        let summary = self.summary(&trained, seconds);
        self.progress.end(&summary);
        Ok((Done { summary, clients, merits: self.merits }, self.rows))
    }
}

impl Simulate<'_, '_> {
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
            Err(_) => None,
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
        let ids = self.of.problems[self.planned.problem].judged(plan.probe_clients);
        let look = Look { gradient: false, model: self.of.experiment.run.models, ..plan.look };
        let shared = |id: ClientId| method.shared(&trained.server, id);
        let probe = Probe { round: trained.rounds, to: &ids, shared: &shared, heard: &trained.heard, look, reference: None };
        let (mut rows, mut models) = (vec![], vec![]);
        let probed = fleet.probe(&probe, &mut |id, score| {
            let mut metrics = Metrics::from([("loss".to_owned(), score.loss)]);
            metrics.extend(score.metrics.iter().map(|(name, value, _)| (name.to_string(), *value)));
            rows.push(ClientRow { run: self.run, client: id.0, examples: score.examples, metrics });
            models.extend(score.model.map(|model| (id, model)));
        });
        probed.map_err(|source| Error::Run {
            label: self.card.label.clone(),
            seed: self.planned.seed,
            source: motet_core::TrainError::Probe { round: trained.rounds, source },
        })?;
        self.output.clients(&rows)?;
        if self.of.experiment.run.models {
            save_models(self.output.folder(), self.card, shared(ClientId(0)), &models)?;
        }
        Ok(rows)
    }

    fn summary<A: Algorithm>(&self, trained: &Trained<A>, seconds: f64) -> RunSummary {
        let mut best = Metrics::new();
        for (name, &value) in self.rows.iter().flat_map(|row| &row.metrics) {
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
            last: self.rows.last().map(|row| row.metrics.clone()).unwrap_or_default(),
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

impl Built {
    /// The clients that are scored one by one at the end: those held in memory, or as many as are probed of those made on demand.
    fn judged(&self, probed: Option<u32>) -> Vec<ClientId> {
        let most = match self.problem.population.roster() {
            Roster::Counted(_) if !self.problem.shards.is_empty() => self.problem.shards.len(),
            Roster::Counted(n) => probed.map_or(n, |count| count.min(n)) as usize,
            Roster::Listed(ids) => ids.len(),
            Roster::Unbounded => 0,
        };
        (0..most.min(MOST_CLIENTS) as u32).map(ClientId).collect()
    }
}
