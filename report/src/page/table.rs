//! Tables: headers stand over their cells, a click on one sorts, and on narrow screens every row is a list of its cells.

use crate::markup::Markup;

/// A column's header; words stand to the left, numbers to the right.
#[derive(Clone, Copy)]
pub(super) enum Column<'a> {
    /// Text.
    Word(&'a str),
    /// A number.
    Number(&'a str),
}

impl Column<'_> {
    fn name(&self) -> &str {
        match self {
            Column::Word(name) | Column::Number(name) => name,
        }
    }

    pub(super) fn class(&self) -> &'static str {
        match self {
            Column::Word(_) => "word",
            Column::Number(_) => "",
        }
    }
}

/// Opens a table with its columns; rows follow.
pub(super) fn head(m: &mut Markup, columns: &[Column<'_>], tall: bool) {
    open(m, tall);
    for column in columns {
        m.element("th", &[("class", &column.class()), ("scope", &"col")], column.name());
    }
    begin_rows(m);
}

/// Opens a table whose headers are written one by one, up to [`begin_rows`].
pub(super) fn open(m: &mut Markup, tall: bool) {
    m.open("div", &[("class", &if tall { "scroll tall" } else { "scroll" })]);
    m.open("table", &[("class", &"stack"), ("data-sortable", &"")]);
    m.open("thead", &[]);
    m.open("tr", &[]);
}

/// After the headers.
pub(super) fn begin_rows(m: &mut Markup) {
    m.close();
    m.close();
    m.open("tbody", &[]);
}

/// A number as people read it, and as it sorts.
pub(super) fn number_cell(m: &mut Markup, class: &str, words: &str, value: f64) {
    // What is not a number sorts as the words do.
    let key = if value.is_finite() { value.to_string() } else { String::new() };
    m.element("td", &[("class", &class), ("data-sort", &key)], words);
}

/// Closes it.
pub(super) fn foot(m: &mut Markup) {
    m.close();
    m.close();
    m.close();
}
