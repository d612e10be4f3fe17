//! Is every byte of an experiment's folder as it was written?

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::checksums::{Checksum, parse};
use crate::digest::{hexadecimal, sha256};
use crate::format::Format;
use crate::lengths::Lengths;
use crate::manifest::Manifest;
use crate::names;
use crate::read::ReadError;

/// What the checksums of a folder say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// What is not as it was written. Where the experiment is done, that is also what has no checksum.
    pub damaged: Vec<Damage>,
    /// What no checksum speaks of: all of a folder of format 1, or what was written last before a kill.
    pub uncovered: Vec<Span>,
    /// Files that still have their old content, because the program was killed before it replaced them.
    pub behind: Vec<String>,
    /// How much of each growing file has checksums, whether they fit or not.
    pub covered: Lengths,
}

impl Verification {
    /// Is everything there covered by a checksum, and as it was written?
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.uncovered.is_empty()
    }

    /// An error that names the first damage, if there is any.
    pub fn undamaged(self, folder: &Path) -> Result<(), ReadError> {
        let others = self.damaged.len().saturating_sub(1);
        match self.damaged.into_iter().next() {
            Some(damage) => Err(ReadError::Damaged { folder: folder.into(), damage, others }),
            None => Ok(()),
        }
    }

    fn damage(&mut self, span: Span, reason: impl Into<String>) {
        self.damaged.push(Damage { span, reason: reason.into() });
    }
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file, seen from the experiment's folder.
    pub file: String,
    /// The first byte.
    pub from: u64,
    /// The byte after the last.
    pub to: u64,
}

/// A part of a file that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, bytes {} to {}: {reason}", span.file.escape_debug(), span.from, span.to)]
pub struct Damage {
    /// Which part.
    pub span: Span,
    /// What is wrong.
    pub reason: String,
}

/// Compares every file of a folder with its checksums. An error means that something could not be read at all.
pub fn verify(folder: &Path) -> Result<Verification, ReadError> {
    verify_where(folder, |_| true)
}

/// The same for the records without final models, which may be large and are verified when they are read.
pub(crate) fn verify_records(folder: &Path) -> Result<Verification, ReadError> {
    verify_where(folder, |name| !name.starts_with(names::MODELS))
}

/// Compares those files whose names are `wanted`.
fn verify_where(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Verification, ReadError> {
    let mut text = read_lines(folder)?;
    // Somebody may be writing here: what does not fit is looked at again if there are new lines.
    for _ in 0..TRIES {
        let found = compare(folder, text.as_deref(), &wanted)?;
        if found.damaged.is_empty() {
            return Ok(found);
        }
        let again = read_lines(folder)?;
        if again == text {
            return Ok(found);
        }
        text = again;
    }
    compare(folder, text.as_deref(), &wanted)
}

/// A folder that is written to is looked at so many times.
const TRIES: usize = 20;

/// The file of checksums; none if there is none.
fn read_lines(folder: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let path = folder.join(names::CHECKSUMS);
    match motet_files::read(&path, u64::MAX) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(|source| ReadError::File { path, source }),
    }
}

fn compare(folder: &Path, text: Option<&[u8]>, wanted: &impl Fn(&str) -> bool) -> Result<Verification, ReadError> {
    let mut found = Verification::default();
    let mut lines: BTreeMap<String, Vec<Checksum>> = BTreeMap::new();
    let (mut at, bytes) = (0, text.unwrap_or_default());
    for (line, length) in parse(bytes).into_iter().zip(bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len)) {
        let span = Span { file: names::CHECKSUMS.into(), from: at, to: at + length as u64 };
        at = span.to;
        match line {
            Ok(line) if is_ours(&line.file) => lines.entry(line.file.clone()).or_default().push(line),
            Ok(line) => found.damage(span, format!("\"{}\" is not a file of records", line.file.escape_default())),
            Err(e) => found.damage(span, format!("not a checksum: {e}")),
        }
    }
    let unreadable = |path: &Path, source| ReadError::File { path: path.into(), source };
    for name in present(folder).map_err(|e| unreadable(folder, e))? {
        lines.entry(name).or_default();
    }
    let ended = lines.contains_key(names::SUMMARY) && !folder.join(names::UNFINISHED).exists();
    for (name, lines) in lines.into_iter().filter(|(name, _)| wanted(name)) {
        let path = folder.join(&name);
        check(&path, &name, &lines, ended, &mut found).map_err(|e| unreadable(&path, e))?;
    }
    let manifest = Manifest::read(folder).ok();
    if text.is_none() {
        // The first format had none.
        if manifest.is_some_and(|manifest| manifest.format > Format::first()) {
            found.damage(Span { file: names::CHECKSUMS.into(), from: 0, to: 0 }, MISSING);
        }
    } else if ended {
        close(manifest.as_ref(), &mut found);
    }
    Ok(found)
}

/// An experiment that is done has a checksum for everything: what has none was changed. A file among the models that is no run's
/// is somebody else's.
fn close(manifest: Option<&Manifest>, found: &mut Verification) {
    let models: Vec<String> = manifest.iter().flat_map(|manifest| &manifest.runs).map(names::model).collect();
    for span in found.uncovered.clone() {
        if !span.file.starts_with(names::MODELS) || models.contains(&span.file) {
            found.damage(span, "has no checksum");
        }
    }
    for file in std::mem::take(&mut found.behind) {
        found.damage(Span { file, from: 0, to: 0 }, "is older than its last checksum");
    }
}

