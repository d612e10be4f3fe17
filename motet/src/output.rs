//! The folder an experiment leaves, written as it happens.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use motet_core::{ClientRow, Manifest, Merit, Row, Summary};
use motet_report::Records;
use serde::Serialize;

use crate::config::Document;
use crate::error::Error;
use crate::resume::{Finished, Lengths, Resume, Standing, compare, replace};
use crate::stream::Stream;

/// An experiment's folder.
pub struct Output {
    folder: PathBuf,
    rows: Stream,
    clients: Stream,
    /// Opened with the first record: most methods leave none.
    merits: Option<Stream>,
    resume: Resume,
    /// What an earlier, unfinished go at the experiment left.
    past: Option<(Standing, Records)>,
    /// When finished runs were last made durable.
    durable: Instant,
}

/// What a previous experiment may have left, and `--overwrite` may replace.
const RECORDS: &[&str] = &[
    "manifest.json",
    "rows.jsonl",
    "clients.jsonl",
    "merits.bin",
    "summary.json",
    "report.html",
    "experiment.toml",
    "models",
    "figures",
    "resume",
    "rows.csv",
    "summary.csv",
];

/// Finished runs are made durable no more often than this: a grid may finish a hundred in a second.
const PAUSE: Duration = Duration::from_secs(1);

impl Output {
    /// Opens a folder for a new experiment. One that holds anything is refused, unless its records
    /// may be overwritten.
    pub fn create(folder: &Path, overwrite: bool, document: &Document) -> Result<Self, Error> {
        if occupied(folder) {
            if !overwrite || !(folder.join("manifest.json").exists() || Resume::is_in(folder)) {
                return Err(Error::Taken(folder.into()));
            }
            for name in RECORDS {
                let path = folder.join(name);
                let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                if let Err(source) = gone.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }) {
                    return Err(Error::Write { path, source });
                }
            }
        }
        let resume = Resume::begin(folder, document)?;
        let output = Self::open(folder, resume, Lengths::default())?;
        output.experiment(&document.text)?;
        Ok(output)
    }

    /// Was an experiment begun in a folder and not ended?
    pub fn is_unfinished(folder: &Path) -> bool {
        Resume::is_in(folder)
    }

    /// The experiment that was begun in a folder and not ended.
    pub fn begun(folder: &Path) -> Result<Document, Error> {
        Resume::document(folder)
    }

    /// Removes what a kill at the very end may have left in the folder of a finished experiment.
    pub fn sweep(folder: &Path) {
        Resume::sweep(folder);
    }

    /// Opens the folder of an experiment that was begun and not finished, if it is the one of this manifest; what happened
    /// to it is told to `say`.
    pub fn resume(folder: &Path, manifest: &Manifest, say: &dyn Fn(&str)) -> Result<Self, Error> {
        compare(folder, manifest)?;
        let (resume, standing) = Resume::find(folder, say)?;
        let mut output = Self::open(folder, resume, standing.lengths())?;
        // Killed before anything was planned.
        if folder.join("manifest.json").exists() {
            output.past = Some((standing, Records::read(folder)?));
        }
        Ok(output)
    }

    fn open(folder: &Path, resume: Resume, lengths: Lengths) -> Result<Self, Error> {
        let open = |name: &str, length| {
            let path = folder.join(name);
            Stream::open(&path, length).map_err(|source| Error::Write { path, source })
        };
        let merits = folder.join("merits.bin").exists().then(|| open("merits.bin", lengths.merits)).transpose()?;
        let (rows, clients) = (open("rows.jsonl", lengths.rows)?, open("clients.jsonl", lengths.clients)?);
        Ok(Self { folder: folder.into(), rows, clients, merits, resume, past: None, durable: Instant::now() })
    }

    /// Where an earlier go at the experiment stands, and its records up to there.
    pub(crate) fn past(&mut self) -> Option<(Standing, Records)> {
        self.past.take()
    }

    /// What is kept to go on from.
    pub(crate) fn kept(&self) -> &Resume {
        &self.resume
    }

    /// Makes all records durable and tells how long they are.
    pub(crate) fn sync(&self) -> io::Result<Lengths> {
        let merits = self.merits.as_ref().map_or(Ok(0), Stream::sync)?;
        Ok(Lengths { rows: self.rows.sync()?, clients: self.clients.sync()?, merits })
    }

    /// A run is done.
    pub(crate) fn finish(&mut self, card: &motet_core::RunCard, summary: &motet_core::RunSummary) -> Result<(), Error> {
        let durable = self.durable.elapsed() >= PAUSE;
        let lengths =
            Lengths { rows: self.rows.length(), clients: self.clients.length(), merits: self.merits.as_ref().map_or(0, Stream::length) };
        let mut keep = || -> io::Result<()> {
            if durable {
                self.sync()?;
                self.durable = Instant::now();
            }
            self.resume.finish(&Finished { lengths, card: card.clone(), summary: summary.clone() }, durable)
        };
        keep().map_err(|source| Error::Write { path: self.folder.join("resume"), source })
    }

    /// The experiment is done: there is nothing to go on from any more.
    pub(crate) fn end(&self) -> Result<(), Error> {
        self.resume.end().map_err(|source| Error::Write { path: self.folder.join("resume"), source })
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
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The experiment as it was written.
    fn experiment(&self, text: &str) -> Result<(), Error> {
        let path = self.folder.join("experiment.toml");
        fs::write(&path, text).map_err(|source| Error::Write { path, source })
    }

    /// Before the first round; and again when optima are known.
    pub fn manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        self.replace("manifest.json", manifest)
    }

    /// When all runs are done.
    pub fn summary(&self, summary: &Summary) -> Result<(), Error> {
        self.replace("summary.json", summary)
    }

    /// One measured round, written at once.
    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        self.rows.append(&line(row)?)
    }

    /// Who counted how much for whom, written at once.
    pub fn merit(&mut self, merit: &Merit) -> io::Result<()> {
        let to = match &mut self.merits {
            Some(file) => file,
            none => none.insert(Stream::open(&self.folder.join("merits.bin"), 0)?),
        };
        to.append(&merit.framed())
    }

    /// The clients at the end of a run.
    pub fn clients(&mut self, rows: &[ClientRow]) -> Result<(), Error> {
        let done = rows.iter().try_for_each(|row| self.clients.append(&line(row)?));
        done.map_err(|source| Error::Write { path: self.folder.join("clients.jsonl"), source })
    }

    fn replace(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let path = self.folder.join(name);
        let write = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(value)?;
            text.push(b'\n');
            replace(&path, &text)
        };
        write().map_err(|source| Error::Write { path: path.clone(), source })
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Is there anything in a folder? Not if an experiment was killed before it had written its first file.
fn occupied(folder: &Path) -> bool {
    let ours = |name: &std::ffi::OsStr| name == "resume" && !Resume::is_in(folder);
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| !ours(&entry.file_name())))
}

