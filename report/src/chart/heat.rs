//! A heat map: weights of many clients, one column per round or target.

use std::fmt::Write as _;

use crate::markup::Markup;
use crate::merit::{Columns, MeritMap};

/// Shades, the equal share in the middle: from a tenth of it to ten times it, by thirds of a decade.
const SHADES: usize = 7;
const WIDTH: f64 = 720.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 26.0;

/// The shade of a weight: 0 for next to nothing, `SHADES` for ten equal shares and more.
fn shade(weight: f64, clients: usize) -> usize {
    let share = weight * clients as f64;
    if share < 0.1 { 0 } else { (((share.log10() + 1.0) / 2.0 * (SHADES - 1) as f64) as usize + 1).min(SHADES) }
}

/// The map as SVG: dark is heavy. Cells of one shade are one path, and equal neighbours in a row one rectangle.
pub(crate) fn heat(map: &MeritMap, title: &str) -> String {
    let (rows, columns) = (map.clients.len(), map.weights.len().max(1));
    let cell = (WIDTH - LEFT) / columns as f64;
    let height = (420.0 / rows.max(1) as f64).clamp(2.0, 14.0);
    let total = height * rows as f64 + BOTTOM;
    let mut m = Markup::default();
    let view = format!("0 0 {WIDTH} {total:.0}");
    m.open("svg", &[("viewBox", &view), ("role", &"img"), ("class", &"heat"), ("width", &"100%")]);
    m.element("title", &[], title);
    for level in 1..=SHADES {
        let mut path = String::new();
        for (row, _) in map.clients.iter().enumerate() {
            let mut column = 0;
            while column < columns {
                let same = |c: usize| map.weights.get(c).is_some_and(|w| shade(w[row], rows) == level);
                let run = (column..columns).take_while(|&c| same(c)).count();
                if run > 0 {
                    let (x, y) = (LEFT + cell * column as f64, height * row as f64);
                    let _ = write!(path, "M{x:.1} {y:.1}h{:.1}v{height:.1}h-{:.1}z", cell * run as f64, cell * run as f64);
                }
                column += run.max(1);
            }
        }
        if !path.is_empty() {
            let strength = format!("{:.2}", level as f64 / SHADES as f64);
            m.leaf("path", &[("d", &path), ("fill", &"currentColor"), ("fill-opacity", &strength)]);
        }
    }
    axes(&mut m, map, height);
    m.finish()
}

fn axes(m: &mut Markup, map: &MeritMap, height: f64) {
    let mut from = 0;
    for (group, size) in map.sizes.iter().enumerate() {
        let (top, middle) = (height * from as f64, height * (from as f64 + *size as f64 / 2.0));
        if from > 0 {
            let line = format!("M{LEFT} {top:.1}H{WIDTH}");
            m.leaf("path", &[("d", &line), ("stroke", &"currentColor"), ("stroke-opacity", &"0.5"), ("stroke-width", &"0.7")]);
        }
        let name = if map.sizes.len() > 1 { format!("group {}", group + 1) } else { "clients".into() };
        text(m, LEFT - 6.0, middle + 4.0, "end", &name);
        from += size;
    }
    let below = height * map.clients.len() as f64 + 16.0;
    let (first, last, what) = match &map.columns {
        Columns::Rounds(_, rounds) => (rounds.first().map(u64::to_string), rounds.last().map(u64::to_string), "round"),
        Columns::Targets(targets) => (targets.first().map(u32::to_string), targets.last().map(u32::to_string), "target"),
    };
    text(m, LEFT, below, "start", &format!("{what} {}", first.unwrap_or_default()));
    text(m, WIDTH, below, "end", &last.unwrap_or_default());
}

/// Words at a place of a map.
pub(crate) fn text(m: &mut Markup, x: f64, y: f64, anchor: &str, words: &str) {
    let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
    m.element("text", &[("x", &x), ("y", &y), ("text-anchor", &anchor), ("fill", &"currentColor"), ("font-size", &"11")], words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equal_share_is_in_the_middle_and_nothing_is_blank() {
        assert_eq!(shade(0.0, 100), 0);
        assert_eq!(shade(0.01, 100), SHADES.div_ceil(2));
        assert_eq!(shade(1.0, 100), SHADES);
        assert!((1..100).all(|k| shade(f64::from(k) / 100.0, 100) <= shade(f64::from(k + 1) / 100.0, 100)));
    }
}
