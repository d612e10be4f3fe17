//! Lines, bands, bounds and dots in a frame.

use crate::chart::frame::{Area, FONT, Frame, px};
use crate::chart::legend;
use crate::chart::level::Level;
use crate::chart::scale::Scale;
use crate::chart::theme::{Ink, Style, Theme};
use crate::chart::trace::{Pixel, height, path, simplify};
use crate::markup::Markup;

/// A picture with two axes.
pub(crate) struct Plot {
    /// Unique in the report: the file's name, and what the picture's own references begin with.
    pub(crate) name: String,
    /// Read aloud in place of the picture.
    pub(crate) title: String,
    pub(crate) x: (String, Scale),
    pub(crate) y: (String, Scale),
    pub(crate) lines: Vec<Line>,
    pub(crate) notes: Vec<Note>,
    /// Drawn behind the lines.
    pub(crate) levels: Vec<Level>,
    /// What comes before a value of x where it is read off: `round`, `α =`.
    pub(crate) unit: &'static str,
    /// Said below the picture: what the reader has to know to read it.
    pub(crate) caption: String,
}

/// One series.
pub(crate) struct Line {
    /// Number of its group: the page hides and highlights by it.
    pub(crate) group: usize,
    pub(crate) label: String,
    pub(crate) style: Style,
    pub(crate) draw: Draw,
    pub(crate) points: Vec<Mark>,
    /// Drawn thin and dashed in the same colour.
    pub(crate) bound: Vec<(f64, f64)>,
}

/// How points become ink.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Draw {
    /// A line with a band, and a mark now and then.
    Curve,
    /// A line with a mark and a whisker at every point.
    Stations,
    /// A mark and a whisker at every point, and no line.
    Dots,
}

/// A value with its range.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Stands on fewer seeds than the rest of its line.
    pub(crate) faded: bool,
}

/// Words beside a point.
pub(crate) struct Note {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) text: String,
    /// `start`, `middle` or `end`.
    pub(crate) anchor: &'static str,
    /// Draws a ring around the point too.
    pub(crate) ring: bool,
    /// Below the point, or above it?
    pub(crate) below: bool,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const MARGIN: (f64, f64, f64, f64) = (36.0, 20.0, 56.0, 64.0); // top, right, bottom, left
/// Marks on a curve, about.
const MARKS: usize = 6;

impl Plot {
    /// Inside the page: the page has the legend.
    pub(crate) fn on_page(&self) -> String {
        self.draw(Theme::Page, 0.0, HEIGHT)
    }

    /// A file of its own, with its legend.
    pub(crate) fn on_paper(&self) -> String {
        format!("{}\n", self.draw(Theme::Paper, legend::width(self), HEIGHT.max(legend::height(self))))
    }

    pub(crate) fn has_bound(&self) -> bool {
        self.lines.iter().any(|line| !line.bound.is_empty())
    }

