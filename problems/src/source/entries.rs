//! The files inside of a tar archive or a folder, one at a time.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use motet_records::{Input, hexadecimal};
use sha2::{Digest, Sha256};

use super::open::{name_of, stream};
use crate::data_folder::Folders;
use crate::error::ProblemError;

/// A file of an archive or folder.
pub(super) struct Entry<'a> {
    /// Where it lies: folders and name, parts by `/`.
    pub(super) path: &'a str,
    /// All of it.
    pub(super) bytes: &'a [u8],
}

/// The largest file inside of an archive that is read.
const LARGEST: u64 = 1 << 30;

/// Calls `each` with every file of an archive (in its order) or folder (by name) whose path `wanted` picks. One file at a
/// time is in memory. What `each` finds wrong is told with the entry's place.
pub(super) fn entries(
    folders: &Folders,
    path: &Path,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(Entry<'_>) -> Result<(), String>,
) -> Result<Vec<Input>, ProblemError> {
    if let Some(folder) = folders.find_folder(path) {
        return of_folder(&folder, &wanted, &mut each);
    }
    let file = folders.find(path)?;
    let (text, input) = stream(&file)?;
    let unreadable = |cause| ProblemError::Unreadable { file: file.clone(), cause };
    let mut bytes = Vec::new();
    for entry in tar::Archive::new(text).entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let name = entry.path().map_err(unreadable)?.to_string_lossy().into_owned();
        if !entry.header().entry_type().is_file() || !wanted(&name) {
            continue;
        }
        let odd = |what: String| ProblemError::Odd { file: name_of(&file), place: name.clone(), what };
        if entry.size() > LARGEST {
            return Err(odd(format!("{} bytes are more than {LARGEST}", entry.size())));
        }
        bytes.clear();
        entry.read_to_end(&mut bytes).map_err(unreadable)?;
        each(Entry { path: &name, bytes: &bytes }).map_err(odd)?;
    }
    Ok(vec![input])
}

fn of_folder(
    folder: &Path,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), String>,
) -> Result<Vec<Input>, ProblemError> {
    let mut names = Vec::new();
    below(folder, "", 0, &mut names).map_err(|cause| ProblemError::Unreadable { file: folder.to_path_buf(), cause })?;
    let (mut all, mut size) = (Sha256::new(), 0);
    for name in names.iter().filter(|name| wanted(name)) {
        let file = folder.join(name);
        let bytes = fs::read(&file).map_err(|cause| ProblemError::Unreadable { file, cause })?;
        all.update(name.as_bytes());
        all.update(&bytes);
        size += bytes.len() as u64;
        each(Entry { path: name, bytes: &bytes }).map_err(|what| ProblemError::Odd { file: name_of(folder), place: name.clone(), what })?;
    }
    Ok(vec![Input { name: name_of(folder), bytes: size, sha256: hexadecimal(&all.finalize()) }])
}

/// Files of a folder and of those in it, by path.
fn below(folder: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) -> io::Result<()> {
    const DEEPEST: usize = 6;
    let mut here: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    here.sort_by_key(fs::DirEntry::file_name);
    for entry in here {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            if depth < DEEPEST {
                below(&entry.path(), &format!("{name}/"), depth + 1, names)?;
            }
        } else {
            names.push(name);
        }
    }
    Ok(())
}
