//! Files that are replaced as a whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::kill;

/// Replaces a file: the new one is written beside it, made durable, and renamed, so that a reader finds the old file or the new one, never half of it.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let write = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        kill::point(|| {
            let _ = file.write_all(&bytes[..bytes.len() / 2]);
        });
        file.write_all(bytes)?;
        file.sync_all()?;
        kill::point(|| ());
        fs::rename(&beside, path)
    };
    write().inspect_err(|_| {
        // The error that matters is the first one; what is left beside has a name that no reader knows.
        let _ = fs::remove_file(&beside);
    })
}