    fn draw(&self, theme: Theme, legend: f64, height: f64) -> String {
        let (top, right, bottom, left) = MARGIN;
        let area = Area { left, top, width: WIDTH - left - right, height: height - top - bottom };
        let frame = Frame { area, x: (&self.x.0, self.x.1), y: (&self.y.0, self.y.1) };
        let mut m = Markup::default();
        let box_ = format!("0 0 {} {}", px(WIDTH + legend), px(height));
        m.open(
            "svg",
            &[
                ("xmlns", &"http://www.w3.org/2000/svg"),
                ("viewBox", &box_),
                ("font-family", &FONT),
                ("role", &"img"),
                ("aria-label", &self.title),
                ("class", &"plot"),
                ("data-x", &format!("{} {} {}", frame.x.1.describe(), px(area.left), px(area.left + area.width))),
                ("data-y", &format!("{} {} {}", frame.y.1.describe(), px(area.top + area.height), px(area.top))),
                ("data-unit", &self.unit),
                ("data-snap", &if self.lines.iter().any(|l| l.draw == Draw::Stations) { "true" } else { "" }),
            ],
        );
        if theme == Theme::Paper {
            m.element("title", &[], &self.title);
            m.leaf("rect", &[("width", &"100%"), ("height", &"100%"), ("fill", &theme.paint(Ink::Surface))]);
        }
        frame.draw(&mut m, theme);
        self.levels.iter().for_each(|level| level.draw(&mut m, &frame, theme));
        let clip = format!("clip-{}", self.name);
        m.open("clipPath", &[("id", &clip)]);
        let (width, height) = (px(area.width + 12.0), px(area.height + 12.0)); // room for marks at the ends
        m.leaf("rect", &[("x", &px(left - 6.0)), ("y", &px(top - 6.0)), ("width", &width), ("height", &height)]);
        m.close();
        m.open("g", &[("clip-path", &format!("url(#{clip})")), ("fill", &"none"), ("stroke-linejoin", &"round")]);
        for (k, line) in self.lines.iter().enumerate() {
            line.draw(&mut m, &frame, theme, (k as f64 + 0.5) / self.lines.len() as f64);
            m.line();
        }
        m.close();
        self.notes.iter().for_each(|note| note.draw(&mut m, &frame, theme));
        if self.lines.is_empty() {
            let (x, y) = (area.left + area.width / 2.0, area.top + area.height / 2.0);
            m.element(
                "text",
                &[("x", &px(x)), ("y", &px(y)), ("text-anchor", &"middle"), ("fill", &theme.paint(Ink::Muted))],
                "nothing measured yet",
            );
        }
        if legend > 0.0 {
            legend::draw(&mut m, self, theme, (WIDTH + 4.0, top));
        }
        m.finish()
    }
}

impl Line {
    /// `phase` in [0, 1) shifts the marks, so that those of different lines do not cover each other.
    fn draw(&self, m: &mut Markup, frame: &Frame<'_>, theme: Theme, phase: f64) {
        let colour = theme.paint(Ink::Series(self.style.colour));
        m.open("g", &[("class", &"series"), ("data-group", &self.group), ("data-label", &self.label), ("stroke", &colour)]);
        let stretches = self.stretches(frame);
        for stretch in stretches.iter().filter(|_| self.draw == Draw::Curve) {
            self.band(m, frame, &colour, &stretch.marks);
        }
        let bound: Vec<Pixel> = self.bound.iter().filter_map(|&(x, y)| frame.place(x, y)).collect();
        if bound.len() > 1 {
            m.leaf("path", &[("d", &path(&simplify(&bound))), ("class", &"bound"), ("stroke-width", &"1.2"), ("stroke-dasharray", &"2 3")]);
        }
        for stretch in stretches.iter().filter(|s| self.draw != Draw::Dots && s.pixels.len() > 1) {
            let d = if self.draw == Draw::Curve { path(&simplify(&stretch.pixels)) } else { path(&stretch.pixels) };
            let opacity = if stretch.faded { "0.45" } else { "1" };
            m.leaf(
                "path",
                &[
                    ("d", &d),
                    ("class", &"curve"),
                    ("stroke-width", &"2"),
                    ("stroke-dasharray", &self.style.dashes()),
                    ("opacity", &opacity),
                ],
            );
        }
        if self.draw != Draw::Curve {
            self.whiskers(m, frame);
        }
        let surface = theme.paint(Ink::Surface);
        let size = match self.draw {
            Draw::Curve => 4.0,
            Draw::Dots if self.points.len() > 60 => 3.2,
            Draw::Stations | Draw::Dots => 4.6,
        };
        for (x, y) in self.marked(frame, &stretches, phase) {
            let at = format!("translate({} {}) scale({})", px(x), px(y), size);
            m.leaf(
                "path",
                &[
                    ("d", &self.style.outline()),
                    ("class", &"mark"),
                    ("transform", &at),
                    ("fill", &colour),
                    ("stroke", &surface),
                    ("stroke-width", &"0.2"),
                ],
            );
        }
        m.close();
    }

