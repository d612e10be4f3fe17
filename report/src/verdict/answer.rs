//! The verdict: who wins, who should join, and by how much.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::choice::{Choice, Chooser, Chosen, sign};
use super::interval::{Estimate, mean};
use super::multiple::benjamini_hochberg;
use super::paired::Paired;
use super::pooling::partially_pooled;
use super::skew::Skewness;
use super::study::{Design, Study};
use super::worth::Worth;

/// What the evidence says, by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Which of an experiment's problems, where a grid makes several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What models are judged by, on test data.
    pub metric: String,
    /// What settings were chosen by, where validation data chose them.
    pub chosen_by: Option<String>,
    /// What the choice among settings has seen.
    pub choice: Choice,
    /// Did each client choose between methods on test data of other draws, because one of the methods was fitted on validation data?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ways_by_test: bool,
    /// The share of the error that a difference must reach to count.
    pub worth: Worth,
    /// How the draws belong together.
    pub design: Design,
    /// How many there are.
    pub draws: usize,
    /// Who wins.
    pub contest: Contest,
    /// The methods that were compared, the best first.
    pub ways: Vec<WayResult>,
    /// Does it pay to join? Known if some runs train alone and others together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joining: Option<Joining>,
    /// What is left out of the comparison, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Excluded>,
}

/// Who wins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Contest {
    /// One way is better than every other, each by an interval that excludes zero.
    Winner {
        /// Its name.
        way: String,
    },
    /// The best of these on average is not shown to be better than the others.
    NoClearDifference {
        /// Their names, the best on average first.
        ways: Vec<String>,
    },
    /// Fewer than two ways stand.
    NoContest,
}

/// One method (a way to train), with its settings chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WayResult {
    /// Its name.
    pub way: String,
    /// Does each client have its own data only?
    pub alone: bool,
    /// Which settings were chosen, the most frequent first.
    pub settings: Vec<Picked>,
    /// The metric on test data: the mean over clients and draws.
    pub value: f64,
    /// How much better the best method is than this one; `None` for the best.
    pub behind: Option<Estimate>,
    /// How much better a choice on test data looks than it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flattery: Option<f64>,
}

/// A setting and how often it was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Picked {
    /// The label of the runs with this setting.
    pub label: String,
    /// In how many draws, or draws of clients.
    pub times: usize,
}

/// Joining against staying alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Joining {
    /// For all clients together.
    pub advice: Advice,
    /// What joining gains on average over clients.
    pub gain: Estimate,
    /// Client by client; empty where every draw has clients of its own.
    pub clients: Vec<ClientVerdict>,
}

/// What the numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    /// Joining is shown to be better.
    Join,
    /// Staying alone is shown to be better.
    Stay,
    /// Neither is shown.
    Unclear,
}

/// The verdict on one client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientVerdict {
    /// Its place among the study's clients.
    #[serde(skip)]
    pub place: usize,
    /// What it is called.
    pub client: String,
    /// What the numbers say.
    pub advice: Advice,
    /// What it would take most often if it joined.
    pub with: String,
    /// The metric of its own model on test data, the mean over draws.
    pub alone: f64,
    /// The metric of what it would take.
    pub joined: f64,
    /// What joining gains.
    pub gain: Estimate,
    /// p after Benjamini and Hochberg over all clients; what the advice rests on.
    pub adjusted_p: Option<f64>,
    /// The gain drawn towards that of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooled: Option<Estimate>,
    /// Bytes it would send.
    pub sent: f64,
}

/// A run or method that is left out of the comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// The run's label, or the method.
    pub who: String,
    /// Why.
    pub why: String,
}

impl ClientVerdict {
    /// Does its interval exclude zero by itself, although the advice, which counts how many clients are asked, is unclear?
    pub fn is_one_of_many(&self) -> bool {
        let shown = self.gain.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
        self.advice == Advice::Unclear && shown && !self.gain.is_too_small()
    }
}

/// What clients take if each chooses for itself among several ways.
const OWN_CHOICE: &str = "each client's own choice";

impl Verdict {
    /// The winner's name, if there is one.
    pub fn winner(&self) -> Option<&str> {
        match &self.contest {
            Contest::Winner { way } => Some(way),
            _ => None,
        }
    }
}

impl Joining {
    /// How many clients have this advice.
    pub fn count(&self, advice: Advice) -> usize {
        self.clients.iter().filter(|client| client.advice == advice).count()
    }
}

