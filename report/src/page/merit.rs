//! Who helped whom: a heat map of the weights, a table of helpers, and whom it hurt.

use super::table::{Column, foot, head};
use crate::chart::heat;
use crate::markup::Markup;
use crate::merit::{Columns, Help, Helper, MeritMap, transfers};
use crate::mixture::judging;
use crate::page::tabs::{Switch, open_panel};
use crate::{Comparison, figures, number};

/// Helpers per target: enough to see whom a lone target leans on, few enough for a page of two hundred targets.
fn helpers(map: &MeritMap) -> usize {
    if matches!(map.columns, Columns::Rounds(..)) { 10 } else { 1 }
}

/// More lines than this make a page slow and nobody wiser.
const MOST_LINES: usize = 300;

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let maps: Vec<MeritMap> = (0..comparison.groups.len()).filter_map(|group| MeritMap::new(comparison, group)).collect();
    if maps.is_empty() {
        return;
    }
    m.open("section", &[("id", &"merit"), ("data-tabs", &"")]);
    m.element("h2", &[], "Who helped whom");
    let label = |map: &MeritMap| comparison.groups[map.group].label.clone();
    let choices = maps.iter().map(|map| (map.group.to_string(), label(map))).collect();
    m.open("div", &[("class", &"controls")]);
    Switch { name: "weights", about: "weights of", choices }.write(m);
    m.close();
    for map in &maps {
        open_panel(m, "div", &[("weights", &map.group.to_string())]);
        let title = match &map.columns {
            Columns::Rounds(target, _) => {
                let target = comparison.client_called(*target);
                format!("{}: weight of every client for {target}, round by round, seed {}", label(map), map.seed)
            }
            Columns::Targets(_) => format!("{}: weight of every client for every target at the end, seed {}", label(map), map.seed),
        };
        m.open("figure", &[]);
        m.raw(&heat(map, &title));
        m.element("figcaption", &[], &format!("{title}. Blank is less than a tenth of an equal share, darkest ten equal shares and more."));
        m.close();
        write_helps(m, comparison, &map.helps(comparison, helpers(map)));
        write_transfers(m, comparison, map.group);
        m.close();
        m.line();
    }
    m.close();
}

fn write_helps(m: &mut Markup, comparison: &Comparison<'_>, helps: &[Help]) {
    let columns = [
        Column::Word("target"),
        Column::Word("helped by"),
        Column::Number("weight at the end"),
        Column::Number("at least its equal share since round"),
    ];
    head(m, &columns, true);
    for help in helps.iter().take(MOST_LINES) {
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &comparison.client_called(help.target));
        let by = match help.by {
            Helper::Client(client) => comparison.client_called(client),
            Helper::Group(group, size) => format!("group {} ({size} clients)", group + 1),
        };
        m.element("td", &[("class", &"word")], &by);
        m.element("td", &[], &number::digits(help.weight, 3));
        m.element("td", &[], &help.since.map_or("–".into(), number::count));
        m.close();
        m.line();
    }
    foot(m);
    if helps.len() > MOST_LINES {
        m.element("p", &[("class", &"muted")], &format!("{} lines more are in merits.bin.", helps.len() - MOST_LINES));
    }
}

fn write_transfers(m: &mut Markup, comparison: &Comparison<'_>, group: usize) {
    let rows = comparison.groups[group].runs.iter().flat_map(|run| &run.clients);
    let mut names: Vec<&str> = rows.flat_map(|row| row.metrics.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let Some(metric) = judging(names).first().copied() else { return };
    let transfers = transfers(comparison, group, metric);
    if transfers.is_empty() {
        return;
    }
    let hurt = transfers.iter().filter(|t| 2 * t.worse > t.seeds).count();
    let words = format!(
        "Negative transfer: {hurt} of {} targets have, in most seeds, a worse model than alone ({}).",
        transfers.len(),
        figures::title(metric)
    );
    m.element("p", &[("class", &"lead")], &words);
    let columns = [Column::Word("target"), Column::Number("alone"), Column::Number("with the others"), Column::Number("worse than alone")];
    head(m, &columns, true);
    for t in transfers.iter().take(MOST_LINES) {
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &comparison.client_called(t.client));
        m.element("td", &[], &number::short(t.alone));
        m.element("td", &[], &number::short(t.together));
        let flag = if t.worse == 0 { "no".into() } else { format!("⚠ in {} of {} seeds", t.worse, t.seeds) };
        m.element("td", &[], &flag);
        m.close();
        m.line();
    }
    foot(m);
}
