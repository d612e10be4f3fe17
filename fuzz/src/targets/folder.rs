//! A folder of sound files, one of which is replaced by an input.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// How bytes become a file: as they are, or inside of an archive whose checksums fit.
pub(super) type Wrap = fn(&[u8]) -> Vec<u8>;

/// A file: its name, what is in it, how that becomes a file.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) wrap: Wrap,
}

impl Part {
    pub(super) fn plain(name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name, bytes: bytes.into(), wrap: <[u8]>::to_vec }
    }
}

thread_local! {
    /// Folders of this thread, by what they are for.
    static FOLDERS: RefCell<BTreeMap<String, TempDir>> = const { RefCell::new(BTreeMap::new()) };
}

/// Inputs that damage nothing: the number of a file, and its bytes.
pub(super) fn corpus(parts: &[Part]) -> Vec<Vec<u8>> {
    parts.iter().enumerate().map(|(k, part)| [&[k as u8][..], &part.bytes].concat()).collect()
}

/// Which file an input replaces, and by what.
pub(super) fn replaced<'a>(parts: &[Part], input: &'a [u8]) -> (usize, &'a [u8]) {
    input.split_first().map_or((0, input), |(at, bytes)| (*at as usize % parts.len(), bytes))
}

/// Works in a folder with these files, the one that the input's first byte names replaced by the rest of it.
pub(super) fn with_input<T>(name: &str, parts: &[Part], input: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    let (at, bytes) = replaced(parts, input);
    let write = |folder: &Path, part: &Part, bytes: &[u8]| {
        let path = folder.join(part.name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a temporary folder can be written");
        fs::write(path, (part.wrap)(bytes)).expect("a temporary folder can be written");
    };
    FOLDERS.with_borrow_mut(|folders| {
        let folder = folders.entry(name.to_owned()).or_insert_with(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            parts.iter().for_each(|part| write(folder.path(), part, &part.bytes));
            folder
        });
        write(folder.path(), &parts[at], bytes);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(folder.path())));
        write(folder.path(), &parts[at], &parts[at].bytes);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
