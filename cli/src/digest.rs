//! The fingerprint of a final state.

use std::fmt::Write as _;

use motet_core::Wire;
use sha2::{Digest, Sha256};

/// SHA-256 of a state's bytes, in hexadecimal.
pub fn digest(state: &impl Wire) -> String {
    let mut bytes = vec![];
    state.encode(&mut bytes);
    Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
