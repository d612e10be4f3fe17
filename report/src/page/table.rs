//! The frame of a table that scrolls.

use crate::markup::Markup;

/// Opens it, with its columns; rows follow.
pub(super) fn head(m: &mut Markup, columns: &[&str]) {
    m.open("div", &[("class", &"scroll tall")]);
    m.open("table", &[]);
    m.open("thead", &[]);
    m.open("tr", &[]);
    columns.iter().for_each(|column| m.element("th", &[], column));
    m.close();
    m.close();
    m.open("tbody", &[]);
}

/// Closes it.
pub(super) fn foot(m: &mut Markup) {
    m.close();
    m.close();
    m.close();
}
