//! Where each client's examples lie in a file: found in one pass over it, kept for the next time, and used to read clients one by one.
//!
//! An index is kept in the cache folder (`MOTET_CACHE`) under a name that is made of what the source says and of the sha256 of its files:
//! another file has another index, and so has a version of Motet that writes down something else ([`Schema`]). Its first line holds the sha256 of the rest. One that is damaged is made again, and a note says so;
//! where none can be written, it is made every time.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek, SeekFrom, Write};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use motet_records::{Input, hexadecimal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::numbers::Labels;
use crate::data_folder::Folders;
use crate::dataset::{Dataset, Targets, Usage};
use crate::error::ProblemError;
use crate::guard::open_regular;
use crate::imports::{fingerprint, verify};
use crate::matrix::{Bytes, Matrix, Single};
use crate::on_demand::Holding;
use crate::source::open::name_of;

/// What the first line begins with; the number changes with the form.
const MARK: &str = "motet-index-1";
/// An index may have so many bytes: a hundred million clients.
const LARGEST: u64 = 16 << 30;
/// Smaller files are read at once where nothing is said: that is faster, and they fit.
const READ_AT_ONCE: u64 = 64 << 20;

/// Is it worth to look for the clients in files of so many bytes?
pub(super) fn worth_it(hold: Option<Holding>, bytes: u64) -> bool {
    match hold {
        Some(hold) => hold == Holding::Touched,
        None => bytes >= READ_AT_ONCE,
    }
}

/// That a source cannot read these clients one by one; nothing if nobody insists on it.
pub(super) fn insisted(hold: Option<Holding>, file: &str, why: &str) -> Result<(), ProblemError> {
    match hold {
        Some(Holding::Touched) => {
            Err(ProblemError::Value { key: "hold", value: "touched".into(), wanted: format!("{file} is read all at once: {why}") })
        }
        _ => Ok(()),
    }
}

/// Which source wrote an index, and its version: the number changes whenever the source's index says something else, or the same in other words.
pub(super) struct Schema(pub(super) &'static str, pub(super) u32);

/// The index of these files for a source: as it was kept, or made now. What should be said of it.
pub(super) fn kept<S: Serialize, T: Serialize + DeserializeOwned>(
    folders: &Folders,
    (source, Schema(kind, version)): (&S, Schema),
    files: &[Watched],
    make: impl FnOnce() -> Result<Option<T>, ProblemError>,
) -> Result<(Option<T>, Vec<String>), ProblemError> {
    let mut name = Sha256::new_with_prefix(format!("{MARK} {kind} {version} "));
    name.update(serde_json::to_string(source).expect("a source has text keys, as it was read with"));
    files.iter().for_each(|file| name.update(&file.input.sha256));
    let place = folders.cache.as_ref().map(|cache| cache.join(format!("{}.index", hexadecimal(&name.finalize()[..16]))));
    let mut notes = vec![];
    if let Some(place) = place.as_ref().filter(|place| place.exists()) {
        match read(place) {
            Some(index) => return Ok((Some(index), notes)),
            None => notes.push(format!("the index {} was damaged, and was made again", name_of(place))),
        }
    }
    let index = make()?;
    files.iter().try_for_each(Watched::unchanged)?;
    if let (Some(place), Some(index)) = (&place, &index) {
        // Without it the next start takes longer, and nothing else is lost.
        let _ = write(place, index);
    }
    Ok((index, notes))
}

fn read<T: DeserializeOwned>(place: &Path) -> Option<T> {
    let bytes = motet_files::read(place, LARGEST).ok()?;
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (first, rest) = (std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]);
    let told = first.strip_prefix(MARK)?.trim();
    if told == hexadecimal(&Sha256::digest(rest)) { serde_json::from_slice(rest).ok() } else { None }
}

fn write<T: Serialize>(place: &Path, index: &T) -> std::io::Result<()> {
    let text = serde_json::to_vec(index)?;
    let whole = [format!("{MARK} {}\n", hexadecimal(&Sha256::digest(&text))).into_bytes(), text].concat();
    fs::create_dir_all(place.parent().unwrap_or(Path::new(".")))?;
    // Two processes may write at once, and be on two machines that have this folder in common: each has a name of its own, and either
    // result is right.
    let own = place.with_extension(format!("{:016x}.part", RandomState::new().hash_one(std::process::id())));
    let written = File::create_new(&own)?.write_all(&whole).and_then(|()| fs::rename(&own, place));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&own);
    })
}

/// A file that must stay as it is for as long as clients are read from it.
pub(super) struct Watched {
    pub(super) path: PathBuf,
    pub(super) input: Input,
    version: Version,
}

/// What changes with a file: its length, when it was last written, and where that can be asked also which file it is and when anything about it
/// changed last, so that one that was put in its place is noticed though it is as long and as old.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    bytes: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    identity: (u64, i64, i64),
}

impl Version {
    fn of(about: &fs::Metadata) -> Self {
        Self {
            bytes: about.len(),
            modified: about.modified().ok(),
            #[cfg(unix)]
            identity: (about.ino(), about.ctime(), about.ctime_nsec()),
        }
    }
}

impl Watched {
    /// What it is now.
    pub(super) fn new(path: &Path) -> Result<Self, ProblemError> {
        let unreadable = |cause| ProblemError::Unreadable { file: path.to_path_buf(), cause };
        let version = Version::of(&open_regular(path)?.0.metadata().map_err(unreadable)?);
        let input = fingerprint(path)?;
        verify(path, &input)?;
        Ok(Self { path: path.to_path_buf(), input, version })
    }

