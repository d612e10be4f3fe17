//! One program at a time in a folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// `DIR/resume/lock`, held as long as this lives: two programs in one folder would spoil each other's records. The file has
/// the number of the process that holds it.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    /// `DIR/resume`
    room: PathBuf,
}

/// The name of the file that is locked.
const NAME: &str = "lock";

impl Lock {
    /// Takes the lock of an experiment's folder, which is made if it is not there; says who holds it if somebody does.
    pub(crate) fn take(folder: &Path) -> Result<Self, Error> {
        let room = folder.join("resume");
        let path = room.join(NAME);
        let unwritable = |source| Error::Write { path: path.clone(), source };
        // Whoever held it may remove it, and the folder with it, between two of our steps; then it is taken anew.
        for _ in 0..100 {
            fs::create_dir_all(&room).map_err(unwritable)?;
            let mut file = match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                open => open.map_err(unwritable)?,
            };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    // Whoever holds it may not have written its number yet.
                    let _ = file.read_to_string(&mut holder);
                    let process = holder.trim().parse::<u32>().map_or(String::new(), |id| format!(" (process {id})"));
                    let reason = format!("another motet{process} is at work in this folder");
                    return Err(Error::Unresumable { folder: folder.into(), reason });
                }
                // A file system without locks is no reason not to run.
                Err(TryLockError::Error(_)) | Ok(()) => {}
            }
            if !is_at(&file, &path).map_err(unwritable)? {
                continue;
            }
            let sign = |file: &mut File| -> io::Result<()> {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                file.write_all(std::process::id().to_string().as_bytes())
            };
            sign(&mut file).map_err(unwritable)?;
            return Ok(Self { file, room });
        }
        let reason = "other runs keep starting in this folder: choose another folder".to_owned();
        Err(Error::Unresumable { folder: folder.into(), reason })
    }

    /// Does somebody hold the lock of this folder? Where nobody has made one, nobody does.
    pub(crate) fn is_held(folder: &Path) -> bool {
        let file = File::open(folder.join("resume").join(NAME));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// The folder that the lock is in.
    pub(crate) fn room(&self) -> &Path {
        &self.room
    }

    /// Removes everything from the folder of the lock but the lock.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.room)? {
            let entry = entry?;
            if entry.file_name() != NAME {
                if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
            }
        }
        Ok(())
    }

    /// Removes the lock, and its folder if nothing else is in it: nobody has begun anything here, or it is done.
    pub(crate) fn withdraw(&self) {
        // What stays behind is an empty folder or an old lock, which the next one takes over.
        let _ = fs::remove_file(self.room.join(NAME)).and_then(|()| fs::remove_dir(&self.room));
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file does it too; where that is late, the next one need not wait.
        let _ = self.file.unlock();
    }
}

/// Is the open file the one that has this name now?
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map(|found| (found.dev(), found.ino()) == (ours.dev(), ours.ino())),
    }
}

/// An open file cannot be removed here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
