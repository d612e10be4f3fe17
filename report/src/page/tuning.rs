//! How values were chosen: a curve for one parameter, a heat map for two, the numbers for more.

use motet_core::larger_is_better;
use motet_records::Tuning;
use serde_json::Value;

use super::table::{Column, foot, head};
use crate::chart::{Cells, Draw, LEAST, Line, Mark, Note, Plot, Scale, Style};
use crate::figures::{file_name, title};
use crate::markup::Markup;
use crate::page::tabs::{Switch, figure, open_panel};
use crate::{Comparison, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let all = tunings(comparison);
    if all.is_empty() {
        return;
    }
    m.open("section", &[("id", &"tuning"), ("data-tabs", &"")]);
    m.element("h2", &[], "How values were chosen");
    m.open("div", &[("class", &"controls")]);
    let choices = all.iter().enumerate().map(|(k, (name, _))| (k.to_string(), name.clone())).collect();
    Switch { name: "tuning", about: "for", choices }.write(m);
    m.close();
    for (k, (_, tuning)) in all.iter().enumerate() {
        open_panel(m, "div", &[("tuning", &k.to_string())]);
        m.element("p", &[("class", &"lead")], &told(tuning));
        if let Some(plot) = curve(tuning, k) {
            figure(m, &plot, &[]);
        } else if let Some(cells) = cells(tuning) {
            m.open("figure", &[]);
            m.raw(&cells.draw());
            m.element("figcaption", &[], "Dark is better; the frame is what was chosen.");
            m.close();
        }
        table(m, tuning);
        m.close();
        m.line();
    }
    m.close();
}

/// Every tuning with the name it goes by: its runs' label, and the seed where there are several.
fn tunings<'a>(comparison: &Comparison<'a>) -> Vec<(String, &'a Tuning)> {
    let mut all: Vec<(String, &Tuning)> = vec![];
    for (at, (_, records)) in comparison.folders.iter().enumerate() {
        for tuning in records.summary.iter().flat_map(|s| &s.tuning) {
            let same = |t: &Tuning| t.label == tuning.label && t.problem != tuning.problem;
            let several = records.summary.iter().flat_map(|s| &s.tuning).any(same);
            let name = comparison.label(at, &tuning.label);
            all.push((if several { format!("{name} seed {}", tuning.seed) } else { name }, tuning));
        }
    }
    all
}

/// The pictures of one parameter, for files of their own.
pub(crate) fn plots(comparison: &Comparison<'_>) -> Vec<Plot> {
    tunings(comparison).iter().enumerate().filter_map(|(k, (_, tuning))| curve(tuning, k)).collect()
}

/// The heat maps of two parameters, for files of their own: name and picture.
pub(crate) fn maps(comparison: &Comparison<'_>) -> Vec<(String, String)> {
    let all = tunings(comparison);
    let map = |(k, (_, tuning)): (usize, &(String, &Tuning))| Some((format!("tuning-{}-map", k + 1), cells(tuning)?.draw() + "\n"));
    all.iter().enumerate().filter_map(map).collect()
}

fn told(tuning: &Tuning) -> String {
    let list =
        |values: &serde_json::Map<String, Value>| values.iter().map(|(k, v)| format!("{k} = {}", word(v))).collect::<Vec<_>>().join(", ");
    let by = match tuning.last {
        1 => title(&tuning.by),
        last => format!("mean {} over the last {last} rounds", title(&tuning.by)),
    };
    let rule = match &tuning.stable {
        Some(name) => format!("the largest {name} that did not diverge, then by {by}"),
        None => format!("by {by}"),
    };
    format!(
        "{}: chosen from {} combinations with seed {}, {rule}. Test data had no part in it.",
        list(&tuning.chosen),
        tuning.trials.len(),
        tuning.seed
    )
}

