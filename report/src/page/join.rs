//! Should I join? A panel for each client, and all answers in one table.

use super::table::{foot, head};
use crate::clients::MOST_CLIENTS;
use crate::figures::title;
use crate::join::{Advice, Candidate, Estimate, Offer, candidates};
use crate::markup::Markup;
use crate::mixture::judging;
use crate::page::tabs::{Switch, open_panel};
use crate::{Comparison, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let rows = comparison.groups.iter().flat_map(|g| &g.runs).flat_map(|r| &r.clients);
    let mut names: Vec<&str> = rows.flat_map(|row| row.metrics.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    // What was chosen by is no judge of the choice.
    let (held, others): (Vec<&str>, Vec<&str>) = judging(names).into_iter().partition(|metric| metric.starts_with("test."));
    let metrics = if held.is_empty() { others } else { held };
    let tables: Vec<(&str, Vec<Candidate>)> =
        metrics.into_iter().map(|metric| (metric, candidates(comparison, metric))).filter(|(_, all)| !all.is_empty()).collect();
    let Some((_, first)) = tables.first() else { return };
    m.open("section", &[("id", &"join"), ("data-tabs", &"")]);
    m.element("h2", &[], "Should I join?");
    m.open("div", &[("class", &"controls")]);
    let choices = tables.iter().map(|(metric, _)| ((*metric).to_owned(), title(metric))).collect();
    Switch { name: "metric", about: "judged by", choices }.write(m);
    let all = std::iter::once(("all".to_owned(), "all clients".to_owned()));
    let each = first.iter().take(MOST_CLIENTS).map(|c| (c.client.to_string(), name(c)));
    Switch { name: "client", about: "who", choices: all.chain(each).collect() }.write(m);
    m.close();
    for (metric, candidates) in &tables {
        open_panel(m, "div", &[("metric", metric), ("client", "all")]);
        overview(m, metric, candidates);
        m.close();
        m.line();
        for candidate in candidates.iter().take(MOST_CLIENTS) {
            open_panel(m, "div", &[("metric", metric), ("client", &candidate.client.to_string())]);
            one(m, metric, candidate);
            m.close();
            m.line();
        }
    }
    m.element("p", &[("class", &"muted")], NOTE);
    m.close();
}

const NOTE: &str = "A gain is how much better a way is than the client's own model, split by split; its 95 % interval is Student's \
     over repeated splits, widened because their test parts overlap (Nadeau and Bengio 2003). Where it covers zero there is no \
     evidence either way. Of several runs of one way the one with the best validation loss stands for it.";

fn name(candidate: &Candidate) -> String {
    candidate.name.clone().unwrap_or_else(|| format!("client {}", candidate.client))
}

fn answer(advice: Advice) -> (&'static str, String) {
    match advice {
        Advice::Join(way) => ("holds", format!("✓ join: {}", way.title())),
        Advice::Stay => ("fails", "✗ stay alone".into()),
        Advice::NoEvidence => ("negative", "○ no evidence".into()),
        Advice::OneSplit => ("negative", "○ one split only".into()),
    }
}

fn badge(m: &mut Markup, advice: Advice) {
    let (class, words) = answer(advice);
    m.element("span", &[("class", &format!("badge {class}"))], &words);
}

fn gain(estimate: Estimate) -> String {
    match estimate.half {
        None => format!("{} (no interval)", number::digits(estimate.mean, 3)),
        Some(half) => format!(
            "{} [{}, {}]",
            number::digits(estimate.mean, 3),
            number::digits(estimate.mean - half, 3),
            number::digits(estimate.mean + half, 3)
        ),
    }
}

fn overview(m: &mut Markup, metric: &str, candidates: &[Candidate]) {
    let count = |is: fn(&Advice) -> bool| candidates.iter().map(Candidate::advice).filter(is).count();
    let words = format!(
        "By {}: {} of {} clients gain by joining, {} lose, and for {} there is no evidence.",
        title(metric),
        count(|a| matches!(a, Advice::Join(_))),
        candidates.len(),
        count(|a| *a == Advice::Stay),
        count(|a| matches!(a, Advice::NoEvidence | Advice::OneSplit)),
    );
    m.element("p", &[("class", &"lead")], &words);
    head(m, &["client", "examples", "alone", "best offer", "gain and 95 % interval", "sends", "advice"]);
    for candidate in candidates.iter().take(MOST_CLIENTS) {
        let offers = candidate.offers.iter().filter_map(|o| Some((o, o.gain?)));
        let Some((offer, estimate)) = offers.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)) else { continue };
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &name(candidate));
        m.element("td", &[], &number::digits(candidate.examples, 4));
        m.element("td", &[], &candidate.offers.first().map_or("–".into(), |o| number::short(o.value)));
        m.element("td", &[("class", &"word")], offer.way.title());
        m.element("td", &[], &gain(estimate));
        m.element("td", &[], &number::bytes(offer.sent));
        m.open("td", &[("class", &"word")]);
        badge(m, candidate.advice());
        m.close();
        m.close();
        m.line();
    }
    foot(m);
}

fn one(m: &mut Markup, metric: &str, candidate: &Candidate) {
    m.open("p", &[("class", &"lead")]);
    badge(m, candidate.advice());
    m.text(&format!(" {}, {} training examples, {} splits.", name(candidate), number::digits(candidate.examples, 4), candidate.splits));
    m.close();
    head(m, &["way", "runs", &title(metric), "gain over alone and 95 % interval", "sends"]);
    for Offer { way, label, value, gain: estimate, sent } in &candidate.offers {
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], way.title());
        m.element("td", &[("class", &"word")], label);
        m.element("td", &[], &number::short(*value));
        let words = estimate
            .map_or("–".to_owned(), |e| if e.half.is_some() && e.sign() == 0 { format!("{}: no evidence", gain(e)) } else { gain(e) });
        m.element("td", &[], &words);
        m.element("td", &[], &number::bytes(*sent));
        m.close();
        m.line();
    }
    foot(m);
}