/// Judges a study.
pub fn judge(study: &Study) -> Verdict {
    let chooser = Chooser::new(study);
    let (mut standing, mut excluded) = (vec![], vec![]);
    let mut names: Vec<&str> = vec![];
    for contender in &study.contenders {
        if !names.contains(&contender.way.as_str()) {
            names.push(&contender.way);
        }
        if let (Some(why), true) = (&contender.fault, contender.way != contender.label) {
            excluded.push(Excluded { who: contender.label.clone(), why: why.clone() });
        }
    }
    for name in names {
        match chooser.way(name) {
            Ok(way) => standing.push(way),
            Err(why) => excluded.push(Excluded { who: name.to_owned(), why }),
        }
    }
    let joined = joined(&chooser, &standing);
    let paired = |ours: &Chosen<'_>, theirs: &Chosen<'_>| Paired::of(ours.scores(), theirs.scores(), sign(&study.metric));
    let alone = standing.iter().position(|way| way.alone);
    let joining =
        alone.zip(joined.as_ref()).map(|(alone, joined)| join(study, joined, &standing[alone], &paired(joined, &standing[alone])));
    // Own choices are a way of their own where there is something to choose.
    standing.extend(joined.filter(|joined| joined.name == OWN_CHOICE));
    // Who serves some clients only cannot be best for all.
    let clients = |way: &Chosen<'_>| way.cells.keys().map(|(_, client)| *client).collect::<BTreeSet<_>>().len();
    let most = standing.iter().map(clients).max().unwrap_or(0);
    let (mut competing, partial): (Vec<_>, Vec<_>) = standing.into_iter().partition(|way| clients(way) == most);
    excluded
        .extend(partial.iter().map(|way| Excluded { who: way.name.clone(), why: format!("serves {} of {most} clients", clients(way)) }));
    competing.sort_by(|a, b| (sign(&study.metric) * value(b)).total_cmp(&(sign(&study.metric) * value(a))));
    let ways: Vec<WayResult> = (0..competing.len())
        .map(|at| {
            let (best, way) = (&competing[0], &competing[at]);
            let least = study.worth.least(&study.metric, value(way));
            let behind = (at > 0).then(|| Estimate::of_all(&paired(best, way), study.design, best.tries * way.tries).at_least(least));
            result(study, way, behind)
        })
        .collect();
    let mut joining = joining;
    let contest = contest(&ways, joining.as_mut());
    let chosen_by = study.chosen_by.clone().filter(|_| chooser.kind() == Choice::Validation);
    Verdict {
        problem: study.problem.clone(),
        metric: study.metric.clone(),
        chosen_by,
        choice: chooser.kind(),
        ways_by_test: chooser.is_mixed() && study.contenders.iter().filter(|contender| !contender.alone).count() > 1,
        worth: study.worth,
        design: study.design,
        draws: study.draws,
        contest,
        ways,
        joining,
        excluded,
    }
}