    /// Is it still what it was?
    pub(super) fn unchanged(&self) -> Result<(), ProblemError> {
        let about = fs::metadata(&self.path).map_err(|cause| ProblemError::Unreadable { file: self.path.clone(), cause })?;
        if Version::of(&about) == self.version {
            return Ok(());
        }
        Err(ProblemError::ChangedInUse { file: self.path.clone() })
    }

    /// A piece of it.
    pub(super) fn piece(&self, start: u64, length: u64) -> Result<Vec<u8>, ProblemError> {
        self.unchanged()?;
        let within = start.checked_add(length).is_some_and(|end| end <= self.input.bytes);
        let length = usize::try_from(length).ok().filter(|_| within).ok_or_else(|| self.misled())?;
        let mut piece = vec![0; length];
        let mut file: File = open_regular(&self.path)?.0;
        let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut piece));
        read.map_err(|cause| ProblemError::Unreadable { file: self.path.clone(), cause })?;
        Ok(piece)
    }

    /// What a client is not, though the index says so.
    pub(super) fn misled(&self) -> ProblemError {
        let what = "a client is not where the index says: remove the index from the cache folder (MOTET_CACHE), and start again";
        ProblemError::Odd { file: self.input.name.clone(), place: "index".into(), what: what.into() }
    }
}

/// Clients with rows of one form and one kind of targets, and where each is.
#[derive(Serialize, Deserialize)]
pub(super) struct Index {
    form: Form,
    cols: usize,
    /// How many classes there are; none if targets are quantities.
    classes: Option<u32>,
    pub(super) clients: Vec<Located>,
}

/// How rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Form {
    Pixels,
    Tokens,
    Numbers,
}

/// Where one client is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Located {
    pub(super) name: String,
    pub(super) train: u32,
    pub(super) test: u32,
    /// So many of its rows, the first ones, came while all rows of the file were k/255.
    pub(super) as_bytes: usize,
    /// Which of the files, where it begins and how long it is: in bytes, or in numbers of rows.
    pub(super) pieces: Vec<(u32, u64, u64)>,
}

impl Located {
    /// More examples of it, in the piece that was met last.
    pub(super) fn more(&mut self, lot: Usage, rows: usize) {
        let count = if lot == Usage::Train { &mut self.train } else { &mut self.test };
        *count = count.saturating_add(u32::try_from(rows).unwrap_or(u32::MAX));
    }

    /// More examples of it, in this piece; neighbours become one.
    pub(super) fn add(&mut self, lot: Usage, rows: usize, (file, start, length): (u32, u64, u64)) {
        self.more(lot, rows);
        match self.pieces.last_mut() {
            Some((last, from, long)) if *last == file && *from + *long == start => *long += length,
            _ => self.pieces.push((file, start, length)),
        }
    }
}

impl Index {
    /// Clients in the order of their names. Those who have nothing to train on are nobody's clients.
    pub(super) fn new(form: Form, cols: usize, labels: &Labels, clients: impl Iterator<Item = Located>) -> Self {
        Self { form, cols, classes: labels.classes(), clients: clients.filter(|client| client.train > 0).collect() }
    }

    /// Tokens of so many kinds.
    pub(super) fn of_tokens(form: Form, cols: usize, classes: u32, clients: impl Iterator<Item = Located>) -> Self {
        Self { classes: Some(classes), ..Self::new(form, cols, &Labels::default(), clients) }
    }

    /// How many rows of numbers a client has that are to be kept as bytes first; none if all are bytes.
    pub(super) fn bytes_up_to(&self, client: &Located) -> Option<usize> {
        (self.form == Form::Numbers).then_some(client.as_bytes)
    }

    /// No example at all.
    pub(super) fn outline(&self) -> Dataset {
        let targets = match self.classes {
            Some(classes) => Targets::Classes { labels: vec![], classes },
            None => Targets::Numbers(vec![]),
        };
        Dataset::new(self.features(), targets).named(self.clients.iter().map(|client| client.name.clone()).collect())
    }

    /// A client's examples with the classes of everybody; none if they are not what the index says.
    pub(super) fn fit(&self, client: &Located, own: Dataset) -> Option<Dataset> {
        let alike = std::mem::discriminant(&own.features) == std::mem::discriminant(&self.features());
        let judged = own.rows_for(Usage::Test).len();
        if !alike || own.features.cols() != self.cols || (own.len() - judged, judged) != (client.train as usize, client.test as usize) {
            return None;
        }
        let targets = match (self.classes, own.targets) {
            (Some(classes), Targets::Classes { labels, .. }) => Targets::Classes { labels, classes },
            (Some(classes), Targets::Numbers(y)) => Targets::Classes { labels: y.iter().map(|&v| v as u32).collect(), classes },
            (None, Targets::Classes { labels, .. }) => Targets::Numbers(labels.into_iter().map(f64::from).collect()),
            (None, targets) => targets,
            (Some(_), Targets::Tags { .. }) => return None,
        };
        Some(Dataset { targets, ..own })
    }

    /// A matrix without rows.
    fn features(&self) -> Matrix {
        match self.form {
            Form::Pixels => Matrix::Bytes(Bytes::pixels(self.cols, vec![])),
            Form::Tokens => Matrix::Bytes(Bytes::tokens(self.cols, vec![])),
            Form::Numbers => Matrix::Single(Single { cols: self.cols, values: vec![].into() }),
        }
    }
}
