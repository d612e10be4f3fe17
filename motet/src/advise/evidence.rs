//! What each client would take, chosen on its validation rows, judged on its test rows; and what follows from it.

use std::collections::BTreeMap;

use motet_core::Outcome;
use motet_records::{Records, RunCard};
use motet_report::difference;
use motet_report::verdict::{self, Contender, Design, Estimate, Score, Study, judge};
use serde_json::{Map, Value};

use super::draft::{Draft, RETRAINED, STRENGTHS, TEST, WAYS};
use super::splits::Split;
use super::{Advice, ClientAdvice, Federation, Partner};
use crate::error::Error;

/// One method with one setting, over all splits.
pub(super) struct Candidate {
    /// Its place among the ways.
    pub(super) way: usize,
    /// Strength of the regulariser.
    pub(super) strength: f64,
    /// The method's name.
    method: String,
    /// What it was run with, split by split.
    params: BTreeMap<usize, Map<String, Value>>,
    /// (split, client) → what was measured.
    scores: BTreeMap<(usize, usize), Measured>,
    /// Bytes that a client sends.
    sent: f64,
}

/// One client's model in one split.
#[derive(Clone, Copy, Debug)]
struct Measured {
    validation: f64,
    test: f64,
    accuracy: Option<f64>,
}

/// Everything that competes.
pub(super) struct Field {
    candidates: Vec<Candidate>,
    /// (split, client) → everybody's weight for it, of the candidate of MeritFed in question.
    merits: BTreeMap<(usize, usize, usize), Vec<f64>>,
    notes: Vec<String>,
}

impl Field {
    fn of(draft: &Draft, splits: &[Split], budget: Option<u64>) -> Self {
        let mut field = Self { candidates: vec![], merits: BTreeMap::new(), notes: vec![] };
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (draw, split) in splits.iter().enumerate() {
            for card in split.records.manifest.runs.iter().filter(|card| card.trial.is_none()) {
                let Some(way) = WAYS.iter().position(|way| card.label.starts_with(way.name)) else { continue };
                if WAYS[way].picks != card.label.ends_with(RETRAINED) {
                    continue;
                }
                let place = *places.entry(card.label.clone()).or_insert_with(|| {
                    let (params, scores) = (BTreeMap::new(), BTreeMap::new());
                    let strength = STRENGTHS[card.problem.min(STRENGTHS.len() - 1)];
                    field.candidates.push(Candidate { way, strength, method: card.method.clone(), params, scores, sent: 0.0 });
                    field.candidates.len() - 1
                });
                field.measure(place, draw, card, &split.records, draft);
            }
        }
        field.within(budget);
        field
    }

    /// What a run left.
    fn measure(&mut self, place: usize, draw: usize, card: &RunCard, records: &Records, draft: &Draft) {
        let Some(summary) = records.summary.as_ref().and_then(|summary| summary.runs.get(card.run)) else { return };
        if !matches!(summary.outcome, Outcome::Finished | Outcome::Stopped { .. }) {
            let note = format!("{}: {} (split {})", card.label, summary.outcome, draw + 1);
            self.notes.push(note);
            return;
        }
        let candidate = &mut self.candidates[place];
        candidate.sent = candidate.sent.max(summary.bytes.up as f64 / draft.clients.len() as f64);
        candidate.params.insert(draw, card.params.clone());
        for row in records.clients.iter().filter(|row| row.run == card.run) {
            let of = |part: &str, metric: &str| row.metrics.get(&format!("{part}.{metric}")).copied().filter(|v| v.is_finite());
            if let (Some(validation), Some(test)) = (of("validation", draft.metric), of("test", draft.metric)) {
                candidate.scores.insert((draw, row.client as usize), Measured { validation, test, accuracy: of("test", "accuracy") });
            }
        }
        for merit in records.merits.iter().filter(|merit| merit.run as usize == card.run) {
            // The last record of a target stays.
            let weights = merit.average();
            let weights = (0..weights.len()).map(|k| weights.at(k)).collect();
            self.merits.insert((place, draw, merit.target as usize), weights);
        }
    }

