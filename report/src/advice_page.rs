//! The page of advice: for each client, join or not, with whom, what it gains and what it sends.

use crate::markup::Markup;
use crate::number::{self, difference};

/// What the page says.
#[derive(Clone, Debug, PartialEq)]
pub struct AdvicePage {
    /// The name of the data.
    pub of: String,
    /// What gains are measured by: `test.brier`.
    pub metric: String,
    /// Repeated splits behind the numbers.
    pub splits: usize,
    /// Of all clients together: advice, mean gain, interval.
    pub federation: (String, f64, Option<[f64; 2]>),
    /// One for each client.
    pub lines: Vec<AdviceLine>,
    /// What people should know.
    pub notes: Vec<String>,
    /// Was the report of all splits drawn?
    pub report: bool,
}

/// One client.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceLine {
    /// Its name.
    pub client: String,
    /// "join", "stay" or "unclear".
    pub advice: String,
    /// The method that it would choose if it joined.
    pub offer: String,
    /// What joining gains; positive is better.
    pub gain: f64,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Share of right answers alone and joined.
    pub accuracy: Option<[f64; 2]>,
    /// Bytes that it sends if it joins.
    pub sent: f64,
    /// Who counts most for it, with their shares.
    pub with: Vec<(String, f64)>,
    /// Its rows.
    pub rows: u64,
    /// The folder of its model, under `models`.
    pub bundle: Option<String>,
    /// Why, in a sentence.
    pub why: String,
}

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --line: #d8d8d8; --join: #0a7a3f; --stay: #a33b00; --soft: #666; }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --paper: #161616; --line: #3a3a3a; --join: #4cc38a; --stay: #ff9b66; --soft: #aaa; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 1.5rem auto; max-width: 70rem; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
a { color: inherit; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem .8rem; margin: 1rem 0; } dd { margin: 0; }
.rows { color: var(--soft); white-space: nowrap; }
.join { color: var(--join); font-weight: 600; } .stay { color: var(--stay); font-weight: 600; } .unclear { color: var(--soft); font-weight: 600; }
code { font-size: .9em; }
@media (min-width: 40rem) { .sends { white-space: nowrap; } td:first-child { min-width: 10rem; } .rows, .whole { display: block; } .model { min-width: 13rem; } .join, .stay, .unclear { white-space: nowrap; } }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { display: block; border: 0; padding: .1rem 0; }
  td[data-title]::before { content: attr(data-title) ': '; color: var(--soft); }
  td:first-child { font-weight: 600; }
}
";

const TITLES: [&str; 6] = ["client", "advice", "gain by joining", "with whom", "sends", "model"];

const MEANINGS: [(&str, &str); 3] = [
    (
        "join",
        "What the client gets by joining is better than its own model: the interval of 95 % excludes zero, even after a correction for the number of clients, and the difference is large enough to matter.",
    ),
    ("stay", "What the client gets by joining is worse than its own model, by the same measure. The client deploys its own model."),
    (
        "unclear",
        "Neither can be shown with these rows, or the difference is too small to matter. The client deploys its own model, which needs nobody.",
    ),
];

