//! The frame of a plot: grid, ticks, titles.

use crate::chart::scale::Scale;
use crate::chart::theme::{Ink, Theme};
use crate::markup::Markup;

/// System fonts: nothing is fetched.
pub(crate) const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif";

/// Where the plot stands in its picture, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Both axes with their names.
pub(crate) struct Frame<'a> {
    pub(crate) area: Area,
    pub(crate) x: (&'a str, Scale),
    pub(crate) y: (&'a str, Scale),
}

impl Frame<'_> {
    /// Pixels of a value pair. None if either has no place.
    pub(crate) fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.column(x)?, self.line(y)?))
    }

    pub(crate) fn column(&self, x: f64) -> Option<f64> {
        Some(self.area.left + self.x.1.place(x)? * self.area.width)
    }

    /// Far outside is as good as a little outside: SVG numbers stay small.
    pub(crate) fn line(&self, y: f64) -> Option<f64> {
        Some(self.area.top + (1.0 - self.y.1.place(y)?.clamp(-4.0, 5.0)) * self.area.height)
    }

    pub(crate) fn draw(&self, m: &mut Markup, theme: Theme) {
        let Area { left, top, width, height } = self.area;
        let (right, bottom) = (left + width, top + height);
        m.open("g", &[("font-size", &"12"), ("fill", &theme.paint(Ink::Muted))]);
        for tick in self.x.1.ticks() {
            let x = left + tick.place * width;
            self.stroke(m, theme, tick.label.is_some(), [(x, top), (x, bottom)], [(x, bottom), (x, bottom + 4.0)]);
            if let Some(label) = tick.label {
                m.element("text", &[("x", &px(x)), ("y", &px(bottom + 20.0)), ("text-anchor", &"middle")], &label);
            }
        }
        for tick in self.y.1.ticks() {
            let y = bottom - tick.place * height;
            self.stroke(m, theme, tick.label.is_some(), [(left, y), (right, y)], [(left - 4.0, y), (left, y)]);
            if let Some(label) = tick.label {
                m.element("text", &[("x", &px(left - 9.0)), ("y", &px(y + 4.0)), ("text-anchor", &"end")], &label);
            }
        }
        m.close();
        let frame = theme.paint(Ink::Frame);
        // Where both signs are shown, zero divides them.
        if let Some(zero) = self.y.1.place(0.0).filter(|place| *place > 0.0) {
            let d = format!("M{} {}H{}", px(left), px(bottom - zero * height), px(right));
            m.leaf("path", &[("d", &d), ("stroke", &frame)]);
        }
        m.leaf("path", &[("d", &format!("M{} {}V{}H{}", px(left), px(top), px(bottom), px(right))), ("fill", &"none"), ("stroke", &frame)]);
        self.titles(m, theme);
        m.line();
    }

    /// A grid line if the tick is a major one, a short stroke at the axis if not.
    fn stroke(&self, m: &mut Markup, theme: Theme, major: bool, grid: [(f64, f64); 2], short: [(f64, f64); 2]) {
        let ([from, to], ink) = if major { (grid, Ink::Grid) } else { (short, Ink::Frame) };
        let d = format!("M{} {}L{} {}", px(from.0), px(from.1), px(to.0), px(to.1));
        m.leaf("path", &[("d", &d), ("stroke", &theme.paint(ink)), ("stroke-width", &if major { "1" } else { "0.7" })]);
    }

    fn titles(&self, m: &mut Markup, theme: Theme) {
        let Area { left, top, width, height } = self.area;
        let ink = theme.paint(Ink::Text);
        let below = px(top + height + 44.0);
        m.element(
            "text",
            &[("x", &px(left + width / 2.0)), ("y", &below), ("text-anchor", &"middle"), ("fill", &ink), ("font-size", &"13")],
            self.x.0,
        );
        // Above the axis and horizontal: read without turning the head.
        m.element("text", &[("x", &px(left - 48.0)), ("y", &px(top - 14.0)), ("fill", &ink), ("font-size", &"13")], self.y.0);
    }
}

/// A tenth of a pixel is enough.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