    /// Whoever sends more than the budget is out.
    fn within(&mut self, budget: Option<u64>) {
        let Some(budget) = budget else { return };
        for (way, about) in WAYS.iter().enumerate() {
            let dear = self.candidates.iter().filter(|c| c.way == way && c.sent > budget as f64).map(|c| c.sent).fold(0.0, f64::max);
            if dear > 0.0 {
                self.notes
                    .push(format!("{} is left out: a client would send {dear:.0} bytes, more than the budget of {budget}", about.name));
            }
        }
        self.candidates.iter_mut().filter(|c| c.sent > budget as f64).for_each(|c| c.scores.clear());
    }

    /// The candidate of a way that a client takes in a split: the best on its validation rows.
    fn taken(&self, way: usize, draw: usize, client: usize) -> Option<(usize, Measured)> {
        let able = (0..self.candidates.len()).filter(|&c| self.candidates[c].way == way);
        let measured = able.filter_map(|c| Some((c, *self.candidates[c].scores.get(&(draw, client))?)));
        measured.reduce(|a, b| if b.1.validation < a.1.validation { b } else { a })
    }

    /// The numbers of a verdict: one contender for each way, whose settings each client has chosen for itself.
    fn study(&self, draft: &Draft, draws: usize) -> Study {
        let contender = |(way, about): (usize, &super::draft::Way)| {
            let cells = (0..draws).flat_map(|draw| (0..draft.clients.len()).map(move |client| (draw, client)));
            let score = |(draw, client): (usize, usize)| {
                let (_, Measured { validation, test, .. }) = self.taken(way, draw, client)?;
                Some(Score { draw, client, validation: Some(validation), test, right: None })
            };
            let scores: Vec<Score> = cells.filter_map(score).collect();
            let sent = self.candidates.iter().filter(|c| c.way == way).map(|c| c.sent).fold(0.0, f64::max);
            let fault = scores.is_empty().then(|| "every run diverged, or sends more than the budget".to_owned());
            Contender { label: about.name.into(), way: about.name.into(), alone: about.alone, scores, fault, sent }
        };
        Study {
            metric: format!("test.{}", draft.metric),
            chosen_by: Some(format!("validation.{}", draft.metric)),
            // What is chosen on validation rows is learnt from them: a model is made from all rows but those it is judged on.
            design: if draws > 1 { Design::Resplit { test_per_train: TEST / (1.0 - TEST), same_clients: true } } else { Design::OneSplit },
            draws,
            clients: draft.clients.clone(),
            contenders: WAYS.iter().enumerate().map(contender).collect(),
            worth: draft.worth,
            ..Study::default()
        }
    }

    /// The candidate that a client deploys: the best on its validation rows, on average over splits, among its own models or
    /// among those of joining.
    fn deployed(&self, client: usize, alone: bool) -> Option<usize> {
        let worth = |c: &Candidate| {
            let all: Vec<f64> = c.scores.iter().filter(|((_, k), _)| *k == client).map(|(_, m)| m.validation).collect();
            (!all.is_empty()).then(|| (all.len(), all.iter().sum::<f64>() / all.len() as f64))
        };
        let able = (0..self.candidates.len()).filter(|&c| WAYS[self.candidates[c].way].alone == alone);
        let known: Vec<(usize, (usize, f64))> = able.filter_map(|c| Some((c, worth(&self.candidates[c])?))).collect();
        // Whoever is missing in some splits has not stood the test that the others have.
        let most = known.iter().map(|(_, (count, _))| *count).max()?;
        let whole = known.into_iter().filter(|(_, (count, _))| *count == most);
        whole.reduce(|a, b| if b.1.1 < a.1.1 { b } else { a }).map(|(c, _)| c)
    }

    /// The mean weights that MeritFed gave everybody for a client, with the settings that it took.
    fn friends(&self, draft: &Draft, client: usize, draws: usize) -> Vec<Partner> {
        let way = WAYS.iter().position(|way| way.validates).unwrap_or_default();
        let (mut sums, mut count) = (vec![0.0; draft.clients.len()], 0.0);
        for draw in 0..draws {
            let Some((place, _)) = self.taken(way, draw, client) else { continue };
            let Some(weights) = self.merits.get(&(place, draw, client)) else { continue };
            sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
            count += 1.0;
        }
        let mut partners: Vec<Partner> = draft
            .clients
            .iter()
            .zip(sums)
            .map(|(client, sum)| Partner { client: client.clone(), weight: sum / f64::max(count, 1.0) })
            .collect();
        partners.retain(|partner| partner.weight > 0.0);
        partners.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        partners
    }
}

