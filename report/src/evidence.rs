//! Records → the studies that verdicts rest on.

use std::collections::{BTreeMap, BTreeSet};

use motet_core::Outcome;
use motet_records::{ClientRow, ProblemCard};
use serde_json::Value;

use crate::compare::{Comparison, is_variant};
use crate::group::{Group, Run};
use crate::mixture::Role;
use crate::verdict::{Contender, Design, Score, Study, Worth};

/// The client that stands for all where single ones were not measured.
const EVERYBODY: &str = "all clients";

/// One study for each metric of test data, the telling one first, and for each of the experiment's problems where a grid makes
/// several. Empty without test data, and for several folders: nobody knows whether they cut their data in the same way.
pub(crate) fn studies(comparison: &Comparison<'_>) -> Vec<Study> {
    let [(_, records)] = comparison.folders else { return vec![] };
    let fields = fields(comparison);
    let card = |at: &usize| records.manifest.problems.get(*at);
    let known = fields.iter().map(|(problems, groups)| {
        let about = problems.first().and_then(card).map_or("", |card| card.about.as_str());
        (about, groups.iter().map(|group| group.label.as_str()).collect::<Vec<_>>())
    });
    let names = told_apart(&known.collect::<Vec<_>>());
    let mut studies = vec![];
    for ((problems, groups), name) in fields.iter().zip(names) {
        let cards: Vec<&ProblemCard> = problems.iter().filter_map(card).collect();
        let field =
            Field { groups, problems, design: design(&cards, &records.manifest.resolved), clients: cards.first().map_or(1, |c| c.clients) };
        let asked = records.manifest.resolved["report"]["worth"].as_f64();
        let worth = asked.and_then(Worth::new).unwrap_or_default();
        let about = (fields.len() > 1).then_some(name);
        let nonconvex = cards.iter().any(|card| card.convexity.is_none());
        for metric in metrics(groups, nonconvex || field.design == Design::OneSplit) {
            studies.push(Study { problem: about.clone(), worth, ..field.study(metric) });
        }
    }
    studies
}

/// What each problem is called: as its card says, and where two cards say the same, with the values that all labels of its runs share
/// (`model.l2=0.1`), or with its number.
fn told_apart(known: &[(&str, Vec<&str>)]) -> Vec<String> {
    let values = |labels: &[&str]| -> Vec<String> {
        let (first, others) = labels.split_first().unwrap_or((&"", &[]));
        let shared = |word: &&str| word.contains('=') && others.iter().all(|label| label.split(' ').any(|other| other == *word));
        first.split(' ').filter(shared).map(str::to_owned).collect()
    };
    let named = known.iter().map(|(about, labels)| {
        let alone = known.iter().filter(|(other, _)| other == about).count() == 1;
        let more = if alone { vec![] } else { values(labels) };
        [vec![(*about).to_owned()], more].concat().join(", ")
    });
    let named: Vec<String> = named.collect();
    let numbered = |(k, name): (usize, &String)| match named.iter().filter(|other| *other == name).count() {
        1 => name.clone(),
        _ => format!("{name} ({})", k + 1),
    };
    named.iter().enumerate().map(numbered).collect()
}

/// Groups that ran on the same problems: only they can be compared.
fn fields<'c, 'a>(comparison: &'c Comparison<'a>) -> Vec<(Vec<usize>, Vec<&'c Group<'a>>)> {
    let mut fields: Vec<(Vec<usize>, Vec<&Group<'_>>)> = vec![];
    for group in &comparison.groups {
        let problems: Vec<usize> = group.runs.iter().map(|run| run.card.problem).collect::<BTreeSet<_>>().into_iter().collect();
        match fields.iter_mut().find(|(known, _)| *known == problems) {
            Some((_, groups)) => groups.push(group),
            None => fields.push((problems, vec![group])),
        }
    }
    fields
}

/// The metrics of test data. `accuracy_first` where losses say little: of networks, and of one split, where rows can be counted.
fn metrics<'a>(groups: &[&Group<'a>], accuracy_first: bool) -> Vec<&'a str> {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let rows = runs().flat_map(|run| &run.clients).flat_map(|row| row.metrics.keys());
    let names: BTreeSet<&str> = rows.chain(runs().flat_map(|run| run.last().keys())).map(String::as_str).collect();
    let mut names: Vec<&str> = names.into_iter().filter(|name| name.starts_with("test.") && !is_variant(name)).collect();
    names.sort_by_key(|name| match *name {
        "test.accuracy" => u8::from(!accuracy_first),
        "test.loss" => u8::from(accuracy_first),
        _ => 2,
    });
    names
}

