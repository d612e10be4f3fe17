//! Files brought into the data folder under a name, and what they were.
//!
//! `<data>/<name>/` holds the files and `motet-import.json`: size and sha256 of each. Whoever reads such a file later compares.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use motet_records::{Input, hexadecimal};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::ProblemError;
use crate::guard::open_regular;
use crate::source::open::name_of;

/// The list beside imported files.
pub(crate) const LIST: &str = "motet-import.json";

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Imports {
    files: Vec<Input>,
}

/// Copies files into a new folder `name` of the data folder and writes down what they were. Nothing is overwritten.
pub fn import(files: &[PathBuf], name: &str, data: &Path) -> Result<Vec<Input>, ProblemError> {
    let sound = !name.is_empty() && !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !sound {
        return Err(ProblemError::ImportName { name: name.into() });
    }
    let folder = data.join(name);
    if folder.exists() {
        return Err(ProblemError::Imported { folder });
    }
    let mut names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ProblemError::SameName { name: pair[0].clone() });
    }
    if let Some(taken) = names.iter().find(|name| name.eq_ignore_ascii_case(LIST)) {
        return Err(ProblemError::ReservedName { name: taken.clone() });
    }
    // Made elsewhere and moved when it is whole: a name is either there with all its files or not at all.
    let partial = data.join(format!(".{name}.partial"));
    let made = copy_all(files, &partial).and_then(|list| {
        fs::rename(&partial, &folder).map_err(unreadable(&folder))?;
        Ok(list)
    });
    if made.is_err() {
        // What could not be made may be impossible to remove as well; the first cause is the one to tell.
        let _ = fs::remove_dir_all(&partial);
    }
    made
}

fn copy_all(files: &[PathBuf], to: &Path) -> Result<Vec<Input>, ProblemError> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(unreadable(to))?;
    }
    fs::create_dir_all(to).map_err(unreadable(to))?;
    let mut list = Imports::default();
    for file in files {
        let copy = to.join(name_of(file));
        open_regular(file)?;
        fs::copy(file, &copy).map_err(unreadable(file))?;
        list.files.push(fingerprint(&copy)?);
    }
    let text = serde_json::to_string_pretty(&list).map_err(|cause| unreadable(to)(cause.into()))?;
    fs::write(to.join(LIST), text + "\n").map_err(unreadable(to))?;
    Ok(list.files)
}

/// Is an imported file still what it was? Files that nobody imported are what they are.
pub(crate) fn verify(file: &Path, found: &Input) -> Result<(), ProblemError> {
    let Some(list) = file.parent().map(|folder| folder.join(LIST)).filter(|list| list.is_file()) else { return Ok(()) };
    let text = motet_files::read(&list, u64::MAX).map_err(unreadable(&list))?;
    let imports: Imports = serde_json::from_slice(&text).map_err(|cause| unreadable(&list)(cause.into()))?;
    match imports.files.into_iter().find(|known| known.name == found.name) {
        Some(known) if known != *found => {
            Err(ProblemError::Changed { file: file.to_path_buf(), known: known.sha256, found: found.sha256.clone() })
        }
        _ => Ok(()),
    }
}

/// Size and sha256 of a file, read piece by piece.
pub(crate) fn fingerprint(file: &Path) -> Result<Input, ProblemError> {
    let (mut from, _) = open_regular(file)?;
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = from.read(&mut buffer).map_err(unreadable(file))?;
        if read == 0 {
            return Ok(Input { name: name_of(file), bytes, sha256: hexadecimal(&hash.finalize()) });
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
}

fn unreadable(file: &Path) -> impl Fn(io::Error) -> ProblemError + '_ {
    |cause| ProblemError::Unreadable { file: file.to_path_buf(), cause }
}
