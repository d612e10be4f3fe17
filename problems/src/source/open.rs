//! A file as text, unpacked if it was packed, with its fingerprint.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use motet_records::{Input, hexadecimal};
use sha2::{Digest, Sha256};

use crate::error::ProblemError;
use crate::guard::{FileLimit, Metered, open_regular, read_regular};
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
pub(crate) fn open(file: &Path, limit: FileLimit) -> Result<Opened, ProblemError> {
    let unreadable = |cause| ProblemError::Unreadable { file: file.to_path_buf(), cause };
    let packed = read_regular(file, limit)?;
    let input = Input { name: name_of(file), bytes: packed.len() as u64, sha256: hexadecimal(&Sha256::digest(&packed)) };
    verify(file, &input)?;
    Ok(Opened { text: unpack(packed, limit).map_err(unreadable)?, input })
}

/// Opens a file that may be larger than memory: unpacked as it is read. The fingerprint takes a pass of its own.
pub(crate) fn stream(file: &Path, limit: FileLimit) -> Result<(Box<dyn BufRead>, Input), ProblemError> {
    let unreadable = |cause| ProblemError::Unreadable { file: file.to_path_buf(), cause };
    let input = fingerprint(file)?;
    verify(file, &input)?;
    let mut packed = BufReader::new(open_regular(file)?.0);
    let packing = Packing::of(packed.fill_buf().map_err(unreadable)?);
    let text: Box<dyn BufRead> = match packing {
        Some(packing) => {
            let inner = packing.unpacked(packed).map_err(unreadable)?;
            Box::new(BufReader::new(Metered { inner, budget: limit.budget(input.bytes) }))
        }
        None => Box::new(packed),
    };
    Ok((text, input))
}

/// Was it packed? Then no piece of it can be read without all that stand before.
pub(crate) fn is_packed(file: &Path) -> Result<bool, ProblemError> {
    let mut first = Vec::new();
    let read = open_regular(file)?.0.take(8).read_to_end(&mut first);
    read.map_err(|cause| ProblemError::Unreadable { file: file.to_path_buf(), cause })?;
    Ok(Packing::of(&first).is_some())
}

/// What a file was packed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Bzip2,
    Xz,
}

/// Memory that unpacking xz may take; `xz -9` needs 65 MiB, and a header may ask for anything.
const XZ_MEMORY: u64 = 512 << 20;

impl Packing {
    fn of(first: &[u8]) -> Option<Self> {
        let magics: [(&[u8], Self); 3] =
            [(&[0x1f, 0x8b], Packing::Gzip), (b"BZh", Packing::Bzip2), (&[0xfd, b'7', b'z', b'X', b'Z', 0], Packing::Xz)];
        magics.into_iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, packing)| packing)
    }

    fn unpacked<'a>(self, packed: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(packed)),
            Packing::Xz => {
                let stream = xz2::stream::Stream::new_stream_decoder(XZ_MEMORY, xz2::stream::CONCATENATED)?;
                Box::new(xz2::bufread::XzDecoder::new_stream(packed, stream))
            }
        })
    }
}

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

fn unpack(packed: Vec<u8>, limit: FileLimit) -> io::Result<Vec<u8>> {
    match Packing::of(&packed) {
        Some(packing) => limit.budget(packed.len() as u64).unpack(packing.unpacked(&packed[..])?),
        None => Ok(packed),
    }
}