/// What ties the draws together.
fn design(cards: &[&ProblemCard], resolved: &Value) -> Design {
    if cards.len() < 2 {
        return Design::OneSplit;
    }
    let kinds = |of: fn(&ProblemCard) -> &str| cards.iter().map(|card| of(card)).collect::<BTreeSet<_>>().len();
    let same_clients = kinds(|card| &card.people) == 1;
    if kinds(|card| &card.data) == cards.len() {
        return Design::Independent { same_clients };
    }
    // Records of before do not say which data: that they are the same is the careful guess.
    let (tested, trained) = cards.iter().fold((0, 0), |(a, b), card| (a + card.tested, b + card.examples));
    let test_per_train = if tested > 0 && trained > 0 { tested as f64 / trained as f64 } else { held_out(resolved) };
    Design::Resplit { test_per_train, same_clients }
}

/// Test examples for each training example, as the experiment asks for.
fn held_out(resolved: &Value) -> f64 {
    let share = |name: &str| resolved["problem"][0]["holdout"][name].as_f64().unwrap_or(0.0);
    let test = share("test");
    test / (1.0 - test - share("validation")).max(f64::EPSILON)
}

/// Runs on the same problems.
struct Field<'c, 'a> {
    groups: &'c [&'c Group<'a>],
    problems: &'c [usize],
    design: Design,
    clients: u64,
}

impl Field<'_, '_> {
    fn study(&self, metric: &str) -> Study {
        let all = || self.groups.iter().flat_map(|group| &group.runs);
        let rows = || all().flat_map(|run| &run.clients);
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        for row in rows().filter(|row| row.metrics.contains_key(metric)) {
            names.entry(row.client).or_insert_with(|| client_name(row));
        }
        let chosen_by = ["validation.loss".to_owned(), metric.replacen("test.", "validation.", 1)]
            .into_iter()
            .find(|by| rows().any(|row| row.metrics.contains_key(by)) || all().any(|run| run.last().contains_key(by)));
        let measure = Measure { metric, chosen_by: chosen_by.as_deref(), places: names.keys().copied().collect() };
        let mut contenders: Vec<Contender> = vec![];
        for group in self.groups {
            let contender = self.contender(group, &measure);
            match contenders.iter_mut().find(|c| c.way == contender.way && c.label == contender.label) {
                // Runs for one target each are one contender together.
                Some(first) => {
                    first.scores.extend(contender.scores);
                    first.fault = first.fault.take().or(contender.fault);
                    first.sent += contender.sent;
                }
                None => contenders.push(contender),
            }
        }
        let clients = if names.is_empty() { vec![EVERYBODY.to_owned()] } else { names.into_values().collect() };
        Study { metric: metric.into(), chosen_by, design: self.design, draws: self.problems.len(), clients, contenders, ..Study::default() }
    }

    fn contender(&self, group: &Group<'_>, measure: &Measure<'_>) -> Contender {
        let (way, alone) = way(group);
        let mut contender = Contender { label: without_target(&group.label), way, alone, ..Contender::default() };
        let mut sent = vec![];
        for (draw, problem) in self.problems.iter().enumerate() {
            // Seeds on one problem repeat the training and not the data: the first of them speaks.
            let Some(run) = group.runs.iter().find(|run| run.card.problem == *problem) else { continue };
            sent.push(run.traffic().1.up as f64 / self.clients.max(1) as f64);
            match fault(run) {
                Some(fault) => contender.fault = Some(format!("{fault} (seed {})", run.card.seed)),
                None => contender.scores.extend(measure.scores(run, draw)),
            }
        }
        if fits_validation(group) {
            contender.scores.iter_mut().for_each(|score| score.validation = None);
        }
        contender.sent = sent.iter().sum::<f64>() / sent.len().max(1) as f64;
        contender
    }
}

