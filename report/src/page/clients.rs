//! What each client gets: every number.

use std::collections::BTreeMap;

use super::table::{begin_rows, foot, number_cell, open};
use super::verdict::badge;
use crate::chart::sample;
use crate::clients::ClientTable;
use crate::figures::{self, group_styles};
use crate::markup::Markup;
use crate::mixture::{Role, judging_as_the_verdict};
use crate::page::tabs::{Switch, open_panel};
use crate::verdict::{Advice, ClientVerdict};
use crate::{Comparison, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let measured =
        comparison.groups.iter().flat_map(|g| &g.runs).flat_map(|r| &r.clients).flat_map(|c| c.metrics.keys().map(String::as_str));
    let mut names: Vec<&str> = measured.collect();
    names.sort_unstable();
    names.dedup();
    let tables: Vec<ClientTable> =
        judging_as_the_verdict(comparison, names).into_iter().filter_map(|metric| ClientTable::new(comparison, metric)).collect();
    if tables.is_empty() {
        return;
    }
    m.open("section", &[("id", &"clients"), ("data-tabs", &"")]);
    m.element("h2", &[], "What each client gets");
    let choices = tables.iter().map(|t| (t.metric.clone(), figures::title(&t.metric))).collect();
    m.open("div", &[("class", &"controls")]);
    Switch { name: "metric", about: "judged by", choices }.write(m);
    m.close();
    for table in &tables {
        open_panel(m, "div", &[("metric", &table.metric)]);
        write_table(m, comparison, table);
        m.close();
        m.line();
    }
    m.close();
}

fn write_table(m: &mut Markup, comparison: &Comparison<'_>, table: &ClientTable) {
    let styles = group_styles(comparison);
    let joining = comparison.verdict(&table.metric).and_then(|verdict| verdict.joining.as_ref());
    let advised: BTreeMap<&str, &ClientVerdict> =
        joining.iter().flat_map(|joining| &joining.clients).map(|client| (client.client.as_str(), client)).collect();
    open(m, true);
    m.element("th", &[("class", &"word"), ("scope", &"col")], "client");
    if !advised.is_empty() {
        m.element("th", &[("class", &"word"), ("scope", &"col")], "advice");
    }
    m.element("th", &[("scope", &"col")], "examples");
    for &group in &table.columns {
        m.open("th", &[("scope", &"col"), ("data-name", &comparison.groups[group].label)]);
        m.raw(&sample(styles[group]));
        m.element("span", &[], &comparison.groups[group].label);
        let role = comparison.groups[group].role();
        m.element("small", &[], role.map_or("", Role::title));
        m.close();
    }
    begin_rows(m);
    let several = table.lines.iter().any(|line| line.problem != table.lines[0].problem);
    for line in &table.lines {
        let name = if several { format!("{} of problem {}", line.name, line.problem + 1) } else { line.name.clone() };
        let advice = advised.get(line.name.as_str()).copied();
        m.open("tr", &[]);
        m.element("td", &[("class", &"word"), ("data-sort", &line.client)], &name);
        if !advised.is_empty() {
            m.open("td", &[("class", &"word")]);
            advice.iter().for_each(|client| badge(m, client.advice));
            m.close();
        }
        number_cell(m, "", &number::count(line.examples), line.examples as f64);
        for (value, &group) in line.values.iter().zip(&table.columns) {
            let group = &comparison.groups[group];
            // Nothing is marked that the verdict does not say.
            let marked = advice.is_some_and(|client| match client.advice {
                Advice::Join => group.label == client.with,
                Advice::Stay => group.role() == Some(Role::Local),
                Advice::Unclear => false,
            });
            number_cell(m, if marked { "best" } else { "" }, &number::short(*value), *value);
        }
        m.close();
        m.line();
    }
    foot(m);
    let mut note = format!("{} of each client's model; means over seeds.", figures::title(&table.metric));
    if !advised.is_empty() {
        note.push_str(" The mark shows what a client is advised to use, where the verdict advises anything.");
    }
    if table.omitted > 0 {
        note.push_str(&format!(" The first {} clients are shown, {} are not: clients.csv has all.", table.lines.len(), table.omitted));
    }
    m.element("p", &[("class", &"muted")], &note);
}
