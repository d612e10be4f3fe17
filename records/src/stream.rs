//! A file of records that only grows, and never by half a record.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use motet_files::kill;
use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;

/// A checksum is due when a file has grown by so many bytes.
const CHUNK: u64 = 256 << 10;

/// An open file, how much of it is whole records, and how much of that has a checksum.
#[derive(Debug)]
pub struct Stream {
    file: File,
    length: u64,
    /// Bytes that have a checksum.
    covered: u64,
    /// Of the bytes since then.
    open: Sha256,
    /// Is everything durable? A file that was just opened may not be.
    durable: bool,
}

impl Stream {
    /// The file cut to `length` bytes; made if it is not there. What was cut off was written after the moment that is
    /// gone back to. The first `covered` bytes have a checksum.
    pub fn open(path: &Path, length: u64, covered: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let found = file.metadata()?.len();
        if found < length {
            return Err(io::Error::other(format!("has {found} bytes, but {length} had been written: records are missing")));
        }
        kill::point(|| ());
        file.set_len(length)?;
        let (covered, mut open) = (covered.min(length), Sha256::new());
        file.seek(SeekFrom::Start(covered))?;
        let mut part = [0; 8192];
        loop {
            match file.read(&mut part)? {
                0 => break,
                count => open.update(&part[..count]),
            }
        }
        Ok(Self { file, length, covered, open, durable: false })
    }

    /// One more record, whole or not at all: a full disk leaves what was there before.
    pub fn append(&mut self, record: &[u8]) -> io::Result<()> {
        kill::point(|| {
            let _ = self.file.write_all(&record[..record.len() / 2]);
        });
        if let Err(error) = self.file.write_all(record) {
            // Cutting needs no space; if even that fails, readers drop a last line without its end.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += record.len() as u64;
        self.durable = false;
        self.open.update(record);
        Ok(())
    }

    /// Has it grown by a chunk since its last checksum?
    pub(crate) fn is_due(&self) -> bool {
        self.length - self.covered >= CHUNK
    }

    /// The place and checksum of what has none yet, if there is anything; from now on it has one.
    pub(crate) fn cover(&mut self) -> Option<(u64, u64, String)> {
        let (from, to) = (self.covered, self.length);
        self.covered = to;
        (from < to).then(|| (from, to, hexadecimal(&self.open.finalize_reset())))
    }

    /// Makes everything durable; returns the length.
    pub fn sync(&mut self) -> io::Result<u64> {
        if !self.durable {
            self.file.sync_data()?;
            self.durable = true;
        }
        Ok(self.length)
    }

    /// Bytes written.
    pub fn length(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::sha256;

    #[test]
    fn a_stream_goes_back_to_a_length_and_on_from_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let mut stream = Stream::open(&path, 0, 0).unwrap();
        stream.append(b"one\n").unwrap();
        let length = stream.sync().unwrap();
        stream.append(b"two\n").unwrap();
        let mut again = Stream::open(&path, length, 0).unwrap();
        again.append(b"other\n").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), again.length()), (b"one\nother\n".to_vec(), 10));
        assert!(Stream::open(&path, 11, 0).unwrap_err().to_string().contains("records are missing"));
    }

    #[test]
    fn what_has_no_checksum_yet_is_covered_once_whoever_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let mut stream = Stream::open(&path, 0, 0).unwrap();
        stream.append(b"one\n").unwrap();
        assert_eq!(stream.cover(), Some((0, 4, sha256(b"one\n"))));
        assert_eq!(stream.cover(), None);
        stream.append(b"two\n").unwrap();
        let mut again = Stream::open(&path, 8, 4).unwrap();
        again.append(b"three\n").unwrap();
        assert_eq!(again.cover(), Some((4, 14, sha256(b"two\nthree\n"))));
        let big = vec![b'x'; CHUNK as usize];
        again.append(&big).unwrap();
        assert!(again.is_due());
    }

    #[test]
    fn a_full_disk_is_an_error_and_not_a_panic() {
        if let Ok(file) = OpenOptions::new().write(true).open("/dev/full") {
            let mut stream = Stream { file, length: 0, covered: 0, open: Sha256::new(), durable: false };
            assert!(stream.append(b"row\n").is_err());
            assert_eq!((stream.length(), stream.cover()), (0, None));
        }
    }
}