/// What is read off a run.
struct Measure<'s> {
    metric: &'s str,
    chosen_by: Option<&'s str>,
    /// Client → place; empty where single clients were not measured.
    places: Vec<u32>,
}

impl Measure<'_> {
    fn scores(&self, run: &Run<'_>, draw: usize) -> Vec<Score> {
        let validation = |metrics: &motet_core::Metrics| self.chosen_by.and_then(|by| metrics.get(by).copied());
        if self.places.is_empty() {
            let test = run.last().get(self.metric).copied();
            return test.map(|test| Score { draw, client: 0, validation: validation(run.last()), test, right: None }).into_iter().collect();
        }
        let target = run.card.params.get("target").and_then(Value::as_u64);
        let mut scores = vec![];
        for row in run.clients.iter().filter(|row| target.is_none_or(|target| target == u64::from(row.client))) {
            let (Some(&test), Ok(client)) = (row.metrics.get(self.metric), self.places.binary_search(&row.client)) else { continue };
            let right = row.right.as_ref().filter(|_| self.metric == "test.accuracy").map(|rows| rows.0.clone());
            scores.push(Score { draw, client, validation: validation(&row.metrics).or_else(|| validation(run.last())), test, right });
        }
        scores
    }
}

/// What a client is called everywhere on the page.
pub(crate) fn client_name(row: &ClientRow) -> String {
    row.name.clone().unwrap_or_else(|| format!("client {}", row.client))
}

/// Why a run cannot win.
pub(crate) fn fault(run: &Run<'_>) -> Option<String> {
    match run.outcome() {
        Some(Outcome::Finished | Outcome::Stopped { .. }) => None,
        Some(outcome) => Some(outcome.to_string()),
        None => Some("has not ended".into()),
    }
}

/// Did clients fit something on their validation data: their weights for others (MeritFed), or their own α?
fn fits_validation(group: &Group<'_>) -> bool {
    let picked = |run: &Run<'_>| run.card.chosen.contains_key("alpha") || run.clients.iter().any(|row| row.metrics.contains_key("alpha"));
    // Records of before do not say; then it was MeritFed that did.
    let fitted = |run: &Run<'_>| run.card.fits_validation.unwrap_or_else(|| run.card.method.starts_with("meritfed"));
    group.runs.iter().any(|run| fitted(run) || picked(run))
}

/// What a group's settings compete under, and whether its clients are alone.
fn way(group: &Group<'_>) -> (String, bool) {
    let method = group.method();
    let words: Vec<&str> = group.label.split(' ').filter(|word| !word.contains('=')).collect();
    let called = if group.label.starts_with(method) { method.to_owned() } else { words.join(" ") };
    let again = if words.last() == Some(&"retrained") && called == method { " retrained" } else { "" };
    match group.role() {
        Some(Role::Local) => ("own models".into(), true),
        Some(role) if called == method => (format!("{} ({method}{again})", role.title()), false),
        _ => (format!("{called}{again}"), false),
    }
}

fn without_target(label: &str) -> String {
    label.split(' ').filter(|word| !word.starts_with("target=")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_a_grid_have_names_of_their_own() {
        let known = [
            ("t.csv", vec!["own model.l2=0.1", "flix alpha=0.5 model.l2=0.1 retrained"]),
            ("t.csv", vec!["own model.l2=1", "flix alpha=0.5 model.l2=1 retrained"]),
            ("u.csv", vec!["own", "flix"]),
            ("v", vec!["own"]),
            ("v", vec!["flix"]),
        ];
        assert_eq!(told_apart(&known), ["t.csv, model.l2=0.1", "t.csv, model.l2=1", "u.csv", "v (4)", "v (5)"]);
    }
}
