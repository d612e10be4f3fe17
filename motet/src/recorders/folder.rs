//! The folder an experiment leaves, written as it happens.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use motet_core::{ClientId, Merit, Row, Vector};
use motet_records::{
    ClientRow, Damage, Event, Lengths, Manifest, Models, ReadError, Records, RunCard, RunSummary, Summary, Verification, WholeFiles,
    Writer, names, slug, verify,
};

use super::{Journal, Recorder};
use crate::config::Document;
use crate::error::Error;
use crate::resume::{Finished, Lock, Resume, Workplace, compare, is_begun, sweep};

/// An experiment's folder.
pub struct Folder {
    path: PathBuf,
    writer: Arc<Mutex<Writer>>,
    resume: Resume,
    /// When finished runs were last made durable, and how long they may wait for it.
    durable: Instant,
    pause: Duration,
}

/// What a previous experiment may have left beside `resume`, and `--overwrite` may replace. The manifest goes last: a folder
/// that has one is known as ours.
const RECORDS: &[&str] = &[
    names::ROWS,
    names::CLIENTS,
    names::MERITS,
    names::EVENTS,
    names::CHECKSUMS,
    names::SUMMARY,
    names::EXPERIMENT,
    names::MODELS,
    "report.html",
    "figures",
    "rows.csv",
    "summary.csv",
    "tensorboard",
    names::MANIFEST,
];

/// Finished runs are made durable no more often than this: a grid may finish a hundred in a second.
const PAUSE: Duration = Duration::from_secs(1);

