//! The fingerprint of a final state.

use motet_core::Wire;
use motet_problems::hexadecimal;
use sha2::{Digest, Sha256};

/// SHA-256 of a state's bytes, in hexadecimal.
pub fn digest(state: &impl Wire) -> String {
    let mut bytes = vec![];
    state.encode(&mut bytes);
    digest_of(&bytes)
}

/// The same of a state that is bytes already.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}
