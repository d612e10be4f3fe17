//! The folder an experiment leaves, written as it happens.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use motet_core::{ClientRow, Manifest, Merit, Row, Summary};
use serde::Serialize;

use crate::error::Error;

/// An experiment's folder.
pub struct Output {
    folder: PathBuf,
    rows: BufWriter<File>,
    clients: BufWriter<File>,
    /// Opened with the first record: most methods leave none.
    merits: Option<BufWriter<File>>,
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
    "rows.csv",
    "summary.csv",
];

impl Output {
    /// Opens a folder for a new experiment. One that holds anything is refused, unless its records
    /// may be overwritten.
    pub fn create(folder: &Path, overwrite: bool) -> Result<Self, Error> {
        let occupied = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        if occupied {
            if !overwrite || !folder.join("manifest.json").exists() {
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
        fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.into(), source })?;
        let open = |name: &str| {
            let path = folder.join(name);
            File::create(&path).map(BufWriter::new).map_err(|source| Error::Write { path, source })
        };
        Ok(Self { folder: folder.into(), rows: open("rows.jsonl")?, clients: open("clients.jsonl")?, merits: None })
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
    pub fn experiment(&self, text: &str) -> Result<(), Error> {
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

    /// One measured round, flushed.
    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        line(&mut self.rows, row)
    }

    /// Who counted how much for whom, flushed.
    pub fn merit(&mut self, merit: &Merit) -> io::Result<()> {
        let to = match &mut self.merits {
            Some(file) => file,
            none => none.insert(BufWriter::new(File::create(self.folder.join("merits.bin"))?)),
        };
        to.write_all(&merit.framed())?;
        to.flush()
    }

    /// The clients at the end of a run.
    pub fn clients(&mut self, rows: &[ClientRow]) -> Result<(), Error> {
        let done = rows.iter().try_for_each(|row| line(&mut self.clients, row));
        done.map_err(|source| Error::Write { path: self.folder.join("clients.jsonl"), source })
    }

    /// Written beside and renamed: a reader sees the old file or the new one, never half of it.
    fn replace(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let (path, beside) = (self.folder.join(name), self.folder.join(format!("{name}.new")));
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            serde_json::to_writer_pretty(&mut file, value)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|source| Error::Write { path: path.clone(), source })
    }
}

fn line(to: &mut BufWriter<File>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *to, value)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// A label as a file name.
pub(crate) fn slug(label: &str) -> String {
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
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("thesis.tex"), "precious").unwrap();
        assert!(matches!(Output::create(&folder, false), Err(Error::Taken(_))));
        assert!(matches!(Output::create(&folder, true), Err(Error::Taken(_))), "nothing of ours is in there");
        fs::write(folder.join("manifest.json"), "{}").unwrap();
        fs::write(folder.join("rows.jsonl"), "old").unwrap();
        Output::create(&folder, true).unwrap();
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
