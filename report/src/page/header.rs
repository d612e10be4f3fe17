//! What was run, on what: the top of the page and its end.

use motet_records::{ProblemCard, Records};

use crate::markup::Markup;
use crate::{Comparison, number};

/// Cards of more problems than this would push the results off the screen.
const MOST_CARDS: usize = 4;

/// The experiments' names.
pub(crate) fn name(comparison: &Comparison<'_>) -> String {
    let mut names: Vec<&str> = comparison.folders.iter().map(|(name, records)| experiment(name, records)).collect();
    names.dedup();
    names.join(", ")
}

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    m.open("header", &[]);
    m.element("p", &[("class", &"kicker")], if comparison.folders.len() > 1 { "Motet · comparison" } else { "Motet · report" });
    m.element("h1", &[], &name(comparison));
    m.close();
}

/// The problems in numbers.
pub(crate) fn write_problems(m: &mut Markup, comparison: &Comparison<'_>) {
    if comparison.folders.iter().all(|(_, records)| records.manifest.problems.is_empty()) {
        return;
    }
    m.open("section", &[("id", &"problems")]);
    m.element("h2", &[], "The problem");
    let mut cards: Vec<(ProblemCard, usize)> = vec![];
    for card in comparison.folders.iter().flat_map(|(_, records)| &records.manifest.problems) {
        match cards.iter_mut().find(|(first, _)| alike(first, card)) {
            Some((first, times)) => {
                first.smoothness = joined(first.smoothness, card.smoothness, *times);
                first.convexity = joined(first.convexity, card.convexity, *times);
                *times += 1;
            }
            None => cards.push((card.clone(), 1)),
        }
    }
    cards.iter().take(MOST_CARDS).for_each(|(card, times)| problem(m, card, *times));
    if cards.len() > MOST_CARDS {
        m.element("p", &[("class", &"muted")], &format!("… and {} more problems of the same experiment", cards.len() - MOST_CARDS));
    }
    m.close();
}

/// Draws of one family, as with a synthetic problem per seed, differ in their constants only.
fn alike(a: &ProblemCard, b: &ProblemCard) -> bool {
    (&a.about, a.clients, a.dim, a.examples) == (&b.about, b.clients, b.dim, b.examples)
}

/// Least, mean and largest of `times` problems and one more.
fn joined(so_far: Option<[f64; 3]>, next: Option<[f64; 3]>, times: usize) -> Option<[f64; 3]> {
    let (a, b, times) = (so_far?, next?, times as f64);
    Some([a[0].min(b[0]), (a[1] * times + b[1]) / (times + 1.0), a[2].max(b[2])])
}

fn problem(m: &mut Markup, card: &ProblemCard, times: usize) {
    m.open("div", &[("class", &"problem")]);
    let draws = if times > 1 { format!(" ({times} draws of it)") } else { String::new() };
    m.element("p", &[("class", &"lead")], &format!("{}{draws}", card.about));
    m.open("dl", &[("class", &"facts")]);
    let clients = if card.clients == 0 { "without end".to_owned() } else { number::count(card.clients) };
    fact(m, "clients", "n", &clients, "");
    fact(m, "parameters", "d", &number::count(card.dim), "");
    fact(m, "training examples", "", &number::count(card.examples), "");
    if let Some(l) = card.smoothness {
        fact(m, "smoothness", "L", &number::digits(l[1], 3), &range(l));
    }
    if let Some(mu) = card.convexity {
        fact(m, "convexity", "μ", &number::digits(mu[1], 3), &range(mu));
    }
    if let (Some(l), Some(mu)) = (card.smoothness, card.convexity) {
        fact(m, "condition number", "κ", &number::digits(l[2] / mu[0], 3), "largest L over least μ");
    }
    m.close();
    m.close();
}

fn fact(m: &mut Markup, name: &str, letter: &str, value: &str, note: &str) {
    m.open("div", &[]);
    m.open("dt", &[]);
    m.text(name);
    if !letter.is_empty() {
        m.text(" ");
        m.element("i", &[], letter);
    }
    m.close();
    m.open("dd", &[]);
    m.text(value);
    if !note.is_empty() {
        m.element("small", &[], note);
    }
    m.close();
    m.close();
}

fn range([least, _, most]: [f64; 3]) -> String {
    if most - least <= 1e-9 * most.abs() {
        "the same for all".into()
    } else {
        format!("mean; {} to {}", number::digits(least, 3), number::digits(most, 3))
    }
}

/// The experiment as it was understood, folded away.
pub(crate) fn write_details(m: &mut Markup, comparison: &Comparison<'_>) {
    m.open("section", &[("id", &"experiment")]);
    m.element("h2", &[], "The experiment, every default filled in");
    for (name, records) in comparison.folders {
        m.open("details", &[]);
        m.element("summary", &[], experiment(name, records));
        let text = serde_json::to_string_pretty(&records.manifest.resolved).unwrap_or_default();
        m.element("pre", &[], &text);
        for input in &records.manifest.inputs {
            let hash: String = input.sha256.chars().take(16).collect();
            m.element(
                "p",
                &[("class", &"muted")],
                &format!("read {} ({}, SHA-256 {hash}…)", input.name, number::bytes(input.bytes as f64)),
            );
        }
        m.close();
    }
    m.close();
}

pub(crate) fn write_footer(m: &mut Markup, comparison: &Comparison<'_>) {
    let mut versions: Vec<&str> = comparison.folders.iter().map(|(_, r)| r.manifest.motet.as_str()).filter(|v| !v.is_empty()).collect();
    versions.sort_unstable();
    versions.dedup();
    let made = if versions.is_empty() { String::new() } else { format!("Trained with Motet {}. ", versions.join(", ")) };
    m.open("footer", &[]);
    m.text(&format!("{made}Rendered by Motet {}. ", env!("CARGO_PKG_VERSION")));
    m.text("This page is one file and fetches nothing; its pictures are in figures/.");
    m.close();
}

fn experiment<'a>(name: &'a str, records: &'a Records) -> &'a str {
    if records.manifest.experiment.is_empty() { name } else { &records.manifest.experiment }
}
