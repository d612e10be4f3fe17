//! The version of the record format.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A version of the record format; [`Format::CURRENT`] is what this program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Format(pub u32);

impl Format {
    /// What this program writes. It reads this one and all before it.
    pub const CURRENT: Format = Format(3);

    /// The format of records that do not say: the first had no number.
    pub(crate) fn first() -> Self {
        Format(1)
    }

    /// Do its rows count attempts and notes since the start? Before, they counted since the row before.
    pub(crate) fn counts_from_the_start(self) -> bool {
        self >= Format(3)
    }

    /// Can this program read it?
    pub fn is_known(self) -> bool {
        (Format::first()..=Format::CURRENT).contains(&self)
    }
}

impl Default for Format {
    fn default() -> Self {
        Self::CURRENT
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
