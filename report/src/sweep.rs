//! A final metric against any parameter: `[report] over = ["gamma"]`.

use serde_json::Value;

use crate::chart::{Draw, LEAST, Line, Mark, Plot, Scale, Style};
use crate::compare::{Comparison, is_variant, largest, least, mean};
use crate::figures::{file_name, title};
use crate::former_names;

/// One line of the picture: runs that differ by the parameter alone, or a run that does not have it.
struct SweepGroup {
    key: String,
    label: String,
    /// By value of the parameter; a run without it has none.
    points: Vec<(Option<f64>, Vec<f64>)>,
}

/// The parameters that the experiments ask for.
pub(crate) fn parameters(comparison: &Comparison<'_>) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for (_, records) in comparison.folders {
        let asked = records.manifest.resolved["report"]["over"].as_array();
        let names = asked.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        all.extend(names.filter(|name| !all.contains(name)).collect::<Vec<_>>());
    }
    all
}

/// Every metric's picture over one parameter.
pub(crate) fn plots(comparison: &Comparison<'_>, parameter: &str) -> Vec<(String, Plot)> {
    let metrics = comparison.metrics().into_iter().filter(|metric| !is_variant(metric));
    metrics.filter_map(|metric| Some((metric.to_owned(), plot(comparison, metric, parameter)?))).collect()
}

fn plot(comparison: &Comparison<'_>, metric: &str, parameter: &str) -> Option<Plot> {
    let families = families(comparison, metric, parameter);
    let given: Vec<f64> = families.iter().flat_map(|f| &f.points).filter_map(|(at, _)| *at).collect();
    let (low, high) = (given.iter().copied().reduce(f64::min)?, given.iter().copied().reduce(f64::max)?);
    let values = || families.iter().flat_map(|f| &f.points).flat_map(|(_, values)| values).copied();
    let (down, up) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    // What is 0 up to rounding stands at the bottom of a logarithmic picture.
    let log = down >= 0.0 && up > 20.0 * down.max(LEAST);
    let line = |(k, family): (usize, &SweepGroup)| Line {
        group: k,
        label: family.label.clone(),
        style: Style { colour: k, dash: usize::from(family.points.iter().all(|(at, _)| at.is_none())), mark: k },
        draw: Draw::Stations,
        points: family.marks(low, high, if log { LEAST } else { f64::NEG_INFINITY }),
        bound: vec![],
    };
    Some(Plot {
        name: format!("over-{}-{}", file_name(parameter), file_name(metric)),
        title: format!("final {} against {parameter}", title(metric)),
        x: (parameter.to_owned(), horizontal(&given, low, high)),
        y: (
            format!("final {}", title(metric)),
            if log { Scale::log(down.max(LEAST) / 1.5, up * 1.5) } else { Scale::linear_to_ticks(down, up) },
        ),
        lines: families.iter().enumerate().map(line).collect(),
        notes: vec![],
        levels: vec![],
        unit: "",
        caption: format!(
            "Each point is a finished training{}. Runs without the parameter are drawn across.",
            if families.iter().flat_map(|f| &f.points).any(|(_, v)| v.len() > 1) {
                ": mean over seeds, with least and largest"
            } else {
                ""
            }
        ),
    })
}

fn families(comparison: &Comparison<'_>, metric: &str, parameter: &str) -> Vec<SweepGroup> {
    let mut families: Vec<SweepGroup> = vec![];
    for group in &comparison.groups {
        let values: Vec<f64> = group.finals(metric).into_iter().filter(|v| v.is_finite()).collect();
        let (Some(run), false) = (group.runs.first(), values.is_empty()) else { continue };
        let mut params = Value::Object(run.card.params.clone());
        let pointer = |name: &str| format!("/{}", name.replace('.', "/"));
        let name = former_names::current(parameter, |name| params.pointer(&pointer(name)).is_some());
        let pointer = pointer(name.as_deref().unwrap_or(parameter));
        let at = params.pointer(&pointer).and_then(Value::as_f64);
        if let (Some(place), true) = (params.pointer_mut(&pointer), at.is_some()) {
            *place = Value::Null;
        }
        let own = format!("{parameter}=");
        let words = || group.label.split(' ');
        let label = words().filter(|word| !word.starts_with(&own)).collect::<Vec<_>>().join(" ");
        // A value of the problem stands in the label alone, and makes another problem of each of its values.
        let told = words().find_map(|word| word.strip_prefix(&own)?.parse::<f64>().ok());
        let problem = if at.is_none() && told.is_some() { label.clone() } else { run.card.problem.to_string() };
        let (at, key) = (at.or(told), format!("{} {} {problem} {params}", group.folder, run.card.method));
        match families.iter_mut().find(|f| f.key == key) {
            Some(family) => family.points.push((at, values)),
            None => families.push(SweepGroup { key, label, points: vec![(at, values)] }),
        }
    }
    families.iter_mut().for_each(|f| f.points.sort_by(|a, b| a.0.unwrap_or(0.0).total_cmp(&b.0.unwrap_or(0.0))));
    families
}

impl SweepGroup {
    fn marks(&self, low: f64, high: f64, floor: f64) -> Vec<Mark> {
        let mark = |x: f64, values: &[f64]| {
            let [y, low, high] = [mean(values), least(values), largest(values)].map(|v| v.max(floor));
            Mark { x, y, low, high, faded: false }
        };
        let each = |(at, values): &(Option<f64>, Vec<f64>)| match at {
            Some(at) => vec![mark(*at, values)],
            None => vec![mark(low, values), mark(high, values)],
        };
        self.points.iter().flat_map(each).collect()
    }
}

/// Logarithmic where the values span more than a decade and a half; zero has a place of its own then.
fn horizontal(given: &[f64], low: f64, high: f64) -> Scale {
    let positive = given.iter().copied().filter(|v| *v > 0.0).reduce(f64::min).unwrap_or(high);
    match high / positive >= 30.0 {
        true if low == 0.0 => Scale::log_and_zero(positive, high),
        true if low > 0.0 => Scale::log(low, high),
        _ => Scale::linear_to_ticks(low, high),
    }
}