impl Candidate {
    /// The parameters that it had most often, with each client's median share where clients picked it.
    pub(super) fn settings(&self, clients: usize) -> Map<String, Value> {
        let mut params = most_frequent(self.params.values().map(without_alpha));
        if WAYS[self.way].picks {
            let shares: Vec<f64> =
                (0..clients).map(|client| median(self.params.values().filter_map(|p| share(p, client)).collect())).collect();
            params.insert("alpha".into(), serde_json::json!({ "per_client": shares }));
        } else if let Some(alpha) = self.params.values().find_map(|params| params.get("alpha")) {
            params.insert("alpha".into(), alpha.clone());
        }
        params.insert("kind".into(), self.method.clone().into());
        params
    }
}

/// The share of the common model that a run's parameters give a client.
pub(super) fn share(params: &Map<String, Value>, client: usize) -> Option<f64> {
    let alpha = params.get("alpha")?;
    alpha.as_f64().or_else(|| alpha.get("per_client")?.get(client)?.as_f64())
}

fn without_alpha(params: &Map<String, Value>) -> Map<String, Value> {
    params.iter().filter(|(name, _)| *name != "alpha").map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn most_frequent(all: impl Iterator<Item = Map<String, Value>>) -> Map<String, Value> {
    let mut counts: Vec<(Map<String, Value>, usize)> = vec![];
    for params in all {
        match counts.iter_mut().find(|(known, _)| *known == params) {
            Some((_, count)) => *count += 1,
            None => counts.push((params, 1)),
        }
    }
    counts.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|(params, _)| params).unwrap_or_default()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.5)
}

/// What the splits say for every client.
pub(super) fn weigh(draft: &Draft, splits: &[Split], budget: Option<u64>) -> Result<(Advice, Field), Error> {
    let field = Field::of(draft, splits, budget);
    let draws = splits.len();
    let study = field.study(draft, draws);
    let verdict = judge(&study);
    let Some(joining) = &verdict.joining else {
        let notes = field.notes.join("; ");
        return Err(Error::Unknown(format!("there is nothing to compare own models with: {notes}")));
    };
    let mut clients = vec![];
    for (client, name) in draft.clients.iter().enumerate() {
        let Some(found) = joining.clients.iter().find(|found| found.place == client) else {
            return Err(Error::Unknown(format!("{name} was measured in no split: has it rows that can be predicted?")));
        };
        clients.push(field.answer(draft, found, draws)?);
    }
    let federation = Federation { advice: word(joining.advice), gain: joining.gain.mean, interval: joining.gain.interval };
    let mut notes = draft.notes.clone();
    notes.extend(field.notes.iter().cloned());
    if draws < 2 {
        notes.push("there was time for one split only, which cannot tell what chance does: give more time with --minutes".into());
    }
    let doubtful: Vec<&str> = joining.clients.iter().filter(|found| found.is_one_of_many()).map(|found| found.client.as_str()).collect();
    if !doubtful.is_empty() {
        notes.push(format!(
            "{}: the interval excludes zero by itself, but {} clients are asked at once, and some of so many intervals do so by chance; beyond \
             chance it is not shown (Benjamini and Hochberg)",
            doubtful.join(", "),
            joining.clients.len()
        ));
    }
    let advice = Advice { clients, experiment: String::new(), splits: draws, federation, notes, records: Records::default(), verdict };
    Ok((advice, field))
}

