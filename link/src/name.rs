//! What a participant is called: files and folders have this name, at both sides.

use std::fmt;
use std::str::FromStr;

/// The name of a participant: 1 to 100 letters, digits, spaces, dots, hyphens and underscores, with no dot in front. It leads to no
/// other folder wherever it stands in a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

/// A text that is no participant's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name: a name has 1 to 100 letters, digits, spaces, dots, hyphens and underscores, and no dot in front")]
pub struct NoName(String);

/// In bytes.
const LONGEST: usize = 100;

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NoName;

    /// Spaces around it do not count.
    fn from_str(text: &str) -> Result<Self, NoName> {
        let name = text.trim();
        let plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(plain) || name.starts_with('.') {
            return Err(NoName(name.chars().take(LONGEST).collect()));
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_trimmed_and_leads_nowhere() {
        for (text, name) in [("ward 3", "ward 3"), (" b", "b"), ("Straße_1-a.b", "Straße_1-a.b")] {
            assert_eq!(text.parse::<Name>().map(|name| name.to_string()), Ok(name.into()));
        }
        for text in ["", "  ", "/../../shared", "..", ".hidden", "a/b", "a\\b", "a\nb", "a\0b", "C:", &"x".repeat(101)] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
        }
    }
}
