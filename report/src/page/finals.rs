//! The final table: one line per group of seeds, and every run folded away below.

use motet_core::Outcome;

use super::table::{Column, foot, head};
use crate::chart::sample;
use crate::compare::{largest, least, mean};
use crate::figures::group_styles;
use crate::markup::Markup;
use crate::render::{average, outcomes, shown_metrics};
use crate::{Comparison, Group, Run, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    if comparison.groups.is_empty() {
        return;
    }
    let metrics = shown_metrics(comparison);
    m.open("section", &[("id", &"finals")]);
    m.element("h2", &[], "What came out");
    let mut header = vec!["run", "rounds", "outcome"];
    header.extend(&metrics);
    header.extend(["up", "down", "gradients", "time"]);
    head(m, &columns(&header), false);
    for (group, style) in comparison.groups.iter().zip(group_styles(comparison)) {
        m.open("tr", &[]);
        m.open("td", &[("class", &"name")]);
        m.raw(&sample(style));
        m.element("span", &[], &group.label);
        if group.runs.len() > 1 {
            m.element("small", &[], &format!("{} seeds", group.runs.len()));
        }
        m.close();
        m.element("td", &[], &number::short(average(group, |r| r.rounds() as f64)));
        outcome(m, comparison, group);
        metrics.iter().for_each(|metric| metric_cell(m, group, metric, is_winner(comparison, group, metric)));
        traffic(m, average(group, |r| r.traffic().1.up as f64), average(group, |r| r.traffic().0.up as f64));
        traffic(m, average(group, |r| r.traffic().1.down as f64), average(group, |r| r.traffic().0.down as f64));
        m.element("td", &[], &number::magnitude(average(group, |r| r.gradients() as f64)));
        m.element("td", &[], &number::seconds(average(group, |r| r.seconds().unwrap_or(f64::NAN))));
        m.close();
        m.line();
    }
    foot(m);
    m.element("p", &[("class", &"muted")], "Numbers are means over seeds, with the least and the largest below. Up and down: bytes on the network, all clients together; bits as a paper counts them below. Gradients: examples differentiated, local training included. The mark shows the winner, where the verdict names one.");
    every_run(m, comparison);
    m.close();
}

fn columns<'a>(names: &[&'a str]) -> Vec<Column<'a>> {
    let column = |name: &'a str| match name {
        "run" | "method" | "parameters" | "outcome" => Column::Word(name),
        _ => Column::Number(name),
    };
    names.iter().map(|name| column(name)).collect()
}

/// Is this the setting by which a way wins by this metric? Nothing is marked that the verdict does not say.
fn is_winner(comparison: &Comparison<'_>, group: &Group<'_>, metric: &str) -> bool {
    let Some(verdict) = comparison.verdict(metric) else { return false };
    let way = verdict.ways.first().filter(|way| verdict.winner() == Some(way.way.as_str()));
    way.and_then(|way| way.settings.first()).is_some_and(|setting| setting.label == group.label)
}

fn outcome(m: &mut Markup, comparison: &Comparison<'_>, group: &Group<'_>) {
    m.open("td", &[("class", &"word")]);
    let all = outcomes(group);
    for (text, times) in &all {
        let run = group.runs.iter().find(|run| run.outcome().is_some_and(|o| o.to_string() == *text));
        let class = match run.and_then(|run| run.outcome()) {
            Some(Outcome::Finished | Outcome::Stopped { .. }) => "outcome",
            Some(Outcome::Diverged { .. } | Outcome::Failed { .. }) => "outcome bad",
            Some(Outcome::Interrupted { .. }) | None => "outcome cut",
        };
        let named = match run.and_then(|run| run.outcome()) {
            Some(Outcome::Diverged { round, client: Some(client) }) => {
                format!("diverged in round {round} at {}", comparison.client_called(*client))
            }
            _ => text.clone(),
        };
        let text = if all.len() > 1 { format!("{times}× {named}") } else { named };
        m.element("span", &[("class", &class)], &text);
    }
    m.close();
}

fn metric_cell(m: &mut Markup, group: &Group<'_>, metric: &str, is_best: bool) {
    let values = group.finals(metric);
    let value = mean(&values);
    let text = number::short(value);
    m.open(
        "td",
        &[("class", &if is_best { "best" } else { "" }), ("data-sort", &if value.is_finite() { value.to_string() } else { String::new() })],
    );
    m.text(&text);
    let (low, high) = (number::digits(least(&values), 3), number::digits(largest(&values), 3));
    if low != high {
        m.element("small", &[], &format!("{low} … {high}"));
    }
    m.close();
}

fn traffic(m: &mut Markup, bytes: f64, bits: f64) {
    m.open("td", &[]);
    m.text(&number::bytes(bytes));
    m.element("small", &[], &number::bits(bits));
    m.close();
}

fn every_run(m: &mut Markup, comparison: &Comparison<'_>) {
    m.open("details", &[]);
    let runs: usize = comparison.groups.iter().map(|g| g.runs.len()).sum();
    m.element("summary", &[], &format!("Every run ({runs}): parameters, seeds, digests"));
    head(m, &columns(&["run", "method", "parameters", "seed", "rounds", "outcome", "digest"]), false);
    for group in &comparison.groups {
        group.runs.iter().for_each(|run| one_run(m, group, run));
    }
    foot(m);
    m.close();
}

fn one_run(m: &mut Markup, group: &Group<'_>, run: &Run<'_>) {
    m.open("tr", &[]);
    m.element("td", &[("class", &"word")], &group.label);
    m.element("td", &[("class", &"word")], &run.card.method);
    m.open("td", &[("class", &"word")]);
    m.element("code", &[], &parameters(run));
    m.close();
    m.element("td", &[], &run.card.seed.to_string());
    m.element("td", &[], &number::count(run.rounds()));
    m.element("td", &[("class", &"word")], &run.outcome().map_or_else(|| "no summary".to_owned(), ToString::to_string));
    let digest = run.summary.map_or("", |s| s.digest.as_str());
    m.open("td", &[]);
    m.element("code", &[("title", &digest)], &digest.chars().take(12).collect::<String>());
    m.close();
    m.close();
    m.line();
}

fn parameters(run: &Run<'_>) -> String {
    run.card.params.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}
