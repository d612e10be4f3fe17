//! From a table to the answer: who should join, which mixture, what it gains; and a model for each client.
//!
//! ```text
//! data        a table, a folder of tables, or what a program has
//!   └▶ draft      an experiment that anybody can change and run again
//!        └▶ splits     the experiment on one split of everybody's rows after another, until the time is up
//!             └▶ evidence   what each client would take, chosen on validation rows and judged on test rows
//!                  └▶ verdict    join, stay, or unclear (motet_report::verdict)
//!                       └▶ refit      the chosen method on all rows, and one bundle for each client
//! ```
//!
//! ```
//! use motet::advise::{Advise, Data};
//! use motet::problems::DataFrame;
//!
//! # let mut dice = 1u64;
//! # let mut roll = || { dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); (dice >> 33) as f64 / 2f64.powi(30) - 1.0 };
//! # let x: Vec<f64> = (0..60).map(|_| roll()).collect();
//! # let ill: Vec<bool> = x.iter().map(|x| *x + 0.3 * roll() > 0.0).collect();
//! # let ward: Vec<&str> = (0..60).map(|k| ["north", "south", "west"][k % 3]).collect();
//! let data = DataFrame::new().column("ward", ward).column("x", x).column("ill", ill).client("ward").target("ill").check()?;
//! let advice = Advise::new(Data::Given(data)).splits(3).run()?;
//! for client in &advice.clients {
//!     println!("{}: {}, {:+.3} {}", client.client, client.advice, client.gain, client.metric);
//! }
//! # assert_eq!(advice.clients.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod draft;
mod evidence;
mod out;
mod refit;
mod splits;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use motet_problems::source::{Given, Table};
use motet_problems::{Folders, OwnData, Problem, Source};
use motet_records::Records;
use motet_report::verdict::{Verdict, Worth};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::{Document, Experiment};
use crate::error::Error;
use crate::observer::{Observer, Unobserved};
use draft::Draft;
use splits::Split;

/// Where the rows come from.
#[derive(Clone, Debug)]
pub enum Data {
    /// A file or a folder of files.
    Table(Table),
    /// What a program has.
    Given(OwnData),
}

/// Finds out which clients should join: the builder behind `motet advise`.
#[derive(Clone, Debug)]
pub struct Advise {
    data: Data,
    time: Duration,
    budget: Option<u64>,
    splits: usize,
    worth: Worth,
    threads: usize,
    out: Option<PathBuf>,
}

/// Splits beyond these narrow the intervals by less than a tenth.
const MOST_SPLITS: usize = 20;

/// Time that is asked for at most: a week.
const LONGEST: f64 = 7.0 * 24.0 * 60.0;

/// The answer to [`Advise`]: who should join, and why.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// One for each client, in their order.
    pub clients: Vec<ClientAdvice>,
    /// The experiment as a file: its path if it was written, else its text.
    pub experiment: String,
    /// How many splits there were time for.
    pub splits: usize,
    /// Does it pay for all of them together? The same words as for one client.
    pub federation: Federation,
    /// What people should know: clients who were left out, methods that cost too much.
    pub notes: Vec<String>,
    /// The whole computation.
    #[serde(skip)]
    pub verdict: Verdict,
    /// Every run of every split.
    #[serde(skip)]
    pub records: Records,
}

/// All clients together.
#[derive(Clone, Debug, Serialize)]
pub struct Federation {
    /// "join", "stay" or "unclear".
    pub advice: &'static str,
    /// The mean gain.
    pub gain: f64,
    /// Its 95 % interval over splits and clients.
    pub interval: Option<[f64; 2]>,
}

/// The answer for one client.
#[derive(Clone, Debug, Serialize)]
pub struct ClientAdvice {
    /// Its name.
    pub client: String,
    /// "join", "stay" or "unclear".
    pub advice: &'static str,
    /// The method of the model that it deploys, as experiment files call it.
    pub method: String,
    /// The share of the common model, where the method mixes.
    pub alpha: Option<f64>,
    /// What joining gains by the metric; positive is better.
    pub gain: f64,
    /// Its 95 % interval, where there is one.
    pub interval: Option<[f64; 2]>,
    /// What gains are measured by.
    pub metric: String,
    /// The folder of its model, where one was written.
    pub bundle: Option<PathBuf>,
    /// The method that it deploys, in words.
    pub way: String,
    /// The method's parameters.
    pub params: Map<String, Value>,
    /// The method that it would choose most often if it joined.
    pub offer: String,
    /// The gain drawn towards that of all clients, with its interval, where there are clients enough.
    pub pooled: Option<(f64, [f64; 2])>,
    /// The metric of its own model, and of the best offer.
    pub own: f64,
    /// The metric of what it would take.
    pub joined: f64,
    /// The same in shares of right answers, where there are classes.
    pub accuracy: Option<[f64; 2]>,
    /// Its rows.
    pub rows: u64,
    /// Bytes that it sends if it joins, all rounds together.
    pub sent_bytes: u64,
    /// Who counts how much for it (MeritFed's weights), the heaviest first, itself among them.
    pub with: Vec<Partner>,
    /// Why, in a sentence.
    pub why: String,
}

/// A client whose data count for another's model.
#[derive(Clone, Debug, Serialize)]
pub struct Partner {
    /// Its name.
    pub client: String,
    /// Its share; those of all are 1 together.
    pub weight: f64,
}

