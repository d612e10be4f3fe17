//! SHA-256 of bytes.

use std::fmt;
use std::io;
use std::str::FromStr;

use motet_core::{Reader, Wire, WireError};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes: the name of a run, of an ask, of a reply.
///
/// ```
/// use motet_link::Digest;
/// let digest = Digest::of(b"abc");
/// assert!(digest.to_string().starts_with("ba7816bf"));
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// The SHA-256 of bytes that come a little at a time.
#[derive(Clone, Default)]
pub(crate) struct Hashing(Sha256);

impl Hashing {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Of all that was added.
    pub(crate) fn digest(&self) -> Digest {
        Digest(self.0.clone().finalize().into())
    }
}

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Of all that is left to read, a little at a time.
    pub(crate) fn of_reader(from: &mut impl io::Read) -> io::Result<Self> {
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(Self(hash.finalize().into())),
                Ok(n) => hash.update(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// These are not the 64 digits of a SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 is written with 64 digits from 0 to f")]
pub struct NoDigest;

impl FromStr for Digest {
    type Err = NoDigest;
    fn from_str(text: &str) -> Result<Self, NoDigest> {
        unhex(text).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(NoDigest)
    }
}

/// Bytes from their hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |c: u8| char::from(c).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? * 16 + digit(*low)?) as u8);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// As hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Wire for Digest {
    fn bits(&self) -> u64 {
        256
    }
    fn bytes(&self) -> u64 {
        32
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut bytes = [0; 32];
        from.fill(&mut bytes)?;
        Ok(Self(bytes))
    }
}

/// A message as bytes.
pub(crate) fn bytes_of(message: &impl Wire) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.bytes() as usize);
    message.encode(&mut out);
    out
}
