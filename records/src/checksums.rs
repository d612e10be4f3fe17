//! What every file held when it was written: `checksums.jsonl`.
//!
//! A file that only grows has a line for each part of it, written when it has grown by a quarter of a megabyte, when a
//! run is kept or done, and at the end; the bytes since the last line are not covered yet. A file that is replaced as a whole has a
//! line for each time, written just before the file: the last one counts, and the one before may if a kill came between.

use std::io;
use std::path::Path;

use motet_files::replace;
use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::lengths::Lengths;
use crate::names;
use crate::stream::Stream;

/// One line of `checksums.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checksum {
    /// The file, seen from the experiment's folder.
    pub file: String,
    /// The first byte it speaks of; absent if it speaks of the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The byte after the last it speaks of.
    pub to: u64,
    /// Of these bytes, in hexadecimal.
    pub sha256: String,
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Checksums {
    lines: Stream,
}

impl Checksums {
    /// The file of a folder whose growing files are cut to `lengths`, and how much of each is covered: lines about what
    /// is cut off go.
    pub(crate) fn open(folder: &Path, lengths: &Lengths) -> io::Result<(Self, Lengths)> {
        let path = folder.join(names::CHECKSUMS);
        let text = match motet_files::read(&path, u64::MAX) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => vec![],
            read => read?,
        };
        let mut lines = parse(&text).into_iter().flatten().collect::<Vec<_>>();
        let mut covered = Lengths::default();
        lines.retain(|line| {
            // A whole file that is not there was about to be written when a kill came: it will have a line again.
            let Some(from) = line.from else { return folder.join(&line.file).exists() };
            let Some((_, length)) = lengths.named().into_iter().find(|(name, _)| *name == line.file) else { return false };
            let reached = covered.of_mut(&line.file);
            let keeps = line.to <= length && *reached == from && line.to > from;
            if keeps {
                *reached = line.to;
            }
            keeps
        });
        let mut kept = vec![];
        for line in &lines {
            serde_json::to_writer(&mut kept, line)?;
            kept.push(b'\n');
        }
        if kept != text {
            replace(&path, &kept)?;
        }
        Ok((Self { lines: Stream::open(&path, kept.len() as u64, 0)? }, covered))
    }

    /// Covers what a growing file has not covered yet.
    pub(crate) fn cover(&mut self, name: &str, stream: &mut Stream) -> io::Result<()> {
        match stream.cover() {
            Some((from, to, sha256)) => self.append(&Checksum { file: name.into(), from: Some(from), to, sha256 }),
            None => Ok(()),
        }
    }

    /// Covers a file that is about to hold these bytes.
    pub(crate) fn whole(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.whole_of(name, bytes.len() as u64, sha256(bytes))
    }

    /// Covers a file that is about to hold so many bytes with this hash.
    pub(crate) fn whole_of(&mut self, name: &str, length: u64, sha256: String) -> io::Result<()> {
        self.append(&Checksum { file: name.into(), from: None, to: length, sha256 })
    }

    /// Makes all lines durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.lines.sync().map(|_| ())
    }

    fn append(&mut self, line: &Checksum) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.lines.append(&text)
    }
}

/// The lines of a file, those that are none as errors; a last one without its end was being written when the program died.
pub(crate) fn parse(text: &[u8]) -> Vec<Result<Checksum, serde_json::Error>> {
    let whole = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    whole.map(serde_json::from_slice).collect()
}
