//! Rows, summary and clients as CSV: full precision, one line per row, empty where nothing was measured.

use std::collections::BTreeSet;

use motet_core::Metrics;

use crate::render::File;
use crate::{Comparison, Group, Run};

pub(crate) fn files(comparison: &Comparison<'_>) -> Vec<File> {
    let file = |name: &str, lines: Vec<Vec<String>>| File { name: name.into(), content: write(&lines) };
    vec![file("rows.csv", rows(comparison)), file("summary.csv", summary(comparison)), file("clients.csv", clients(comparison))]
}

fn rows(comparison: &Comparison<'_>) -> Vec<Vec<String>> {
    let metrics = names(runs(comparison).flat_map(|(_, run)| &run.rows).map(|row| &row.metrics));
    let first = ["label", "method", "seed", "round", "bits_up", "bits_down", "bytes_up", "bytes_down", "gradients", "attempts", "seconds"];
    let mut lines = vec![header(&first, &metrics)];
    for (group, run) in runs(comparison) {
        for row in &run.rows {
            let mut line = identity(group, run);
            let seconds = row.seconds.map_or_else(String::new, |s| s.to_string());
            line.extend(
                [row.round, row.bits.up, row.bits.down, row.bytes.up, row.bytes.down, row.gradients, row.attempts].map(|v| v.to_string()),
            );
            line.push(seconds);
            line.extend(cells(&row.metrics, &metrics));
            lines.push(line);
        }
    }
    lines
}

fn summary(comparison: &Comparison<'_>) -> Vec<Vec<String>> {
    let metrics = names(runs(comparison).map(|(_, run)| run.last()));
    let first = [
        "label",
        "method",
        "seed",
        "params",
        "rounds",
        "outcome",
        "bits_up",
        "bits_down",
        "bytes_up",
        "bytes_down",
        "gradients",
        "seconds",
        "digest",
    ];
    let mut lines = vec![header(&first, &metrics)];
    for (group, run) in runs(comparison) {
        let mut line = identity(group, run);
        let (bits, bytes) = run.traffic();
        let params = serde_json::Value::Object(run.card.params.clone()).to_string();
        line.extend([params, run.rounds().to_string(), run.outcome().map_or_else(String::new, ToString::to_string)]);
        line.extend([bits.up, bits.down, bytes.up, bytes.down, run.gradients()].map(|v| v.to_string()));
        line.push(run.seconds().map_or_else(String::new, |s| s.to_string()));
        line.push(run.summary.map_or_else(String::new, |s| s.digest.clone()));
        line.extend(cells(run.last(), &metrics));
        lines.push(line);
    }
    lines
}

fn clients(comparison: &Comparison<'_>) -> Vec<Vec<String>> {
    let metrics = names(runs(comparison).flat_map(|(_, run)| &run.clients).map(|row| &row.metrics));
    let mut lines = vec![header(&["label", "method", "seed", "client", "examples"], &metrics)];
    for (group, run) in runs(comparison) {
        for row in &run.clients {
            let mut line = identity(group, run);
            line.extend([row.client.to_string(), row.examples.to_string()]);
            line.extend(cells(&row.metrics, &metrics));
            lines.push(line);
        }
    }
    lines
}

fn runs<'c, 'a>(comparison: &'c Comparison<'a>) -> impl Iterator<Item = (&'c Group<'a>, &'c Run<'a>)> {
    comparison.groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)))
}

fn identity(group: &Group<'_>, run: &Run<'_>) -> Vec<String> {
    vec![group.label.clone(), run.card.method.clone(), run.card.seed.to_string()]
}

fn names<'m>(metrics: impl Iterator<Item = &'m Metrics>) -> Vec<&'m str> {
    metrics.flat_map(|m| m.keys().map(String::as_str)).collect::<BTreeSet<_>>().into_iter().collect()
}

fn header(first: &[&str], metrics: &[&str]) -> Vec<String> {
    first.iter().chain(metrics).map(|name| (*name).to_owned()).collect()
}

/// Rust's `{}` is the shortest text that reads back as the same number; NaN and infinities stay words.
fn cells(values: &Metrics, metrics: &[&str]) -> Vec<String> {
    metrics.iter().map(|m| values.get(*m).map_or_else(String::new, |v| v.to_string())).collect()
}

fn write(lines: &[Vec<String>]) -> String {
    let mut writer = ::csv::Writer::from_writer(vec![]);
    for line in lines {
        writer.write_record(line).expect("memory takes every record, and all have the header's length");
    }
    let bytes = writer.into_inner().expect("memory can be flushed");
    String::from_utf8(bytes).expect("what was written was text")
}
