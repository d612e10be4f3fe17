//! The verdict, first on the page: who wins, does it pay to join, and what that rests on.

use super::table::{Column, foot, head, number_cell};
use crate::figures::title;
use crate::markup::Markup;
use crate::page::tabs::{Switch, open_panel};
use crate::verdict::{Advice, Contest, Verdict, gain};
use crate::{Comparison, cautions, number};

pub(crate) fn write(m: &mut Markup, comparison: &Comparison<'_>) {
    let (verdicts, cautions) = (comparison.verdicts(), cautions::of(comparison));
    let held_out = comparison.metrics().iter().any(|metric| metric.starts_with("test."));
    if verdicts.is_empty() && cautions.is_empty() && (held_out || comparison.groups.len() < 2) {
        return;
    }
    m.open("section", &[("id", &"verdict"), ("data-tabs", &"")]);
    if verdicts.is_empty() {
        m.element("h2", &[("class", &"answer")], "No verdict");
        let why = match (held_out, comparison.folders.len()) {
            (_, 2..) => {
                "Records of several folders are shown side by side and not judged: it is not known whether they split their data in the same way."
            }
            _ => {
                "Nothing was measured on test data, and training loss, which is shown below, says little about new examples. Hold some out: [problem] holdout = { validation = 0.1, test = 0.2 }."
            }
        };
        m.element("p", &[("class", &"lead")], why);
    }
    switches(m, verdicts);
    for (k, verdict) in verdicts.iter().enumerate() {
        open_panel(m, "div", &[("problem", &place(verdicts, verdict)), ("metric", &verdict.metric)]);
        one(m, verdict, k == 0);
        m.close();
        m.line();
    }
    if !cautions.is_empty() {
        m.open("ul", &[("class", &"cautions")]);
        cautions.iter().for_each(|caution| m.element("li", &[], caution));
        m.close();
    }
    m.close();
}

/// The switches of sections that show one verdict at a time.
pub(super) fn switches(m: &mut Markup, verdicts: &[Verdict]) {
    let mut problems: Vec<(String, String)> = vec![];
    let mut metrics: Vec<(String, String)> = vec![];
    for verdict in verdicts {
        let problem = (place(verdicts, verdict), verdict.problem.clone().unwrap_or_default());
        if !problems.contains(&problem) {
            problems.push(problem);
        }
        let metric = (verdict.metric.clone(), title(&verdict.metric));
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    shorten(&mut problems);
    m.open("div", &[("class", &"controls")]);
    Switch { name: "problem", about: "problem", choices: problems }.write(m);
    Switch { name: "metric", about: "judged by", choices: metrics }.write(m);
    m.close();
}

/// Leaves out what all problems begin with: `heart.csv (table), logistic, model.l2=0.01` becomes `model.l2=0.01`.
fn shorten(problems: &mut [(String, String)]) {
    let parts = |name: &str| name.split(", ").map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = problems.iter().map(|(_, name)| parts(name)).collect();
    let Some(first) = all.first().filter(|_| all.len() > 1) else { return };
    let same = (0..first.len()).take_while(|&k| all.iter().all(|name| name.get(k) == first.get(k) && name.len() > k + 1)).count();
    problems.iter_mut().zip(&all).for_each(|((_, name), all)| *name = all[same..].join(", "));
}

/// The number of a verdict's problem.
pub(super) fn place(verdicts: &[Verdict], verdict: &Verdict) -> String {
    let mut problems: Vec<&Option<String>> = vec![];
    for other in verdicts {
        if !problems.contains(&&other.problem) {
            problems.push(&other.problem);
        }
    }
    problems.iter().position(|problem| **problem == verdict.problem).unwrap_or(0).to_string()
}

fn one(m: &mut Markup, verdict: &Verdict, first: bool) {
    if let Some(problem) = &verdict.problem {
        m.element("p", &[("class", &"muted")], problem);
    }
    let class = if matches!(verdict.contest, Contest::Winner { .. }) { "answer sure" } else { "answer" };
    m.element(if first { "h2" } else { "h3" }, &[("class", &class)], &verdict.headline());
    for sentence in [Some(verdict.numbers()), verdict.federation(), verdict.clients()].into_iter().flatten().filter(|s| !s.is_empty()) {
        m.element("p", &[("class", &"lead")], &sentence);
    }
    ways(m, verdict);
    m.element("p", &[("class", &"muted")], &verdict.grounds());
    if !verdict.excluded.is_empty() {
        let all: Vec<String> = verdict.excluded.iter().map(|out| format!("{} ({})", out.who, out.why)).collect();
        m.element("p", &[("class", &"muted")], &format!("Not compared: {}.", all.join("; ")));
    }
}

fn ways(m: &mut Markup, verdict: &Verdict) {
    let name = title(&verdict.metric);
    let columns = [
        Column::Word("method"),
        Column::Word("setting, and how often it was chosen"),
        Column::Number(&name),
        Column::Number("behind the best, 95 % interval"),
    ];
    head(m, &columns, false);
    for way in &verdict.ways {
        let won = verdict.winner() == Some(way.way.as_str());
        m.open("tr", &[]);
        m.element("td", &[("class", &"word")], &way.way);
        let settings: Vec<String> = way.settings.iter().take(3).map(|s| format!("{} ({}×)", s.label, s.times)).collect();
        let more = if way.settings.len() > 3 { format!(" and {} more", way.settings.len() - 3) } else { String::new() };
        m.element("td", &[("class", &"word")], &format!("{}{more}", settings.join(", ")));
        number_cell(m, if won { "best" } else { "" }, &number::short(way.value), way.value);
        let behind = way.behind.as_ref();
        let words = behind.map_or_else(|| "–".to_owned(), |b| if b.sign() > 0 { gain(b) } else { format!("{}: not clear", gain(b)) });
        number_cell(m, "", &words, behind.map_or(0.0, |b| b.mean));
        m.close();
        m.line();
    }
    foot(m);
}

/// A badge with the advice.
pub(super) fn badge(m: &mut Markup, advice: Advice) {
    let (class, words) = match advice {
        Advice::Join => ("holds", "✓ join"),
        Advice::Stay => ("fails", "✗ stay alone"),
        Advice::Unclear => ("negative", "○ unclear"),
    };
    m.element("span", &[("class", &format!("badge {class}"))], words);
}
