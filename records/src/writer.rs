//! Writes an experiment's folder as it happens.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use motet_core::{ClientId, Merit, Row, Vector};
use motet_files::{kill, replace};
use serde::Serialize;

use crate::checksums::Checksums;
use crate::event::Event;
use crate::lengths::Lengths;
use crate::manifest::{Manifest, RunCard};
use crate::model_parts::{ModelParts, digest_of};
use crate::models::SHARED;
use crate::stream::Stream;
use crate::summary::{ClientRow, Summary};
use crate::{merits, names};

/// The files of a folder, open. Whatever it writes is in `checksums.jsonl` too.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    rows: Stream,
    clients: Stream,
    /// Opened with the first record: most methods leave none.
    merits: Option<Stream>,
    /// Opened with the first event: most experiments have none.
    events: Option<Stream>,
    checksums: Checksums,
    /// Models of the run that ends.
    parts: Option<ModelParts>,
}

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct WriteError {
    /// The file or folder concerned.
    pub path: PathBuf,
    /// The error underneath.
    pub source: io::Error,
}

impl Writer {
    /// Opens the files of a folder and cuts them to `lengths`, so that what was written later is forgotten.
    pub fn open(folder: &Path, lengths: Lengths) -> Result<Self, WriteError> {
        let at = |name: &str| {
            let path = folder.join(name);
            move |source| WriteError { path: path.clone(), source }
        };
        let (checksums, covered) = Checksums::open(folder, &lengths).map_err(at(names::CHECKSUMS))?;
        let open = |name: &str, length, covered| Stream::open(&folder.join(name), length, covered).map_err(at(name));
        let seldom = |name: &str, length, covered| folder.join(name).exists().then(|| open(name, length, covered)).transpose();
        Ok(Self {
            folder: folder.into(),
            rows: open(names::ROWS, lengths.rows, covered.rows)?,
            clients: open(names::CLIENTS, lengths.clients, covered.clients)?,
            merits: seldom(names::MERITS, lengths.merits, covered.merits)?,
            events: seldom(names::EVENTS, lengths.events, covered.events)?,
            checksums,
            parts: None,
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the experiment file as it was given.
    pub fn experiment(&mut self, text: &str) -> Result<(), WriteError> {
        self.whole(names::EXPERIMENT, |_| Ok(text.as_bytes().to_vec()))
    }

    /// Writes the plan: before the first round, and again when more is known.
    pub fn manifest(&mut self, manifest: &Manifest) -> Result<(), WriteError> {
        self.whole(names::MANIFEST, |_| pretty(manifest))
    }

    /// Writes the summary, when all runs are done.
    pub fn summary(&mut self, summary: &Summary) -> Result<(), WriteError> {
        self.whole(names::SUMMARY, |_| pretty(summary))
    }

    /// Writes the final model of one client of a run; they come one by one, and wait on disk for [`models`](Self::models).
    pub fn model(&mut self, card: &RunCard, client: ClientId, model: &Vector) -> Result<(), WriteError> {
        let path = self.folder.join(names::model(card));
        let mut add = || self.parts(&path)?.add(format!("client.{}", client.0), model);
        add().map_err(|source| WriteError { path: path.clone(), source })
    }

    /// Writes the final models of a run: those of its clients that came before, and the shared one.
    pub fn models(&mut self, card: &RunCard, shared: &Vector, passport: Option<String>) -> Result<(), WriteError> {
        let name = names::model(card);
        let path = self.folder.join(&name);
        let write = || -> io::Result<()> {
            self.parts(&path)?.add(SHARED.to_owned(), shared)?;
            let Some(parts) = self.parts.take() else { return Ok(()) };
            let whole = parts.finish(&path, passport)?;
            // The line goes before the file, as with every file that is written as a whole.
            self.checksums.whole_of(&name, whole.length, whole.sha256)?;
            kill::point(|| ());
            fs::rename(whole.new, &path)
        };
        write().map_err(|source| WriteError { path: path.clone(), source })
    }

    /// Takes over the file of models of a run from the folder that the run was done in, which keeps it too; nothing if it left none.
    pub fn adopt_models(&mut self, card: &RunCard, from: &Path) -> Result<(), WriteError> {
        let name = names::model(card);
        let (from, path) = (from.join(&name), self.folder.join(&name));
        let mut adopt = || -> io::Result<()> {
            let Some((length, sha256)) = digest_of(&from)? else { return Ok(()) };
            fs::create_dir_all(self.folder.join(names::MODELS))?;
            self.checksums.whole_of(&name, length, sha256)?;
            kill::point(|| ());
            // An earlier go may have come as far as this.
            fs::remove_file(&path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
            // A second name where the file system knows such a thing.
            fs::hard_link(&from, &path).or_else(|_| fs::copy(&from, &path).map(|_| ()))
        };
        adopt().map_err(|source| WriteError { path: path.clone(), source })
    }

    /// The models under way, begun if there are none.
    fn parts(&mut self, path: &Path) -> io::Result<&mut ModelParts> {
        if self.parts.is_none() {
            fs::create_dir_all(self.folder.join(names::MODELS))?;
        }
        Ok(match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(ModelParts::begin(path)?),
        })
    }

    /// Writes one measured round at once.
    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        append(names::ROWS, &mut self.rows, &mut self.checksums, &line(row)?)
    }

    /// Writes the clients at the end of a run.
    pub fn clients(&mut self, rows: &[ClientRow]) -> Result<(), WriteError> {
        let done = rows.iter().try_for_each(|row| append(names::CLIENTS, &mut self.clients, &mut self.checksums, &line(row)?));
        done.map_err(|source| WriteError { path: self.folder.join(names::CLIENTS), source })
    }

    /// Writes who counted how much for whom, at once.
    pub fn merit(&mut self, merit: &Merit) -> io::Result<()> {
        let to = begun(&self.folder, names::MERITS, &mut self.merits)?;
        append(names::MERITS, to, &mut self.checksums, &merits::framed(merit))
    }

    /// Writes an event at once.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let to = begun(&self.folder, names::EVENTS, &mut self.events)?;
        append(names::EVENTS, to, &mut self.checksums, &line(event)?)
    }

    /// How long the growing files are. Everything up to there is covered by checksums from now on.
    pub fn lengths(&mut self) -> io::Result<Lengths> {
        let open = [Some(&mut self.rows), Some(&mut self.clients), self.merits.as_mut(), self.events.as_mut()];
        for (name, stream) in names::STREAMS.into_iter().zip(open) {
            stream.map_or(Ok(()), |stream| self.checksums.cover(name, stream))?;
        }
        let length = |stream: &Option<Stream>| stream.as_ref().map_or(0, Stream::length);
        Ok(Lengths { rows: self.rows.length(), clients: self.clients.length(), merits: length(&self.merits), events: length(&self.events) })
    }

    /// Makes all records durable and tells how long they are.
    pub fn sync(&mut self) -> io::Result<Lengths> {
        let lengths = self.lengths()?;
        [Some(&mut self.rows), Some(&mut self.clients), self.merits.as_mut(), self.events.as_mut()]
            .into_iter()
            .flatten()
            .try_for_each(|stream| stream.sync().map(|_| ()))?;
        // Whoever goes on from these lengths wants to know that the records up to there are as they were.
        self.checksums.sync()?;
        Ok(lengths)
    }

    /// The experiment is done: makes everything durable, checksums included.
    pub fn close(&mut self) -> Result<(), WriteError> {
        self.sync().map(|_| ()).map_err(|source| WriteError { path: self.folder.join(names::CHECKSUMS), source })
    }

    /// The line goes before the file: should a kill come between, the file is the one of the line before.
    fn whole(&mut self, name: &str, bytes: impl FnOnce(&Path) -> io::Result<Vec<u8>>) -> Result<(), WriteError> {
        let path = self.folder.join(name);
        let write = || -> io::Result<()> {
            let bytes = bytes(&self.folder)?;
            self.checksums.whole(name, &bytes)?;
            replace(&path, &bytes)
        };
        write().map_err(|source| WriteError { path: path.clone(), source })
    }
}

/// A file that is made when it is first needed.
fn begun<'a>(folder: &Path, name: &str, stream: &'a mut Option<Stream>) -> io::Result<&'a mut Stream> {
    Ok(match stream {
        Some(stream) => stream,
        none => none.insert(Stream::open(&folder.join(name), 0, 0)?),
    })
}

fn append(name: &str, stream: &mut Stream, checksums: &mut Checksums, record: &[u8]) -> io::Result<()> {
    stream.append(record)?;
    if stream.is_due() { checksums.cover(name, stream) } else { Ok(()) }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn pretty(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}
