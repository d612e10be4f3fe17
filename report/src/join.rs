//! Should a client join? Its own model against what the others offer, over repeated splits of its data.

use std::collections::BTreeMap;

use motet_core::larger_is_better;
use serde_json::Value;

use crate::compare::{Comparison, mean};
use crate::mixture::{Role, better};

/// A way to get a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Its own data alone.
    Alone,
    /// One model for all.
    Together,
    /// A mixture of both.
    Mixture,
    /// The help of those who help (MeritFed).
    Friends,
}

impl Way {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Way::Alone => "stay alone",
            Way::Together => "one model for all",
            Way::Mixture => "mixture",
            Way::Friends => "friends (MeritFed)",
        }
    }
}

/// What one way gives one client.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Which way.
    pub way: Way,
    /// The runs behind it.
    pub label: String,
    /// The metric of the client's model: mean over splits.
    pub value: f64,
    /// How much better than alone, split by split; positive is better. None for the client alone.
    pub gain: Option<Estimate>,
    /// Bytes the client sends: all that was sent, shared equally.
    pub sent: f64,
}

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; None where there was one split only.
    pub half: Option<f64>,
}

/// What the numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The best offer is better than staying alone, beyond doubt of 5 %.
    Join(Way),
    /// Every offer is worse than staying alone, beyond doubt of 5 %.
    Stay,
    /// Intervals cover zero.
    NoEvidence,
    /// One split tells nothing about others.
    OneSplit,
}

/// One client and its offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Which client.
    pub client: u32,
    /// What the source calls it, where it has a name.
    pub name: Option<String>,
    /// Its training examples, on average over splits.
    pub examples: f64,
    /// Splits compared.
    pub splits: usize,
    /// Alone first.
    pub offers: Vec<Offer>,
}

impl Candidate {
    /// What the numbers say.
    pub fn advice(&self) -> Advice {
        let gains = || self.offers.iter().filter_map(|o| Some((o.way, o.gain?)));
        if gains().any(|(_, g)| g.half.is_none()) {
            return Advice::OneSplit;
        }
        let sure = gains().filter(|(_, g)| g.sign() > 0).max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        match sure {
            Some((way, _)) => Advice::Join(way),
            None if gains().all(|(_, g)| g.sign() < 0) => Advice::Stay,
            None => Advice::NoEvidence,
        }
    }
}

impl Estimate {
    /// The paired mean of differences between splits of the same data. Test parts overlap from split to split, so that the
    /// variance of the mean is not s²/n but s² (1/n + test/train) (Nadeau and Bengio 2003).
    pub fn of(differences: &[f64], overlap: f64) -> Self {
        let (n, centre) = (differences.len() as f64, mean(differences));
        let variance = differences.iter().map(|d| (d - centre) * (d - centre)).sum::<f64>() / (n - 1.0);
        let half = student(differences.len().saturating_sub(1)) * (variance * (1.0 / n + overlap)).sqrt();
        Self { mean: centre, half: (differences.len() > 1).then_some(half) }
    }

    /// 1 or −1 if the interval lies on one side of zero, else 0.
    pub fn sign(&self) -> i32 {
        match self.half {
            Some(half) if self.mean > half => 1,
            Some(half) if self.mean < -half => -1,
            _ => 0,
        }
    }
}

/// The 97.5 % quantile of Student's distribution.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
        2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    match freedom {
        0 => f64::NAN,
        f if f <= TABLE.len() => TABLE[f - 1],
        // Cornish and Fisher's first term: within 0.001 from here on.
        f => 1.96 + 2.372 / f as f64,
    }
}