/// A label as a file name.
pub fn slug(label: &str) -> String {
    let mut slug: String = label.chars().map(|c| if c.is_ascii_alphanumeric() || ".-_=".contains(c) { c } else { '-' }).collect();
    slug.truncate(80);
    if slug.trim_matches(['.', '-']).is_empty() { "experiment".into() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_anything_in_it_is_never_touched() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("mine");
        let document = Document::parse("e.toml", "", PathBuf::new()).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("thesis.tex"), "precious").unwrap();
        assert!(matches!(Output::create(&folder, false, &document), Err(Error::Taken(_))));
        assert!(matches!(Output::create(&folder, true, &document), Err(Error::Taken(_))), "nothing of ours is in there");
        fs::write(folder.join("manifest.json"), "{}").unwrap();
        fs::write(folder.join("rows.jsonl"), "old").unwrap();
        Output::create(&folder, true, &document).unwrap();
        assert_eq!(fs::read_to_string(folder.join("thesis.tex")).unwrap(), "precious");
        assert_eq!(fs::read_to_string(folder.join("rows.jsonl")).unwrap(), "");
    }

    #[test]
    fn labels_become_file_names() {
        assert_eq!(slug("flix alpha=0.1"), "flix-alpha=0.1");
        assert_eq!(slug("../.."), "experiment");
        assert_eq!(slug("a/b\\c:d"), "a-b-c-d");
    }
}
