//! A file as text, unpacked if it was packed, with its fingerprint.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use motet_core::Input;
use sha2::{Digest, Sha256};

use crate::error::ProblemError;

/// What a file holds, and what it was.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Unpacked.
    pub(crate) text: Vec<u8>,
    /// The file as it lies on disk.
    pub(crate) input: Input,
}

/// Reads a file. What it was packed with is told by its first bytes, not by its name.
pub(crate) fn open(file: &Path) -> Result<Opened, ProblemError> {
    let unreadable = |cause| ProblemError::Unreadable { file: file.to_path_buf(), cause };
    let packed = fs::read(file).map_err(unreadable)?;
    let input = Input { name: name_of(file), bytes: packed.len() as u64, sha256: hexadecimal(&Sha256::digest(&packed)) };
    Ok(Opened { text: unpack(packed).map_err(unreadable)?, input })
}

/// The file's name without its folder.
pub(crate) fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn unpack(packed: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if packed.starts_with(&[0x1f, 0x8b]) {
        flate2::bufread::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text)?;
    } else if packed.starts_with(b"BZh") {
        bzip2::bufread::MultiBzDecoder::new(&packed[..]).read_to_end(&mut text)?;
    } else if packed.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        xz2::bufread::XzDecoder::new_multi_decoder(&packed[..]).read_to_end(&mut text)?;
    } else {
        return Ok(packed);
    }
    Ok(text)
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
