//! Pictures as SVG: no library, no script, no font that has to be fetched.

mod cells;
mod frame;
mod heat;
mod legend;
mod level;
mod lines;
mod scale;
mod theme;
mod trace;

pub(crate) use cells::Cells;
pub(crate) use heat::{heat, text};
pub(crate) use legend::sample;
pub(crate) use level::Level;
pub(crate) use lines::{Draw, Line, Mark, Note, Plot};
pub(crate) use scale::{LEAST, Scale};
pub(crate) use theme::{Style, Theme, styles};
