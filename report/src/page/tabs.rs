//! Panels of which one is shown, and the switches that choose it. Without a script all are shown.

use crate::chart::{Line, Plot, sample};
use crate::markup::Markup;

/// More choices than this become a list to pull down.
const MOST_BUTTONS: usize = 6;

/// A switch: its name, and its (value, words) choices.
pub(crate) struct Switch<'a> {
    pub(crate) name: &'a str,
    pub(crate) about: &'a str,
    pub(crate) choices: Vec<(String, String)>,
}

impl Switch<'_> {
    /// Nothing if there is nothing to choose.
    pub(crate) fn write(&self, m: &mut Markup) {
        if self.choices.len() < 2 {
            return;
        }
        m.open("div", &[("class", &"switch"), ("role", &"group"), ("aria-label", &self.about)]);
        m.element("span", &[("class", &"about")], self.about);
        if self.choices.len() > MOST_BUTTONS {
            m.open("select", &[("data-switch", &self.name), ("aria-label", &self.about)]);
            self.choices.iter().for_each(|(value, words)| m.element("option", &[("value", value)], words));
            m.close();
        } else {
            m.open("span", &[("class", &"buttons")]);
            for (k, (value, words)) in self.choices.iter().enumerate() {
                m.element(
                    "button",
                    &[("type", &"button"), ("data-switch", &self.name), ("value", value), ("aria-pressed", &(k == 0))],
                    words,
                );
            }
            m.close();
        }
        m.close();
    }
}

/// A picture with its caption, as one panel.
pub(crate) fn figure(m: &mut Markup, plot: &Plot, choice: &[(&str, &str)]) {
    open_panel(m, "figure", choice);
    m.raw(&plot.on_page());
    m.element("figcaption", &[], &plot.caption);
    m.close();
    m.line();
}

/// Opens an element that is shown while every switch named has the value given.
pub(crate) fn open_panel(m: &mut Markup, tag: &'static str, choice: &[(&str, &str)]) {
    let when = choice.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    m.open(tag, &[("class", &"panel"), ("data-when", &when)]);
}

/// What the lines of a metric's picture are; only where there is something to tell apart.
pub(crate) fn legend(m: &mut Markup, metric: &str, lines: &[Line]) {
    if lines.len() < 2 {
        return;
    }
    open_panel(m, "div", &[("metric", metric)]);
    m.open("ul", &[("class", &"legend flat")]);
    for line in lines {
        m.open("li", &[]);
        m.raw(&sample(line.style));
        m.text(&line.label);
        m.close();
    }
    m.close();
    m.close();
}
