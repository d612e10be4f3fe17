//! A file of records that only grows, and never by half a record.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// An open file and how much of it is whole records.
#[derive(Debug)]
pub(crate) struct Stream {
    file: File,
    length: u64,
}

impl Stream {
    /// The file cut to `length` bytes; made if it is not there. What was cut off was written after the moment that is
    /// gone back to.
    pub(crate) fn open(path: &Path, length: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let found = file.metadata()?.len();
        if found < length {
            return Err(io::Error::other(format!("has {found} bytes, but {length} had been written: records are missing")));
        }
        file.set_len(length)?;
        Ok(Self { file, length })
    }

    /// One more record, whole or not at all: a full disk leaves what was there before.
    pub(crate) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(record) {
            // Cutting needs no space; if even that fails, readers drop a last line without its end.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += record.len() as u64;
        Ok(())
    }

    /// Makes everything durable; returns the length.
    pub(crate) fn sync(&self) -> io::Result<u64> {
        self.file.sync_data()?;
        Ok(self.length)
    }

    /// Bytes written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_back_to_a_length_and_on_from_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let mut stream = Stream::open(&path, 0).unwrap();
        stream.append(b"one\n").unwrap();
        let length = stream.sync().unwrap();
        stream.append(b"two\n").unwrap();
        let mut again = Stream::open(&path, length).unwrap();
        again.append(b"other\n").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), again.length()), (b"one\nother\n".to_vec(), 10));
        assert!(Stream::open(&path, 11).unwrap_err().to_string().contains("records are missing"));
    }

    #[test]
    fn a_full_disk_is_an_error_and_not_a_panic() {
        if let Ok(file) = OpenOptions::new().write(true).open("/dev/full") {
            let mut stream = Stream { file, length: 0 };
            assert!(stream.append(b"row\n").is_err());
            assert_eq!(stream.length(), 0);
        }
    }
}