impl Folder {
    /// Opens a folder for a new experiment. One that holds anything is refused, unless its records may be overwritten; one
    /// in which an experiment is under way is refused in any case.
    pub fn create(folder: &Path, overwrite: bool, document: &Document) -> Result<Self, Error> {
        // A look before anything is made, and the one that counts when nobody else can begin here.
        Self::refuse(folder, overwrite)?;
        let lock = Lock::take(folder)?;
        if let Err(taken) = Self::refuse(folder, overwrite) {
            lock.withdraw();
            return Err(taken);
        }
        for name in RECORDS {
            let path = folder.join(name);
            let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            if let Err(source) = gone.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }) {
                return Err(Error::Write { path, source });
            }
        }
        let resume = Resume::begin(lock, document)?;
        let folder = Self::open(folder, resume, Lengths::default())?;
        folder.writer().experiment(&document.text)?;
        Ok(folder)
    }

    /// Refuses a folder that holds anything, unless it is an experiment's and its records may be overwritten.
    pub fn refuse(folder: &Path, overwrite: bool) -> Result<(), Error> {
        let ours = || folder.join(names::MANIFEST).exists() || is_begun(folder);
        if occupied(folder) && !(overwrite && ours()) { Err(Error::Taken(folder.into())) } else { Ok(()) }
    }

    /// Was an experiment begun in a folder and not ended?
    pub fn is_unfinished(folder: &Path) -> bool {
        is_begun(folder)
    }

    /// Was an experiment begun in a folder, and is nothing left to be done?
    pub fn is_finished(folder: &Path) -> bool {
        folder.join(names::SUMMARY).exists() && !is_begun(folder)
    }

    /// The records of an experiment that ended in a folder, if it is the one of this manifest.
    pub fn finished(folder: &Path, manifest: &Manifest) -> Result<Records, Error> {
        compare(folder, manifest)?;
        Ok(Records::read(folder)?)
    }

    /// Is a program at work in a folder at this moment?
    pub fn is_held(folder: &Path) -> bool {
        Lock::is_held(folder)
    }

    /// The experiment that was begun in a folder and not ended.
    pub fn begun(folder: &Path) -> Result<Document, Error> {
        Resume::document(folder)
    }

    /// Removes what a kill at the very end may have left in the folder of a finished experiment.
    pub fn sweep(folder: &Path) {
        sweep(folder);
    }

    /// Opens the folder of an experiment that was begun and not finished, if it is the one of this manifest and its records are as
    /// they were written; what happened to it is told to `say`.
    pub fn resume(folder: &Path, manifest: &Manifest, say: &dyn Fn(&str)) -> Result<Self, Error> {
        Self::resume_at(folder, manifest, 0, say)
    }

    /// A folder beside the records in `main`, for a run that is done while others are: begun, or gone on with. Local solves are in a file whose
    /// name says who has made them.
    pub(crate) fn aside(main: &Path, run: usize, document: &Document, manifest: &Manifest, who: usize) -> Result<Self, Error> {
        let path = aside(main, run);
        let begun = Self::is_unfinished(&path);
        let folder = if begun { Self::resume_at(&path, manifest, run, &|_| ()) } else { Self::create(&path, true, document) };
        let mut folder = folder?.with_every_run_durable();
        folder.resume.workplace.beside(main.join("resume"), who);
        Ok(folder)
    }

    /// The runs that were begun in folders of their own beside the records in `main`.
    pub(crate) fn begun_aside(main: &Path, runs: Range<usize>) -> Vec<usize> {
        runs.filter(|run| Self::is_unfinished(&aside(main, *run))).collect()
    }

    /// What a run left that was done in a folder of its own: where that is, how the run ended, and its records. None if it is under way.
    pub(crate) fn done_aside(main: &Path, run: usize) -> Result<Option<(PathBuf, Finished, Records)>, Error> {
        let path = aside(main, run);
        let Some(finished) = Resume::finished(&path)?.pop() else { return Ok(None) };
        let records = Records::read(&path)?;
        Ok(Some((path, finished, records)))
    }

    /// The same for a folder whose first run is not the first of the manifest.
    fn resume_at(folder: &Path, manifest: &Manifest, first: usize, say: &dyn Fn(&str)) -> Result<Self, Error> {
        // A damaged manifest would look like another experiment.
        if let Ok(bytes) = motet_files::read(&folder.join(names::MANIFEST), u64::MAX) {
            let damaged = |damage| ReadError::Damaged { folder: folder.into(), damage, others: 0 };
            WholeFiles::of(folder)?.fit(names::MANIFEST, &bytes).map_err(damaged)?;
        }
        compare(folder, manifest)?;
        let lock = Lock::take(folder)?;
        // Whoever held the lock until now may have gone on.
        compare(folder, manifest)?;
        let document = Resume::document(folder)?;
        let found = verify(folder)?;
        let (resume, standing) = Resume::find(folder, lock, (&found.covered, first), say)?;
        let lengths = standing.lengths();
        // What was written after the moment that is gone back to is cut off, damaged or not.
        let stays = |damage: &Damage| lengths.of(&damage.span.file).is_none_or(|length| damage.span.from < length);
        Verification { damaged: found.damaged.into_iter().filter(stays).collect(), ..found }.undamaged(folder)?;
        let mut output = Self::open(folder, resume, lengths)?;
        // Killed before its first file was there.
        if !folder.join(names::EXPERIMENT).exists() {
            output.writer().experiment(&document.text)?;
        }
        // Killed before anything was planned.
        if folder.join(names::MANIFEST).exists() {
            let records = Records::read(folder)?;
            output.resume.workplace.begun_before(standing, records);
        }
        Ok(output)
    }

    fn open(folder: &Path, resume: Resume, lengths: Lengths) -> Result<Self, Error> {
        let writer = Arc::new(Mutex::new(Writer::open(folder, lengths)?));
        Ok(Self { path: folder.into(), writer, resume, durable: Instant::now(), pause: PAUSE })
    }

    /// The same folder, and every run is durable as soon as it is done: others will act upon its end.
    pub(crate) fn with_every_run_durable(self) -> Self {
        Self { pause: Duration::ZERO, ..self }
    }

    /// The first free folder called `name`, `name-2`, … under `parent`.
    pub fn fresh_name(parent: &Path, name: &str) -> PathBuf {
        let slug = slug(name);
        let mut folder = parent.join(&slug);
        let mut count = 1;
        while folder.exists() {
            count += 1;
            folder = parent.join(format!("{slug}-{count}"));
        }
        folder
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unkept(&self) -> impl Fn(io::Error) -> Error + use<> {
        let path = self.path().join("resume");
        move |source| Error::Write { path: path.clone(), source }
    }
}

impl Recorder for Folder {
    fn begin(&mut self, manifest: &Manifest) -> Result<(), Error> {
        self.manifest(manifest)
    }

    fn manifest(&mut self, manifest: &Manifest) -> Result<(), Error> {
        Ok(self.writer().manifest(manifest)?)
    }

    fn row(&mut self, row: &Row) -> io::Result<()> {
        self.writer().row(row)
    }

    fn merit(&mut self, merit: &Merit) -> io::Result<()> {
        self.writer().merit(merit)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.writer().event(event)
    }

    fn journal(&self) -> Option<Journal> {
        Some(Journal(Arc::clone(&self.writer)))
    }

    fn clients(&mut self, clients: &[ClientRow]) -> Result<(), Error> {
        Ok(self.writer().clients(clients)?)
    }