impl Field {
    /// The answer for one client.
    fn answer(&self, draft: &Draft, found: &verdict::ClientVerdict, draws: usize) -> Result<ClientAdvice, Error> {
        let client = found.place;
        let advice = word(found.advice);
        let joins = advice == "join";
        let none = || Error::Unknown(format!("{}: no method could be measured in every split", found.client));
        let offer = self.deployed(client, false).ok_or_else(none)?;
        let own = self.deployed(client, true).ok_or_else(none)?;
        let chosen = &self.candidates[if joins { offer } else { own }];
        let params = chosen.settings(draft.clients.len());
        let offered = WAYS[self.candidates[offer].way].name;
        let accuracy = |alone: bool| {
            let place = if alone { own } else { offer };
            let all: Vec<f64> =
                self.candidates[place].scores.iter().filter(|((_, k), _)| *k == client).filter_map(|(_, m)| m.accuracy).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        Ok(ClientAdvice {
            client: found.client.clone(),
            advice,
            method: chosen.method.clone(),
            alpha: share(&params, client),
            gain: found.gain.mean,
            interval: found.gain.interval,
            metric: format!("test.{}", draft.metric),
            bundle: None,
            way: WAYS[chosen.way].name.into(),
            params,
            offer: offered.into(),
            pooled: found.pooled.as_ref().and_then(|pooled| Some((pooled.mean, pooled.interval?))),
            own: found.alone,
            joined: found.joined,
            accuracy: accuracy(true).zip(accuracy(false)).map(|(own, joined)| [own, joined]),
            rows: draft.rows[client],
            sent_bytes: self.candidates[offer].sent as u64,
            with: self.friends(draft, client, draws),
            why: why(advice, found, offered, draft, draws),
        })
    }

    /// Candidate and settings of what a client deploys.
    pub(super) fn deploys(&self, client: usize, advice: &ClientAdvice) -> Option<(usize, &Candidate)> {
        let place = self.deployed(client, advice.advice != "join")?;
        Some((place, &self.candidates[place]))
    }

    /// What a client may expect of a candidate: each metric on test rows, the mean over splits with its interval.
    pub(super) fn expects(&self, place: usize, client: usize, metric: &str) -> Vec<crate::bundle::Expected> {
        let scores: Vec<&Measured> =
            self.candidates[place].scores.iter().filter(|((_, k), _)| *k == client).map(|(_, measured)| measured).collect();
        let design = Design::Resplit { test_per_train: TEST / (1.0 - TEST), same_clients: true };
        let expected = |name: &str, values: Vec<f64>| {
            let Estimate { mean, interval, .. } = Estimate::over_draws(&values, design);
            // Student's interval knows no bounds; errors and shares have some.
            let most = if name == "rmse" { f64::INFINITY } else { 1.0 };
            let interval = interval.map(|ends| ends.map(|end| end.clamp(0.0, most)));
            crate::bundle::Expected { metric: format!("test.{name}"), mean, interval }
        };
        let mut all = vec![expected(metric, scores.iter().map(|m| m.test).collect())];
        let accuracy: Vec<f64> = scores.iter().filter_map(|m| m.accuracy).collect();
        if !accuracy.is_empty() {
            all.push(expected("accuracy", accuracy));
        }
        all
    }
}

fn word(advice: verdict::Advice) -> &'static str {
    match advice {
        verdict::Advice::Join => "join",
        verdict::Advice::Stay => "stay",
        verdict::Advice::Unclear => "unclear",
    }
}

fn why(advice: &str, found: &verdict::ClientVerdict, offer: &str, draft: &Draft, draws: usize) -> String {
    let metric = draft.metric;
    let interval = found
        .gain
        .interval
        .map_or("no interval".to_owned(), |[low, high]| format!("95 % interval {} to {}", difference(low), difference(high)));
    let numbers = format!(
        "{metric} on test rows {:.4} alone, {:.4} joined, gain {}, {interval}, {draws} split{}",
        found.alone,
        found.joined,
        difference(found.gain.mean),
        if draws == 1 { "" } else { "s" }
    );
    match advice {
        "join" => format!("Joining pays, mostly by {offer}: {numbers}."),
        "stay" => format!("Joining does not pay: {numbers}. It deploys its own model."),
        _ if found.gain.is_too_small() => {
            format!(
                "The difference is too small to matter, less than {}: {numbers}. It deploys its own model.",
                difference(found.gain.least)
            )
        }
        _ if found.is_one_of_many() => {
            format!(
                "Not shown: {numbers}. By itself the interval excludes zero, but of many clients who are asked at once some do so by chance. It deploys its own model, which needs nobody."
            )
        }
        _ => format!("No clear difference: {numbers}. It deploys its own model, which needs nobody."),
    }
}