/// The score against the one parameter, if it is a number.
fn curve(tuning: &Tuning, k: usize) -> Option<Plot> {
    let mut names = tuning.chosen.keys();
    let (name, None) = (names.next()?, names.next()) else { return None };
    let at = |values: &serde_json::Map<String, Value>| values.get(name).and_then(Value::as_f64);
    let mut points: Vec<(f64, f64)> = tuning.trials.iter().filter_map(|t| Some((at(&t.values)?, t.score?))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (low, high) = (points.first()?.0, points.last()?.0);
    let scores = || points.iter().map(|p| p.1);
    let (down, up) = (scores().fold(f64::INFINITY, f64::min), scores().fold(f64::NEG_INFINITY, f64::max));
    if points.len() < 2 || low == high {
        return None;
    }
    let log = down > 0.0 && up > 20.0 * down;
    let chosen = at(&tuning.chosen);
    let note = |(x, y): &(f64, f64)| Note {
        x: *x,
        y: *y,
        text: "chosen".into(),
        anchor: "middle",
        ring: true,
        below: !larger_is_better(&tuning.by),
    };
    Some(Plot {
        name: format!("tuning-{}-{}", k + 1, file_name(name)),
        title: format!("{} against {name}, {}", title(&tuning.by), tuning.label),
        x: (name.clone(), if low > 0.0 && high / low >= 30.0 { Scale::log(low, high) } else { Scale::linear_to_ticks(low, high) }),
        y: (title(&tuning.by), if log { Scale::log(down.max(LEAST) / 1.5, up * 1.5) } else { Scale::linear_to_ticks(down, up) }),
        lines: vec![Line {
            group: 0,
            label: tuning.label.clone(),
            style: Style { colour: 0, dash: 0, mark: 0 },
            draw: Draw::Stations,
            points: points.iter().map(|&(x, y)| Mark { x, y, low: y, high: y, faded: false }).collect(),
            bound: vec![],
        }],
        notes: points.iter().filter(|p| Some(p.0) == chosen).map(note).collect(),
        levels: vec![],
        unit: "",
        caption: "Each point is a trial, with the score of the last rounds that it came to; values that diverged have none.".into(),
    })
}

/// The scores over two parameters.
fn cells(tuning: &Tuning) -> Option<Cells> {
    let names: Vec<&String> = tuning.chosen.keys().collect();
    let [down, right] = names.as_slice() else { return None };
    let values = |name: &String| {
        let mut all: Vec<&Value> = vec![];
        tuning.trials.iter().filter_map(|t| t.values.get(name)).for_each(|v| {
            if !all.contains(&v) {
                all.push(v)
            }
        });
        all
    };
    let (rows, columns) = (values(down), values(right));
    let score = |row: &Value, column: &Value| {
        let fits = |t: &&motet_records::Tried| t.values.get(*down) == Some(row) && t.values.get(*right) == Some(column);
        tuning.trials.iter().find(fits).and_then(|t| t.score)
    };
    let place = |all: &[&Value], name: &String| all.iter().position(|v| Some(*v) == tuning.chosen.get(name));
    Some(Cells {
        title: format!("{} over {down} and {right}, {}", title(&tuning.by), tuning.label),
        values: rows.iter().map(|row| columns.iter().map(|column| score(row, column)).collect()).collect(),
        chosen: place(&rows, down).zip(place(&columns, right)),
        rows: ((*down).clone(), rows.iter().map(|v| word(v)).collect()),
        columns: ((*right).clone(), columns.iter().map(|v| word(v)).collect()),
        larger: larger_is_better(&tuning.by),
    })
}

fn table(m: &mut Markup, tuning: &Tuning) {
    let by = title(&tuning.by);
    let mut columns: Vec<Column<'_>> = tuning.chosen.keys().map(|name| Column::Number(name)).collect();
    columns.extend([Column::Number(&by), Column::Number("rounds"), Column::Word("chosen")]);
    head(m, &columns, true);
    for tried in &tuning.trials {
        m.open("tr", &[]);
        tuning.chosen.keys().for_each(|name| m.element("td", &[], &tried.values.get(name).map_or(String::new(), word)));
        m.element("td", &[], &tried.score.map_or_else(|| "diverged".into(), number::short));
        m.element("td", &[], &number::count(tried.rounds));
        m.element("td", &[("class", &"word")], if tried.values == tuning.chosen { "chosen" } else { "" });
        m.close();
        m.line();
    }
    foot(m);
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(n) => n.as_f64().map_or_else(|| n.to_string(), number::short),
        other => other.to_string(),
    }
}
