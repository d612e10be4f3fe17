//! A few lines, dots and words as SVG, for pictures that no report draws.

use std::fmt::Write as _;

/// Colours of the report's pictures: the first three series, text, and what stays in the background.
pub(crate) const SERIES: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#b8578f"];
pub(crate) const TEXT: &str = "#1f2328";
pub(crate) const MUTED: &str = "#5f6873";
const GRID: &str = "#e6e9ec";

/// A picture under way.
pub(crate) struct Canvas {
    size: (u32, u32),
    parts: String,
}

impl Canvas {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self { size: (width, height), parts: String::new() }
    }

    /// Words that begin, end or are centred there: `anchor` is `start`, `end` or `middle`.
    pub(crate) fn words(&mut self, (x, y): (f64, f64), anchor: &str, colour: &str, words: &str) {
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        writeln!(self.parts, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{words}</text>"#).unwrap();
    }

    /// A line through points; one with gaps if `dash` says how long they are.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], colour: &str, dash: &str) {
        let path = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect::<Vec<_>>().join("L");
        writeln!(self.parts, r#"<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>"#).unwrap();
    }

    pub(crate) fn dot(&mut self, (x, y): (f64, f64), colour: &str) {
        writeln!(self.parts, r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{colour}"/>"#).unwrap();
    }

    /// A line of the grid.
    pub(crate) fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(&[from, to], GRID, "none");
    }

    /// The whole picture, with what it shows for those who do not see it.
    pub(crate) fn svg(&self, title: &str) -> String {
        let (width, height) = self.size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, 'Segoe UI', Roboto, \
             'Noto Sans', Arial, sans-serif\" font-size=\"14\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.parts
        )
    }
}
