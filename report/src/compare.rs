//! Several runs on common axes.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use motet_core::Row;
use motet_records::Records;

use crate::group::{Group, Run};
use crate::verdict::Verdict;

/// The folders of one report and their runs, grouped: runs that differ only by their seed belong together.
pub struct Comparison<'a> {
    /// Name and records of each folder.
    pub folders: &'a [(String, Records)],
    /// In the order of the manifests.
    pub groups: Vec<Group<'a>>,
    /// What the records say, found when first asked for.
    verdicts: OnceCell<Vec<Verdict>>,
}

/// What counts as one number; the convex problems are computed in `f64`.
pub(crate) const BITS_PER_FLOAT: f64 = 64.0;

/// What a curve is drawn against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Communication rounds.
    Rounds,
    /// Numbers from the clients to the server as papers count them: indices that a seed gives are free, 64 bits are one.
    FloatsUp,
    /// Bits that a network carries from the clients to the server, all clients together.
    BitsUp,
    /// Examples differentiated.
    Gradients,
    /// Seconds on the devices that the problem describes.
    Deployed,
}

/// A metric against an axis, over all seeds of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The group's.
    pub label: String,
    /// One per measured round.
    pub points: Vec<Point>,
    /// What the theorem promises at the same places: (x, bound), the mean over seeds. Empty without a promise on this metric.
    pub bound: Vec<(f64, f64)>,
    /// Did numbers leave the finite range for some seed?
    pub diverged: bool,
}

/// One round of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Which round.
    pub round: u64,
    /// Where on the axis: the mean over seeds.
    pub x: f64,
    /// Over the seeds measured in this round. NaN if any of them is not finite.
    pub mean: f64,
    /// The least of the seeds.
    pub low: f64,
    /// The largest of the seeds.
    pub high: f64,
    /// How many seeds were measured in this round.
    pub seeds: usize,
}

impl<'a> Comparison<'a> {
    /// What curves can be drawn against: the last axis only where somebody kept its clock.
    pub fn axes(&self) -> &'static [Axis] {
        let clock = self.groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.rows).any(|row| row.deployed.is_some());
        if clock { &Axis::ALL } else { &Axis::ALL[..Axis::ALL.len() - 1] }
    }

    /// Groups the runs of one or several folders.
    pub fn new(folders: &'a [(String, Records)]) -> Self {
        let mut groups: Vec<Group<'a>> = vec![];
        for (folder, (name, records)) in folders.iter().enumerate() {
            // Trials are not results: what came of them is told where values were chosen.
            for card in records.manifest.runs.iter().filter(|card| card.trial.is_none()) {
                let label = labelled(folders, name, &card.label);
                let run = Run::new(records, card);
                let same = |g: &&mut Group<'_>| g.folder == folder && g.label == label && g.method() == card.method;
                match groups.iter_mut().find(same) {
                    Some(group) => group.runs.push(run),
                    None => groups.push(Group { label, folder, runs: vec![run] }),
                }
            }
        }
        Self { folders, groups, verdicts: OnceCell::new() }
    }

    /// What the records say: one computation for everything that is shown. As [`crate::verdict::of_records`].
    pub fn verdicts(&self) -> &[Verdict] {
        self.verdicts.get_or_init(|| crate::verdict::of(self))
    }

    /// What a client is called.
    pub(crate) fn client_called(&self, client: u32) -> String {
        let mut rows = self.groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.clients);
        rows.find(|row| row.client == client).map_or_else(|| format!("client {client}"), |row| crate::evidence::client_name(row))
    }

    /// Is some problem one of networks?
    pub(crate) fn is_nonconvex(&self) -> bool {
        let mut cards = self.folders.iter().flat_map(|(_, records)| &records.manifest.problems);
        cards.any(|card| card.dim > 0 && card.convexity.is_none())
    }

    /// The verdict by a metric, where the experiment has one problem.
    pub(crate) fn verdict(&self, metric: &str) -> Option<&Verdict> {
        self.verdicts().iter().find(|verdict| verdict.metric == metric && verdict.problem.is_none())
    }

    /// The metrics measured in any round, the most telling first.
    pub fn metrics(&self) -> Vec<&'a str> {
        let runs = self.groups.iter().flat_map(|g| &g.runs);
        let names: BTreeSet<&str> = runs.flat_map(|run| &run.rows).flat_map(|row| row.metrics.keys().map(String::as_str)).collect();
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|name| (rank(name), *name));
        names
    }

    /// One per group; None for those that never measured the metric.
    pub fn curves(&self, metric: &str, axis: Axis) -> Vec<Option<Curve>> {
        self.groups.iter().map(|group| curve(group, metric, axis)).collect()
    }

    /// A label of a folder's own; with several folders, with the folder's name.
    pub(crate) fn label(&self, folder: usize, label: &str) -> String {
        labelled(self.folders, &self.folders[folder].0, label)
    }
}

