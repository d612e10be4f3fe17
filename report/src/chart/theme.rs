//! Colours, dashes and marks: every series is told apart without colour too.

/// What a colour is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// A series, by number.
    Series(usize),
    /// Titles and labels.
    Text,
    /// What should stay in the background.
    Muted,
    /// The frame of a plot.
    Frame,
    /// Grid lines.
    Grid,
    /// Behind everything.
    Surface,
}

/// On what a picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Inside the page: its style sheet chooses, light or dark.
    Page,
    /// A file of its own: colours for white paper.
    Paper,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: usize,
    pub(crate) dash: usize,
    pub(crate) mark: usize,
}

/// After Okabe and Ito, *Color Universal Design*; its yellow and black are replaced, being invisible on white and on black.
const SERIES: [(&str, &str); COLOURS] = [
    ("#0072b2", "#58aee6"),
    ("#d55e00", "#ff8a4c"),
    ("#009e73", "#35c99c"),
    ("#b8578f", "#e79ac4"),
    ("#d99000", "#f0b93a"),
    ("#3ba0dc", "#a5dcff"),
    ("#6a4fa3", "#b39ae8"),
    ("#5c5c5c", "#c4c4c4"),
];
const COLOURS: usize = 8;
const DASHES: [&str; 4] = ["none", "9 4", "9 3 2 3", "4 3"];
/// Within a circle of radius one.
const MARKS: [&str; COLOURS] = [
    "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0 -1 0Z",
    "M-.9 -.9H.9V.9H-.9Z",
    "M0 -1.15L1.1 .85H-1.1Z",
    "M0 -1.25L1.25 0L0 1.25L-1.25 0Z",
    "M0 1.15L1.1 -.85H-1.1Z",
    "M-.4 -1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
    "M0 -1.2L1.15 -.3L.7 1H-.7L-1.15 -.3Z",
    "M-1.2 -.6H1.2V.6H-1.2Z",
];

impl Theme {
    pub(crate) fn paint(self, ink: Ink) -> String {
        match (self, ink) {
            (Theme::Page, Ink::Series(k)) => format!("var(--series-{})", k % COLOURS),
            (Theme::Page, Ink::Text) => "var(--text)".into(),
            (Theme::Page, Ink::Muted) => "var(--muted)".into(),
            (Theme::Page, Ink::Frame) => "var(--frame)".into(),
            (Theme::Page, Ink::Grid) => "var(--grid)".into(),
            (Theme::Page, Ink::Surface) => "var(--surface)".into(),
            (Theme::Paper, Ink::Series(k)) => SERIES[k % COLOURS].0.into(),
            (Theme::Paper, Ink::Text) => "#1d2126".into(),
            (Theme::Paper, Ink::Muted) => "#5f6873".into(),
            (Theme::Paper, Ink::Frame) => "#9aa3ad".into(),
            (Theme::Paper, Ink::Grid) => "#e6e9ec".into(),
            (Theme::Paper, Ink::Surface) => "#ffffff".into(),
        }
    }

    /// The series' colours as custom properties of the page: light, dark.
    pub(crate) fn properties() -> (String, String) {
        let list = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
            SERIES.iter().enumerate().map(|(k, pair)| format!("--series-{k}:{};", pick(pair))).collect()
        };
        (list(|pair| pair.0), list(|pair| pair.1))
    }
}

impl Style {
    /// The style of series `k` when nothing is known about how series belong together.
    pub(crate) fn of(k: usize) -> Self {
        Self { colour: k % COLOURS, dash: k / COLOURS % DASHES.len(), mark: k % COLOURS }
    }

    pub(crate) fn dashes(self) -> &'static str {
        DASHES[self.dash % DASHES.len()]
    }

    /// Path data around the origin.
    pub(crate) fn outline(self) -> &'static str {
        MARKS[self.mark % MARKS.len()]
    }
}

/// One style per (method, variant), in order: methods share dashes, variants share colours and marks,
/// so that "the same α, another method" can be seen. Falls back to one colour each.
pub(crate) fn styles(series: &[(&str, Option<String>)]) -> Vec<Style> {
    let position = |list: &mut Vec<String>, item: &str| match list.iter().position(|i| i == item) {
        Some(at) => at,
        None => {
            list.push(item.to_owned());
            list.len() - 1
        }
    };
    let (mut methods, mut variants) = (vec![], vec![]);
    let places: Vec<_> = series
        .iter()
        .map(|(method, variant)| (position(&mut methods, method), variant.as_ref().map(|v| position(&mut variants, v))))
        .collect();
    let paired = methods.len() > 1 && methods.len() <= DASHES.len() && variants.len() > 1 && variants.len() <= COLOURS;
    // Without a variant that two methods share there is nothing to pair.
    let shared = variants.len() < series.len();
    let distinct = places.iter().enumerate().all(|(k, p)| p.1.is_some() && !places[..k].contains(p));
    if !paired || !shared || !distinct {
        return (0..series.len()).map(Style::of).collect();
    }
    places.into_iter().map(|(method, variant)| Style { colour: variant.unwrap_or(0), dash: method, mark: variant.unwrap_or(0) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_alpha_of_another_method_has_the_same_colour_and_another_dash() {
        let alpha = |a: &str| Some(a.to_owned());
        let series = [("flix", alpha("1")), ("flix", alpha("0.1")), ("scafflix", alpha("1")), ("scafflix", alpha("0.1"))];
        let styles = styles(&series);
        assert_eq!(styles[0].colour, styles[2].colour);
        assert_ne!(styles[0].dash, styles[2].dash);
        assert_ne!(styles[0].colour, styles[1].colour);
    }

    #[test]
    fn thirty_two_series_look_all_different() {
        let series: Vec<_> = (0..32).map(|_| ("flix", None)).collect();
        let styles = styles(&series);
        assert!((0..32).all(|k| !styles[..k].contains(&styles[k])));
    }
}