    /// The line in pieces: what is not finite interrupts it, and where seeds end it fades. Values a log
    /// axis cannot show are left out without interrupting: near machine precision gaps are often negative.
    fn stretches(&self, frame: &Frame<'_>) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = vec![];
        let mut broken = true;
        for mark in &self.points {
            if !mark.y.is_finite() {
                broken = true;
                continue;
            }
            let Some(pixel) = frame.place(mark.x, mark.y) else { continue };
            let joint = stretches.last().filter(|s| !broken && s.faded != mark.faded).and_then(|s| s.last());
            if broken || joint.is_some() {
                let (pixels, marks) = joint.map_or_else(Default::default, |(p, m)| (vec![p], vec![m]));
                stretches.push(Stretch { faded: mark.faded, pixels, marks });
                broken = false;
            }
            if let Some(stretch) = stretches.last_mut() {
                stretch.pixels.push(pixel);
                stretch.marks.push(*mark);
            }
        }
        stretches
    }

    fn band(&self, m: &mut Markup, frame: &Frame<'_>, colour: &str, marks: &[Mark]) {
        if marks.iter().all(|p| p.low == p.high) {
            return;
        }
        let floor = frame.area.top + frame.area.height;
        let edge = |pick: fn(&Mark) -> f64| -> Vec<Pixel> {
            marks.iter().filter_map(|p| Some((frame.column(p.x)?, frame.line(pick(p)).unwrap_or(floor)))).collect()
        };
        let mut outline = simplify(&edge(|p| p.high));
        outline.extend(simplify(&edge(|p| p.low)).into_iter().rev());
        m.leaf(
            "path",
            &[
                ("d", &format!("{}Z", path(&outline))),
                ("class", &"band"),
                ("fill", &colour),
                ("stroke", &"none"),
                ("fill-opacity", &"0.16"),
            ],
        );
    }

    fn whiskers(&self, m: &mut Markup, frame: &Frame<'_>) {
        for p in self.points.iter().filter(|p| p.low < p.high) {
            if let (Some(x), Some(low), Some(high)) = (frame.column(p.x), frame.line(p.low), frame.line(p.high)) {
                let d = format!("M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h8M{:.1} {high:.1}h8", x - 4.0, x - 4.0);
                m.leaf("path", &[("d", &d), ("stroke-width", &"1.4"), ("opacity", &"0.7")]);
            }
        }
    }

    fn marked(&self, frame: &Frame<'_>, stretches: &[Stretch], phase: f64) -> Vec<Pixel> {
        if self.draw != Draw::Curve {
            return stretches.iter().flat_map(|s| s.pixels.iter().copied()).collect();
        }
        let Some(&end) = stretches.last().and_then(|s| s.pixels.last()) else { return vec![] };
        let columns = (0..MARKS).map(|k| frame.area.left + frame.area.width * (k as f64 + phase) / MARKS as f64);
        let apart = columns.filter(|x| (x - end.0).abs() > 14.0);
        let mut marks: Vec<Pixel> = apart.filter_map(|x| stretches.iter().find_map(|s| Some((x, height(&s.pixels, x)?)))).collect();
        marks.push(end);
        marks
    }
}

/// A piece of line without interruption.
struct Stretch {
    faded: bool,
    pixels: Vec<Pixel>,
    marks: Vec<Mark>,
}

impl Stretch {
    fn last(&self) -> Option<(Pixel, Mark)> {
        Some((*self.pixels.last()?, *self.marks.last()?))
    }
}

impl Note {
    fn draw(&self, m: &mut Markup, frame: &Frame<'_>, theme: Theme) {
        let Some((x, y)) = frame.place(self.x, self.y) else { return };
        let ink = theme.paint(Ink::Text);
        if self.ring {
            m.leaf("circle", &[("cx", &px(x)), ("cy", &px(y)), ("r", &"9"), ("fill", &"none"), ("stroke", &ink), ("stroke-width", &"1.5")]);
        }
        let shift = match self.anchor {
            "start" => 6.0,
            "end" => -6.0,
            _ => 0.0,
        };
        let line = if self.below { y + 26.0 } else { y - 14.0 };
        m.element(
            "text",
            &[
                ("x", &px(x + shift)),
                ("y", &px(line)),
                ("text-anchor", &self.anchor),
                ("fill", &ink),
                ("font-size", &"13"),
                ("font-weight", &"600"),
                ("paint-order", &"stroke"),
                ("stroke", &theme.paint(Ink::Surface)),
                ("stroke-width", &"4"),
                ("stroke-linejoin", &"round"),
            ],
            &self.text,
        );
    }
}
