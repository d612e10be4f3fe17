//! Regular files, and nothing else.

use std::fs::{self, File};
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

use crate::memory::{free_memory, told};

/// Opens a regular file and tells its size. Pipes, devices, sockets and folders are refused: opening a pipe would wait for
/// ever, and a device may have no end.
pub fn open(file: &Path) -> io::Result<(File, u64)> {
    if let Some(what) = stranger(&fs::metadata(file)?) {
        return Err(Error::new(ErrorKind::InvalidInput, format!("is {what}: only regular files are read")));
    }
    let opened = File::open(file)?;
    let bytes = opened.metadata()?.len();
    Ok((opened, bytes))
}

/// All bytes of a regular file, if there are at most `most`, even if it grows meanwhile, and memory for them.
pub fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (opened, bytes) = open(file)?;
    let too_many = || Error::new(ErrorKind::FileTooLarge, format!("has more than {most} bytes"));
    if bytes > most {
        return Err(too_many());
    }
    // A file may have holes: a terabyte of zeros takes no room on disk. Small ones are not worth the question.
    if bytes > WORTH_ASKING
        && let Some(free) = free_memory().filter(|free| *free < bytes)
    {
        let reason = format!("has {}, and {} of memory are free", told(bytes), told(free));
        return Err(Error::new(ErrorKind::OutOfMemory, reason));
    }
    let mut all = Vec::new();
    // One byte more than allowed tells a file that is too large from one that just fits.
    opened.take(most.saturating_add(1)).read_to_end(&mut all)?;
    if all.len() as u64 > most { Err(too_many()) } else { Ok(all) }
}

/// Below this many bytes nobody asks how much memory is free.
const WORTH_ASKING: u64 = 1 << 20;

/// Reads a regular file as UTF-8 text.
pub fn read_text(file: &Path, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(file, most)?);
    text.map_err(|e| Error::new(ErrorKind::InvalidData, format!("byte {} is not UTF-8 text", e.utf8_error().valid_up_to())))
}

/// What kind of thing lies at a path, if it is not a regular file.
pub fn stranger(about: &fs::Metadata) -> Option<&'static str> {
    let kind = about.file_type();
    if kind.is_file() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a pipe (FIFO)");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some(if kind.is_dir() { "a folder" } else { "no regular file" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_named_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: &Path| read(path, 10).unwrap_err().to_string();
        assert_eq!(said(folder.path()), "is a folder: only regular files are read");
        if Path::new("/dev/zero").exists() {
            assert_eq!(said(Path::new("/dev/zero")), "is a device: only regular files are read");
        }
        let pipe = folder.path().join("pipe");
        if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|made| made.success()) {
            assert_eq!(said(&pipe), "is a pipe (FIFO): only regular files are read");
        }
        assert_eq!(read(&folder.path().join("none"), 10).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_that_is_larger_than_memory_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("holes");
        // Not every file system has files with holes of this size.
        let made = File::create(&path).and_then(|file| file.set_len(1 << 43));
        if made.is_ok() && free_memory().is_some() {
            let said = read(&path, u64::MAX).unwrap_err().to_string();
            assert!(said.starts_with("has 8.80 TB, and ") && said.ends_with(" of memory are free"), "{said}");
        }
    }

    #[test]
    fn a_file_of_just_as_many_bytes_as_allowed_is_read_and_one_more_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().to_string(), "has more than 4 bytes");
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        fs::write(&path, b"ab\xff").unwrap();
        assert_eq!(read_text(&path, 5).unwrap_err().to_string(), "byte 2 is not UTF-8 text");
    }
}
