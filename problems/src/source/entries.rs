//! The files inside of a tar archive or a folder, one at a time.

use std::io::Read;
use std::path::Path;

use motet_records::{Input, hexadecimal};
use sha2::{Digest, Sha256};

use super::open::{name_of, stream};
use crate::data_folder::Folders;
use crate::error::ProblemError;
use crate::guard::{Budget, FileLimit, files_below, open_regular, read_regular, stays_inside};

/// A file of an archive or folder.
pub(super) struct Entry<'a> {
    /// Where it lies: folders and name, parts by `/`.
    pub(super) path: &'a str,
    /// All of it.
    pub(super) bytes: &'a [u8],
    /// What the pictures of the whole archive or folder may unpack to.
    pub(super) budget: &'a Budget,
}

/// The largest file inside of an archive that is read.
const LARGEST: u64 = 1 << 30;

/// Folders in folders, and not further down.
const DEEPEST: usize = 6;

/// Calls `each` with every file of an archive (in its order) or folder (by name) whose path `wanted` picks. One file at a
/// time is in memory. What `each` finds wrong is told with the entry's place.
pub(super) fn entries(
    folders: &Folders,
    path: &Path,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(Entry<'_>) -> Result<(), String>,
) -> Result<Vec<Input>, ProblemError> {
    if let Some(folder) = folders.find_folder(path) {
        return of_folder(&folder, folders.limit, &wanted, &mut each);
    }
    let file = folders.find(path)?;
    let (text, input) = stream(&file, folders.limit)?;
    let budget = folders.limit.budget(input.bytes);
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
        each(Entry { path: &name, bytes: &bytes, budget: &budget }).map_err(odd)?;
    }
    Ok(vec![input])
}

fn of_folder(
    folder: &Path,
    limit: FileLimit,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), String>,
) -> Result<Vec<Input>, ProblemError> {
    let mut names = files_below(folder, DEEPEST)?;
    names.retain(|name| wanted(name));
    let (mut all, mut size) = (Sha256::new(), 0u64);
    for name in &names {
        let file = folder.join(name);
        stays_inside(folder, &file)?;
        size = size.saturating_add(open_regular(&file)?.1);
    }
    let budget = limit.budget(size);
    size = 0;
    for name in &names {
        let bytes = read_regular(&folder.join(name), limit)?;
        all.update(name.as_bytes());
        all.update(&bytes);
        size += bytes.len() as u64;
        each(Entry { path: name, bytes: &bytes, budget: &budget }).map_err(|what| ProblemError::Odd {
            file: name_of(folder),
            place: name.clone(),
            what,
        })?;
    }
    Ok(vec![Input { name: name_of(folder), bytes: size, sha256: hexadecimal(&all.finalize()) }])
}
