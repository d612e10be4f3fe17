//! One model for all, own models, or a mixture: which runs are which.

use motet_core::{Outcome, larger_is_better};
use motet_records::RunCard;
use serde_json::Value;

use crate::compare::Comparison;
use crate::group::{Group, Run};

/// What a run's clients deploy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Each its own model, trained alone: α = 0.
    Local,
    /// All the same model: α = 1.
    Global,
    /// Something in between.
    Mixture,
}

impl Role {
    /// From the method's name and its `alpha`; None for methods that have none.
    pub fn of(card: &RunCard) -> Option<Self> {
        if card.method == "local" {
            return Some(Role::Local);
        }
        match (card.params.get("alpha")?, alpha(card)) {
            (_, Some(0.0)) => Some(Role::Local),
            (_, Some(1.0)) => Some(Role::Global),
            (Value::Null, _) => None,
            _ => Some(Role::Mixture),
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Role::Local => "own models",
            Role::Global => "one model for all",
            Role::Mixture => "mixture",
        }
    }
}

/// α of a run, if it is one number for all clients. Runs of `local` have α = 0.
pub fn alpha(card: &RunCard) -> Option<f64> {
    let list = match card.params.get("alpha") {
        None if card.method == "local" => return Some(0.0),
        Some(Value::Number(a)) => return a.as_f64(),
        Some(Value::Object(each)) => each.get("per_client")?.as_array()?,
        _ => return None,
    };
    let (first, rest) = list.split_first()?;
    if rest.iter().all(|a| a == first) { first.as_f64() } else { None }
}

impl Group<'_> {
    /// As [`Role::of`], of the group's runs.
    pub fn role(&self) -> Option<Role> {
        Role::of(self.runs.first()?.card)
    }

    /// As [`alpha`], of the group's runs.
    pub fn alpha(&self) -> Option<f64> {
        alpha(self.runs.first()?.card)
    }
}

/// A final metric against α, for runs that differ only by it.
#[derive(Clone, Debug, PartialEq)]
pub struct AlphaCurve {
    /// The method's name and what else it was run with, if there are several; with several folders, the folder's comes first.
    pub label: String,
    /// By α.
    pub stations: Vec<Station>,
}

/// One α of an [`AlphaCurve`].
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// α
    pub alpha: f64,
    /// Number of the group.
    pub group: usize,
    /// One value per seed, all finite.
    pub values: Vec<f64>,
}

/// The curves of a metric over α; those of a single α are left out, and so are runs that diverged or failed. Runs of `local` are every
/// curve's α = 0.
pub fn alpha_curves(comparison: &Comparison<'_>, metric: &str) -> Vec<AlphaCurve> {
    let mut families: Vec<(String, AlphaCurve)> = vec![];
    let broken = |run: &Run<'_>| matches!(run.outcome(), Some(Outcome::Diverged { .. } | Outcome::Failed { .. }));
    let mut alone: Vec<(usize, Station)> = vec![];
    for (at, group) in comparison.groups.iter().enumerate() {
        let values: Vec<f64> = group.finals(metric).into_iter().filter(|v| v.is_finite()).collect();
        let useless = values.is_empty() || group.runs.iter().any(broken);
        let (Some(alpha), Some(run), false) = (group.alpha(), group.runs.first(), useless) else { continue };
        let station = Station { alpha, group: at, values };
        if run.card.method == "local" {
            alone.push((group.folder, station));
            continue;
        }
        let mut others = run.card.params.clone();
        others.remove("alpha");
        // What a grid varies besides α stands in the label: `flix alpha=0.5 step=0.1 model.l2=0.01`.
        let varied: String =
            group.label.split(' ').filter(|w| w.contains('=') && !w.starts_with("alpha=")).map(|w| format!(" {w}")).collect();
        let key = format!("{} {} {}{varied}", group.folder, run.card.method, Value::Object(others));
        let name = comparison.label(group.folder, &run.card.method) + &varied;
        match families.iter_mut().find(|(k, _)| *k == key) {
            Some((_, curve)) => curve.stations.push(station),
            None => families.push((key, AlphaCurve { label: name, stations: vec![station] })),
        }
    }
    let mut curves: Vec<AlphaCurve> = families.into_iter().map(|(_, curve)| curve).collect();
    for curve in &mut curves {
        let Some(folder) = curve.stations.first().map(|s| comparison.groups[s.group].folder) else { continue };
        if !curve.stations.iter().any(|s| s.alpha == 0.0) {
            curve.stations.extend(alone.iter().filter(|(f, _)| *f == folder).map(|(_, s)| s.clone()).take(1));
        }
        curve.stations.sort_by(|a, b| a.alpha.total_cmp(&b.alpha));
    }
    curves.retain(|curve| curve.stations.first().map(|s| s.alpha) != curve.stations.last().map(|s| s.alpha));
    curves
}

pub(crate) fn better(metric: &str, value: f64, other: f64) -> bool {
    if larger_is_better(metric) { value > other } else { value < other }
}

/// What models are judged by, what the verdict is judged by first.
pub(crate) fn judging_as_the_verdict<'m>(comparison: &Comparison<'_>, metrics: impl IntoIterator<Item = &'m str>) -> Vec<&'m str> {
    let telling = comparison.verdicts().first().map(|verdict| verdict.metric.as_str());
    let mut all = judging(metrics);
    all.sort_by_key(|metric| Some(*metric) != telling);
    all
}

/// What personal models are judged by: test data first, since training data flatters own models.
pub(crate) fn judging<'m>(metrics: impl IntoIterator<Item = &'m str>) -> Vec<&'m str> {
    const ORDER: [&str; 6] = ["test.loss", "test.accuracy", "test.", "validation.loss", "validation.", "loss"];
    let rank = |m: &str| ORDER.iter().position(|o| m == *o || (o.ends_with('.') && m.starts_with(o)));
    let mut ranked: Vec<_> = metrics.into_iter().filter(|m| !crate::compare::is_variant(m)).filter_map(|m| Some((rank(m)?, m))).collect();
    ranked.sort_unstable();
    ranked.dedup();
    // Training loss says little about the models people get: shown only when there is nothing else.
    let held_out = ranked.iter().any(|(r, _)| *r < ORDER.len() - 1);
    ranked.into_iter().filter(|(r, _)| !held_out || *r < ORDER.len() - 1).map(|(_, m)| m).collect()
}
