//! Files that are replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::kill;

/// Replaces a file: the new one is written beside it, made durable, and renamed, so that a reader finds the old file or the new one, never half of it.
/// Once this has come back, a power cut does not bring the old one again.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, bytes, OpenOptions::new().write(true).create(true).truncate(true))
}

/// The same for a file that only its owner may read.
pub fn replace_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    replace_with(path, bytes, &options)
}

fn replace_with(path: &Path, bytes: &[u8], options: &OpenOptions) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let write = || -> io::Result<()> {
        let mut file = options.open(&beside)?;
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
    })?;
    sync_folder_of(path)
}

/// Makes the names in a file's folder durable: without it a renamed file may have its old content again after a power cut.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Elsewhere a folder cannot be opened, and a rename is durable by itself.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_its_owners_alone_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        replace_secret(&path, b"old").unwrap();
        replace_secret(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_durable_is_an_error_and_a_bare_name_has_one() {
        let folder = tempfile::tempdir().unwrap();
        sync_folder_of(&folder.path().join("anything")).unwrap();
        sync_folder_of(Path::new("anything")).unwrap();
        if cfg!(unix) {
            sync_folder_of(&folder.path().join("nowhere/anything")).unwrap_err();
        }
    }
}