/// The checksums of a folder's whole files, to compare bytes with that were read already.
#[derive(Debug)]
pub struct WholeFiles {
    lines: Vec<Checksum>,
}

impl WholeFiles {
    /// The checksums of a folder; `None` if it has none.
    pub fn of(folder: &Path) -> Result<Self, ReadError> {
        let text = read_lines(folder)?.unwrap_or_default();
        Ok(Self { lines: parse(&text).into_iter().flatten().filter(|line| line.from.is_none()).collect() })
    }

    /// Are these the bytes that were written to a file? Yes if no checksum speaks of it.
    pub fn fit(&self, file: &str, bytes: &[u8]) -> Result<(), Damage> {
        let (length, now) = (bytes.len() as u64, sha256(bytes));
        if !self.know(file) || self.lines.iter().any(|line| line.file == file && line.to == length && line.sha256 == now) {
            return Ok(());
        }
        Err(Damage { span: Span { file: file.into(), from: 0, to: length }, reason: CHANGED.into() })
    }

    /// Is a file rightly not there? Not if it has a checksum and the experiment is done.
    pub(crate) fn may_be_missing(&self, folder: &Path, file: &str) -> Result<(), Damage> {
        if self.know(file) && !folder.join(names::UNFINISHED).exists() {
            return Err(Damage { span: Span { file: file.into(), from: 0, to: 0 }, reason: MISSING.into() });
        }
        Ok(())
    }

    fn know(&self, file: &str) -> bool {
        self.lines.iter().any(|line| line.file == file)
    }
}

const CHANGED: &str = "is not what was written";
const MISSING: &str = "the file is missing";

/// A name of ours, and not a way out of the folder.
fn is_ours(name: &str) -> bool {
    let model = || name.strip_prefix(names::MODELS).and_then(|rest| rest.strip_prefix('/'));
    names::STREAMS.contains(&name)
        || names::WHOLE.contains(&name)
        || model().is_some_and(|n| !n.is_empty() && !n.contains(['/', '\\', '\0']))
}

/// The files of records that are there.
fn present(folder: &Path) -> io::Result<Vec<String>> {
    let there = names::STREAMS.into_iter().chain(names::WHOLE).filter(|name| folder.join(name).exists());
    let mut files: Vec<String> = there.map(str::to_owned).collect();
    match fs::read_dir(folder.join(names::MODELS)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        entries => {
            for entry in entries? {
                let entry = entry?;
                // A folder in there is none of ours.
                if entry.file_type()?.is_file() {
                    files.push(format!("{}/{}", names::MODELS, entry.file_name().to_string_lossy()));
                }
            }
        }
    }
    Ok(files)
}

fn check(path: &Path, name: &str, lines: &[Checksum], ended: bool, found: &mut Verification) -> io::Result<()> {
    let span = |from, to| Span { file: name.to_owned(), from, to };
    let grows = names::STREAMS.contains(&name);
    let about = match fs::metadata(path) {
        // A kill came between its first line and the file itself.
        Err(e) if e.kind() == io::ErrorKind::NotFound && !grows && !ended && lines.len() == 1 => {
            found.behind.push(name.to_owned());
            return Ok(());
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            found.damage(span(0, lines.iter().map(|line| line.to).max().unwrap_or(0)), MISSING);
            return Ok(());
        }
        about => about?,
    };
    let length = about.len();
    if !about.is_file() {
        // Opening a pipe would wait for somebody to write to it.
        found.damage(span(0, 0), "is not a file");
        return Ok(());
    }
    let mut file = File::open(path)?;
    if lines.iter().any(|line| line.from.is_some() != grows) {
        found.damage(span(0, length), "its checksums are of another kind of file");
        return Ok(());
    }
    if !grows {
        // A file of another length is not looked at: it may have holes, and a terabyte of zeros.
        let now = lines.iter().any(|line| line.to == length).then(|| hash(&mut file, 0, length)).transpose()?;
        match lines.iter().rposition(|line| line.to == length && Some(&line.sha256) == now.as_ref()) {
            _ if lines.is_empty() => found.uncovered.push(span(0, length)),
            Some(last) if last + 1 == lines.len() => {}
            Some(_) => found.behind.push(name.to_owned()),
            None => found.damage(span(0, length), CHANGED),
        }
        return Ok(());
    }
    let mut reached = 0;
    for line in lines {
        let from = line.from.unwrap_or(0);
        if from != reached || line.to <= from {
            found.damage(span(reached, line.to), "its checksums do not follow on each other");
            return Ok(());
        }
        if line.to > length {
            found.damage(span(from, line.to), "the file ends before that");
            return Ok(());
        }
        if hash(&mut file, from, line.to)? != line.sha256 {
            found.damage(span(from, line.to), CHANGED);
        }
        reached = line.to;
        *found.covered.of_mut(name) = reached;
    }
    if reached < length {
        found.uncovered.push(span(reached, length));
    }
    Ok(())
}

/// SHA-256 of a part of a file.
fn hash(file: &mut File, from: u64, to: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(from))?;
    let (mut part, mut left, mut sum) = ([0; 8192], to - from, Sha256::new());
    while left > 0 {
        let most = part.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = file.read(&mut part[..most])?;
        if count == 0 {
            break; // cut since its length was read: the sum will not fit
        }
        sum.update(&part[..count]);
        left -= count as u64;
    }
    Ok(hexadecimal(&sum.finalize()))
}
