//! A file as text, unpacked if it was packed, with its fingerprint.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use motet_records::{Input, hexadecimal};
use sha2::{Digest, Sha256};

use crate::error::ProblemError;
use crate::imports::{fingerprint, verify};

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
    verify(file, &input)?;
    Ok(Opened { text: unpack(packed).map_err(unreadable)?, input })
}

/// Opens a file that may be larger than memory: unpacked as it is read. The fingerprint takes a pass of its own.
pub(crate) fn stream(file: &Path) -> Result<(Box<dyn BufRead>, Input), ProblemError> {
    let unreadable = |cause| ProblemError::Unreadable { file: file.to_path_buf(), cause };
    let input = fingerprint(file)?;
    verify(file, &input)?;
    let mut packed = BufReader::new(fs::File::open(file).map_err(unreadable)?);
    let first = packed.fill_buf().map_err(unreadable)?;
    let text: Box<dyn BufRead> = if first.starts_with(&GZIP) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(packed)))
    } else if first.starts_with(BZIP) {
        Box::new(BufReader::new(bzip2::bufread::MultiBzDecoder::new(packed)))
    } else if first.starts_with(&XZ) {
        Box::new(BufReader::new(xz2::bufread::XzDecoder::new_multi_decoder(packed)))
    } else {
        Box::new(packed)
    };
    Ok((text, input))
}

const GZIP: [u8; 2] = [0x1f, 0x8b];
const BZIP: &[u8] = b"BZh";
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];

/// The file's name without its folder.
pub(crate) fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

/// A piece of a file as people may be shown it: on one line and not too long.
pub(crate) fn shown(word: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(word);
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST {
        shown.push('…');
    }
    shown
}

fn unpack(packed: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if packed.starts_with(&GZIP) {
        flate2::bufread::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text)?;
    } else if packed.starts_with(BZIP) {
        bzip2::bufread::MultiBzDecoder::new(&packed[..]).read_to_end(&mut text)?;
    } else if packed.starts_with(&XZ) {
        xz2::bufread::XzDecoder::new_multi_decoder(&packed[..]).read_to_end(&mut text)?;
    } else {
        return Ok(packed);
    }
    Ok(text)
}
