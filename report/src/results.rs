//! Many experiments on one page: every figure beside its claims, what was measured, on which data, and what differs from the paper.

use std::fmt::Write as _;

use motet_records::{Records, Status, Verdict};
use serde_json::Value;

use crate::figures;
use crate::render::File;
use crate::{Comparison, number};

/// The page `<page>.md` as Markdown, and one picture for each experiment under `<page>/`.
pub fn results(experiments: &[(String, Records)], page: &str) -> Vec<File> {
    let mut text = String::from("# Results\n\n");
    let verdicts = || experiments.iter().flat_map(|(_, records)| claims(records));
    let count = |word: &str| verdicts().filter(|v| v.word() == word).count();
    let [held, undecided, negative, failed] = WORDS.map(count);
    let _ = writeln!(
        text,
        "Made by `motet results` from the records of {} experiments: {held} of {} claims hold, {undecided} are within the noise of their \
         seeds (undecided), {negative} are negative, {failed} fail.\n",
        experiments.len(),
        verdicts().count()
    );
    text.push_str(
        "A claim marked *must* was verified before and has to hold; one marked *may* is a statement of a paper that was never tested, or that was found not to hold on our data: a failure is recorded as a negative result.\n\n",
    );
    contents(&mut text, experiments);
    let mut files = vec![];
    for (title, records) in experiments {
        let picture = first_picture(title, records);
        let path = picture.as_ref().map(|_| format!("{page}/{}.svg", anchor(title)));
        section(&mut text, title, records, path.as_deref());
        files.extend(picture.zip(path).map(|(content, name)| File { name, content }));
    }
    files.insert(0, File { name: format!("{page}.md"), content: text });
    files
}

/// What verdicts say, in the order of the table.
const WORDS: [&str; 4] = ["holds", "undecided", "negative", "FAILS"];

fn claims(records: &Records) -> &[Verdict] {
    records.summary.as_ref().map_or(&[], |summary| &summary.claims)
}

fn contents(text: &mut String, experiments: &[(String, Records)]) {
    text.push_str("| experiment | claims | hold | undecided | negative | fail |\n|---|---:|---:|---:|---:|---:|\n");
    for (title, records) in experiments {
        let claims = claims(records);
        let [held, undecided, negative, failed] = WORDS.map(|word| claims.iter().filter(|v| v.word() == word).count());
        let _ = writeln!(
            text,
            "| [{}](#{}) | {} | {held} | {undecided} | {negative} | {failed} |",
            cell(&name(title)),
            anchor(title),
            claims.len()
        );
    }
    text.push('\n');
}

fn section(text: &mut String, title: &str, records: &Records, picture: Option<&str>) {
    let manifest = &records.manifest;
    let _ = writeln!(text, "## {}\n", name(title));
    if let Some(about) = manifest.resolved["about"].as_str() {
        let _ = writeln!(text, "{}.\n", prose(about));
    }
    let mut data: Vec<String> = vec![];
    for problem in &manifest.problems {
        let line = format!(
            "{}; {} clients, {} training examples, {} parameters",
            prose(&problem.about),
            problem.clients,
            problem.examples,
            problem.dim
        );
        if !data.contains(&line) {
            data.push(line);
        }
    }
    let files: Vec<String> = manifest.inputs.iter().map(|i| format!("{} (sha256 {}…)", code(&i.name), prose(&short(&i.sha256)))).collect();
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
        false => deviations.iter().for_each(|d| text.push_str(&format!("- **Deviation from the paper:** {}\n", prose(d)))),
    }
    text.push('\n');
    if let Some(path) = picture {
        let name = name(title);
        let _ = writeln!(text, "![{name}]({path})\n\n*{name}: the first picture of its report, over all its seeds.*\n");
    }
    if claims(records).is_empty() {
        return;
    }
    text.push_str("| claim | says | measured | against | verdict |\n|---|---|---:|---:|---|\n");
    for verdict in claims(records) {
        let value = |v: Option<f64>| v.map_or("–".into(), number::short);
        let word = match (verdict.word(), verdict.status) {
            ("holds", Status::Must) => "holds (must)",
            ("holds", Status::May) => "holds (may)",
            ("FAILS", _) => "**fails**",
            (word, _) => word,
        };
        let reason = verdict.reason.as_ref().map_or(String::new(), |r| format!(": {}", cell(&prose(r))));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {word}{reason} |",
            cell(&name(&verdict.claim)),
            code(&verdict.text).replace('|', "\\|"),
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

/// What people wrote in Markdown, in one line and without HTML: records may come from anywhere.
fn prose(text: &str) -> String {
    text.replace(char::is_control, " ").replace('&', "&amp;").replace('<', "&lt;")
}

/// A name: in one line, without HTML and without links.
fn name(text: &str) -> String {
    prose(text).replace('[', "\\[").replace(']', "\\]")
}

/// Text as it is, in one line. More backticks around it than there are in it.
fn code(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

/// The first digits of a hash.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Safe inside a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// As Markdown renderers name a heading.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

#[cfg(test)]
mod tests {
    use motet_records::{Input, Manifest, ProblemCard, Summary};

    use super::*;

    #[test]
    fn nothing_in_records_becomes_html_or_leaves_its_cell() {
        let bad = "<script>alert(1)</script> | `x` [y](z)\n# top";
        let claim = Verdict { claim: bad.into(), text: bad.into(), status: Status::Must, reason: Some(bad.into()), ..Verdict::default() };
        let manifest = Manifest {
            experiment: bad.into(),
            resolved: serde_json::json!({ "about": bad, "entries": [bad], "deviations": [bad] }),
            inputs: vec![Input { name: bad.into(), bytes: 1, sha256: "ä".repeat(40) }],
            problems: vec![ProblemCard { about: bad.into(), ..ProblemCard::default() }],
            ..Manifest::default()
        };
        let summary = Summary { claims: vec![claim], ..Summary::default() };
        let records = Records { manifest, summary: Some(summary), ..Records::default() };
        let page = &results(&[(bad.into(), records)], "page")[0].content;
        // Inside of code everything is text.
        let fenced = "`` <script>alert(1)</script> | `x` [y](z) # top ``";
        let fences = [fenced.to_owned(), fenced.replace('|', "\\|")];
        let outside = fences.iter().fold(page.clone(), |text, fence| text.replace(fence.as_str(), ""));
        assert!(page.len() > outside.len() && !outside.contains("<script"), "{outside}");
        assert!(!page.contains("\n# top"), "{page}");
        let table = page.lines().find(|line| line.contains("**fails**")).unwrap_or_default();
        assert_eq!(table.replace("\\|", "").matches('|').count(), 6, "{table}");
    }

    #[test]
    fn code_has_more_backticks_around_it_than_in_it() {
        assert_eq!((code("a < b"), code("a ``` b")), ("`a < b`".into(), "```` a ``` b ````".into()));
    }
}
