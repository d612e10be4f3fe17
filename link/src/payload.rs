//! Bytes that travel as they are, without being copied on the way.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use motet_core::{Reader, Scattered, Wire, WireError};

use crate::digest::{Digest, Hashing};

/// An ask, a reply, or a piece of one. Clones and pieces share the same memory, and a model inside is that of whoever made the message.
///
/// ```
/// use motet_link::Payload;
/// let reply = Payload::from(b"a reply".to_vec());
/// assert_eq!(reply.piece(2, 3), Payload::from(b"rep".to_vec()));
/// assert!(reply.piece(7, 3).is_empty());
/// ```
#[derive(Clone, Default)]
pub struct Payload {
    bytes: Arc<Scattered>,
    range: Range<usize>,
}

impl Payload {
    /// A message.
    pub fn of(message: &impl Wire) -> Self {
        Scattered::of(message).into()
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// At most so many bytes from here on.
    pub fn piece(&self, from: usize, most: usize) -> Self {
        let start = self.range.start.saturating_add(from).min(self.range.end);
        let end = start.saturating_add(most).min(self.range.end);
        Self { bytes: Arc::clone(&self.bytes), range: start..end }
    }

    /// The bytes themselves, written out if they are not yet.
    pub fn as_bytes(&self) -> Cow<'_, [u8]> {
        self.bytes.as_bytes(self.range.clone())
    }

    /// Its SHA-256, of a little at a time.
    fn hash(&self) -> Digest {
        let mut hash = Hashing::default();
        let Ok(()) = self.bytes.blocks(self.range.clone(), |block| {
            hash.add(block);
            Ok::<_, Infallible>(())
        });
        hash.digest()
    }
}

/// A whole ask or reply with its SHA-256, computed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    bytes: Payload,
    hash: Digest,
}

impl Body {
    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self::from(Payload::from(bytes))
    }

    /// A message.
    pub fn of(message: &impl Wire) -> Self {
        Self::from(Payload::of(message))
    }

    /// All of it.
    pub fn bytes(&self) -> &Payload {
        &self.bytes
    }

    /// Its SHA-256.
    pub fn hash(&self) -> Digest {
        self.hash
    }
}

impl From<Payload> for Body {
    fn from(bytes: Payload) -> Self {
        Self { hash: bytes.hash(), bytes }
    }
}

impl From<Scattered> for Payload {
    fn from(bytes: Scattered) -> Self {
        Self { range: 0..bytes.len(), bytes: Arc::new(bytes) }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Scattered::from(bytes).into()
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl Wire for Payload {
    fn bits(&self) -> u64 {
        8 * self.len() as u64
    }
    fn bytes(&self) -> u64 {
        4 + self.len() as u64
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (self.len() as u32).encode(out);
        out.extend_from_slice(&self.as_bytes());
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = u32::decode(from)? as usize;
        Ok(from.take(n)?.into_owned().into())
    }
}
