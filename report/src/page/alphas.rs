//! α as each client picked it on its validation data: how they are spread, and what it bought.

use super::table::{Column, foot, head};
use crate::chart::{Draw, Line, Mark, Plot, Scale, Style};
use crate::compare::mean;
use crate::figures::{file_name, title};
use crate::markup::Markup;
use crate::mixture::judging;
use crate::page::tabs::{Switch, figure, open_panel};
use crate::{Comparison, Group, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let groups: Vec<usize> = (0..comparison.groups.len()).filter(|&g| !picked(&comparison.groups[g]).is_empty()).collect();
    if groups.is_empty() {
        return;
    }
    m.open("section", &[("id", &"alphas"), ("data-tabs", &"")]);
    m.element("h2", &[], "α as each client picked it");
    m.open("div", &[("class", &"controls")]);
    let choices = groups.iter().map(|&g| (g.to_string(), comparison.groups[g].label.clone())).collect();
    Switch { name: "group", about: "runs", choices }.write(m);
    m.close();
    for &g in &groups {
        let group = &comparison.groups[g];
        open_panel(m, "div", &[("group", &g.to_string())]);
        m.element("p", &[("class", &"lead")], &spread(&picked(group)));
        figure(m, &plot(group), &[]);
        bought(m, comparison, group);
        m.close();
        m.line();
    }
    m.close();
}

/// What every client picked, in rising order; the mean over seeds.
fn picked(group: &Group<'_>) -> Vec<f64> {
    let mut by_client = std::collections::BTreeMap::<u32, Vec<f64>>::new();
    for row in group.runs.iter().flat_map(|run| &run.clients) {
        by_client.entry(row.client).or_default().extend(row.metrics.get("alpha"));
    }
    let mut all: Vec<f64> = by_client.values().filter(|v| !v.is_empty()).map(|v| mean(v)).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn spread(alphas: &[f64]) -> String {
    let at = |part: f64| number::digits(alphas[((alphas.len() - 1) as f64 * part).round() as usize], 3);
    let count = |is: &dyn Fn(f64) -> bool| alphas.iter().filter(|a| is(**a)).count();
    format!(
        "{} clients: median α {}, the middle half from {} to {}; {} share next to nothing (α < 0.05), {} next to everything (α > 0.95).",
        alphas.len(),
        at(0.5),
        at(0.25),
        at(0.75),
        count(&|a| a < 0.05),
        count(&|a| a > 0.95)
    )
}

fn plot(group: &Group<'_>) -> Plot {
    let alphas = picked(group);
    let mark = |(k, &y): (usize, &f64)| Mark { x: (k + 1) as f64, y, low: y, high: y, faded: false };
    Plot {
        name: format!("alphas-{}", file_name(&group.label)),
        title: format!("α of each client, {}", group.label),
        x: ("clients, by their α".into(), Scale::counted(0.5, alphas.len() as f64 + 0.5)),
        y: ("α".into(), Scale::linear_to_ticks(0.0, 1.0)),
        lines: vec![Line {
            group: 0,
            label: "α".into(),
            style: Style { colour: 0, dash: 0, mark: 0 },
            draw: Draw::Dots,
            points: alphas.iter().enumerate().map(mark).collect(),
            bound: vec![],
        }],
        notes: vec![],
        levels: vec![],
        unit: "client",
        caption: "Each dot is a client: how much of the shared model it takes, chosen on its own validation data after training.".into(),
    }
}

/// The last round of training, what picking made of it, and training again with what was picked.
fn bought(m: &mut Markup, comparison: &Comparison<'_>, group: &Group<'_>) {
    let metrics = judging(group.runs.iter().flat_map(|run| run.last().keys().map(String::as_str)));
    let before = |metric: &str| {
        let rows = group.runs.iter().filter_map(|run| run.rows.iter().rev().find(|row| !row.metrics.contains_key("alpha")));
        mean(&rows.filter_map(|row| row.metrics.get(metric).copied()).collect::<Vec<_>>())
    };
    let again = comparison.groups.iter().find(|g| g.folder == group.folder && g.label == format!("{} retrained", group.label));
    let mut columns = vec![Column::Word("metric"), Column::Number("one α for all"), Column::Number("α picked")];
    columns.extend(again.map(|_| Column::Number("trained again with them")));
    head(m, &columns, false);
    for metric in metrics {
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &title(metric));
        m.element("td", &[], &number::short(before(metric)));
        m.element("td", &[], &number::short(mean(&group.finals(metric))));
        if let Some(again) = again {
            m.element("td", &[], &number::short(mean(&again.finals(metric))));
        }
        m.close();
        m.line();
    }
    foot(m);
}
