//! Values known beforehand, drawn across a picture.

use crate::chart::frame::{Frame, px};
use crate::chart::theme::{Ink, Theme};
use crate::markup::Markup;

/// A horizontal line with its name.
pub(crate) struct Level {
    pub(crate) label: String,
    pub(crate) value: f64,
}

impl Level {
    /// The name stands at the right end, above the line.
    pub(crate) fn draw(&self, m: &mut Markup, frame: &Frame<'_>, theme: Theme) {
        let Some(y) = frame.line(self.value) else { return };
        let (ink, right) = (theme.paint(Ink::Muted), frame.area.left + frame.area.width);
        let d = format!("M{} {}H{}", px(frame.area.left), px(y), px(right));
        m.open("g", &[("class", &"level"), ("data-label", &self.label), ("data-value", &self.value)]);
        m.leaf("path", &[("d", &d), ("fill", &"none"), ("stroke", &ink), ("stroke-width", &"1"), ("stroke-dasharray", &"6 4")]);
        m.element(
            "text",
            &[
                ("x", &px(right - 4.0)),
                ("y", &px(y - 3.0)),
                ("text-anchor", &"end"),
                ("fill", &ink),
                ("font-size", &"10"),
                ("paint-order", &"stroke"),
                ("stroke", &theme.paint(Ink::Surface)),
                ("stroke-width", &"3"),
            ],
            &self.label,
        );
        m.close();
        m.line();
    }
}
