//! A heat map with words in its cells: a number for each pair of values.

use super::heat::text;
use crate::chart::frame::FONT;
use crate::markup::Markup;
use crate::number;

/// Numbers over two parameters.
pub(crate) struct Cells {
    /// Read aloud in place of the picture.
    pub(crate) title: String,
    /// The parameter to the right, and its values.
    pub(crate) columns: (String, Vec<String>),
    /// The parameter down, and its values.
    pub(crate) rows: (String, Vec<String>),
    /// By row, then column; none where nothing was measured or a run diverged.
    pub(crate) values: Vec<Vec<Option<f64>>>,
    /// (row, column) that was chosen.
    pub(crate) chosen: Option<(usize, usize)>,
    /// Is a larger number better?
    pub(crate) larger: bool,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 130.0;
const TOP: f64 = 44.0;
const HEIGHT: f64 = 30.0;

impl Cells {
    /// The picture as SVG: dark is good, a frame is what was chosen.
    pub(crate) fn draw(&self) -> String {
        let (rows, columns) = (self.rows.1.len(), self.columns.1.len());
        let width = ((WIDTH - LEFT) / columns.max(1) as f64).min(120.0);
        let mut m = Markup::default();
        let view = format!("0 0 {WIDTH} {:.0}", TOP + HEIGHT * rows as f64 + 4.0);
        let space = "http://www.w3.org/2000/svg";
        m.open(
            "svg",
            &[("xmlns", &space), ("viewBox", &view), ("role", &"img"), ("class", &"cells"), ("width", &"100%"), ("font-family", &FONT)],
        );
        m.element("title", &[], &self.title);
        text(&mut m, LEFT, 14.0, "start", &format!("{} →", self.columns.0));
        text(&mut m, LEFT - 8.0, TOP - 8.0, "end", &format!("{} ↓", self.rows.0));
        for (k, name) in self.columns.1.iter().enumerate() {
            text(&mut m, LEFT + width * (k as f64 + 0.5), TOP - 8.0, "middle", name);
        }
        for (r, name) in self.rows.1.iter().enumerate() {
            let y = TOP + HEIGHT * r as f64;
            text(&mut m, LEFT - 8.0, y + HEIGHT / 2.0 + 4.0, "end", name);
            for c in 0..columns {
                let value = self.values[r][c];
                let (x, shade) = (LEFT + width * c as f64, value.map_or(0.0, |v| self.shade(v)));
                let ring = if self.chosen == Some((r, c)) { "2.5" } else { "0.3" };
                m.leaf(
                    "rect",
                    &[
                        ("x", &format!("{:.1}", x + 1.5)),
                        ("y", &format!("{:.1}", y + 1.5)),
                        ("width", &format!("{:.1}", width - 3.0)),
                        ("height", &format!("{:.1}", HEIGHT - 3.0)),
                        ("fill", &"currentColor"),
                        ("fill-opacity", &format!("{:.2}", 0.5 * shade)),
                        ("stroke", &"currentColor"),
                        ("stroke-width", &ring),
                    ],
                );
                let words = value.map_or_else(|| "diverged".to_owned(), number::short);
                text(&mut m, x + width / 2.0, y + HEIGHT / 2.0 + 4.0, "middle", &words);
            }
        }
        m.finish()
    }

    /// 1 for the best, 0 for the worst; by ratio where all are positive, since losses span decades.
    fn shade(&self, value: f64) -> f64 {
        let all = || self.values.iter().flatten().flatten().copied();
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let along = |v: f64| if low > 0.0 { v.ln() } else { v };
        let part = if high > low { (along(value) - along(low)) / (along(high) - along(low)) } else { 1.0 };
        if self.larger || high == low { part } else { 1.0 - part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_darkest_and_what_diverged_says_so() {
        let cells = Cells {
            title: "loss".into(),
            columns: ("eta".into(), vec!["0.1".into(), "1".into()]),
            rows: ("gamma".into(), vec!["0".into()]),
            values: vec![vec![Some(0.01), None]],
            chosen: Some((0, 0)),
            larger: false,
        };
        let drawn = cells.draw();
        assert!(drawn.contains("diverged") && drawn.contains("stroke-width=\"2.5\""), "{drawn}");
        let of = |larger, values: [f64; 3]| {
            let values = vec![values.map(Some).to_vec()];
            let cells = Cells { values, larger, title: String::new(), columns: Default::default(), rows: Default::default(), chosen: None };
            [0.001, 0.01, 1.0].map(|v| cells.shade(v))
        };
        assert_eq!(of(false, [0.001, 0.01, 1.0])[0], 1.0);
        assert_eq!(of(true, [0.001, 0.01, 1.0])[2], 1.0);
        assert!((of(false, [0.001, 0.01, 1.0])[1] - 2.0 / 3.0).abs() < 1e-12);
    }
}
