//! The legend: beside the plot in a file of its own, a list on the page.

use crate::chart::frame::px;
use crate::chart::lines::Plot;
use crate::chart::theme::{Ink, Style, Theme};
use crate::markup::Markup;

const ROW: f64 = 21.0;
const LONGEST: usize = 44;

/// Width in pixels; text is estimated, for the fonts are the reader's.
pub(crate) fn width(plot: &Plot) -> f64 {
    let longest = plot.lines.iter().map(|line| line.label.chars().count().min(LONGEST)).max().unwrap_or(0);
    let longest = if plot.has_bound() { longest.max(BOUND.len()) } else { longest };
    if longest == 0 { 16.0 } else { 64.0 + 7.0 * longest as f64 }
}

/// Height in pixels.
pub(crate) fn height(plot: &Plot) -> f64 {
    ROW * (plot.lines.len() + 2) as f64
}

const BOUND: &str = "the theorem's bound";

/// Draws it with its top left corner at (x, y).
pub(crate) fn draw(m: &mut Markup, plot: &Plot, theme: Theme, (x, y): (f64, f64)) {
    let ink = theme.paint(Ink::Text);
    m.open("g", &[("font-size", &"13"), ("fill", &ink)]);
    for (k, line) in plot.lines.iter().enumerate() {
        let middle = y + ROW * (k as f64 + 0.5);
        stroke(m, line.style, theme, (x, middle));
        m.open("text", &[("x", &px(x + 38.0)), ("y", &px(middle + 4.5))]);
        m.element("title", &[], &line.label);
        m.text(&shortened(&line.label));
        m.close();
    }
    if plot.has_bound() {
        let middle = y + ROW * (plot.lines.len() as f64 + 0.5);
        let d = format!("M{} {}h28", px(x), px(middle));
        m.leaf("path", &[("d", &d), ("stroke", &theme.paint(Ink::Muted)), ("stroke-width", &"1.2"), ("stroke-dasharray", &"2 3")]);
        m.element("text", &[("x", &px(x + 38.0)), ("y", &px(middle + 4.5)), ("fill", &theme.paint(Ink::Muted))], BOUND);
    }
    m.close();
}

/// A small picture of a style, for the page's own lists.
pub(crate) fn sample(style: Style) -> String {
    let mut m = Markup::default();
    m.open("svg", &[("class", &"sample"), ("viewBox", &"0 0 28 14"), ("width", &28), ("height", &14), ("aria-hidden", &"true")]);
    stroke(&mut m, style, Theme::Page, (0.0, 7.0));
    m.finish()
}

fn stroke(m: &mut Markup, style: Style, theme: Theme, (x, middle): (f64, f64)) {
    let colour = theme.paint(Ink::Series(style.colour));
    let d = format!("M{} {}h28", px(x), px(middle));
    m.leaf("path", &[("d", &d), ("stroke", &colour), ("stroke-width", &"2"), ("stroke-dasharray", &style.dashes())]);
    let at = format!("translate({} {}) scale(4)", px(x + 14.0), px(middle));
    m.leaf("path", &[("d", &style.outline()), ("transform", &at), ("fill", &colour)]);
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= LONGEST {
        return label.to_owned();
    }
    label.chars().take(LONGEST - 1).chain(['…']).collect()
}