impl Advise {
    /// In two minutes on all cores, with nothing written.
    pub fn new(data: Data) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { data, time: Duration::from_secs(120), budget: None, splits: MOST_SPLITS, worth: Worth::default(), threads, out: None }
    }

    /// How long it may take: more than 0 minutes, at most a week.
    pub fn minutes(mut self, minutes: f64) -> Result<Self, Error> {
        if !(minutes > 0.0 && minutes <= LONGEST) {
            return Err(Error::Unknown(format!("minutes = {minutes}: must be above 0 and at most {LONGEST}")));
        }
        self.time = Duration::from_secs_f64(minutes * 60.0);
        Ok(self)
    }

    /// How many bytes a client may send; methods that need more are left out.
    #[must_use]
    pub fn budget(self, bytes: u64) -> Self {
        Self { budget: Some(bytes), ..self }
    }

    /// The share of the own model's error that a difference must reach to count, from 0 to 1; 0.01 by default.
    pub fn worth(self, share: f64) -> Result<Self, Error> {
        let worth = Worth::new(share).ok_or_else(|| Error::Unknown(format!("worth = {share}: must be from 0 to 1")))?;
        Ok(Self { worth, ..self })
    }

    /// How many splits are made at most.
    #[must_use]
    pub fn splits(self, splits: usize) -> Self {
        Self { splits: splits.max(1), ..self }
    }

    /// How many splits run at once.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// The folder for experiment, records, page and bundles; it must be empty or new.
    #[must_use]
    pub fn out(self, folder: PathBuf) -> Self {
        Self { out: Some(folder), ..self }
    }

    /// Finds the answer.
    pub fn run(&self) -> Result<Advice, Error> {
        self.run_observed(&Unobserved)
    }

    /// Finds the answer, watched by an observer, who can also stop it.
    pub fn run_observed(&self, observer: &(dyn Observer + Sync)) -> Result<Advice, Error> {
        let begun = Instant::now();
        if let Some(folder) = self.out.as_deref().filter(|folder| std::fs::read_dir(folder).is_ok_and(|mut all| all.next().is_some())) {
            return Err(Error::Taken(folder.into()));
        }
        let data = self.data.clone().read()?;
        let draft = Draft::of(&data, self.worth)?;
        let splits = self.make_splits(&draft, &data, begun, observer)?;
        let (mut advice, field) = evidence::weigh(&draft, &splits, self.budget)?;
        advice.records = out::together(&draft, &splits)?;
        advice.experiment = draft.document(&splits.iter().map(|split| split.seed).collect::<Vec<_>>())?.text;
        if let Some(folder) = &self.out {
            let models = refit::refit(&draft, &data, &advice, &field, self.threads)?;
            out::write(folder, &draft, &splits, &mut advice, models, &self.data, begun + self.time)?;
        }
        Ok(advice)
    }
}

/// Data that were read: every problem is made of them.
pub(crate) struct Held {
    source: Source,
    /// As an experiment file names it.
    written: String,
    classes: Option<u32>,
    least_rows: u64,
}

impl Data {
    /// Reads files once.
    fn read(self) -> Result<Held, Error> {
        let wrong = |source| Error::data("motet advise", source);
        match self {
            Data::Given(data) => Ok(Held {
                written: format!("{{ kind = \"given\", name = {} }}", draft::quoted(data.name())),
                classes: data.classes(),
                source: Source::new(Given::of(data)),
                least_rows: 0,
            }),
            Data::Table(mut table) => {
                let folders = Folders::beside(std::path::Path::new(""));
                table.least_rows = table.least_rows.or(std::num::NonZeroU32::new(draft::LEAST_ROWS as u32));
                // The experiment lies in another folder than the one that the path starts from.
                table.path = std::path::absolute(&table.path).ok().filter(|path| path.exists()).unwrap_or(table.path);
                let table = table.read(&folders).map_err(wrong)?;
                let classes = table.examples().and_then(|examples| match &examples.targets {
                    motet_problems::Targets::Classes { classes, .. } => Some(*classes),
                    _ => None,
                });
                let least_rows = table.least_rows.map_or(0, |least| least.get().into());
                let source = Source::new(table);
                Ok(Held { written: draft::table_of(&source), source, classes, least_rows })
            }
        }
    }
}

impl Held {
    /// An experiment of these data.
    fn experiment(&self, document: Document) -> Result<Experiment, Error> {
        let mut experiment = Experiment::new(document)?;
        for variant in &mut experiment.problems {
            variant.config.source = self.source.clone();
        }
        Ok(experiment)
    }

    /// The data with nothing held out.
    fn problem(&self, document: &Document) -> Result<(Experiment, Problem), Error> {
        let experiment = self.experiment(document.clone())?;
        let config = &experiment.problems[0].config;
        let problem = Problem::build(config, &document.folder, 1);
        let problem = problem.map_err(|source| Error::data(document.file.clone(), source))?;
        Ok((experiment, problem))
    }
}

impl Advise {
    /// One split after another until the time is up, in order.
    fn make_splits(&self, draft: &Draft, data: &Held, begun: Instant, observer: &(dyn Observer + Sync)) -> Result<Vec<Split>, Error> {
        let pace = splits::Pace { begun, time: self.time, most: self.splits, threads: self.threads };
        let splits = splits::make(draft, data, &pace, observer)?;
        if splits.is_empty() {
            let minutes = self.time.as_secs_f64() / 60.0;
            return Err(Error::Unknown(format!(
                "no split of the data could be tried in {minutes} minute(s): give more time with --minutes, or fewer rows"
            )));
        }
        Ok(splits)
    }
}
