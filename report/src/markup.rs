//! HTML and SVG as text: every text and attribute is escaped on its way in, every element closed.

use std::fmt::{Display, Write};

/// Attributes in the order written.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

/// Elements, one after another. Output is well-formed XML, and so is valid both as SVG and inside HTML.
#[derive(Default)]
pub(crate) struct Markup {
    out: String,
    open: Vec<&'static str>,
}

impl Markup {
    /// Opens an element; [`Markup::close`] closes the innermost one.
    pub(crate) fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.start(tag, attributes, ">");
        self.open.push(tag);
    }

    pub(crate) fn close(&mut self) {
        if let Some(tag) = self.open.pop() {
            let _ = write!(self.out, "</{tag}>");
        }
    }

    /// An element without content. In HTML only for the void ones: `meta`, `br`, …
    pub(crate) fn leaf(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.start(tag, attributes, "/>");
    }

    /// An element with nothing but text.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(tag, attributes);
        self.text(text);
        self.close();
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.out.push_str(&escape(text));
    }

    /// Text that is markup already. Only for what this crate made itself.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// Starts a new line: the files are also read by people and compared by `diff`.
    pub(crate) fn line(&mut self) {
        self.out.push('\n');
    }

    pub(crate) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }

    fn start(&mut self, tag: &str, attributes: Attributes<'_>, end: &str) {
        let _ = write!(self.out, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.out, " {name}=\"{}\"", escape(&value.to_string()));
        }
        self.out.push_str(end);
    }
}

/// Safe as content and as attribute. Characters that XML does not allow at all become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(c),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped_and_elements_closed() {
        let mut m = Markup::default();
        m.open("g", &[("class", &"a\"b"), ("x", &1.5)]);
        m.leaf("path", &[]);
        m.element("text", &[], "1 < 2 & 'so'\u{1}");
        assert_eq!(m.finish(), "<g class=\"a&quot;b\" x=\"1.5\"><path/><text>1 &lt; 2 &amp; &#39;so&#39;\u{fffd}</text></g>");
    }
}
