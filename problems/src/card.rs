//! One line about each thing that can be named in an experiment file.

/// What `list` prints about a model, a source or a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Card {
    /// What stands after `kind =`.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Its keys.
    pub parameters: &'static [Parameter],
}

/// A key of a table in an experiment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Parameter {
    /// The key.
    pub name: &'static str,
    /// What it means, with its default.
    pub about: &'static str,
}
