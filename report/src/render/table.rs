//! The final table as plain text.

use crate::compare::{is_variant, mean};
use crate::render::File;
use crate::{Comparison, Group, number};

/// Wider tables wrap on most terminals.
const MOST_METRICS: usize = 4;

pub(crate) fn files(comparison: &Comparison<'_>) -> Vec<File> {
    vec![File { name: "table.txt".into(), content: text(comparison) }]
}

/// One line per group of seeds; numbers are means over them.
pub(crate) fn text(comparison: &Comparison<'_>) -> String {
    let metrics = shown_metrics(comparison);
    let mut header = vec!["run".to_owned(), "seeds".into(), "rounds".into(), "outcome".into()];
    header.extend(metrics.iter().map(|m| (*m).to_owned()));
    header.extend(["up", "down", "gradients", "seconds"].map(String::from));
    let mut lines = vec![header];
    lines.extend(comparison.groups.iter().map(|group| line(group, &metrics)));
    aligned(&lines)
}

/// The metrics of the final tables: no variants, and not more than fit.
pub(crate) fn shown_metrics<'a>(comparison: &Comparison<'a>) -> Vec<&'a str> {
    let metrics = comparison.metrics();
    // Where there is a gap, the other measures of convergence say the same.
    let told = |m: &str| metrics.contains(&"gap") && matches!(m, "distance" | "grad_norm2");
    metrics.iter().copied().filter(|m| !is_variant(m) && !told(m)).take(MOST_METRICS).collect()
}

/// The distinct outcomes of a group's runs, with how often where they differ.
pub(crate) fn outcomes(group: &Group<'_>) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = vec![];
    for run in &group.runs {
        let text = run.outcome().map_or_else(|| "no summary: still running, or stopped early".to_owned(), ToString::to_string);
        match found.iter_mut().find(|(t, _)| *t == text) {
            Some((_, times)) => *times += 1,
            None => found.push((text, 1)),
        }
    }
    found
}

/// The mean of a number over a group's runs.
pub(crate) fn average(group: &Group<'_>, of: impl Fn(&crate::Run<'_>) -> f64) -> f64 {
    mean(&group.runs.iter().map(of).collect::<Vec<_>>())
}

fn line(group: &Group<'_>, metrics: &[&str]) -> Vec<String> {
    let outcome = match outcomes(group).as_slice() {
        [(only, _)] => only.clone(),
        several => several.iter().map(|(text, times)| format!("{times}x {text}")).collect::<Vec<_>>().join(", "),
    };
    let label = group.label.replace(char::is_control, " ");
    let mut cells = vec![label, group.runs.len().to_string(), number::plain(average(group, |r| r.rounds() as f64)), outcome];
    cells.extend(metrics.iter().map(|m| number::plain(mean(&group.finals(m)))));
    cells.push(number::bytes(average(group, |r| r.traffic().1.up as f64)));
    cells.push(number::bytes(average(group, |r| r.traffic().1.down as f64)));
    cells.push(number::magnitude(average(group, |r| r.gradients() as f64)));
    cells.push(number::plain(average(group, |r| r.seconds().unwrap_or(f64::NAN))));
    cells
}

/// Columns two spaces apart: words to the left, numbers to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns).map(|c| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let cell = |(c, cell): (usize, &String)| match c {
            0 | 3 => format!("{cell:<0$}", widths[c]),
            _ => format!("{cell:>0$}", widths[c]),
        };
        let cells: Vec<String> = line.iter().enumerate().map(cell).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