fn curve(group: &Group<'_>, metric: &str, axis: Axis) -> Option<Curve> {
    let measured = |run: &&Run<'_>| run.rows.iter().any(|row| row.metrics.contains_key(metric));
    let runs: Vec<_> = group.runs.iter().filter(measured).collect();
    let rounds: BTreeSet<u64> = runs.iter().flat_map(|run| &run.rows).map(|row| row.round).collect();
    let mut cursors = vec![0; runs.len()];
    let (mut points, mut bound) = (vec![], vec![]);
    for round in rounds {
        let mut seen: Vec<(f64, f64)> = vec![];
        let mut promised: Vec<f64> = vec![];
        for (run, cursor) in runs.iter().zip(&mut cursors) {
            let Some(row) = run.rows.get(*cursor).filter(|row| row.round == round) else { continue };
            *cursor += 1;
            let Some(&value) = row.metrics.get(metric) else { continue };
            seen.push((axis.of(row), value));
            promised.extend(run.promised(metric, round));
        }
        let Some(point) = Point::over(round, &seen) else { continue };
        if !promised.is_empty() {
            bound.push((point.x, mean(&promised)));
        }
        points.push(point);
    }
    (!points.is_empty()).then(|| Curve { label: group.label.clone(), points, bound, diverged: group.diverged() })
}

impl Point {
    /// (x, value) of each seed → one point. None without seeds.
    fn over(round: u64, seen: &[(f64, f64)]) -> Option<Self> {
        let values: Vec<f64> = seen.iter().map(|s| s.1).collect();
        let places: Vec<f64> = seen.iter().map(|s| s.0).collect();
        let finite = values.iter().all(|v| v.is_finite());
        (!values.is_empty()).then(|| Self {
            round,
            x: mean(&places),
            mean: if finite { mean(&values) } else { f64::NAN },
            low: least(&values),
            high: largest(&values),
            seeds: values.len(),
        })
    }
}

impl Axis {
    /// All of them, in the order of the page.
    pub const ALL: [Axis; 5] = [Axis::Rounds, Axis::FloatsUp, Axis::BitsUp, Axis::Gradients, Axis::Deployed];

    /// For file names and addresses.
    pub fn key(self) -> &'static str {
        match self {
            Axis::Rounds => "rounds",
            Axis::FloatsUp => "floats",
            Axis::BitsUp => "bits",
            Axis::Gradients => "gradients",
            Axis::Deployed => "seconds",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Axis::Rounds => "communication rounds",
            Axis::FloatsUp => "numbers sent up, as papers count them (64 bits each)",
            Axis::BitsUp => "bits sent up on the wire, all clients together",
            Axis::Gradients => "gradient evaluations (examples)",
            Axis::Deployed => "seconds of the deployment",
        }
    }

    /// What comes before a value that is read off.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Axis::Rounds => "round",
            Axis::FloatsUp => "floats up",
            Axis::BitsUp => "bits up",
            Axis::Gradients => "gradients",
            Axis::Deployed => "seconds",
        }
    }

    /// Where a row stands on this axis.
    pub fn of(self, row: &Row) -> f64 {
        match self {
            Axis::Rounds => row.round as f64,
            Axis::FloatsUp => row.bits.up as f64 / BITS_PER_FLOAT,
            Axis::BitsUp => 8.0 * row.bytes.up as f64,
            Axis::Gradients => row.gradients as f64,
            Axis::Deployed => row.deployed.unwrap_or(0.0),
        }
    }
}

/// The plain mean; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// NaN of nothing; what is not a number is passed over.
pub(crate) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// NaN of nothing; what is not a number is passed over.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// Is this a variant of another metric: over the worst clients, or weighted by examples?
pub(crate) fn is_variant(metric: &str) -> bool {
    metric.ends_with(".worst") || metric.ends_with(".weighted")
}

/// How far down the list a metric belongs.
fn rank(metric: &str) -> usize {
    const FIRST: [&str; 6] = ["gap", "distance", "grad_norm2", "loss", "test.loss", "test.accuracy"];
    match FIRST.iter().position(|first| *first == metric) {
        Some(at) => at,
        None if is_variant(metric) => FIRST.len() + 3,
        None if metric.starts_with("test.") => FIRST.len(),
        None if metric.starts_with("validation.") => FIRST.len() + 2,
        None => FIRST.len() + 1,
    }
}

fn labelled(folders: &[(String, Records)], name: &str, label: &str) -> String {
    if folders.len() > 1 { format!("{name}: {label}") } else { label.to_owned() }
}
