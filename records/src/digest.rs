//! Fingerprints: SHA-256, in hexadecimal.

use motet_core::Wire;
use sha2::{Digest, Sha256};

/// The fingerprint of a state: of its bytes as a message would carry them.
pub fn digest(state: &impl Wire) -> String {
    let mut bytes = vec![];
    state.encode(&mut bytes);
    sha256(&bytes)
}

/// The fingerprint of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