/// What clients take if they join.
fn joined<'a>(chooser: &Chooser<'a>, standing: &[Chosen<'a>]) -> Option<Chosen<'a>> {
    let joint: Vec<&Chosen<'_>> = standing.iter().filter(|way| !way.alone).collect();
    match joint[..] {
        [] => None,
        [only] => Some(chooser.each_clients_own(&joint, &only.name)),
        _ => Some(chooser.each_clients_own(&joint, OWN_CHOICE)),
    }
}

/// Who wins, such that the answer about joining cannot say otherwise: a way that clients join wins only if joining, as validation
/// data choose it, is shown to pay; and all are advised to stay only if their own models win.
fn contest(ways: &[WayResult], joining: Option<&mut Joining>) -> Contest {
    let [best, others @ ..] = ways else { return Contest::NoContest };
    if others.is_empty() {
        return Contest::NoContest;
    }
    let beaten = |way: &WayResult| way.behind.as_ref().is_some_and(|behind| behind.sign() > 0);
    let all = others.iter().all(beaten);
    let pays = joining.as_ref().is_some_and(|joining| joining.gain.sign() > 0);
    let wins = all && (best.alone || pays || joining.is_none());
    if let Some(joining) = joining {
        joining.advice = match (pays, wins && best.alone) {
            (true, _) => Advice::Join,
            (false, true) => Advice::Stay,
            (false, false) => Advice::Unclear,
        };
    }
    if wins {
        return Contest::Winner { way: best.way.clone() };
    }
    // Own models that joining beats are no candidates any more.
    let open = |way: &&WayResult| !(beaten(way) || pays && way.alone);
    Contest::NoClearDifference { ways: std::iter::once(best).chain(others.iter().filter(open)).map(|way| way.way.clone()).collect() }
}

fn value(way: &Chosen<'_>) -> f64 {
    let mut draws: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    way.scores().for_each(|score| draws.entry(score.draw).or_default().push(score.test));
    mean(&draws.values().map(|values| mean(values)).collect::<Vec<_>>())
}

fn result(study: &Study, way: &Chosen<'_>, behind: Option<Estimate>) -> WayResult {
    // Of a way, one setting is chosen in a draw; of clients' own choices, one for each client and draw.
    let own = way.name == OWN_CHOICE;
    let choices: BTreeSet<(usize, usize, usize)> =
        way.cells.iter().map(|((draw, client), (c, _))| (*c, *draw, if own { *client } else { 0 })).collect();
    let settings = picked(study, choices.into_iter().map(|(c, _, _)| c));
    WayResult { way: way.name.clone(), alone: way.alone, settings, value: value(way), behind, flattery: way.flattery }
}

/// The most frequent first.
fn picked(study: &Study, choices: impl Iterator<Item = usize>) -> Vec<Picked> {
    let mut times: BTreeMap<usize, usize> = BTreeMap::new();
    choices.for_each(|c| *times.entry(c).or_default() += 1);
    let mut all: Vec<(usize, usize)> = times.into_iter().collect();
    all.sort_by_key(|(c, times)| (std::cmp::Reverse(*times), *c));
    all.into_iter().map(|(c, times)| Picked { label: study.contenders[c].label.clone(), times }).collect()
}

fn join(study: &Study, joined: &Chosen<'_>, alone: &Chosen<'_>, paired: &Paired) -> Joining {
    let tries = joined.tries * alone.tries;
    let gain = Estimate::of_all(paired, study.design, tries).at_least(study.worth.least(&study.metric, value(alone)));
    let places: BTreeSet<usize> = paired.cells.keys().map(|(_, client)| *client).collect();
    let places: Vec<usize> = if study.design.same_clients() { places.into_iter().collect() } else { vec![] };
    let of = |way: &Chosen<'_>, place: usize| {
        let mine = way.cells.iter().filter(|((_, client), _)| *client == place);
        mean(&mine.map(|(_, (_, score))| score.test).collect::<Vec<_>>())
    };
    let skewness = Skewness::of(paired);
    let gain_of = |&client: &usize| {
        let least = study.worth.least(&study.metric, of(alone, client));
        Estimate::of_client(paired, client, skewness, study.design, tries).at_least(least)
    };
    let gains: Vec<Estimate> = places.iter().map(gain_of).collect();
    // Clients without an interval are no tests.
    let tested: Vec<usize> = (0..gains.len()).filter(|&k| gains[k].p.is_some()).collect();
    let adjusted = benjamini_hochberg(&tested.iter().filter_map(|&k| gains[k].p).collect::<Vec<_>>());
    let adjusted: BTreeMap<usize, f64> = tested.into_iter().zip(adjusted).collect();
    let pooled = partially_pooled(&gains, if matches!(study.design, Design::Independent { .. }) { skewness } else { Skewness::default() });
    let mut clients = vec![];
    for (k, (&place, gain)) in places.iter().zip(&gains).enumerate() {
        let choices = joined.cells.iter().filter(|((_, client), _)| *client == place).map(|(_, (c, _))| *c);
        let with = picked(study, choices.clone());
        let label = with.into_iter().next().map(|picked| picked.label).unwrap_or_default();
        let sent = choices.map(|c| study.contenders[c].sent).collect::<Vec<_>>();
        let adjusted_p = adjusted.get(&k).copied();
        clients.push(ClientVerdict {
            place,
            client: study.clients.get(place).cloned().unwrap_or_else(|| format!("client {place}")),
            advice: match gain.sign_with(adjusted_p) {
                1 => Advice::Join,
                -1 => Advice::Stay,
                _ => Advice::Unclear,
            },
            with: label,
            alone: of(alone, place),
            joined: of(joined, place),
            gain: gain.clone(),
            adjusted_p,
            pooled: pooled.as_ref().map(|all| all[k].clone()),
            sent: mean(&sent),
        });
    }
    Joining { advice: Advice::Unclear, gain, clients }
}