    fn model(&mut self, card: &RunCard, client: ClientId, model: Vector) -> Result<(), Error> {
        Ok(self.writer().model(card, client, &model)?)
    }

    fn models(&mut self, card: &RunCard, shared: Vector, passport: Option<String>) -> Result<Option<Arc<Models>>, Error> {
        self.writer().models(card, &shared, passport)?;
        Ok(None)
    }

    fn adopt_models(&mut self, card: &RunCard, from: &Path) -> Result<(), Error> {
        Ok(self.writer().adopt_models(card, from)?)
    }

    fn run_done(&mut self, card: &RunCard, summary: &RunSummary) -> Result<(), Error> {
        let durable = self.durable.elapsed() >= self.pause;
        let mut keep = || -> io::Result<()> {
            let lengths = if durable { self.writer().sync()? } else { self.writer().lengths()? };
            if durable {
                self.durable = Instant::now();
            }
            self.resume.finish(&Finished { lengths, card: card.clone(), summary: summary.clone() }, durable)
        };
        let kept = keep();
        kept.map_err(self.unkept())
    }

    fn summary(&mut self, summary: &Summary) -> Result<(), Error> {
        Ok(self.writer().summary(summary)?)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.writer().close()?;
        self.resume.end().map_err(self.unkept())
    }

    fn sync(&mut self) -> io::Result<Lengths> {
        self.writer().sync()
    }

    fn folder(&self) -> Option<&Path> {
        Some(self.path())
    }

    fn workplace(&mut self) -> &mut Workplace {
        &mut self.resume.workplace
    }
}

/// Where a run is done while others are.
fn aside(main: &Path, run: usize) -> PathBuf {
    main.join("resume").join(format!("aside-{run}"))
}

/// Is there anything in a folder? Not if an experiment was killed before it had written its first file.
fn occupied(folder: &Path) -> bool {
    let ours = |name: &std::ffi::OsStr| name == "resume" && !is_begun(folder);
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| !ours(&entry.file_name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        Document::parse("e.toml", "", PathBuf::new()).unwrap()
    }

    #[test]
    fn a_folder_with_anything_in_it_is_never_touched() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("mine");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("thesis.tex"), "precious").unwrap();
        assert!(matches!(Folder::create(&folder, false, &document()), Err(Error::Taken(_))));
        assert!(matches!(Folder::create(&folder, true, &document()), Err(Error::Taken(_))), "nothing of ours is in there");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "and nothing of ours is left there");
        fs::write(folder.join("manifest.json"), "{}").unwrap();
        fs::write(folder.join("rows.jsonl"), "old").unwrap();
        Folder::create(&folder, true, &document()).unwrap();
        assert_eq!(fs::read_to_string(folder.join("thesis.tex")).unwrap(), "precious");
        assert_eq!(fs::read_to_string(folder.join("rows.jsonl")).unwrap(), "");
    }

    #[test]
    fn an_experiment_under_way_is_neither_overwritten_nor_resumed_and_keeps_its_records() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("busy");
        let mut first = Folder::create(&path, false, &document()).unwrap();
        first.manifest(&Manifest::default()).unwrap();
        first.row(&Row::default()).unwrap();
        let before = fs::read(path.join("rows.jsonl")).unwrap();
        for second in [Folder::create(&path, true, &document()), Folder::resume(&path, &Manifest::default(), &|_| ())] {
            let said = second.err().expect("it is under way").to_string();
            assert!(said.contains(&format!("process {}", std::process::id())), "{said}");
        }
        Folder::sweep(&path);
        assert_eq!(fs::read(path.join("rows.jsonl")).unwrap(), before);
        assert!(Folder::is_unfinished(&path) && path.join("resume/lock").exists());
        first.row(&Row::default()).unwrap();
        drop(first);
        Folder::create(&path, true, &document()).unwrap();
        assert_eq!(fs::read(path.join("rows.jsonl")).unwrap(), b"", "nobody holds it any more");
    }

    #[test]
    fn of_many_who_begin_at_once_one_wins() {
        let parent = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let path = parent.path().join(format!("race{round}"));
            let started = std::thread::scope(|scope| {
                let starts: Vec<_> = (0..4).map(|_| scope.spawn(|| Folder::create(&path, true, &document()).ok())).collect();
                // Each is held until all have tried.
                starts.into_iter().filter_map(|start| start.join().unwrap()).collect::<Vec<_>>().len()
            });
            assert_eq!(started, 1);
        }
    }
}
