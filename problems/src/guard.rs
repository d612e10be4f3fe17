//! What every reader of files stands behind: regular files only, links that stay in their folder, and an end to what a
//! packed file may unpack to.
//!
//! A file from elsewhere may be a pipe that never says anything, a link to a device that never ends, a folder that contains
//! itself, or a kilobyte that unpacks to a terabyte. Each of them is refused here by name, before it costs time or memory.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use motet_files::{free_memory, stranger, told};

use crate::error::ProblemError;

/// How large one file may be once it is unpacked.
///
/// Where nothing is said: up to 16 GiB, and not more than 200 times what the file has on disk (64 MiB are always allowed).
/// With `[problem] file_gib = 40`: up to 40 GiB, whatever the file has on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileLimit {
    told: Option<NonZeroU32>,
}

const GIB: u64 = 1 << 30;
/// What a file may have where nothing is said.
const USUAL_GIB: u64 = 16;
/// What a byte on disk may unpack to where nothing is said: text packs to a tenth, sparse tables to a hundredth.
const USUAL_RATIO: u64 = 200;
/// So much may come of the smallest file: nobody's memory ends here.
const ALWAYS: u64 = 64 << 20;

impl FileLimit {
    /// As `[problem] file_gib` says.
    pub fn new(gib: Option<NonZeroU32>) -> Self {
        Self { told: gib }
    }

    /// The largest size of a file, packed or not.
    fn largest(self) -> u64 {
        self.told.map_or(USUAL_GIB, |gib| u64::from(gib.get())) * GIB
    }

    /// What a file of so many bytes may unpack to.
    pub(crate) fn budget(self, packed: u64) -> Budget {
        let largest = self.largest();
        let limit = match self.told {
            Some(_) => largest,
            None => largest.min(packed.saturating_mul(USUAL_RATIO).max(ALWAYS)),
        };
        Budget { left: Cell::new(limit), limit, largest, packed }
    }
}

/// What may still be unpacked of one file, however many parts it has.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Cell<u64>,
    limit: u64,
    largest: u64,
    packed: u64,
}

impl Budget {
    /// Books bytes that were unpacked.
    pub(crate) fn spend(&self, bytes: usize) -> Result<(), String> {
        match self.left.get().checked_sub(bytes as u64) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(self.exceeded()),
        }
    }

    /// Unpacks all of it.
    pub(crate) fn unpack(&self, packed: impl Read) -> io::Result<Vec<u8>> {
        let (mut bytes, free) = (Vec::new(), free_memory().unwrap_or(u64::MAX));
        // One byte more than allowed tells a file that is too large from one that just fits.
        packed.take(self.left.get().min(free).saturating_add(1)).read_to_end(&mut bytes)?;
        self.spend(bytes.len()).map_err(io::Error::other)?;
        if bytes.len() as u64 > free {
            let reason = format!("its {} bytes unpack to more than the {} of memory that are free", self.packed, told(free));
            return Err(io::Error::other(reason));
        }
        Ok(bytes)
    }

    fn exceeded(&self) -> String {
        if self.limit < self.largest {
            format!(
                "its {} bytes unpack to more than {} MiB, far more than real data do; if the file is as it should be, `[problem] file_gib = {}` allows it",
                self.packed,
                self.limit >> 20,
                (self.limit / GIB + 1).min(USUAL_GIB)
            )
        } else {
            format!("it unpacks to more than {} GiB; `[problem] file_gib` allows more", self.largest / GIB)
        }
    }
}

/// A reader that fails once the budget of its file is spent.
pub(crate) struct Metered<R> {
    pub(crate) inner: R,
    pub(crate) budget: Budget,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.budget.spend(count).map_err(io::Error::other)?;
        Ok(count)
    }
}

/// Opens a regular file and tells its size. Pipes, devices, sockets and folders are refused: opening a pipe would wait for
/// ever, and a device may have no end.
pub(crate) fn open_regular(file: &Path) -> Result<(File, u64), ProblemError> {
    let unreadable = |cause| ProblemError::Unreadable { file: file.to_path_buf(), cause };
    if let Some(what) = stranger(&fs::metadata(file).map_err(unreadable)?) {
        return Err(ProblemError::NoRegularFile { file: file.to_path_buf(), what });
    }
    motet_files::open(file).map_err(unreadable)
}

/// All bytes of a regular file, if they are not too many.
pub(crate) fn read_regular(file: &Path, limit: FileLimit) -> Result<Vec<u8>, ProblemError> {
    open_regular(file)?;
    let largest = limit.largest();
    motet_files::read(file, largest).map_err(|cause| {
        let cause = match cause.kind() {
            io::ErrorKind::FileTooLarge => {
                io::Error::other(format!("it has more than {} GiB; `[problem] file_gib` allows more", largest / GIB))
            }
            _ => cause,
        };
        ProblemError::Unreadable { file: file.to_path_buf(), cause }
    })
}

/// Refuses a link in a folder that leads out of it: what a folder gives must lie in it.
pub(crate) fn stays_inside(folder: &Path, file: &Path) -> Result<(), ProblemError> {
    let unreadable = |cause| ProblemError::Unreadable { file: file.to_path_buf(), cause };
    if fs::symlink_metadata(file).map_err(unreadable)?.is_symlink() {
        let target = fs::canonicalize(file).map_err(unreadable)?;
        if !target.starts_with(fs::canonicalize(folder).map_err(unreadable)?) {
            return Err(ProblemError::Link { link: file.to_path_buf(), what: OUTSIDE });
        }
    }
    Ok(())
}

const OUTSIDE: &str = "out of its folder: put what it leads to into the folder";
const AGAIN: &str = "to a folder that is read already: its files would be read twice, or for ever";

/// Files of a folder and of those in it, by path, parts by `/`. A folder in it may be a link to another one in it, but none is
/// read twice.
pub(crate) fn files_below(folder: &Path, deepest: usize) -> Result<Vec<String>, ProblemError> {
    let root = fs::canonicalize(folder).map_err(|cause| ProblemError::Unreadable { file: folder.to_path_buf(), cause })?;
    let mut walk = Walk { seen: BTreeSet::from([root.clone()]), root, deepest, names: Vec::new() };
    walk.below(folder, "", 0)?;
    Ok(walk.names)
}

struct Walk {
    root: PathBuf,
    /// Every folder that was read, without links in its path.
    seen: BTreeSet<PathBuf>,
    deepest: usize,
    names: Vec<String>,
}

impl Walk {
    fn below(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), ProblemError> {
        let unreadable = |cause| ProblemError::Unreadable { file: folder.to_path_buf(), cause };
        let mut here: Vec<_> = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<_>>).map_err(unreadable)?;
        here.sort_by_key(fs::DirEntry::file_name);
        for entry in here {
            let (name, path) = (format!("{prefix}{}", entry.file_name().to_string_lossy()), entry.path());
            // What leads nowhere is told when somebody wants to read it.
            if !path.is_dir() {
                self.names.push(name);
                continue;
            }
            if depth >= self.deepest {
                continue;
            }
            let target = fs::canonicalize(&path).map_err(unreadable)?;
            if !target.starts_with(&self.root) {
                return Err(ProblemError::Link { link: path, what: OUTSIDE });
            }
            if !self.seen.insert(target) {
                return Err(ProblemError::Link { link: path, what: AGAIN });
            }
            self.below(&path, &format!("{name}/"), depth + 1)?;
        }
        Ok(())
    }
}
