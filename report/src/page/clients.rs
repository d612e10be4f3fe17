//! What each client gets: a picture of the gains, and every number.

use crate::chart::sample;
use crate::clients::{ClientTable, Gain};
use crate::figures::{self, group_styles};
use crate::markup::Markup;
use crate::mixture::{Contest, Role, judging};
use crate::page::tabs::{Switch, figure, open_panel};
use crate::{Comparison, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let measured =
        comparison.groups.iter().flat_map(|g| &g.runs).flat_map(|r| &r.clients).flat_map(|c| c.metrics.keys().map(String::as_str));
    let mut names: Vec<&str> = measured.collect();
    names.sort_unstable();
    names.dedup();
    let tables: Vec<ClientTable> = judging(names).into_iter().filter_map(|metric| ClientTable::new(comparison, metric)).collect();
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
        if let Some(contest) = Contest::new(comparison, &table.metric) {
            picture(m, comparison, table, &contest);
        }
        write_table(m, comparison, table);
        m.close();
        m.line();
    }
    m.close();
}

fn picture(m: &mut Markup, comparison: &Comparison<'_>, table: &ClientTable, contest: &Contest) {
    let gains = table.gains(contest);
    let (Some(plot), Some((mixture, _))) = (figures::gains(table, contest), contest.mixture) else { return };
    let count = |pick: fn(&Gain) -> Option<f64>, rival: &str| {
        let known: Vec<f64> = gains.iter().filter_map(pick).collect();
        let better = known.iter().filter(|g| **g > 0.0).count();
        (!known.is_empty()).then(|| format!("{better} of {} clients do better with it than with {rival}", known.len()))
    };
    let sentences: Vec<String> =
        [count(|g| g.over_local, "their own model"), count(|g| g.over_global, "one model for all")].into_iter().flatten().collect();
    let label = &comparison.groups[mixture].label;
    m.element("p", &[("class", &"lead")], &format!("The mixture that is best on average, {label}: {}.", sentences.join("; ")));
    m.open("ul", &[("class", &"legend flat")]);
    for line in &plot.lines {
        m.open("li", &[]);
        m.raw(&sample(line.style));
        m.text(&line.label);
        m.close();
    }
    m.close();
    figure(m, &plot, &[]);
}

fn write_table(m: &mut Markup, comparison: &Comparison<'_>, table: &ClientTable) {
    let styles = group_styles(comparison);
    m.open("div", &[("class", &"scroll tall")]);
    m.open("table", &[]);
    m.open("thead", &[]);
    m.open("tr", &[]);
    m.element("th", &[("class", &"word")], "client");
    m.element("th", &[], "examples");
    for &group in &table.columns {
        m.open("th", &[]);
        m.raw(&sample(styles[group]));
        m.element("span", &[], &comparison.groups[group].label);
        let role = comparison.groups[group].role();
        m.element("small", &[], role.map_or("", Role::title));
        m.close();
    }
    m.close();
    m.close();
    m.open("tbody", &[]);
    let several = table.lines.iter().any(|line| line.problem != table.lines[0].problem);
    for line in &table.lines {
        let name = line.name.as_ref().map_or_else(|| line.client.to_string(), |name| format!("{} · {name}", line.client));
        let name = if several { format!("{name} of problem {}", line.problem + 1) } else { name };
        let best = line.best(&table.metric);
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &name);
        m.element("td", &[], &number::count(line.examples));
        for (k, value) in line.values.iter().enumerate() {
            m.element("td", &[("class", &if best.contains(&k) { "best" } else { "" })], &number::short(*value));
        }
        m.close();
        m.line();
    }
    m.close();
    m.close();
    m.close();
    let mut note =
        format!("{} of each client's personal model; means over seeds; the best of each client is marked.", figures::title(&table.metric));
    if table.omitted > 0 {
        note.push_str(&format!(" The first {} clients are shown, {} are not: clients.csv has all.", table.lines.len(), table.omitted));
    }
    m.element("p", &[("class", &"muted")], &note);
}
