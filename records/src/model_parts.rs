//! A file of models that is written one model at a time, so that no two of them need be in memory.
//!
//! Models come in the order in which clients are scored, and the file has them in the order of their names: they wait in a file
//! beside it until the last one is there.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use motet_core::Vector;
use motet_files::kill;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;
use crate::models::{PASSPORT, raw};

/// Models that wait for the last of them.
#[derive(Debug)]
pub(crate) struct ModelParts {
    path: PathBuf,
    file: BufWriter<File>,
    parts: Vec<Part>,
    length: u64,
}

#[derive(Debug)]
struct Part {
    name: String,
    dtype: Dtype,
    numbers: usize,
    start: u64,
    bytes: u64,
}

impl ModelParts {
    /// Nothing yet, of the file that will be at `path`.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let path = beside(path, ".parts");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Self { path, file: BufWriter::new(file), parts: vec![], length: 0 })
    }

    /// One more model.
    pub(crate) fn add(&mut self, name: String, model: &Vector) -> io::Result<()> {
        let (name, dtype, numbers, bytes) = raw(name, model);
        self.file.write_all(&bytes)?;
        self.parts.push(Part { name, dtype, numbers, start: self.length, bytes: bytes.len() as u64 });
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Writes the file beside its place and makes it durable: where it is, how long, and its SHA-256.
    pub(crate) fn finish(mut self, path: &Path, passport: Option<String>) -> io::Result<Finished> {
        self.parts.sort_by(|a, b| b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(&b.name)));
        let (mut tensors, mut at) = (vec![], 0);
        for part in &self.parts {
            let end = at + part.bytes as usize;
            tensors.push((part.name.clone(), TensorInfo { dtype: part.dtype, shape: vec![part.numbers], data_offsets: (at, end) }));
            at = end;
        }
        let about = passport.map(|text| [(PASSPORT.to_owned(), text)].into());
        let mut header = serde_json::to_vec(&Metadata::new(about, tensors).map_err(io::Error::other)?)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut parts = BufReader::new(self.file.into_inner().map_err(io::IntoInnerError::into_error)?);
        let new = beside(path, ".new");
        let mut to = Hashed { inner: BufWriter::new(File::create(&new)?), hash: Sha256::new(), length: 0 };
        to.write_all(&(header.len() as u64).to_le_bytes())?;
        to.write_all(&header)?;
        kill::point(|| ());
        for part in &self.parts {
            parts.seek(SeekFrom::Start(part.start))?;
            if io::copy(&mut Read::by_ref(&mut parts).take(part.bytes), &mut to)? != part.bytes {
                return Err(io::Error::other(format!("{} ends early", self.path.display())));
            }
        }
        to.inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::remove_file(&self.path)?;
        Ok(Finished { new, length: to.length, sha256: hexadecimal(&to.hash.finalize()) })
    }
}

/// A file that is whole and not in its place yet.
pub(crate) struct Finished {
    pub(crate) new: PathBuf,
    pub(crate) length: u64,
    pub(crate) sha256: String,
}

/// Length and SHA-256 of a file that may be large; none if it is not there.
pub(crate) fn digest_of(path: &Path) -> io::Result<Option<(u64, String)>> {
    let mut file = match motet_files::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        open => open?.0,
    };
    let mut to = Hashed { inner: io::sink(), hash: Sha256::new(), length: 0 };
    io::copy(&mut file, &mut to)?;
    Ok(Some((to.length, hexadecimal(&to.hash.finalize()))))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Hashes what is written.
struct Hashed<W> {
    inner: W,
    hash: Sha256,
    length: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
