//! Many experiments on one page: every figure beside its claims, what was measured, on which data, and what differs from the paper.

use std::fmt::Write as _;

use motet_records::{Records, Status, Verdict};
use serde_json::Value;

use crate::figures;
use crate::render::File;
use crate::{Comparison, number};

/// The page `<name>.md` as Markdown, and one picture for each experiment under `<name>/`.
pub fn results(experiments: &[(String, Records)], name: &str) -> Vec<File> {
    let mut text = String::from("# Results\n\n");
    let verdicts = || experiments.iter().flat_map(|(_, records)| claims(records));
    let (held, all) = (verdicts().filter(|v| v.holds).count(), verdicts().count());
    let negative = verdicts().filter(|v| !v.holds && v.status == Status::May).count();
    let _ = writeln!(
        text,
        "Made by `motet results` from the records of {} experiments: {held} of {all} claims hold, {negative} are negative, {} fail.\n",
        experiments.len(),
        all - held - negative
    );
    text.push_str(
        "A claim marked *must* was verified before and has to hold; one marked *may* is a paper's word that was never tested, or \
         was found not to hold on our data: a failure is recorded as a negative result.\n\n",
    );
    contents(&mut text, experiments);
    let mut files = vec![];
    for (title, records) in experiments {
        let picture = first_picture(title, records);
        let path = picture.as_ref().map(|_| format!("{name}/{}.svg", anchor(title)));
        section(&mut text, title, records, path.as_deref());
        files.extend(picture.zip(path).map(|(content, name)| File { name, content }));
    }
    files.insert(0, File { name: format!("{name}.md"), content: text });
    files
}

fn claims(records: &Records) -> &[Verdict] {
    records.summary.as_ref().map_or(&[], |summary| &summary.claims)
}

fn contents(text: &mut String, experiments: &[(String, Records)]) {
    text.push_str("| experiment | entries | claims | hold | negative | fail |\n|---|---|---:|---:|---:|---:|\n");
    for (title, records) in experiments {
        let claims = claims(records);
        let held = claims.iter().filter(|v| v.holds).count();
        let negative = claims.iter().filter(|v| !v.holds && v.status == Status::May).count();
        let entries = words(&records.manifest.resolved["entries"]).join(", ");
        let failed = claims.len() - held - negative;
        let _ = writeln!(text, "| [{}](#{}) | {entries} | {} | {held} | {negative} | {failed} |", cell(title), anchor(title), claims.len());
    }
    text.push('\n');
}

fn section(text: &mut String, title: &str, records: &Records, picture: Option<&str>) {
    let manifest = &records.manifest;
    let _ = writeln!(text, "## {title}\n");
    if let Some(about) = manifest.resolved["about"].as_str() {
        let _ = writeln!(text, "{about}.\n");
    }
    let mut data: Vec<String> = vec![];
    for problem in &manifest.problems {
        let line =
            format!("{}; {} clients, {} training examples, {} parameters", problem.about, problem.clients, problem.examples, problem.dim);
        if !data.contains(&line) {
            data.push(line);
        }
    }
    let files: Vec<String> =
        manifest.inputs.iter().map(|i| format!("`{}` (sha256 {}…)", i.name, &i.sha256[..i.sha256.len().min(12)])).collect();
    let _ = writeln!(
        text,
        "- **Data:** {}{}",
        data.join("; "),
        if files.is_empty() { ".".into() } else { format!(". Files: {}.", files.join(", ")) }
    );
    let mut seeds: Vec<u64> = manifest.runs.iter().map(|card| card.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let results = manifest.runs.iter().filter(|card| card.trial.is_none()).count();
    let trials = manifest.runs.len() - results;
    let tried = if trials > 0 { format!(", after {trials} trials") } else { String::new() };
    let rounds = manifest.resolved["run"]["rounds"].as_u64().map_or(String::new(), |rounds| format!(" of up to {rounds} rounds"));
    let _ = writeln!(text, "- **Runs:** {results}{rounds}{tried}, {} seeds.", seeds.len());
    let deviations = words(&manifest.resolved["deviations"]);
    match deviations.is_empty() {
        true => text.push_str("- **Deviations from the paper:** none stated.\n"),
        false => deviations.iter().for_each(|d| text.push_str(&format!("- **Deviation from the paper:** {d}\n"))),
    }
    text.push('\n');
    if let Some(path) = picture {
        let _ = writeln!(text, "![{title}]({path})\n");
    }
    if claims(records).is_empty() {
        return;
    }
    text.push_str("| claim | says | measured | against | verdict |\n|---|---|---:|---:|---|\n");
    for verdict in claims(records) {
        let value = |v: Option<f64>| v.map_or("–".into(), number::short);
        let word = match (verdict.holds, verdict.status) {
            (true, Status::Must) => "holds (must)",
            (true, Status::May) => "holds (may)",
            (false, Status::Must) => "**fails**",
            (false, Status::May) => "negative",
        };
        let reason = verdict.reason.as_ref().filter(|_| !verdict.holds).map_or(String::new(), |r| format!(": {}", cell(r)));
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {word}{reason} |",
            cell(&verdict.claim),
            verdict.text.replace('|', "\\|"),
            value(verdict.value),
            value(verdict.bound)
        );
    }
    text.push('\n');
}

/// The most telling picture: the first that the report would show, with what the experiment asks to be drawn before others.
fn first_picture(title: &str, records: &Records) -> Option<String> {
    let folders = [(title.to_owned(), records.clone())];
    let comparison = Comparison::new(&folders);
    let plots = figures::all(&comparison);
    let wanted = plots.iter().find(|plot| plot.name.starts_with("over-"));
    let judged = plots.iter().find(|plot| plot.name.starts_with("alpha-"));
    let map = crate::page::tuning_maps(&comparison).into_iter().next().map(|(_, picture)| picture);
    wanted.or(judged).map(crate::chart::Plot::on_paper).or(map).or(plots.first().map(crate::chart::Plot::on_paper))
}

/// A text, or a list of them.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
        _ => vec![],
    }
}

/// Safe inside a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|").replace('<', "&lt;")
}

/// As Markdown renderers name a heading.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}
