//! One line about each thing that can be named in an experiment file.

/// What `list` prints about a source, a split, a model or a compressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Card {
    /// As in `kind = "…"`.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Key → what it means and its default.
    pub parameters: &'static [(&'static str, &'static str)],
}
