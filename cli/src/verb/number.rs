//! Numbers on the command line; what is none is refused in plain words.

/// A whole number from 0.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a whole number from 0"))
}

/// A whole number from 1.
pub(super) fn counted(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| format!("\"{text}\" is not a whole number from 1"))
}

/// Any number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a number"))
}
