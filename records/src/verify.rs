//! Is every byte of an experiment's folder as it was written?

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::checksums::{Checksum, parse};
use crate::digest::hexadecimal;
use crate::names;
use crate::read::ReadError;

/// What the checksums of a folder say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// What is not as it was written.
    pub damaged: Vec<Damage>,
    /// What no checksum speaks of: all of a folder of format 1, or what was written last before a kill.
    pub uncovered: Vec<Span>,
    /// Whole files as they were before the last time they were to be replaced: a kill came between.
    pub behind: Vec<String>,
}

impl Verification {
    /// Is everything there covered by a checksum, and as it was written?
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.uncovered.is_empty()
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
#[error("{}, bytes {} to {}: {reason}", span.file, span.from, span.to)]
pub struct Damage {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub reason: String,
}

/// Compares every file of a folder with its checksums. An error means that something could not be read at all.
pub fn verify(folder: &Path) -> Result<Verification, ReadError> {
    let mut found = Verification::default();
    let path = folder.join(names::CHECKSUMS);
    let unreadable = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReadError::File { path: path.clone(), source }
    };
    let text = match fs::read(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => vec![],
        read => read.map_err(unreadable(&path))?,
    };
    let mut lines: BTreeMap<String, Vec<Checksum>> = BTreeMap::new();
    let mut at = 0;
    for (line, length) in parse(&text).into_iter().zip(text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len)) {
        let span = Span { file: names::CHECKSUMS.into(), from: at, to: at + length as u64 };
        at = span.to;
        match line {
            Ok(line) if is_ours(&line.file) => lines.entry(line.file.clone()).or_default().push(line),
            Ok(line) => found.damaged.push(Damage { span, reason: format!("\"{}\" is no file of records", line.file.escape_default()) }),
            Err(e) => found.damaged.push(Damage { span, reason: format!("not a checksum: {e}") }),
        }
    }
    for name in present(folder).map_err(unreadable(folder))? {
        lines.entry(name).or_default();
    }
    for (name, lines) in lines {
        let path = folder.join(&name);
        check(&path, &name, &lines, &mut found).map_err(unreadable(&path))?;
    }
    Ok(found)
}

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
                files.push(format!("{}/{}", names::MODELS, entry?.file_name().to_string_lossy()));
            }
        }
    }
    Ok(files)
}

fn check(path: &Path, name: &str, lines: &[Checksum], found: &mut Verification) -> io::Result<()> {
    let span = |from, to| Span { file: name.to_owned(), from, to };
    let damaged = |from, to, reason: &str| Damage { span: span(from, to), reason: reason.into() };
    let mut file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let to = lines.iter().map(|line| line.to).max().unwrap_or(0);
            found.damaged.push(damaged(0, to, "the file is missing"));
            return Ok(());
        }
        open => open?,
    };
    let length = file.metadata()?.len();
    let grows = names::STREAMS.contains(&name);
    if lines.iter().any(|line| line.from.is_some() != grows) {
        found.damaged.push(damaged(0, length, "its checksums are of another kind of file"));
        return Ok(());
    }
    if !grows {
        let now = hash(&mut file, 0, length)?;
        match lines.iter().rposition(|line| line.to == length && line.sha256 == now) {
            _ if lines.is_empty() => found.uncovered.push(span(0, length)),
            Some(last) if last + 1 == lines.len() => {}
            Some(_) => found.behind.push(name.to_owned()),
            None => found.damaged.push(damaged(0, length, "is not what was written")),
        }
        return Ok(());
    }
    let mut reached = 0;
    for line in lines {
        let from = line.from.unwrap_or(0);
        if from != reached || line.to <= from {
            found.damaged.push(damaged(reached, line.to, "its checksums do not follow on each other"));
            return Ok(());
        }
        if line.to > length {
            found.damaged.push(damaged(from, line.to, "the file ends before that"));
            return Ok(());
        }
        if hash(&mut file, from, line.to)? != line.sha256 {
            found.damaged.push(damaged(from, line.to, "is not what was written"));
        }
        reached = line.to;
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