/// Every client that is in at least two of the ways, one of them alone; empty if nobody is, or if several folders are compared.
pub fn candidates(comparison: &Comparison<'_>, metric: &str) -> Vec<Candidate> {
    let [(_, records)] = comparison.folders else { return vec![] };
    let ways: Vec<(Way, usize)> = [Way::Alone, Way::Together, Way::Mixture, Way::Friends]
        .into_iter()
        .filter_map(|way| Some((way, best(comparison, way, metric)?)))
        .collect();
    if ways.len() < 2 || ways[0].0 != Way::Alone {
        return vec![];
    }
    // (client, way) → seed → value
    let mut cells: BTreeMap<(u32, Way), BTreeMap<u64, f64>> = BTreeMap::new();
    let (mut examples, mut draws): (BTreeMap<u32, Vec<f64>>, BTreeMap<u64, usize>) = (BTreeMap::new(), BTreeMap::new());
    for &(way, group) in &ways {
        for run in &comparison.groups[group].runs {
            draws.insert(run.card.seed, run.card.problem);
            let target = (way == Way::Friends).then(|| run.card.params.get("target").and_then(Value::as_u64)).flatten();
            for row in run.clients.iter().filter(|row| target.is_none_or(|t| t == u64::from(row.client))) {
                let Some(value) = row.metrics.get(metric).filter(|v| v.is_finite()) else { continue };
                cells.entry((row.client, way)).or_default().insert(run.card.seed, *value);
                examples.entry(row.client).or_default().push(row.examples as f64);
            }
        }
    }
    // Seeds on one split repeat the training, not the split: their spread says nothing about other patients.
    let splits = draws.values().collect::<std::collections::BTreeSet<_>>().len();
    let overlap = overlap(&records.manifest.resolved);
    let sign = if larger_is_better(metric) { 1.0 } else { -1.0 };
    let clients: Vec<u32> = cells.keys().filter(|(_, way)| *way == Way::Alone).map(|(client, _)| *client).collect();
    let candidate = |client: u32| {
        let alone = &cells[&(client, Way::Alone)];
        let offers = ways.iter().filter_map(|&(way, group)| {
            let values = cells.get(&(client, way))?;
            let differences: Vec<f64> = values.iter().filter_map(|(seed, v)| Some(sign * (v - alone.get(seed)?))).collect();
            let estimate = if splits > 1 { Estimate::of(&differences, overlap) } else { Estimate { mean: mean(&differences), half: None } };
            let group = &comparison.groups[group];
            let sent = |run: &crate::Run<'_>| {
                let clients = records.manifest.problems.get(run.card.problem).map_or(1, |p| p.clients.max(1));
                run.traffic().1.up as f64 / clients as f64
            };
            Some(Offer {
                way,
                label: group.label.clone(),
                value: mean(&values.values().copied().collect::<Vec<_>>()),
                gain: (way != Way::Alone && !differences.is_empty()).then_some(estimate),
                sent: mean(&group.runs.iter().map(sent).collect::<Vec<_>>()),
            })
        });
        let name = comparison.groups.iter().flat_map(|g| &g.runs).flat_map(|r| &r.clients).find(|row| row.client == client);
        let name = name.and_then(|row| row.name.clone());
        Candidate { client, name, examples: mean(&examples[&client]), splits: splits.min(alone.len()), offers: offers.collect() }
    };
    clients.into_iter().map(candidate).filter(|c| c.offers.len() > 1).collect()
}

/// The group that stands for a way: the best on validation data if there is any, else by the metric itself.
fn best(comparison: &Comparison<'_>, way: Way, metric: &str) -> Option<usize> {
    let is = |group: &crate::Group<'_>| match group.method() {
        method if method.starts_with("meritfed") => way == Way::Friends,
        "fedavg" | "fedprox" | "scaffold" | "scaffnew" => way == Way::Together,
        _ => match group.role() {
            Some(Role::Local) => way == Way::Alone,
            Some(Role::Global) => way == Way::Together,
            Some(Role::Mixture) => way == Way::Mixture,
            None => false,
        },
    };
    let judged = |group: &crate::Group<'_>| {
        let chosen = mean(&group.finals("validation.loss"));
        if chosen.is_finite() { ("validation.loss", chosen) } else { (metric, mean(&group.finals(metric))) }
    };
    let measured = |group: &crate::Group<'_>| group.runs.iter().any(|run| run.clients.iter().any(|row| row.metrics.contains_key(metric)));
    let groups = comparison.groups.iter().enumerate().filter(|(_, group)| is(group) && measured(group));
    let ranked = groups.map(|(at, group)| (at, judged(group)));
    ranked.reduce(|a, b| if b.1.0 == a.1.0 && better(b.1.0, b.1.1, a.1.1) { b } else { a }).map(|(at, _)| at)
}

/// Test examples for each training example.
fn overlap(resolved: &Value) -> f64 {
    let share = |name: &str| resolved["problem"][0]["holdout"][name].as_f64().unwrap_or(0.0);
    let test = share("test");
    test / (1.0 - test - share("validation")).max(f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students_with_the_correction_for_overlap() {
        let plain = Estimate::of(&[1.0, 2.0, 3.0], 0.0);
        // s = 1, n = 3: 4.303 / √3
        assert!((plain.half.unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-12 && plain.mean == 2.0 && plain.sign() == 0);
        let overlapping = Estimate::of(&[1.0, 2.0, 3.0], 1.0 / 3.0);
        assert!((overlapping.half.unwrap() / plain.half.unwrap() - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((Estimate::of(&[1.0, 1.1, 0.9], 0.0).sign(), Estimate::of(&[-1.0, -1.1, -0.9], 0.0).sign()), (1, -1));
        assert_eq!(Estimate::of(&[1.0], 0.0).half, None);
        // R: qt(0.975, c(31, 100)) is 2.0395 and 1.9840.
        assert!((student(31) - 2.0395).abs() < 4e-3 && (student(100) - 1.9840).abs() < 1e-3);
    }
}
