//! An experiment's runs, one after the other, on one pool of threads.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::sync::Arc;

use motet_core::{ClientId, Manifest, Memo, OptimumCard, Plan, Reference, Roster, RunCard, Summary};
use motet_methods::{Method, Visitor};
use motet_problems::Problem;
use motet_report::Records;
use motet_runtime::{Pool, Solves};

use crate::affordable::Locals;
use crate::config::{Experiment, MethodEntry, StoreSection};
use crate::error::Error;
use crate::output::Output;
use crate::progress::Progress;
use crate::resume::requested;

mod run;

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
    /// Bytes of client states that may stay in memory, and as many of local solves.
    limit: u64,
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
            if let Some(reason) = visit(entry, Fits { roster: built.problem.population.roster(), unseen: built.problem.unseen })? {
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
        Ok(Self { experiment, pool, limit: experiment.run.store.limit() / 2, problems, entries, runs })
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

    /// Lets local solves of a problem sleep on disk, unless the experiment wants everything in memory.
    fn archive(&self, problem: usize, output: &Output) -> Result<(), Error> {
        let memo = &self.problems[problem].memo;
        if self.experiment.run.store != StoreSection::Memory && !memo.is_archived() {
            let path = output.kept().solves(problem);
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

    /// Runs everything that is not done yet, writing as it goes. What was written before an error stays, and
    /// `motet run --resume` goes on from it.
    pub fn execute(&self, output: &mut Output, progress: &Progress) -> Result<Records, Error> {
        let mut records = Records { manifest: self.manifest(), ..Records::default() };
        let (mut begun, mut runs) = (Begun::default(), vec![]);
        if let Some((standing, before)) = output.past() {
            let under_way = standing.finished.len();
            for (card, done) in records.manifest.runs.iter_mut().zip(standing.finished) {
                *card = done.card;
                runs.push(done.summary);
            }
            let (mine, done) = before.rows.into_iter().partition(|row| row.run == under_way);
            (begun.rows, records.rows) = (mine, done);
            let (mine, done) = before.merits.into_iter().partition(|merit| merit.run as usize == under_way);
            (begun.merits, records.merits) = (mine, done);
            (begun.saved, records.clients) = (standing.saved, before.clients);
        }
        output.manifest(&records.manifest)?;
        for run in runs.len()..self.runs.len() {
            if requested() {
                return Err(Error::Interrupted {
                    what: format!("{run} of {} runs are done", self.runs.len()),
                    folder: output.folder().into(),
                });
            }
            let (planned, begun) = (self.runs[run], std::mem::take(&mut begun));
            let card = &mut records.manifest.runs[run];
            let done = visit(self.entry(&planned), Simulate { of: self, run, planned, card, output, progress, begun })??;
            output.finish(card, &done.summary)?;
            records.rows.extend(done.rows);
            records.clients.extend(done.clients);
            records.merits.extend(done.merits);
            runs.push(done.summary);
            output.manifest(&records.manifest)?;
        }
        records.summary = Some(Summary { experiment: self.experiment.name.clone(), runs, claims: vec![] });
        Ok(records)
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
    unseen: u32,
}

impl Visitor for Fits {
    type Out = Option<String>;
    fn visit<M: Method>(self, method: M) -> Self::Out {
        let clients = match &self.roster {
            Roster::Listed(ids) => Some(ids.len() as u32),
            Roster::Counted(n) => Some(*n),
            Roster::Unbounded => None,
        };
        // What is listed for each client must be there for the unseen too.
        let all = clients.filter(|_| self.unseen > 0).map(|n| n + self.unseen);
        let unseen = || Some(format!("{} (counting {} unseen clients)", method.refuse(Some(all?))?, self.unseen));
        method.refuse(clients).or_else(unseen)
    }
}

impl Built {
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