impl AdvicePage {
    /// The whole page.
    pub fn html(&self) -> String {
        let mut m = Markup::default();
        m.raw("<!DOCTYPE html>\n");
        m.open("html", &[("lang", &"en")]);
        m.open("head", &[]);
        m.leaf("meta", &[("charset", &"utf-8")]);
        m.leaf("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
        m.element("title", &[], &format!("Should they join? {}", self.of));
        m.open("style", &[]);
        m.raw(STYLE);
        m.close();
        m.close();
        m.open("body", &[]);
        m.element("h1", &[], &self.headline());
        m.element("p", &[], &self.about());
        self.table(&mut m);
        m.open("dl", &[]);
        for (advice, meaning) in MEANINGS {
            m.element("dt", &[("class", &advice)], advice);
            m.element("dd", &[], meaning);
        }
        m.close();
        if self.lines.iter().any(|line| !line.with.is_empty()) {
            m.element("p", &[], "With whom: the clients whose rows help this one most, and how much MeritFed lets them count.");
        }
        if let Some(folder) = self.lines.iter().find_map(|line| line.bundle.as_ref()) {
            m.open("p", &[]);
            m.text("Each folder under \u{201c}model\u{201d} is what that client deploys, trained on all its rows. Use it like this: ");
            m.element("code", &[], &format!("motet predict models/{folder} NEW.csv"));
            m.close();
        }
        for note in &self.notes {
            m.element("p", &[("class", &"soft")], note);
        }
        m.open("p", &[("class", &"soft")]);
        m.text("Every run behind this: ");
        if self.report {
            m.element("a", &[("href", &"experiment/report.html")], "the report");
        } else {
            m.text("the records in experiment/");
        }
        m.text(", made by ");
        m.element("a", &[("href", &"experiment.toml")], "experiment.toml");
        m.text(", which can be changed and run again.");
        m.close();
        m.finish() + "\n"
    }

    fn headline(&self) -> String {
        let count = |advice: &str| self.lines.iter().filter(|line| line.advice == advice).count();
        let (join, stay, unclear, all) = (count("join"), count("stay"), count("unclear"), self.lines.len());
        if unclear == all {
            return format!("{}: no clear answer for any of the {all} clients", self.of);
        }
        let parts = [
            (join, format!("{join} should join")),
            (stay, format!("{stay} should stay")),
            (unclear, format!("for {unclear} it is unclear")),
        ];
        let parts: Vec<String> = parts.into_iter().filter_map(|(count, part)| (count > 0).then_some(part)).collect();
        format!("{}: of {all} clients {}", self.of, parts.join(", "))
    }

    fn about(&self) -> String {
        let (advice, gain, interval) = &self.federation;
        let all = match advice.as_str() {
            "join" => "For all together joining pays",
            "stay" => "For all together joining does not pay",
            _ => "For all together there is no clear difference",
        };
        let metric = match self.metric.as_str() {
            "test.brier" => "Brier's score (the mean squared error of the probabilities)",
            "test.rmse" => "the root mean square error",
            other => other,
        };
        let splits = if self.splits == 1 { "one split".to_owned() } else { format!("{} splits", self.splits) };
        format!(
            "{all}: {}. A gain is how much lower {metric} is on rows kept from training, over {splits} of everybody's rows.",
            estimate(*gain, *interval)
        )
    }

    fn table(&self, m: &mut Markup) {
        m.open("table", &[]);
        m.open("thead", &[]);
        m.open("tr", &[]);
        TITLES.iter().for_each(|title| m.element("th", &[], title));
        m.close();
        m.close();
        m.open("tbody", &[]);
        for line in &self.lines {
            m.line();
            m.open("tr", &[]);
            m.open("td", &[]);
            m.text(&format!("{} ", line.client));
            m.element("span", &[("class", &"rows")], &format!("{} rows", line.rows));
            m.close();
            m.open("td", &[("class", &line.advice)]);
            m.element("span", &[("title", &line.why)], &line.advice);
            m.close();
            m.open("td", &[("data-title", &TITLES[2]), ("class", &TITLES[2])]);
            whole(m, &estimate(line.gain, line.interval));
            m.text(" ");
            whole(m, &format!("by {}", line.offer));
            if let Some([own, joined]) = line.accuracy {
                m.text(" ");
                m.element("span", &[("class", &"whole soft")], &format!("accuracy {own:.3} → {joined:.3}"));
            }
            m.close();
            m.open("td", &[("data-title", &TITLES[3]), ("class", &TITLES[3])]);
            for (k, (client, weight)) in line.with.iter().enumerate() {
                let comma = if k + 1 < line.with.len() { "," } else { "" };
                whole(m, &format!("{client}\u{a0}({:.0}\u{a0}%){comma}", weight * 100.0));
                m.text(" ");
            }
            m.text(if line.with.is_empty() { "nobody" } else { "" });
            m.close();
            m.element("td", &[("data-title", &TITLES[4]), ("class", &TITLES[4])], &number::bytes(line.sent));
            m.open("td", &[("data-title", &TITLES[5]), ("class", &TITLES[5])]);
            match &line.bundle {
                Some(folder) => m.element("code", &[], &format!("models/{folder}")),
                None => m.text("none"),
            }
            m.close();
            m.close();
        }
        m.close();
        m.close();
    }
}

/// Words that stand in one line of their own where there is room.
fn whole(m: &mut Markup, words: &str) {
    m.element("span", &[("class", &"whole")], words);
}

fn estimate(gain: f64, interval: Option<[f64; 2]>) -> String {
    match interval {
        Some([low, high]) => format!("{} [{}, {}]", difference(gain), difference(low), difference(high)),
        None => format!("{}, no interval", difference(gain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_counts_and_names_are_escaped() {
        let line = |client: &str, advice: &str| AdviceLine {
            client: client.into(),
            advice: advice.into(),
            offer: "MeritFed".into(),
            gain: 0.1,
            interval: Some([0.05, 0.15]),
            accuracy: Some([0.8, 0.9]),
            sent: 2048.0,
            with: vec![("b".into(), 0.4)],
            rows: 30,
            bundle: Some("a".into()),
            why: "because".into(),
        };
        let page = AdvicePage {
            of: "t.csv".into(),
            metric: "test.brier".into(),
            splits: 10,
            federation: ("join".into(), 0.1, Some([0.02, 0.18])),
            lines: vec![line("<a>", "join"), line("b", "unclear")],
            notes: vec![],
            report: true,
        };
        let html = page.html();
        for part in [
            "t.csv: of 2 clients 1 should join, for 1 it is unclear",
            "&lt;a&gt; <span class=\"rows\">30 rows</span>",
            "b\u{a0}(40\u{a0}%)",
            "models/a",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
