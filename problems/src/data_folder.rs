//! Where files are looked for: beside the experiment, then in the data folder.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motet_files::stranger;
use motet_runtime::Shelf;

use crate::error::ProblemError;
use crate::guard::FileLimit;
use crate::imports::LIST;

/// The folders a problem may read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Where the experiment file lies.
    pub beside: PathBuf,
    /// The data folder, if there is one.
    pub data: Option<PathBuf>,
    /// How large a file may be.
    pub limit: FileLimit,
    /// Where indices of large files are kept from one start to the next; nowhere if there is none.
    pub cache: Option<PathBuf>,
    /// What ranks of this machine have in common, where there are several.
    pub shelf: Option<Arc<Shelf>>,
}

/// A file of the data folder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DataFile {
    /// Relative to the data folder: what `path = "..."` may say.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

const EXTENSIONS: [&str; 4] = ["", ".gz", ".bz2", ".xz"];

/// The cache folder: `MOTET_CACHE`, else `motet` in the user's cache directory.
fn cache_folder() -> Option<PathBuf> {
    named("MOTET_CACHE").or_else(|| {
        let home = if cfg!(windows) {
            named("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            named("HOME").map(|home| home.join("Library/Caches"))
        } else {
            named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")))
        };
        home.map(|home| home.join("motet"))
    })
}

/// What a variable of the environment says, if it says anything.
fn named(key: &str) -> Option<PathBuf> {
    env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The data folder: `MOTET_DATA`, else `motet` in the user's data directory.
pub fn data_folder() -> Option<PathBuf> {
    named("MOTET_DATA").or_else(|| {
        let home = if cfg!(windows) {
            named("APPDATA")
        } else if cfg!(target_os = "macos") {
            named("HOME").map(|home| home.join("Library/Application Support"))
        } else {
            named("XDG_DATA_HOME").or_else(|| named("HOME").map(|home| home.join(".local/share")))
        };
        home.map(|home| home.join("motet"))
    })
}

/// Files of a data folder and of its subfolders one level down, by path.
pub fn data_files(folder: &Path) -> io::Result<Vec<DataFile>> {
    let mut files = Vec::new();
    for place in std::iter::once(folder.to_path_buf()).chain(subfolders(folder)) {
        for entry in fs::read_dir(&place)? {
            let path = entry?.path();
            // A link that leads nowhere is no file.
            let Ok(about) = fs::metadata(&path) else { continue };
            if about.is_file() && path.file_name().is_none_or(|name| name != LIST) {
                let path = path.strip_prefix(folder).unwrap_or(&path).to_path_buf();
                files.push(DataFile { path, bytes: about.len() });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

impl Folders {
    /// An experiment's folder, the user's data folder and the user's cache folder.
    pub fn beside(folder: &Path) -> Self {
        Self { cache: cache_folder(), ..Self::new(folder.to_path_buf(), data_folder()) }
    }

    /// An experiment's folder and a data folder; nothing is kept in a cache.
    pub fn new(beside: PathBuf, data: Option<PathBuf>) -> Self {
        Self { beside, data, limit: FileLimit::default(), cache: None, shelf: None }
    }

    /// With another limit to the size of files.
    #[must_use]
    pub fn limited(&self, limit: FileLimit) -> Self {
        Self { limit, ..self.clone() }
    }

    /// The file that `path` names, with or without an extension of compression.
    pub fn find(&self, path: &Path) -> Result<PathBuf, ProblemError> {
        let looked = self.places();
        let candidates = || looked.iter().flat_map(|place| EXTENSIONS.map(|extension| extended(place.join(path), extension)));
        if let Some(file) = candidates().find(|candidate| candidate.is_file()) {
            return Ok(file);
        }
        // A pipe or a device of that name is there and is no file; folders are looked into by those who read folders.
        let odd = |file: PathBuf| Some((fs::metadata(&file).ok().filter(|about| !about.is_dir()).as_ref().and_then(stranger)?, file));
        match candidates().find_map(odd) {
            Some((what, file)) => Err(ProblemError::NoRegularFile { file, what }),
            None => Err(ProblemError::MissingFile { path: path.to_path_buf(), near: near(path, &looked), looked }),
        }
    }

    /// The folder that `path` names, if it names one.
    pub(crate) fn find_folder(&self, path: &Path) -> Option<PathBuf> {
        self.places().into_iter().map(|place| place.join(path)).find(|place| place.is_dir())
    }

    /// Every folder that is searched, in order.
    fn places(&self) -> Vec<PathBuf> {
        let here = if self.beside.as_os_str().is_empty() { Path::new(".") } else { &self.beside };
        let mut places = vec![here.to_path_buf()];
        if let Some(data) = &self.data {
            places.push(data.clone());
            places.extend(subfolders(data));
        }
        places
    }
}

/// The file of nearly this name in these folders, without its extension of compression.
fn near(path: &Path, looked: &[PathBuf]) -> Option<PathBuf> {
    let (parent, wanted) = (path.parent().unwrap_or(Path::new("")), path.file_name()?.to_str()?);
    let there = looked.iter().flat_map(|place| fs::read_dir(place.join(parent)).into_iter().flatten().flatten());
    let files = there.filter(|entry| entry.path().is_file()).filter_map(|entry| entry.file_name().into_string().ok());
    let plain = files.map(|name| EXTENSIONS.iter().rev().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned());
    let scored = plain.map(|name| (strsim::damerau_levenshtein(wanted, &name), name));
    let (_, name) = scored.filter(|(distance, name)| *distance <= name.len() / 4).min()?;
    Some(parent.join(name))
}

fn extended(path: PathBuf, extension: &str) -> PathBuf {
    let mut name = path.into_os_string();
    name.push(extension);
    name.into()
}

/// One level down, by name; none if the folder cannot be read.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // A name with a dot in front is an import that did not end.
    let hidden = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !hidden(path)).collect();
    found.sort();
    found
}
